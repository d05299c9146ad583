import math

import numpy as np
import pytest
from scipy import stats

from sticktree.metrics import Difference, paired_difference, signed


def test_the_interval_is_that_of_the_paired_t_test():
    rng = np.random.default_rng(0)
    ours, other = rng.normal(size=10), rng.normal(size=10)
    found = paired_difference(dict(enumerate(ours)), dict(enumerate(other)))
    interval = stats.ttest_rel(ours, other).confidence_interval(0.95)
    assert found.mean - found.half_width == pytest.approx(interval.low)
    assert found.mean + found.half_width == pytest.approx(interval.high)
    assert found.n_splits == 10


def test_only_common_splits_count():
    found = paired_difference({0: 1.0, 1: 2.0, 5: 100.0}, {1: 1.0, 0: 0.5, 7: -100.0})
    assert found.mean == pytest.approx(0.75)
    assert found.n_splits == 2
    with pytest.raises(ValueError, match="split in common"):
        paired_difference({0: 1.0}, {1: 1.0})


def test_a_single_split_says_nothing():
    found = paired_difference({3: 5.0}, {3: 1.0})
    assert (found.mean, found.half_width, found.verdict) == (4.0, math.inf, "level")


def test_equal_methods_are_called_level_in_95_of_100_cases():
    # Of 2,000 cases, 100 ± 10 are expected; six deviations off comes about once in 10⁹.
    rng = np.random.default_rng(1)
    shared = rng.normal(0, 5, (2000, 6))
    ours, other = shared + rng.normal(size=shared.shape), shared + rng.normal(size=shared.shape)
    verdicts = [
        paired_difference(dict(enumerate(a)), dict(enumerate(b))).verdict
        for a, b in zip(ours, other, strict=True)
    ]
    assert abs(2000 - verdicts.count("level") - 100) < 60


@pytest.mark.parametrize(
    ("mean", "verdict"), [(0.2, "ahead"), (-0.2, "behind"), (0.1, "level"), (-0.05, "level")]
)
def test_verdicts(mean, verdict):
    assert Difference(mean, 0.1, 5).verdict == verdict


def test_numbers_are_written_with_a_true_minus():
    assert signed(-0.0301) == "−0.030"
    assert str(Difference(0.5, 0.25, 5)) == "+0.500 ± 0.250"
