import numpy as np
import pytest
from scipy import stats

from sticktree.engine.common.random import random_state
from tests.support.compiled import chi_square, gamma, gumbel, integer, normal, uniform
from tests.support.statistics import assert_frequencies, assert_law

N_DRAWS = 20_000
MASK = 2**64 - 1


def words(seed):
    return random_state(np.random.default_rng(seed))


def draw(kernel, seed, *parameters, n=N_DRAWS):
    rng = words(seed)
    return np.array([kernel(rng, *parameters) for _ in range(n)])


def xoshiro(s):
    """One step of xoshiro256++ as its authors print it, on Python integers."""

    def rotl(x, k):
        return (x << k | x >> (64 - k)) & MASK

    result = (rotl((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
    t = (s[1] << 17) & MASK
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotl(s[3], 45)
    return result


def test_generator_is_xoshiro256_plus_plus():
    # The first numbers that the reference implementation gives for the words 1, 2, 3, 4.
    plain = [1, 2, 3, 4]
    assert [xoshiro(plain) for _ in range(3)] == [41943041, 58720359, 3588806011781223]
    compiled = words(0)
    plain = [int(word) for word in compiled]
    for _ in range(1000):
        assert uniform(compiled) == (xoshiro(plain) >> 11) * 2.0**-53
    assert compiled.tolist() == plain


@pytest.mark.parametrize(
    ("kernel", "parameters", "law"),
    [
        (uniform, (), stats.uniform()),
        (normal, (), stats.norm()),
        (gumbel, (), stats.gumbel_r()),
        (chi_square, (3.0,), stats.chi2(3)),
        *((gamma, (shape,), stats.gamma(shape)) for shape in (0.05, 0.5, 1.0, 1.5, 10.0, 1e4)),
    ],
)
def test_numbers_follow_their_law(kernel, parameters, law):
    assert_law(draw(kernel, 1, *parameters), law)


@pytest.mark.parametrize("kernel", [uniform, normal, gumbel])
def test_successive_numbers_are_independent(kernel):
    values = draw(kernel, 2)
    cells = np.searchsorted(np.quantile(values, np.arange(1, 8) / 8), values)
    pairs = np.bincount(cells[:-1:2] * 8 + cells[1::2], minlength=64)
    # Cells have equal numbers by construction, which only lowers the statistic.
    assert_frequencies(pairs, np.full(64, 1 / 64))


@pytest.mark.parametrize("n", [1, 2, 7, 100])
def test_integers_are_equally_likely(n):
    values = draw(integer, 3, n)
    assert values.min() >= 0
    assert values.max() < n
    if n > 1:
        assert_frequencies(np.bincount(values, minlength=n), np.full(n, 1 / n))


def test_uniform_stays_below_one_and_may_be_zero():
    top = np.array([0, 0, 0, 0], dtype=np.uint64)
    # rotl(s0 + s3, 23) + s0 is the output; with s0 = 0 and s3 all ones it is the largest.
    top[3] = MASK
    assert uniform(top) == 1 - 2.0**-53
    bottom = np.array([0, 1, 2, 0], dtype=np.uint64)
    assert uniform(bottom) == 0.0


def test_extreme_uniforms_give_usable_numbers():
    assert np.isfinite(gumbel(np.array([0, 0, 0, MASK], dtype=np.uint64)))
    assert not np.isnan(gumbel(np.array([0, 1, 2, 0], dtype=np.uint64)))
    draws = draw(gamma, 4, 1e-3, n=2000)
    assert (draws >= 0).all()
    assert np.isfinite(draws).all()


@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [(uniform, ()), (normal, ()), (gumbel, ()), (gamma, (0.5,)), (integer, (10,))],
)
def test_same_words_give_the_same_numbers(kernel, parameters):
    first, second = draw(kernel, 5, *parameters, n=100), draw(kernel, 5, *parameters, n=100)
    assert (first == second).all()
    assert (draw(kernel, 6, *parameters, n=100) != first).any()
