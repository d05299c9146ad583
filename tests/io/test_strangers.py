"""Files from strangers: numbers in them that would crash a kernel, or fill the memory."""

import io
import json
import warnings
import zipfile

import numpy as np
import pytest

import sticktree
from sticktree import DFPMixture
from sticktree.engine.own.state import PHI
from sticktree.inference.packing import pack_chain, pack_draws
from sticktree.io import annotations
from sticktree.io.checkpoint import ProvenanceWarning
from sticktree.io.laws import CHAIN, DRAW, sizes_of
from sticktree.io.outlines import check_draws
from sticktree.io.sound_chains import check_chains
from sticktree.io.sound_draws import check_packed
from tests.fuzz.mutations import members_of, npy, zipped
from tests.support.saved import CASES, fit, rows


@pytest.fixture(scope="module")
def content(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "it.sticktree"
    sticktree.save(fitted("shared")[0], path)
    return path.read_bytes()


def changed(content, name, change):
    """Return a file in which an array is another; arrays are named as in the document."""
    members = members_of(content)
    document = members["document.json"].decode()
    place = document.index(f'["{name}",{{"array":') + len(f'["{name}",{{"array":')
    member = f"arrays/{int(document[place:].partition('}')[0])}.npy"
    array = np.load(io.BytesIO(members[member]))
    return zipped(members | {member: npy(change(array))})


def refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is damaged, or not a sticktree file") as caught:
        sticktree.load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def entry(place, value):
    def change(array):
        array[place] = value
        return array

    return change


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("draw_leaf", entry((0, 3), 200), "sits in a node that is not there"),
        ("draw_parent", entry(1, 200), "comes before its parent"),
        ("draw_parent", entry(2, 3), "comes before its parent"),
        ("draw_level", entry(1, 0), "is not below its parent"),
        ("draw_level", lambda level: level + (level == level.max()), "other levels"),
        ("draw_sizes", entry(0, 10**9), "of other nodes than draws have"),
        ("draw_sizes", entry(slice(2), (2**62, -(2**62))), "has no nodes"),
        ("draw_scalars", entry((0, 0), np.nan), "draw_scalars"),
        ("draw_scalars", entry((0, 1), 1.0), "discounts"),
        ("draw_values_factor", entry(0, np.inf), "factor"),
        ("draw_shapes_factor", entry((0, 0), 2**40), "factor has other shapes"),
        ("chain_sizes", entry(3, 10**9), "number of leaves"),
        ("chain_sizes", entry(2, 10**9), "nodes were made"),
        ("chain_sizes", entry(1, 0), "list of free nodes"),
        ("chain_leaf", entry(0, 10**6), "sits in a node that is not there"),
        ("chain_words", lambda words: words * 0, "random numbers"),
        ("chain_factor", lambda factor: factor * 0, "ingular"),
        ("chain_factor", entry(0, 1e-300), "singular"),
        ("chain_leaves", lambda leaves: leaves[::-1], "listed"),
    ],
)
def test_numbers_that_would_crash_a_kernel_are_refused(content, tmp_path, name, change, words):
    assert words in refused(tmp_path / "it", changed(content, name, change))


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    path = tmp_path_factory.mktemp("grouped") / "it.sticktree"
    quick = {"n_chains": 1, "n_warmup": 4, "n_draws": 4, "random_state": 0, "algorithm": "gibbs"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture = DFPMixture(2, covariance_type="full", leaf_noise="shared", **quick)
        mixture.fit(rows(), groups=np.arange(24) % 3)
    sticktree.save(mixture, path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("draw_values_stick", lambda stick: -stick, "stick"),
        ("draw_values_rest", entry(0, 0.0), "must be shares"),
        ("draw_values_group_concentration", entry(0, np.nan), "group_concentration"),
        ("chain_seated", entry((0, 0), 10**12), "do not sit where they are counted"),
        ("chain_seated", lambda seated: seated[:, :-1], "seated must have the shape"),
        ("chain_rest", entry((0, 0), 7.0), "must be shares"),
        ("chain_gamma", entry(0, 0.0), "gamma"),
    ],
)
def test_groups_are_counted_as_their_rows_sit(grouped, tmp_path, name, change, words):
    assert words in refused(tmp_path / "it", changed(grouped, name, change))


@pytest.mark.parametrize("group", [-1, 5, 10**6])
def test_groups_of_a_model_are_those_of_the_rows(grouped, tmp_path, group):
    members = members_of(grouped)
    document = json.loads(members["document.json"])
    place = document["training"]["TrainingData"]["groups"]["RowGroups"]["of_data"]
    member = f"arrays/{next(iter(place.values()))}.npy"
    of_data = np.load(io.BytesIO(members[member]))
    of_data[3] = group
    refused(tmp_path / "it", zipped(members | {member: npy(of_data)}))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("parent", 10**6),
        ("first_child", 10**6),
        ("next_sibling", -7),
        ("n", 0),
        ("n_children", 9),
        ("level", 9),
        ("slot", 10**6),
    ],
)
def test_links_of_a_chain_are_those_of_a_tree(content, tmp_path, field, value):
    def change(nodes):
        nodes[field][np.flatnonzero(nodes["level"] == nodes["level"].max())[0]] = value
        return nodes

    refused(tmp_path / "it", changed(content, "chain_nodes", change))


def test_categories_have_no_units(fitted, tmp_path):
    # New rows were looked for in a table of categories, 1e8 places beyond its end.
    path = tmp_path / "it"
    sticktree.save(fitted("mixed")[0], path)
    members = members_of(path.read_bytes())
    scaling = json.loads(members["document.json"])["training"]["TrainingData"]["scaling"]
    for name in ("centre", "spread"):
        member = f"arrays/{scaling['Scaling'][name]['array']}.npy"
        array = np.load(io.BytesIO(members[member]))
        array[4] = 1e8
        assert "has units" in refused(path, zipped(members | {member: npy(array)}))


@pytest.mark.parametrize("known", [["ape", ["bee"], "x"], ["ape", "ape", "x"], ["ape", None, "x"]])
def test_categories_are_different_values(fitted, tmp_path, known):
    path = tmp_path / "it"
    sticktree.save(fitted("mixed")[0], path)
    members = members_of(path.read_bytes())
    document = json.loads(members["document.json"])
    columns = document["training"]["TrainingData"]["scaling"]["Scaling"]["columns"]["Columns"]
    columns["categories"]["tuple"][3] = {"tuple": known}
    made = members | {"document.json": json.dumps(document).encode()}
    assert "categories of column 3" in refused(path, zipped(made))


@pytest.mark.parametrize("stream", [[], {"Stream": {"batches": {"tuple": [1.0]}}}])
def test_stream_that_is_none_is_refused(content, tmp_path, stream):
    members = members_of(content)
    document = json.loads(members["document.json"]) | {"stream": stream}
    made = members | {"document.json": json.dumps(document).encode()}
    assert "stream" in refused(tmp_path / "it", zipped(made))


def test_member_that_says_it_is_huge_is_refused_before_room_is_made(content, tmp_path):
    members = members_of(content)
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }\n"
    huge = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text
    words = refused(tmp_path / "it", zipped(members | {"arrays/0.npy": huge}))
    assert "takes 800,000,000,000 bytes, and 0 are there" in words


def test_bomb_is_refused_with_the_limit_and_what_lifts_it(content, tmp_path, monkeypatch):
    path = tmp_path / "it"
    path.write_bytes(zipped(members_of(content) | {"arrays/0.npy": bytes(10**6)}))
    monkeypatch.setenv("STICKTREE_MAX_UNPACKED", "500K")
    with pytest.raises(ValueError, match=r"it unpacks to more than 0.0005 GB.*MAX_UNPACKED") as c:
        sticktree.load(path)
    assert "damaged" not in str(c.value)
    path.write_bytes(content)
    sticktree.load(path)


@pytest.mark.parametrize(("place", "value"), [(8, 1), (10, 14), (10, 99)], ids=str)
def test_flags_of_a_zip_are_refused(content, tmp_path, place, value):
    wrong = bytearray(content)
    wrong[content.index(b"PK\x01\x02") + place] = value
    refused(tmp_path / "it", bytes(wrong))


def test_values_that_would_fill_the_memory_are_counted_before_they_are_made(
    content, tmp_path, monkeypatch
):
    monkeypatch.setenv("STICKTREE_MAX_UNPACKED", "50M")
    path = tmp_path / "it"
    path.write_bytes(zipped(members_of(content) | {"document.json": b"[" + b"[]," * 10**6 + b"1]"}))
    with pytest.raises(ValueError, match="unpacks to more than"):
        sticktree.load(path)


@pytest.mark.parametrize("attribute", ["predict", "__class__", "fit_"])
def test_only_what_an_estimator_has_is_set(content, tmp_path, attribute):
    members = members_of(content)
    document = json.loads(members["document.json"])
    document["attributes"][attribute] = 1
    members["document.json"] = json.dumps(document).encode()
    assert "has no attribute" in refused(tmp_path / "it", zipped(members))


def test_unknown_parameters_of_draws_are_read_if_they_are_numbers(fitted):
    mixture, _, _ = fitted("shared")
    draws = mixture.fit_.sampled.runs[0].draws
    for draw in draws:
        draw.parameters["sparkles"] = np.ones((2, 3))
    packed = pack_draws(draws)
    check_draws(check_packed([packed]), mixture.fit_.model, _sizes(mixture))
    packed["draw_values_sparkles"][0] = np.nan
    with pytest.raises(ValueError, match="sparkles has entries"):
        check_packed([packed])
    for draw in draws:
        del draw.parameters["sparkles"]


def _sizes(mixture):
    training = mixture.fit_.training
    return sizes_of(mixture.fit_.model, training.data, training.n_data, training.parallel)


@pytest.mark.parametrize("case", CASES)
def test_all_arrays_have_their_line(fitted, case):
    mixture, _, _ = fitted(case)
    run = mixture.fit_.sampled.runs[0]
    packed = pack_chain(run.chain)
    arrays = {name.removeprefix("chain_") for name in packed if name.startswith("chain_")}
    new = (run.draws[0].parameters.keys() - DRAW.keys()) | (arrays - CHAIN.keys())
    assert not new, "give it a line in sticktree.io.laws, or its shape is not looked at"
    check_chains([packed], mixture.fit_.model, _sizes(mixture))


def test_chains_with_free_nodes_are_read():
    # Numbers of nodes that are gone keep the links that they had.
    for noise in ("shared", "own"):
        mixture = DFPMixture(4, covariance_type="diag", leaf_noise=noise, concentration=5.0)
        mixture.set_params(n_chains=1, n_warmup=30, n_draws=1, random_state=0)
        fit(mixture, rows(30))
        packed = pack_chain(mixture.fit_.sampled.runs[0].chain)
        assert packed["chain_sizes"][1] >= 0, "no number is free: the test shows nothing"
        check_chains([packed], mixture.fit_.model, _sizes(mixture))


def outcome(chains, mixture):
    try:
        check_chains(chains, mixture.fit_.model, _sizes(mixture))
    except (ValueError, IndexError) as error:
        return str(error)
    return None


@pytest.mark.parametrize("noise", ["shared", "own"])
def test_chains_are_judged_together_as_each_alone(noise):
    mixture = DFPMixture(3, covariance_type="diag", leaf_noise=noise, concentration=3.0)
    fit(mixture.set_params(n_chains=3, n_warmup=10, n_draws=1, random_state=0), rows(30))
    chains = [pack_chain(run.chain) for run in mixture.fit_.sampled.runs]
    assert outcome(chains, mixture) is None
    sizes = [chain["chain_nodes"].size for chain in chains]
    rng, refused = np.random.default_rng(0), 0
    fields = ("parent", "first_child", "next_sibling", "previous_sibling", "level", "n")
    for _ in range(300):
        k, field = rng.integers(3), fields[rng.integers(len(fields))]
        nodes = chains[k]["chain_nodes"].copy()
        # Also what would be a node of the tree before, or of the next one.
        value = rng.integers(-sizes[k - 1] - 2, sizes[k] + 4)
        nodes[field][rng.integers(nodes.size)] = value
        damaged = chains[k] | {"chain_nodes": nodes}
        alone = outcome([damaged], mixture)
        together = outcome([*chains[:k], damaged, *chains[k + 1 :]], mixture)
        assert (alone is None) == (together is None), (k, field, value, alone, together)
        refused += alone is not None
    assert 100 < refused < 300


def test_phi_that_is_no_number_is_refused(fitted):
    """Kernels that met it went round and round."""
    mixture, _, _ = fitted("flat")
    model, sizes = mixture.fit_.model, _sizes(mixture)
    arrays = pack_chain(mixture.fit_.sampled.runs[0].chain)
    check_chains([arrays], model, sizes)
    coordinates = arrays["chain_coordinates"].copy()
    coordinates[0, 0, PHI] = np.nan
    with pytest.raises(ValueError, match="phi has entries"):
        check_chains([arrays | {"chain_coordinates": coordinates}], model, sizes)


def test_words_of_a_parallel_chain_are_three():
    mixture = DFPMixture(2, covariance_type="full", leaf_noise="shared", algorithm="parallel")
    fit(mixture.set_params(n_chains=1, n_warmup=1, n_draws=1, random_state=0), rows(40))
    arrays = pack_chain(mixture.fit_.sampled.runs[0].chain)
    words = arrays["chain_parallel"]
    for wrong in (words[:2], words[:, None]):
        with pytest.raises(ValueError, match="words of a parallel chain"):
            check_chains([arrays | {"chain_parallel": wrong}], mixture.fit_.model, _sizes(mixture))


def test_parts_are_what_annotations_say():
    fits = annotations.fits
    assert fits(1, float)
    assert fits(np.ones(2, np.float32), np.ndarray[tuple[int], np.dtype[np.float64]])
    assert not fits(np.ones(2), np.ndarray[tuple[int], np.dtype[np.int64]])
    assert fits({"a": (1, None)}, dict[str, tuple[int | None, ...]])
    assert not fits({"a": [1]}, dict[str, tuple[int, ...]])
    assert not fits(True, int)
    assert not fits(2**70, float)  # numba has no such number
    assert not fits("x", bool | None)


# ---- checkpoints ---------------------------------------------------------------------------------

QUICK = {"n_chains": 2, "n_warmup": 3, "n_draws": 3, "random_state": 0, "n_jobs": 1}


def run_in(folder, data=None, **options):
    mixture = DFPMixture(2, covariance_type="diag", checkpoint=folder, **QUICK | options)
    return fit(mixture, rows() if data is None else data)


def rewritten(path, **arrays):
    with np.load(path) as file:
        known = dict(file)
    with path.open("wb") as file:
        np.savez(file, **known | arrays)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("chain_sizes", entry(3, 10**9), "number of leaves"),
        ("draw_leaf", entry((0, 0), 250), "not there"),
        ("chain_leaf", entry(0, 10**9), "not there"),
        ("chain_effort", entry(0, -1), "chain_effort|effort"),
        ("n_sweeps", lambda n: -n, "sweeps"),
    ],
)
def test_numbers_that_would_crash_a_run_that_goes_on(tmp_path, name, change, words):
    run_in(tmp_path)
    path = tmp_path / "chain-0.npz"
    with np.load(path) as file:
        array = file[name].copy()
    rewritten(path, **{name: change(array)})
    with pytest.raises(ValueError, match=rf"chain-0\.npz is damaged: .*({words})"):
        run_in(tmp_path, n_draws=5)


def test_model_that_is_none_of_those_compared_is_refused(tmp_path):
    run_in(tmp_path)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chosen": "4"}))
    for chain in tmp_path.glob("chain-*"):
        chain.unlink()
    with pytest.raises(ValueError, match="checkpoint: the run was begun with a model '4'"):
        run_in(tmp_path)


def test_chain_of_another_run_is_refused(tmp_path):
    run_in(tmp_path / "mine")
    run_in(tmp_path / "other", random_state=1)
    mine, other = (tmp_path / name / "chain-1.npz" for name in ("mine", "other"))
    whole = mine.read_bytes()
    mine.write_bytes(other.read_bytes())
    with pytest.raises(ValueError, match=r"chain-1\.npz is not chain 1 of the run in"):
        run_in(tmp_path / "mine")
    mine.write_bytes((tmp_path / "mine" / "chain-0.npz").read_bytes())
    with pytest.raises(ValueError, match="is not chain 1"):
        run_in(tmp_path / "mine")
    mine.write_bytes(whole)
    run_in(tmp_path / "mine")


def test_chains_of_runs_before_they_had_names_go_on(tmp_path):
    run_in(tmp_path)
    description = json.loads((tmp_path / "run.json").read_text())
    del description["made_by"]
    (tmp_path / "run.json").write_text(json.dumps(description))
    for path in tmp_path.glob("chain-*.npz"):
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files if name != "run"}
        with path.open("wb") as file:
            np.savez(file, **arrays)
    run_in(tmp_path, n_draws=4)


def test_going_on_with_another_version_is_said_and_kept(tmp_path):
    run_in(tmp_path)
    description = json.loads((tmp_path / "run.json").read_text())
    (now,) = description["made_by"]
    assert now.keys() == {"sticktree", "numpy", "numba"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProvenanceWarning)
        run_in(tmp_path)  # the same versions
    description["made_by"] = [now | {"numpy": "1.0"}]
    (tmp_path / "run.json").write_text(json.dumps(description))
    with pytest.warns(ProvenanceWarning, match=r"numpy 1\.0, .* will not be those of one version"):
        run_in(tmp_path, n_draws=4)
    assert json.loads((tmp_path / "run.json").read_text())["made_by"] == [
        now | {"numpy": "1.0"},
        now,
    ]


def test_what_a_killed_run_left_half_written_is_swept(tmp_path):
    run_in(tmp_path)
    (tmp_path / ".sticktree-chain-0-abcdefgh.npz").write_bytes(b"half of")
    (tmp_path / "mine.txt").write_text("mine")
    run_in(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"run.json", "chain-0.npz", "chain-1.npz", "mine.txt"}


def test_bomb_among_checkpoints(tmp_path, monkeypatch):
    run_in(tmp_path)
    path = tmp_path / "chain-0.npz"
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("more.npy", bytes(3 * 10**6))
    monkeypatch.setenv("STICKTREE_MAX_UNPACKED", "1M")
    with pytest.raises(ValueError, match=r"chain-0\.npz unpacks to more than"):
        run_in(tmp_path)
