"""Checkpoints: runs go on to the identical draws, or say clearly why they cannot."""

import gc
import json
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import sticktree.inference.fitting
from sticktree import DFPMixture
from sticktree.engine.shared.chain import Chain
from sticktree.inference.runner import Run, Schedule
from sticktree.io.checkpoint import Checkpoint
from sticktree.model import Model
from sticktree.posterior.draws import ConvergenceWarning
from tests.support.training import training_of

FORMS = ["spherical", "diag", "full"]


def rows(n_rows=20, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, 2)) + np.repeat([0.0, 9.0], n_rows // 2)[:, None]


def quiet_fit(mixture, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(data)


def fit(data, **parameters):
    quick = {
        "covariance_type": "full",
        "depth": 3,
        "n_chains": 2,
        "n_warmup": 10,
        "n_draws": 10,
        "random_state": 0,
    }
    return quiet_fit(DFPMixture(**quick | parameters), data)


def assert_same_draws(first, second):
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert a.parameters.keys() == b.parameters.keys()
        arrays = [(a.leaf, b.leaf), (a.parent, b.parent), (a.level, b.level)]
        arrays += [(a.parameters[name], b.parameters[name]) for name in a.parameters]
        for mine, other in arrays:
            assert mine.dtype == other.dtype
            np.testing.assert_array_equal(mine, other)
        assert (a.traced, a.concentration, a.discount, a.log_joint) == (
            b.traced,
            b.concentration,
            b.discount,
            b.log_joint,
        )


# ---- going on ----------------------------------------------------------------------------------


@pytest.mark.parametrize("discount", [0.0, None])
@pytest.mark.parametrize("form", FORMS)
def test_short_run_goes_on_to_the_draws_of_a_long_one(tmp_path, form, discount):
    choices = {"covariance_type": form, "discount": discount, "thin": 2}
    fit(rows(), n_draws=4, checkpoint=tmp_path, **choices)
    resumed = fit(rows(), n_draws=10, checkpoint=tmp_path, **choices)
    whole = fit(rows(), n_draws=10, **choices)
    assert_same_draws(resumed.posterior_.draws, whole.posterior_.draws)
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    np.testing.assert_array_equal(resumed.score_samples(rows()), whole.score_samples(rows()))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_sweeps", [4, 16], ids=["in warm-up", "after warm-up"])
def test_run_that_died_goes_on_from_where_it_was_saved(tmp_path, monkeypatch, form, n_sweeps):
    original = Chain.sweep

    def sweep_and_die(self, tune):
        self.n_done = getattr(self, "n_done", 0) + 1
        if self.n_done > n_sweeps:
            raise RuntimeError("out of memory")
        return original(self, tune=tune)

    with monkeypatch.context() as patch:
        patch.setattr(sticktree.inference.fitting, "SECONDS_BETWEEN_SAVES", -1.0)
        patch.setattr(Chain, "sweep", sweep_and_die)
        with pytest.raises(RuntimeError, match="out of memory"):
            fit(rows(), covariance_type=form, checkpoint=tmp_path)
    found = [int(np.load(path)["n_sweeps"]) for path in tmp_path.glob("chain-*.npz")]
    assert max(found) == n_sweeps  # others are stopped where they are
    resumed = fit(rows(), covariance_type=form, checkpoint=tmp_path)
    assert_same_draws(resumed.posterior_.draws, fit(rows(), covariance_type=form).posterior_.draws)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_draws", [0, 6])
def test_interrupted_run_goes_on_to_the_draws_of_a_whole_one(tmp_path, monkeypatch, form, n_draws):
    def interrupted(runs, schedule, n_jobs, watch, data=None, limit=None):
        for run in runs:
            for _ in run.sweeps(Schedule(schedule.n_warmup, n_draws)):
                pass
        return False

    with monkeypatch.context() as patch:
        patch.setattr(sticktree.inference.fitting, "sample", interrupted)
        with pytest.raises(KeyboardInterrupt) if n_draws == 0 else nullcontext():
            fit(rows(), covariance_type=form, checkpoint=tmp_path)
    resumed = fit(rows(), covariance_type=form, checkpoint=tmp_path)
    whole = fit(rows(), covariance_type=form)
    assert_same_draws(resumed.posterior_.draws, whole.posterior_.draws)


def test_chain_that_was_never_saved_starts_anew(tmp_path):
    fit(rows(), checkpoint=tmp_path)
    (tmp_path / "chain-1.npz").unlink()
    resumed = fit(rows(), checkpoint=tmp_path)
    assert_same_draws(resumed.posterior_.draws, fit(rows()).posterior_.draws)


def test_finished_run_is_read_without_a_sweep(tmp_path, monkeypatch):
    whole = fit(rows(), checkpoint=tmp_path)
    monkeypatch.setattr(Chain, "sweep", lambda *_, **__: pytest.fail("swept"))
    again = fit(rows(), checkpoint=tmp_path)
    assert_same_draws(again.posterior_.draws, whole.posterior_.draws)


def test_what_does_not_change_the_draws_may_change(tmp_path):
    fit(rows(), checkpoint=str(tmp_path))
    free = {"n_jobs": 1, "level": 1, "progress": False, "warm_start": True, "n_draws": 12}
    resumed = fit(rows(), checkpoint=tmp_path, **free)
    assert_same_draws(resumed.posterior_.draws, fit(rows(), n_draws=12).posterior_.draws)


def test_folder_and_those_above_it_are_made(tmp_path):
    folder = tmp_path / "all" / "runs"
    fit(rows(), checkpoint=folder)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["chain-0.npz", "chain-1.npz", "run.json"]


def test_checkpoint_does_not_change_the_draws(tmp_path, monkeypatch):
    monkeypatch.setattr(sticktree.inference.fitting, "SECONDS_BETWEEN_SAVES", -1.0)
    saved = fit(rows(), checkpoint=tmp_path)
    assert_same_draws(saved.posterior_.draws, fit(rows()).posterior_.draws)


def test_warm_start_goes_on_in_the_checkpoint(tmp_path):
    mixture = fit(rows(), warm_start=True, checkpoint=tmp_path)
    quiet_fit(mixture, rows())
    fresh = fit(rows(), n_draws=20, checkpoint=tmp_path)
    assert_same_draws(mixture.posterior_.draws, fresh.posterior_.draws)
    assert_same_draws(fresh.posterior_.draws, fit(rows(), n_draws=20).posterior_.draws)


def test_checkpoint_may_be_asked_for_when_warm_start_goes_on(tmp_path):
    mixture = fit(rows(), warm_start=True).set_params(checkpoint=tmp_path / "new")
    quiet_fit(mixture, rows())
    fresh = fit(rows(), n_draws=20, checkpoint=tmp_path / "new")
    assert_same_draws(mixture.posterior_.draws, fresh.posterior_.draws)


def test_warm_start_does_not_overwrite_another_run(tmp_path):
    fit(rows(seed=1), checkpoint=tmp_path)
    before = (tmp_path / "chain-0.npz").read_bytes()
    mixture = fit(rows(), warm_start=True).set_params(checkpoint=tmp_path)
    with pytest.raises(ValueError, match="holds a run with other data"):
        quiet_fit(mixture, rows())
    assert (tmp_path / "chain-0.npz").read_bytes() == before


# ---- refusing ----------------------------------------------------------------------------------


def assert_refused(folder, *reasons, data=None, **parameters):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are the match
        fit(rows() if data is None else data, checkpoint=folder, **parameters)
    for words in (str(folder), *reasons):
        assert words in str(caught.value)


def test_needs_a_seed(tmp_path):
    with pytest.raises(ValueError, match="random_state must be an integer where"):
        fit(rows(), checkpoint=tmp_path, random_state=None)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("data", "reason"),
    [(rows(seed=1), "other data"), (rows(22), "other shape"), (rows()[:, :1], "other shape")],
    ids=["values", "rows", "columns"],
)
def test_other_data_are_refused(tmp_path, data, reason):
    fit(rows(), checkpoint=tmp_path)
    assert_refused(tmp_path, reason, "choose another folder", data=data)


@pytest.mark.parametrize(
    "change",
    [
        {"depth": 4},
        {"divergence": "constant"},
        {"concentration": 1.0},
        {"discount": 0.1},
        {"covariance_type": "diag"},
        {"scales": "shared"},
        {"precision_prior": (1.0, 1.0)},
        {"n_chains": 3},
        {"n_warmup": 11},
        {"thin": 2},
        {"random_state": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_other_parameters_are_refused(tmp_path, change):
    fit(rows(), checkpoint=tmp_path)
    assert_refused(tmp_path, "other parameters", "choose another folder", **change)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"null", b'{"format": "another"}', b"\xff\xfe\x00"],
    ids=["empty", "cut", "list", "null", "another format", "no text"],
)
def test_damaged_description_is_refused(tmp_path, content):
    fit(rows(), checkpoint=tmp_path)
    (tmp_path / "run.json").write_bytes(content)
    assert_refused(tmp_path, "run.json", "damaged")


@pytest.mark.parametrize("version", [0, 1, 3, None, "2"])
def test_other_versions_are_refused(tmp_path, version):
    fit(rows(), checkpoint=tmp_path)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": version}))
    assert_refused(tmp_path, f"version {version!r}", "reads 2")


def damage(path, kind):
    whole = path.read_bytes()
    if kind == "array":
        with path.open("wb") as file:
            np.save(file, np.arange(3))
    elif kind in ("generator", "missing"):
        with np.load(path) as file:
            arrays = dict(file)
        arrays["generator"] = np.array("nonsense")
        if kind == "missing":
            del arrays["generator"]
        with path.open("wb") as file:
            np.savez(file, **arrays)
    else:
        path.write_bytes({"empty": b"", "text": b"not numbers", "cut": whole[:-100]}[kind])


@pytest.mark.parametrize("kind", ["empty", "text", "cut", "array", "missing", "generator"])
def test_damaged_chain_is_refused(tmp_path, kind):
    fit(rows(), checkpoint=tmp_path)
    damage(tmp_path / "chain-1.npz", kind)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        assert_refused(tmp_path, "chain-1.npz", "damaged")
        gc.collect()
    assert not caught, "the file was left open"


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # files left open: see the test above
def test_wrong_byte_is_noticed_or_does_not_matter(tmp_path):
    whole = fit(rows(), checkpoint=tmp_path).posterior_.draws
    path = tmp_path / "chain-1.npz"
    content = path.read_bytes()
    problems = set()
    for place in np.linspace(0, len(content) - 1, 40).astype(int):
        path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        try:
            resumed = fit(rows(), checkpoint=tmp_path)
        except Exception as error:
            if not isinstance(error, ValueError) or str(path) not in str(error):
                problems.add(repr(error))
        else:
            assert_same_draws(resumed.posterior_.draws, whole)
    gc.collect()
    assert not problems


def test_refused_folder_is_left_as_it_was(tmp_path):
    fit(rows(), checkpoint=tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert_refused(tmp_path, "other data", data=rows(seed=1))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


# ---- files -------------------------------------------------------------------------------------


def test_nothing_is_pickled(tmp_path):
    fit(rows(), checkpoint=tmp_path, divergence=[1.0, 0.5, 0.2])
    with (tmp_path / "run.json").open(encoding="utf-8") as file:
        header = json.load(file)
    assert header["format"] == "sticktree.checkpoint"
    assert header["parameters"]["divergence"] == "[1.0, 0.5, 0.2]"
    for k in range(2):
        with np.load(tmp_path / f"chain-{k}.npz", allow_pickle=False) as file:
            assert all(not file[name].dtype.hasobject for name in file.files)


@pytest.fixture
def checkpoint(tmp_path):
    """Return a checkpoint and a run with a few draws."""
    data = (rows() - 4.5) / 4.5
    run = Run.start(training_of(data), Model(np.ones(2)), np.random.SeedSequence(0))
    checkpoint = Checkpoint(tmp_path, training_of(data), {})
    checkpoint.begin()
    for _ in run.sweeps(Schedule(2, 3)):
        pass
    return checkpoint, run


def test_failure_while_writing_leaves_the_former_file(checkpoint, monkeypatch):
    checkpoint, run = checkpoint
    checkpoint.save(0, run)
    path = checkpoint.folder / "chain-0.npz"
    before = path.read_bytes()
    names = sorted(checkpoint.folder.iterdir())

    def fail(file, **arrays):
        file.write(b"half of")
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez_compressed", fail)
        with pytest.raises(OSError, match="no space left"):
            checkpoint.save(0, run)
        with pytest.raises(OSError, match="no space left"):
            checkpoint.save(1, run)
    assert path.read_bytes() == before
    assert sorted(checkpoint.folder.iterdir()) == names


def test_parameters_of_any_shape_survive_the_file(checkpoint):
    checkpoint, run = checkpoint
    for k, draw in enumerate(run.draws):
        draw.parameters["table"] = np.arange(2.0 * k).reshape(k, 2)
        draw.parameters["none"] = np.empty(0)
        draw.parameters["counts"] = np.arange(3 - k, dtype=np.int32)
    checkpoint.save(0, run)
    loaded = checkpoint.load(0, run.chain.model)
    assert_same_draws(loaded.draws, run.draws)
    assert loaded.draws[0].parameters["table"].shape == (0, 2)


def test_run_without_draws_survives_its_file(checkpoint):
    checkpoint, run = checkpoint
    run.draws.clear()
    checkpoint.save(0, run)
    loaded = checkpoint.load(0, run.chain.model)
    assert (loaded.draws, loaded.n_sweeps) == ([], 5)
    assert checkpoint.load(1, run.chain.model) is None
