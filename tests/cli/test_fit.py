"""``sticktree fit``: a table in a file becomes a run folder, or one line says why not."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sticktree
import sticktree.tree.newick
from sticktree import DFPMixture, Tree
from sticktree.cli.fit_options import LASTING, OPTIONS, estimator_of
from sticktree.cli.runs import FILES, RunFolder
from sticktree.inference.parameters import PARAMETERS
from tests.cli.conftest import QUICK, read_csv


def rows_of(n_rows, header="x,y", seed=0):
    rng = np.random.default_rng(seed)
    lines = [f"{a:.4f},{b:.4f}" for a, b in rng.normal(size=(n_rows, 2)).tolist()]
    return "\n".join([header, *lines]) + "\n"


def test_a_run_has_its_files_and_nothing_else(finished):
    assert {path.name for path in finished.iterdir()} == set(FILES)


def test_the_record_says_how_it_came_to_be(finished, flowers):
    record = json.loads((finished / "run.json").read_text("utf-8"))
    assert record["status"] == "finished"
    assert record["seed"] == 0
    assert record["parameters"]["random_state"] == 0
    assert record["parameters"]["n_draws"] == 30
    assert record["data"]["sha256"] == hashlib.sha256(flowers.read_bytes()).hexdigest()
    assert (record["data"]["name"], record["data"]["rows"]) == ("flowers.csv", 30)
    assert record["data"]["missing_cells"] == 2
    plan = record["columns"].pop("plan")
    assert record["columns"] == {
        "fitted": {"länge": "gaussian", "width (cm)": "gaussian"},
        "label": "species",
        "labels": ["species"],
        "id": "plant",
        "weights": None,
        "group": None,
        "condition": None,
        "parent": None,
        "time": None,
        "conditions": None,
        "days": {},
        "preferred": {},
        "ignored": ["collector"],
    }
    assert [line["taken as"] for line in plan] == [
        "names of the rows",
        "gaussian",
        "gaussian",
        "label, not fitted",
        "left out",
    ]
    assert plan[0]["holds"] == "another text in every row, such as 'p,00'"
    assert record["environment"]["sticktree"] == sticktree.__version__
    assert record["environment"]["packages"]["numpy"] == np.__version__
    assert record["started"] <= record["finished"]
    assert record["command"].startswith("sticktree fit ")
    assert record["result"]["levels"] == 3
    assert len(record["result"]["clusters_per_level"]) == 3


def test_the_files_agree_with_the_model(finished):
    run = RunFolder.open(finished)
    estimator = run.estimator
    rows = read_csv(finished / "clusters.csv")
    assert [row["id"] for row in rows] == [f"p,{k:02d}" for k in range(30)]
    assert [int(row["row"]) for row in rows] == list(range(30))
    assert rows[7]["label"] == ""
    assert rows[0]["label"] == "Löwe 'n' zahn"
    np.testing.assert_array_equal([int(row["cluster"]) for row in rows], estimator.labels_)
    np.testing.assert_allclose(
        [float(row["confidence"]) for row in rows], estimator.confidence_, atol=1e-4
    )
    for level in (1, 2, 3):
        flat = [int(row[f"level_{level}"]) for row in rows]
        np.testing.assert_array_equal(flat, estimator.cluster(method="loss", level=level))
    tree = Tree.from_json((finished / "tree.json").read_text("utf-8"))
    assert tree == run.tree
    assert tree.names == tuple(run.ids)
    newick = Tree.from_newick((finished / "tree.nwk").read_text("utf-8"), names=tree.names)
    assert newick.n_data == 30
    assert len(read_csv(finished / "nodes.csv")) == tree.n_nodes
    assert estimator.checkpoint is None
    assert str(finished.parent) not in str(estimator.get_params())


def test_the_command_line_and_python_give_the_same_draws(finished, flowers):
    from sticktree.data.sources.files import read_file

    frame = read_file(flowers).typed(["länge", "width (cm)"])
    quick = {"covariance_type": "full", "leaf_noise": "shared", "n_chains": 2}
    mixture = DFPMixture(**quick, n_warmup=20, n_draws=30, random_state=0, progress=False)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture.fit(frame)
    found = RunFolder.open(finished).estimator
    assert [d.log_joint for d in mixture.posterior_.draws] == [
        d.log_joint for d in found.posterior_.draws
    ]
    np.testing.assert_array_equal(found.labels_, mixture.labels_)


def test_a_person_is_told_what_happens_and_what_comes_next(flowers, tmp_path, told):
    quick = QUICK[:-1]
    code, out, err = told("fit", flowers, "-o", tmp_path / "my run", "--drop", "1-", *quick[:-2])
    assert code == 2  # one column is left, of names
    assert "'plant'" in err
    code, out, err = told(
        "fit", flowers, "-o", tmp_path / "my run", "--columns", "1-2", *quick[:-2]
    )
    assert code == 0
    assert "fitting 30 rows, seed" in err
    seed = json.loads((tmp_path / "my run" / "run.json").read_text("utf-8"))["seed"]
    assert f"seed {seed}" in out
    assert "30 rows, 2 columns: 2 gaussian (länge, width (cm))" in out
    assert re.search(r"\d clusters?: \d", out)
    assert f"sticktree summary '{tmp_path / 'my run'}'" in out
    assert not (tmp_path / "my run" / "checkpoint").exists()


def test_the_help_has_an_option_for_every_parameter_that_the_table_gives_one(told):
    text = " ".join(told("fit", "--help")[1].split())
    for parameter in PARAMETERS.values():
        if parameter.option is None:
            continue
        assert f" {parameter.flag} " in text, parameter.name
        if parameter.name in OPTIONS and parameter.name != "standardize":
            assert parameter.help in text, parameter.name
    assert (
        "how often the stick breaks [chosen by the data together with the covariance, else 4; "
        in text
    )
    assert "40 with ddt, pydt]" in text
    assert "the number of independent chains; a number, or auto [auto: 4, and 4 more" in text
    assert "larger means more small branches; a number, or learn [0; learn with pydt]" in text
    assert "number of draws that are kept of each chain; a number, or auto [auto: as" in text
    from sticktree.engine.own.kinds import DECLARED

    assert all(kind in text for kind in DECLARED)


def test_without_options_the_estimator_has_its_defaults():
    assert estimator_of({}).get_params() == DFPMixture().get_params()


def test_every_option_sets_its_parameter_and_is_kept_when_a_run_goes_on():
    values = {"int": 2, "int or None": 2, '"auto" or int': 2, "float or None": 0.25, "bool": False}
    values['"auto", int or None'] = 2
    for name, parameter in OPTIONS.items():
        value = values.get(parameter.allowed.words, 0.25)
        if parameter.allowed.choices:
            value = parameter.allowed.choices[-1]
        found = estimator_of({name: value}).get_params()
        assert found.pop(parameter.name) == value != parameter.default
        assert found.items() <= DFPMixture().get_params().items()
    assert {name for name in OPTIONS if name not in LASTING} == {"jobs", "max-time"}


def test_models_by_name():
    from sticktree import DirichletDiffusionTree, DPMixture, PitmanYorDiffusionTree

    for name, preset in (
        ("dpm", DPMixture()),
        ("ddt", DirichletDiffusionTree()),
        ("pydt", PitmanYorDiffusionTree()),
    ):
        assert estimator_of({"model": name}).get_params() == preset.model_parameters()


WRONG = [
    ("--depth 0", "--depth must be an integer of at least 1, got 0"),
    ("--chains 0", '--chains must be "auto" or an integer of at least 1, got 0'),
    ("--warmup -1", '--warmup must be "auto" or an integer of at least 0, got -1'),
    ("--draws 0", '--draws must be "auto" or an integer of at least 1, got 0'),
    ("--draws many", "needs a number or auto, got 'many'"),
    ("--max-time 0", "--max-time must be a finite number greater than 0, got 0.0"),
    ("--thin 0", "--thin must be an integer of at least 1, got 0"),
    ("--jobs 0", "--jobs must be an integer of at least 1, got 0"),
    ("--level 16", "--level must be an integer between 0 and 15, got 16"),
    ("--level 4 --depth 4", "--level must be an integer between 0 and 3, got 4"),
    ("--level -1", "--level must be an integer between 0 and 15, got -1"),
    ("--seed -1", "--seed must be an integer of at least 0, got -1"),
    ("--concentration 0", "--concentration must be a finite number greater than 0, got 0.0"),
    ("--concentration much", "needs a number or learn, got 'much'"),
    ("--discount 1", "--discount must be a number in [0, 1), got 1.0"),
    ("--resolution -1", '--resolution must be "auto", or a number of at least 0'),
    ("--covariance round", "argument --covariance: invalid choice: 'round'"),
    ("--model dpm --depth 3", "--depth has no meaning with --model dpm"),
    ("--model ddt --scales shared", "--scales has no meaning with --model ddt"),
    ("--model pydt --divergence log", "--divergence has no meaning with --model pydt"),
    ("--model dmp", "argument --model: invalid choice: 'dmp'"),
    ("--label specis", "--label: there is no column 'specis'; did you mean 'species'?"),
    ("--id 9", "--id: there is no column '9': positions are 0 to 4"),
    ("--columns länge,widht", "--columns: there is no column 'widht'"),
    ("--drop nothing", "--drop: there is no column 'nothing'; the columns are 'plant'"),
    ("--drop *", "no column is left to fit"),
    ("--label species --id species", "'species' is in --label and --id: it can be one of"),
    ("--kinds länge=id,species=id", "--id can be one column only, got 'länge' and 'species'"),
    ("--more-draws 0", "--more-draws must be an integer of at least 1, got 0"),
    ("--more-draws 9", "--more-draws goes on with a run as it is: leave out the file"),
    ("--more-draws 9 --resume", "argument --resume: not allowed with argument --more-draws"),
    ("--label länge --columns 1-2", "column 'länge' is in --columns and --label: choose one"),
    ("--kinds länge=gausian", "'gausian' is no kind of column (did you mean 'gaussian'?)"),
    ("--kinds länge", "needs COLUMN=KIND with commas between, got 'länge'"),
    ("--kinds height=poisson", "--kinds: there is no column 'height'"),
    ("--kinds plant=categorical --columns 1", "--kinds: column 'plant' is not fitted"),
    ("--kinds länge=poisson --columns 1", "column 'länge', row"),
    ("--weights 2 --columns 1", "column 'width (cm)' must hold numbers, got nothing in row 3"),
    ("--weights länge --columns 3", "--weights[2] must be at least 0, got -0.268"),
    ("--weights species --columns 2", "--weights: column 'species' must hold numbers, got"),
    ("--kinds collector=categorical", "'collector' is categorical but has one value only"),
    ("--kinds plant=categorical", "give it to --id or --drop"),
    ("--kinds species=days", "column 'species' holds \"Löwe 'n' zahn\": no dates that can be read"),
    (
        "--noise shared --columns 2,3",
        "--noise must be own or auto unless all columns are gaussian, got shared",
    ),
    ("--decimal ,, --columns 2", "--decimal must be one character"),
    ("--delimiter ; --columns 2", "--columns: there is no column '2'"),
    ("--encoding utf-9", "--encoding must be one that Python knows, got 'utf-9'"),
    ("--format parquet", "flowers.csv is not a Parquet file"),
    ("--resume", "--resume: there is no run in"),
    ("--resume --overwrite", "argument --overwrite: not allowed with argument --resume"),
    ("--chain 2 --nonsense", "unrecognized arguments: --nonsense"),
    ("--labels species", "unrecognized arguments: --labels species; did you mean --label?"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=[options for options, _ in WRONG])
def test_wrong_options_give_one_line_before_any_work(options, message, flowers, tmp_path, told):
    code, out, err = told("fit", flowers, "-o", tmp_path / "run", *options.split())
    assert code == 2
    assert out == ""
    assert message in err
    assert err.count("\n") == 1, err
    assert "sticktree fit" in err
    assert not (tmp_path / "run").exists()


def test_files_that_are_not_there(tmp_path, told, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flowers.csv").write_text("a\n1\n")
    assert "there is no file flower.csv; did you mean flowers.csv?" in told("fit", "flower.csv")[2]
    assert "is a folder: give a file" in told("fit", tmp_path)[2]
    assert "give a file to fit" in told("fit")[2]
    assert "--output flowers.csv is a file" in told("fit", "flowers.csv", "-o", "flowers.csv")[2]


def test_a_run_that_is_there_is_not_replaced_unasked(run, told):
    before = (run / "run.json").read_bytes()
    code, _, err = told("fit", "flowers.csv", "-o", "run", "--columns", "1-2", *QUICK)
    assert code == 2
    assert "--output run already holds a run" in err
    code, _, err = told("fit", "-o", "run", "--resume")
    assert code == 2
    assert "is finished" in err
    assert (run / "run.json").read_bytes() == before
    command = ["fit", "flowers.csv", "-o", "run", "--columns", "1-2", *QUICK, "--overwrite"]
    assert told(*command)[0] == 0
    assert RunFolder.open("run").ids is None


def test_files_of_others_are_not_replaced_unasked(flowers, tmp_path, told):
    (tmp_path / "tree.json").write_text("mine")
    code, _, err = told("fit", flowers, "-o", tmp_path, "--columns", "1-2", *QUICK)
    assert code == 2
    assert "already holds tree.json" in err


def test_a_cell_among_numbers_is_told_with_the_options_that_mend_it(tmp_path, told):
    path = tmp_path / "t.csv"
    path.write_text(rows_of(5) + "low,1\n")
    code, _, err = told("fit", path, "-o", tmp_path / "run")
    assert code == 2
    assert "(--missing=low or --kinds x=categorical or --kinds x=drop)" in err
    path.write_text("a;b;c\n1,500;2%;x\n2,500;3;y\n")
    code, _, err = told("fit", path, "-o", tmp_path / "run")
    assert code == 2
    assert "'1,500': is that 1.500 or 1500? (--decimal=, or --thousands=,)\n  column 'b' has" in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("n_rows", [1, 2])
def test_tables_of_one_or_two_rows(n_rows, tmp_path, told):
    path = tmp_path / "t.csv"
    path.write_text(rows_of(n_rows))
    code, _, err = told("fit", path, "-o", tmp_path / "run", *QUICK)
    assert code == 0, err
    assert len(read_csv(tmp_path / "run" / "clusters.csv")) == n_rows
    for command in ("summary", "evaluate"):
        assert told(command, tmp_path / "run")[0] == 0
    for form in ("newick", "linkage", "json", "csv", "graphml"):
        assert told("export", tmp_path / "run", "--format", form)[0] == 0


def test_weights_and_names_that_repeat(tmp_path, told):
    path = tmp_path / "t.csv"
    text = rows_of(12).splitlines()
    lines = [f"{text[0]},w,name"] + [f"{line},{k % 3},n{k // 2}" for k, line in enumerate(text[1:])]
    path.write_text("\n".join(lines))
    options = ["--weights", "w", "--id", "name"]
    code, _, err = told("fit", path, "-o", tmp_path / "run", *options, *QUICK)
    assert code == 0
    assert "warning: --id name: names are not all different, such as 'n0', which 2 rows have" in err
    run = RunFolder.open(tmp_path / "run")
    assert len(run.clusters["row"]) == 12
    assert run.tree.n_data == 8  # rows of weight 0 are not in the tree
    assert run.tree.names == tuple(f"n{k // 2}" for k in range(12) if k % 3)
    for command in ("summary", "evaluate"):
        assert told(command, tmp_path / "run")[0] == 0


def test_standard_input(tmp_path, told, monkeypatch):
    import io
    import sys

    class Piped:
        buffer = io.BytesIO(rows_of(8).encode())

    monkeypatch.setattr(sys, "stdin", Piped)
    assert told("fit", "-", "-o", tmp_path / "run", *QUICK)[0] == 0
    assert RunFolder.open(tmp_path / "run").record["data"]["name"] == "-"


def test_without_pandas_it_is_said_what_to_install(flowers, tmp_path, told, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pandas", None)
    code, _, err = told("fit", flowers, "-o", tmp_path / "run")
    assert code == 1
    assert "pip install 'sticktree[frames]'" in err
    assert not (tmp_path / "run").exists()


def test_a_disk_that_is_full_leaves_a_run_that_can_go_on(flowers, tmp_path, told, monkeypatch):
    def full(self, *arguments, **kwargs):
        raise OSError(28, "No space left on device", "tree.nwk")

    command = ["fit", flowers, "-o", tmp_path / "run", "--columns", "1-2", *QUICK]
    with monkeypatch.context() as patch:
        patch.setattr(sticktree.tree.newick, "newick_pieces", full)
        code, _, err = told(*command)
    assert code == 1
    assert "cannot write tree.nwk: No space left on device" in err
    assert told("fit", "-o", tmp_path / "run", "--resume", "-q")[0] == 0
    assert {path.name for path in Path(tmp_path / "run").iterdir()} == set(FILES)


def test_a_table_is_read_once(flowers, tmp_path, told, monkeypatch):
    import sticktree.data.columns as columns

    read, calls = columns.read, []
    monkeypatch.setattr(columns, "read", lambda x: calls.append(1) or read(x))
    options = ["--columns", "1-3", "--covariance", "diag", "--chains", "1", "--warmup", "1"]
    code, _, err = told("fit", flowers, "-o", tmp_path, *options, "--draws", "2", "--seed", "0")
    assert code == 0, err
    assert len(calls) == 1
    estimator = RunFolder.open(tmp_path).estimator
    assert estimator.feature_names_in_.tolist() == ["länge", "width (cm)", "species"]


def test_the_first_line_is_printed_before_anything_heavy_is_loaded(flowers, tmp_path):
    program = (
        "import sys\nfrom sticktree.cli import main\n"
        "class Terminal:\n"
        "    encoding = 'utf-8'\n"
        "    def write(self, text):\n"
        "        heavy = {'sklearn', 'numba', 'scipy.stats', 'rich'} & sys.modules.keys()\n"
        "        sys.__stdout__.write(f'{text}, loaded {sorted(heavy)}')\n"
        "        sys.__stdout__.flush()\n"
        "        raise SystemExit\n"
        "    def flush(self): pass\n"
        "    def isatty(self): return True\n"
        "sys.stderr = Terminal()\n"
        "main(sys.argv[1:])"
    )
    words = ["fit", str(flowers), "-o", str(tmp_path / "run"), "--drop", "plant,species,collector"]
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, check=False)
    assert done.stdout.decode().startswith("fitting 30 rows"), done.stderr.decode()
    assert done.stdout.decode().endswith("loaded []")


def test_a_file_that_takes_long_to_read_is_named_before(flowers, tmp_path, told, monkeypatch):
    from sticktree.cli import fit

    monkeypatch.setattr(fit, "LONG_BYTES", 100)
    err = told("fit", flowers, "-o", tmp_path / "run", "--label", "nobody")[2]
    assert err.startswith(f"reading {flowers}\n")
