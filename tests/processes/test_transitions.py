import math

import numpy as np
import pytest
from scipy import stats

from sticktree.processes import GaussianTransition, TransitionOperator
from tests.support.checks import assert_rejected
from tests.support.statistics import assert_law, assert_mean

NAN, INF = math.nan, math.inf

FULL = [[2.0, 0.6, 0.0], [0.6, 1.0, -0.3], [0.0, -0.3, 0.5]]
SCALES = [4.0, 2.0, 0.5, 0.1]

STEPS = {
    "spherical": (GaussianTransition(1.7, dimension=3), 1.7 * np.eye(3)),
    "spherical, one dimension": (GaussianTransition(0.3, noise=2.0), 0.3 * np.eye(1)),
    "diag": (
        GaussianTransition([0.5, 1.0, 3.0], level_scales=SCALES, noise=0.7, mean=[1, 2, 3]),
        np.diag([0.5, 1.0, 3.0]),
    ),
    "full": (
        GaussianTransition(FULL, level_scales=lambda level: 2.0**-level, noise=0.2, mean=-1.0),
        np.array(FULL),
    ),
}
EACH = pytest.mark.parametrize(("step", "sigma"), STEPS.values(), ids=STEPS)


def log_density(points, mean, covariance):
    return [
        stats.multivariate_normal(np.broadcast_to(m, len(covariance)), covariance).logpdf(x)
        for x, m in zip(points, mean, strict=True)
    ]


@EACH
def test_log_densities_are_gaussian(step, sigma):
    rng = np.random.default_rng(1)
    points, parents = rng.normal(size=(2, 6, step.dimension))
    np.testing.assert_allclose(
        step.log_density_root(points),
        log_density(points, [step.mean] * 6, step.scale(0) * sigma),
        rtol=1e-12,
    )
    for level in (1, 3):
        np.testing.assert_allclose(
            step.log_density_step(points, parents, level),
            log_density(points, parents, step.scale(level) * sigma),
            rtol=1e-12,
        )
    np.testing.assert_allclose(
        step.log_density_data(points, parents),
        log_density(points, parents, step.noise * sigma),
        rtol=1e-12,
    )


def assert_moments(draws, mean, covariance):
    # First and second moments about the known mean.
    centred = draws - mean
    assert_mean(centred, np.zeros(len(covariance)))
    products = centred[:, :, None] * centred[:, None, :]
    assert_mean(products.reshape(len(draws), -1), covariance)


@EACH
def test_samples_have_the_moments_of_their_density(step, sigma):
    rng = np.random.default_rng(2)
    n = 5000
    parents = np.tile(np.arange(1.0, step.dimension + 1), (n, 1))
    roots = np.concatenate([step.sample_root(rng) for _ in range(2000)])
    assert_moments(roots, step.mean, step.scale(0) * sigma)
    for level in (1, 3):
        children = step.sample_step(parents, level, rng)
        assert_moments(children, parents, step.scale(level) * sigma)
    data = step.sample_data(parents, rng)
    assert_moments(data, parents, step.noise * sigma)


@EACH
def test_samples_have_their_density_as_a_whole(step, sigma):
    # Twice the log density below its peak is chi-square with D degrees of freedom.
    rng = np.random.default_rng(3)
    parents = rng.normal(size=(3000, step.dimension))
    children = step.sample_step(parents, 2, rng)
    peak = step.log_density_step(parents, parents, 2)
    distance = 2 * (peak - step.log_density_step(children, parents, 2))
    assert_law(distance, stats.chi2(step.dimension))


@EACH
def test_rows_are_independent_of_each_other(step, sigma):
    rng = np.random.default_rng(4)
    pairs = step.sample_step(np.zeros((10_000, step.dimension)), 1, rng).reshape(
        5000, 2, step.dimension
    )
    assert_mean(pairs[:, 0, 0] * pairs[:, 1, 0], 0.0)


@EACH
def test_shapes(step, sigma):
    rng = np.random.default_rng(5)
    assert step.sample_root(rng).shape == (1, step.dimension)
    for n in (0, 1, 4):
        parents = np.zeros((n, step.dimension))
        assert step.sample_step(parents, 1, rng).shape == (n, step.dimension)
        assert step.sample_data(parents, rng).shape == (n, step.dimension)
        assert step.log_density_step(parents, parents, 1).shape == (n,)


def test_covariance_types():
    assert [step.covariance_type for step, _ in STEPS.values()] == [
        "spherical",
        "spherical",
        "diag",
        "full",
    ]
    assert [step.dimension for step, _ in STEPS.values()] == [3, 1, 3, 3]


def test_scales_by_level():
    assert [GaussianTransition().scale(level) for level in (0, 7)] == [1.0, 1.0]
    assert [STEPS["diag"][0].scale(level) for level in range(4)] == SCALES
    assert [STEPS["full"][0].scale(level) for level in (0, 3)] == [1.0, 0.125]


def test_without_noise_data_are_at_their_locations():
    step = GaussianTransition(dimension=2, noise=0)
    locations = np.ones((3, 2))
    data = step.sample_data(locations, np.random.default_rng(6))
    np.testing.assert_array_equal(data, locations)
    assert not np.shares_memory(data, locations)


def test_parameters_do_not_share_memory_with_what_came_in():
    covariance, scales, mean = np.eye(2), np.ones(3), np.zeros(2)
    step = GaussianTransition(covariance, level_scales=scales, mean=mean)
    for array in (covariance, scales, mean):
        array[...] = NAN
    assert np.isfinite(step.log_density_root(np.zeros((1, 2)))).all()


def test_the_interface_cannot_be_used_by_itself():
    with pytest.raises(TypeError, match="abstract"):
        TransitionOperator()


def scaled(scales, level):
    return GaussianTransition(level_scales=scales).scale(level)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        *(
            (
                lambda covariance=covariance: GaussianTransition(covariance),
                ("covariance", repr(covariance), "symmetric positive definite"),
            )
            for covariance in (
                0.0,
                -1.0,
                NAN,
                INF,
                [1.0, -1.0],
                [1.0, 0.0],
                [],
                [[1.0, 0.5], [0.4, 1.0]],
                [[1e-9, 5e-10], [-5e-10, 1e-9]],
                [[1.0, 2.0], [2.0, 1.0]],
                [[1.0, 1.0], [1.0, 1.0]],
                [[-1.0, 0.0], [0.0, 1.0]],
                [[1.0, NAN], [NAN, 1.0]],
                [[1.0, 0.0]],
                [[[1.0]]],
                "wide",
                [[1.0, 2.0], [3.0]],
            )
        ),
        (lambda: GaussianTransition(dimension=0), ("dimension", "0", "at least 1")),
        (lambda: GaussianTransition(dimension=1.5), ("dimension", "1.5", "integer")),
        (
            lambda: GaussianTransition([1.0, 1.0], dimension=3),
            ("dimension is 3", "covariance", "(2,)"),
        ),
        (lambda: GaussianTransition(noise=-0.1), ("noise", "-0.1", "at least 0")),
        (lambda: GaussianTransition(noise=NAN), ("noise", "nan", "at least 0")),
        (lambda: GaussianTransition(noise=INF), ("noise", "inf", "finite")),
        (lambda: GaussianTransition(mean=INF), ("mean", "inf", "finite")),
        (lambda: GaussianTransition(dimension=2, mean=[0, NAN]), ("mean", "nan", "finite")),
        (lambda: GaussianTransition(dimension=2, mean=[0.0, 1.0, 2.0]), ("mean", "2")),
        (lambda: GaussianTransition(mean="centre"), ("mean", "centre")),
        (
            lambda: GaussianTransition(level_scales=[1.0, 0.0]),
            ("level_scales[1]", "0.0", "greater"),
        ),
        (lambda: GaussianTransition(level_scales=[-1.0]), ("level_scales[0]", "-1.0", "greater")),
        (lambda: GaussianTransition(level_scales=[NAN]), ("level_scales[0]", "nan", "greater")),
        (lambda: GaussianTransition(level_scales=[INF]), ("level_scales[0]", "inf", "finite")),
        (lambda: GaussianTransition(level_scales=[[1.0, 2.0]]), ("level_scales",)),
        (lambda: GaussianTransition(level_scales="wide"), ("level_scales", "wide")),
        (lambda: scaled([1.0, 2.0], 2), ("level_scales", "got 2", "3 entries")),
        (lambda: scaled(lambda level: -1.0, 2), ("level_scales(2)", "-1.0", "greater than 0")),
        (
            lambda: GaussianTransition(noise=0).log_density_data(
                np.zeros((1, 1)), np.zeros((1, 1))
            ),
            ("noise", "0", "no density"),
        ),
    ],
)
def test_bad_parameters_are_named(call, words):
    assert_rejected(call, *words)
