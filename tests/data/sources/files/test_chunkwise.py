"""A fitted mixture answers about tables that are read in chunks."""

import warnings

import numpy as np
import pandas as pd
import pytest

from sticktree import DFPMixture
from sticktree.chunks import ChunkedTable, open_table
from sticktree.posterior.draws import ConvergenceWarning

QUESTIONS = ("score_samples", "predict", "predict_proba", "transform")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(ChunkedTable, "chunk_rows", 7)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(0, 1, (15, 2)), rng.normal(8, 1, (15, 2))])


def fitted(rows):
    mixture = DFPMixture(
        covariance_type="full", leaf_noise="shared", n_chains=2, n_warmup=20, n_draws=20
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of so short a run
        return mixture.set_params(random_state=0).fit(rows)


def test_answers_are_those_of_all_rows_at_once(rows, tmp_path, monkeypatch):
    mixture = fitted(rows)
    np.save(tmp_path / "x.npy", rows)
    lengths = []
    asked = mixture._asked

    def counting(x, *others):
        lengths.append(len(x))
        return asked(x, *others)

    for question in QUESTIONS:
        answer = getattr(mixture, question)
        whole = answer(rows)
        for table in (open_table(tmp_path / "x.npy"), np.load(tmp_path / "x.npy", mmap_mode="r")):
            with monkeypatch.context() as patch:
                patch.setattr(mixture, "_asked", counting)
                np.testing.assert_allclose(answer(table), whole)
    assert max(lengths) <= 7
    assert mixture.score(open_table(tmp_path / "x.npy")) == pytest.approx(mixture.score(rows))
    level = mixture.predict(open_table(tmp_path / "x.npy"), level=1)
    np.testing.assert_array_equal(level, mixture.predict(rows, level=1))


def test_names_go_with_the_rows(rows, tmp_path):
    frame = pd.DataFrame(rows, columns=["a", "b"])
    mixture = fitted(frame)
    frame.to_parquet(tmp_path / "x.parquet")
    table = open_table(tmp_path / "x.parquet")
    np.testing.assert_allclose(mixture.score_samples(table), mixture.score_samples(frame))
    with pytest.raises(ValueError, match="feature names"):
        mixture.score_samples(table.named(["a", "c"]))


def test_tables_of_another_width_are_refused(rows):
    mixture = fitted(rows)
    with pytest.raises(ValueError, match="3 features"):
        mixture.predict(open_table(np.zeros((20, 3))))
