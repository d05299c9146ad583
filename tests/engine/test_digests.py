"""Draws of all engines, frozen: code that moves or is renamed must not change them.

Trees are compared by a digest, numbers up to rounding. Where a change of the draws is meant,
``python -m tests.engine.test_digests`` writes the new ones.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from sticktree.engine import engine_of, parallel_chain_of
from sticktree.model import Column, Model
from tests.support.bulk import rows_of

STORED = Path(__file__).with_name("digests.json")
N_ROWS, N_SWEEPS, SEEDS = 24, 6, (0, 1)
SHAPE = np.array([0.8, 0.7, 1.1])
PRIORS = {"precision_prior": (1.0, None), "scale_prior": (1.0, 10.0)}
KINDS = ("gaussian", "categorical", "poisson", "negative_binomial", "gaussian")
MIXED = tuple(
    Column(kind, 3 if kind == "categorical" else 1, 0.01 if kind == "gaussian" else 0.0)
    for kind in KINDS
)
FORMS = ("spherical", "diag", "full")


def models():
    """Yield a name and a model for each engine, noise and form, and whether there are gaps."""
    for form in FORMS:
        for gaps in (False, True):
            name = f"{form}{' with gaps' * gaps}"
            shared = Model(SHAPE, covariance_type=form, discount=None, **PRIORS)
            own = Model(SHAPE[:2], covariance_type=form, leaf_noise="own")
            for noise, model in (("shared", shared), ("own", own)):
                yield f"{noise} {name}", model, gaps, False
                yield f"many rows, {noise} {name}", model, gaps, True
            mixed = Model(SHAPE[:2], covariance_type=form, leaf_noise="own", columns=MIXED)
            yield f"mixed {name}", mixed, gaps, False
    yield "one scale", Model(SHAPE, True, "full", "shared", discount=0.3), False, False
    deep = np.log(np.arange(16, 1, -1) / np.arange(15, 0, -1))
    yield "deep", Model(deep, True, "full", **PRIORS), False, False
    fine = Model(np.full(6, 0.4), less_discount=True, discount=0.1, concentration=1.0)
    yield "less discount", fine, False, False


CASES = {name: (model, gaps, bulk) for name, model, gaps, bulk in models()}


def data_of(model, gaps):
    rng = np.random.default_rng(4)
    columns = model.columns or (Column(),) * 2
    group = rng.integers(4, size=N_ROWS)
    data = np.empty((N_ROWS, len(columns)))
    for d, column in enumerate(columns):
        centre = rng.normal(size=4)
        if column.kind == "gaussian":
            data[:, d] = centre[group] + 0.2 * rng.normal(size=N_ROWS)
        elif column.kind == "categorical":
            data[:, d] = (group + rng.integers(2, size=N_ROWS)) % column.n_categories
        else:
            data[:, d] = rng.poisson(np.exp(1.0 + centre[group]))
    if gaps:
        data[2::5, 0] = data[1::7, -1] = np.nan
    return data


def outcome(name):
    """Return a digest of all trees of short chains, and the last log joint densities and c."""
    model, gaps, bulk = CASES[name]
    data, digest, numbers = data_of(model, gaps), hashlib.sha256(), []
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        if bulk:
            chain = parallel_chain_of(model)(rows_of(data), model, rng)
        else:
            chain = engine_of(model).chain(data, model, rng)
        for sweep in range(N_SWEEPS):
            chain.sweep(tune=sweep < N_SWEEPS // 2)
            draw = chain.draw()
            for array in (draw.leaf, draw.parent, draw.level):
                digest.update(array.astype(np.int32).tobytes())
        numbers += [draw.log_joint, draw.concentration]
    return {"trees": digest.hexdigest()[:16], "numbers": [float(f"{x:.8g}") for x in numbers]}


@pytest.mark.parametrize("name", CASES)
def test_draws_are_those_that_were_frozen(name):
    found, frozen = outcome(name), json.loads(STORED.read_text())[name]
    assert found["trees"] == frozen["trees"]
    assert found["numbers"] == pytest.approx(frozen["numbers"], rel=1e-5)


if __name__ == "__main__":
    results = {name: outcome(name) for name in CASES}
    STORED.write_text(json.dumps(results, indent=1) + "\n")
