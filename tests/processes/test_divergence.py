import math

import numpy as np
import pytest

from sticktree.processes import (
    Concentration,
    ConstantDivergence,
    DiffusionDivergence,
    Divergence,
    LogDivergence,
    resolve_concentration,
)
from tests.support.checks import assert_rejected

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("n_steps", [2, 5, 40, 1000])
@pytest.mark.parametrize("c", [0.3, 1.0, 5.0])
def test_log_divergence_telescopes_to_its_integral(c, n_steps):
    alpha = LogDivergence(c).alpha(n_steps)
    assert alpha.shape == (n_steps,)
    s = np.arange(1, n_steps)
    np.testing.assert_allclose(
        np.cumsum(alpha[:-1]), -c * np.log(1 - s / n_steps), rtol=1e-10, atol=1e-14
    )
    assert alpha[-1] == INF


def test_log_divergence_is_the_formula_of_the_paper():
    n_steps, c = 7, 2.5
    alpha = LogDivergence(c).alpha(n_steps)
    for level in range(n_steps - 1):
        left = n_steps - level
        assert alpha[level] == pytest.approx(c * math.log(left / (left - 1)))


def test_log_divergence_becomes_a_private_step():
    resolved = resolve_concentration(LogDivergence(2.0), depth=4)
    np.testing.assert_array_equal(resolved.alpha, LogDivergence(2.0).alpha(4)[:3])
    assert resolved.private_step
    assert resolved.depth == 3


@pytest.mark.parametrize(
    ("concentration", "depth", "alpha"),
    [
        (1.5, 3, [1.5, 1.5, 1.5]),
        (2, 1, [2.0]),
        (np.float32(0.5), 2, [0.5, 0.5]),
        ([0.5, 1.0], None, [0.5, 1.0]),
        ([0.5, 1.0], 2, [0.5, 1.0]),
        (np.array([3.0]), None, [3.0]),
        (lambda level: level + 1, 3, [1.0, 2.0, 3.0]),
        (ConstantDivergence(0.7), 2, [0.7, 0.7]),
        (ConstantDivergence(), 2, [1.0, 1.0]),
    ],
)
def test_finite_concentrations_have_no_private_step(concentration, depth, alpha):
    resolved = resolve_concentration(concentration, depth)
    assert resolved.alpha.tolist() == alpha
    assert resolved.depth == len(alpha)
    assert not resolved.private_step
    assert not resolved.alpha.flags.writeable


@pytest.mark.parametrize(
    ("concentration", "depth"),
    [([1.0, 2.0, INF], None), (lambda level: [1.0, 2.0, INF][level], 3)],
)
def test_an_infinite_last_step_is_private(concentration, depth):
    resolved = resolve_concentration(concentration, depth)
    assert resolved.alpha.tolist() == [1.0, 2.0]
    assert resolved.private_step


def test_resolving_twice_changes_nothing():
    once = resolve_concentration(LogDivergence(), depth=4)
    assert resolve_concentration(once) is once
    assert resolve_concentration(once, depth=4) is once


def test_concentrations_do_not_share_memory_with_what_came_in():
    given = np.array([1.0, 2.0])
    resolved = resolve_concentration(given)
    given[0] = -1.0
    assert resolved.alpha.tolist() == [1.0, 2.0]


def test_a_family_of_ones_own_is_a_subclass():
    class Linear(Divergence):
        def shape(self, n_steps):
            return np.arange(1.0, n_steps + 1)

    assert resolve_concentration(Linear(2.0), depth=3).alpha.tolist() == [2.0, 4.0, 6.0]
    assert repr(Linear(2.0)) == "Linear(c=2)"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LogDivergence(0.0), ("c", "0.0", "greater than 0")),
        (lambda: LogDivergence(-1.0), ("c", "-1.0", "greater than 0")),
        (lambda: ConstantDivergence(NAN), ("c", "nan", "greater than 0")),
        (lambda: ConstantDivergence(INF), ("c", "inf", "finite")),
        (lambda: LogDivergence().alpha(0), ("n_steps", "0", "at least 1")),
        (lambda: resolve_concentration(1.0), ("depth", "None", "at least 1")),
        (lambda: resolve_concentration(LogDivergence()), ("depth", "None", "at least 1")),
        (lambda: resolve_concentration(lambda level: 1.0), ("depth", "None", "at least 1")),
        (lambda: resolve_concentration(1.0, 0), ("depth", "0", "at least 1")),
        (lambda: resolve_concentration(1.0, -1), ("depth", "-1", "at least 1")),
        (lambda: resolve_concentration(1.0, 2.5), ("depth", "2.5", "integer")),
        (lambda: resolve_concentration(0.0, 2), ("concentration", "0", "greater than 0")),
        (lambda: resolve_concentration(-1.5, 2), ("concentration", "-1.5", "greater than 0")),
        (lambda: resolve_concentration(NAN, 2), ("concentration", "nan", "greater than 0")),
        (
            lambda: resolve_concentration([1.0, -2.0, 1.0]),
            ("concentration", "-2 at level 1", "greater than 0"),
        ),
        (
            lambda: resolve_concentration([1.0, NAN]),
            ("concentration", "nan at level 1", "greater than 0"),
        ),
        (
            lambda: resolve_concentration(lambda level: 1 - level, 3),
            ("concentration", "0 at level 1", "greater than 0"),
        ),
        (
            lambda: resolve_concentration([INF, 1.0]),
            ("concentration", "infinite at level 0", "only the last of the 2 steps"),
        ),
        (
            lambda: resolve_concentration(INF, 3),
            ("concentration", "infinite at level 0", "only the last of the 3 steps"),
        ),
        (lambda: resolve_concentration(LogDivergence(), 1), ("depth", "got 1", "at least 2")),
        (lambda: resolve_concentration([INF]), ("depth", "got 1", "at least 2")),
        (lambda: resolve_concentration([1.0, 2.0], 3), ("depth is 3", "concentration has 2")),
        (
            lambda: resolve_concentration(resolve_concentration(LogDivergence(), 4), 3),
            ("depth is 3", "concentration has 4"),
        ),
        (lambda: resolve_concentration([], None), ("concentration", "[]", "a number")),
        (lambda: resolve_concentration("high", 2), ("concentration", "'high'", "a number")),
        (lambda: resolve_concentration(True, 2), ("concentration", "True", "a number")),
        (lambda: resolve_concentration([[1.0]], None), ("concentration", "[[1.0]]", "a number")),
        (lambda: resolve_concentration(lambda level: "x", 2), ("concentration", "function")),
        (
            lambda: resolve_concentration([0.1, -0.3], discount=0.3),
            ("concentration", "level 1", "greater than -0.3, the discount below 0"),
        ),
        (
            lambda: resolve_concentration(Concentration([-0.2], discount=0.3), discount=0.1),
            ("concentration", "-0.2", "greater than -0.1"),
        ),
        (
            lambda: Concentration([0.1], discount=1.0),
            ("discount", "1.0", "[0, 1)"),
        ),
        (
            lambda: resolve_concentration(Concentration(np.array([-1.0]))),
            ("concentration", "-1 at level 0", "greater than 0"),
        ),
    ],
)
def test_bad_concentrations_are_named(call, words):
    assert_rejected(call, *words)


def test_an_error_inside_a_function_of_the_level_is_shown():
    def broken(level):
        raise ValueError("no concentration for this level")

    with pytest.raises(ValueError, match="no concentration for this level"):
        resolve_concentration(broken, 2)


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_diffusion_is_the_log_divergence_less_the_discount(discount):
    log, less = (
        resolve_concentration(family(0.5), depth=6, discount=discount)
        for family in (LogDivergence, DiffusionDivergence)
    )
    np.testing.assert_array_equal(less.alpha, log.alpha - discount)
    assert (less.alpha > -discount).all()
    assert less.private_step
    assert less.discount == discount
    assert resolve_concentration(less, discount=discount) is less
