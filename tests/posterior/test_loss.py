"""Expected loss: sums over clusters against means of distances."""

import numpy as np
import pytest

from sticktree.metrics import binder_loss, variation_of_information
from sticktree.posterior import expected_loss

LOSSES = {"vi": variation_of_information, "binder": binder_loss}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_rows", [1, 2, 9, 40])
def test_expected_loss_is_the_mean_distance_to_the_draws(loss, n_rows):
    rng = np.random.default_rng(n_rows)
    for _ in range(10):
        draws = rng.integers(rng.integers(1, 8), size=(6, n_rows))
        labels = rng.integers(rng.integers(1, 8), size=n_rows)
        naive = np.mean([LOSSES[loss](labels, draw) for draw in draws])
        assert expected_loss(labels, draws, loss) == pytest.approx(naive, abs=1e-12)
        # What clusters are called does not matter, be it far from 0 … N − 1.
        other = expected_loss(5 - 3 * labels, 1000 * draws - 7, loss)
        assert other == pytest.approx(naive, abs=1e-12)


def test_wrong_input_is_refused_in_plain_words():
    with pytest.raises(ValueError, match='loss must be "vi" or "binder", got \'rand\''):
        expected_loss([0], [[0]], "rand")
    with pytest.raises(ValueError, match="labels_of_draws must be integers, a row for each draw"):
        expected_loss([0], [0])
    with pytest.raises(ValueError, match=r"labels_of_draws must be integers.*got float64"):
        expected_loss([0], [[0.5]])
    with pytest.raises(ValueError, match=r"labels must be 2 integers.*of shape \(1,\)"):
        expected_loss([0], [[0, 1]])
