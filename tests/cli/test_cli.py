import csv
import json
import subprocess
import sys
from importlib import metadata

import numpy as np
import pytest

from sticktree import Tree, __version__
from sticktree.cli import COMMANDS, Command, main
from sticktree.tree.structure import format_index


@pytest.fixture
def simulate(tmp_path):
    """Run ``simulate`` into a folder; return table, tree and record."""

    def run(*options):
        assert main(["simulate", "-o", str(tmp_path), "--overwrite", *options]) == 0
        with (tmp_path / "data.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        text = (tmp_path / "tree.json").read_text()
        return rows, Tree.from_json(text), json.loads(text)

    return run


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"sticktree {__version__}\n"


@pytest.mark.parametrize("command", [[], ["demo"], ["simulate"]])
def test_help_teaches(command, capsys):
    with pytest.raises(SystemExit) as stop:
        main([*command, "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "usage: sticktree" in text
    if command != ["demo"]:
        assert "examples:" in text or "start here:" in text


def test_every_example_in_the_help_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["simulate", "--help"])
    lines = capsys.readouterr().out.splitlines()
    examples = [line.split("|")[0].split()[1:] for line in lines if "    sticktree sim" in line]
    assert len(examples) >= 6
    for example in examples:
        assert main(example) == 0


def test_simulate_writes_data_with_paths_and_the_tree(simulate):
    rows, tree, record = simulate("-n", "50", "--seed", "3", "--dimension", "3")
    assert len(rows) == 50
    assert list(rows[0]) == ["x0", "x1", "x2", "path"]
    assert [row["path"] for row in rows] == [format_index(path) for path in tree.paths()]
    assert Tree.from_paths([map(int, row["path"].split(".")) for row in rows]) == tree
    assert np.array(record["locations"]).shape == (tree.n_nodes, 3)
    assert record["provenance"]["parameters"]["seed"] == 3
    assert record["provenance"]["sticktree"] == __version__


def test_the_same_seed_gives_the_same_files_and_another_does_not(simulate):
    first, again, other = (simulate("-n", "20", "--seed", s)[0] for s in ("7", "7", "8"))
    assert first == again
    assert first != other


def test_a_fresh_seed_is_told_and_repeats_the_run(simulate, capsys):
    rows, _, record = simulate("-n", "10")
    seed = str(record["provenance"]["parameters"]["seed"])
    assert f"seed {seed}" in capsys.readouterr().out
    assert simulate("-n", "10", "--seed", seed)[0] == rows


def test_the_record_is_enough_to_run_again(simulate):
    rows, _, record = simulate("-n", "10", "--depth", "3", "--divergence", "constant")
    options = []
    for name, value in record["provenance"]["parameters"].items():
        options += [f"-{name}" if name == "n" else f"--{name.replace('_', '-')}", str(value)]
    assert simulate(*options)[0] == rows


def test_a_stick_that_breaks_once_is_a_dirichlet_process_mixture(simulate):
    rows, tree, record = simulate("-n", "30", "--depth", "1", "--seed", "1")
    assert tree.depth == 1
    assert record["provenance"]["parameters"]["divergence"] == "constant"
    assert (
        rows == simulate("-n", "30", "--depth", "1", "--divergence", "constant", "--seed", "1")[0]
    )


def test_data_may_stop_at_inner_nodes(simulate):
    _, tree, _ = simulate("-n", "60", "--law", "tssb", "--concentration", "2", "--seed", "1")
    assert (tree.n_children[tree.leaf] > 0).any()


def test_numbers_survive_the_table_exactly(simulate):
    from sticktree.processes import (
        DiffusionModel,
        GaussianTransition,
        LogDivergence,
        NestedRestaurant,
    )

    rows, _, _ = simulate("-n", "10", "--seed", "5")
    model = DiffusionModel(NestedRestaurant(LogDivergence(), 4), GaussianTransition(dimension=2))
    expected = model.sample(10, np.random.default_rng(5)).data
    table = np.array([[float(row["x0"]), float(row["x1"])] for row in rows])
    np.testing.assert_array_equal(table, expected)


def test_dash_prints_the_table_only(capsys):
    assert main(["simulate", "-n", "3", "--seed", "0", "-o", "-"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "x0,x1,path"
    assert len(lines) == 4


def test_files_are_not_overwritten_unasked(tmp_path, capsys):
    command = ["simulate", "-n", "3", "--seed", "0", "-o", str(tmp_path / "new" / "run")]
    assert main(command) == 0
    before = (tmp_path / "new" / "run" / "data.csv").read_text()
    assert main([*command, "--seed", "1"]) == 2
    assert "already holds data.csv, tree.json" in capsys.readouterr().err
    assert (tmp_path / "new" / "run" / "data.csv").read_text() == before


WRONG = [
    ("--depth 0", "--depth must be an integer of at least 1, got 0"),
    ("--depth 1 --divergence log", "--depth must be at least 2"),
    ("--depth x", "argument --depth: invalid int value: 'x'"),
    ("--concentration -1", "--concentration must be a finite number greater than 0, got -1.0"),
    ("--concentration nan", "--concentration must be a finite number greater than 0, got nan"),
    ("--discount 1", "--discount must be a number in [0, 1), got 1.0"),
    ("--discount -0.5", "--discount must be a number in [0, 1), got -0.5"),
    ("--level-scales 1,2", "--level-scales must have 5 entries, for levels 0 to 4, got 2"),
    ("--level-scales 1,a", "needs numbers with commas, got '1,a'"),
    ("--covariance 0", "--covariance must be a positive number"),
    ("--noise -1", "--noise must be a finite number at least 0, got -1.0"),
    ("--dimension 0", "--dimension must be an integer of at least 1, got 0"),
    ("-n -1", "-n must be an integer of at least 0, got -1"),
    ("--seed -1", "--seed must be an integer of at least 0, got -1"),
    ("--law tssb --depth 3", "--depth has no meaning with --law tssb"),
    ("--gamma 2", "--gamma has no meaning with --law dfp"),
    ("--law tssb --decay 2", "--decay must be a number strictly between 0 and 1, or 1, got 2.0"),
    ("--law other", "invalid choice: 'other'"),
    ("--nonsense", "unrecognized arguments: --nonsense"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=[options for options, _ in WRONG])
def test_wrong_options_give_one_line_and_code_2_before_any_file(options, message, tmp_path, capsys):
    try:
        code = main(["simulate", "-o", str(tmp_path / "run"), *options.split()])
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_command_that_is_misspelt_is_guessed(told):
    code, _, err = told("sumary", "run")
    assert code == 2
    assert (
        err
        == "sticktree: there is no command sumary; did you mean summary? (see sticktree --help)\n"
    )


def test_no_command_is_an_error(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_folder_that_cannot_be_made_gives_code_1(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["simulate", "-n", "1", "-o", str(tmp_path / "file" / "run")]) == 1
    assert "cannot write" in capsys.readouterr().err
    assert main(["simulate", "-n", "1", "-o", str(tmp_path / "file")]) == 2
    assert "is a file: give a folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("failure", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left", "x"), 1)]
)
def test_what_was_saved_survives_a_failure_while_writing(
    failure, code, tmp_path, monkeypatch, capsys
):
    command = ["simulate", "-n", "3", "--seed", "0", "--overwrite", "-o", str(tmp_path)]
    assert main(command) == 0
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}

    def fail(*args, **kwargs):
        raise failure

    monkeypatch.setattr("sticktree.tree.structure.format_index", fail)
    assert main([*command, "--seed", "1"]) == code
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before
    assert capsys.readouterr().err.count("\n") == 1


def test_a_reader_who_leaves_early_is_no_error_message():
    program = [sys.executable, "-m", "sticktree", "simulate", "-n", "20000", "-o", "-"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_demo_draws_figures_and_shows_trees(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path / "out"), "--seed", "0"]) == 0
    shown = capsys.readouterr().out
    assert "├─ " in shown
    assert "purity by species: 0." in shown
    figures = ("figure-1-sticks", "figure-2-diffusion", "iris-tree", "iris-heatmap")
    for name in (f"{figure}.png" for figure in figures):
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")
        assert name in shown
    assert "Irises" in (tmp_path / "out" / "iris-report.html").read_text(encoding="utf-8")


def test_demo_without_matplotlib_says_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert main(["demo", "-o", str(tmp_path)]) == 1
    assert "pip install sticktree[plot]" in capsys.readouterr().err


# ---- commands of other packages ------------------------------------------------------------------


def greet(options):
    print(f"hello {options.whom}")


GREET = Command("Greet somebody.", lambda parser: parser.add_argument("whom"), greet)


@pytest.fixture
def installed(monkeypatch):
    """Have packages installed that add commands: one that works, one that is broken."""
    places = {"greet": f"{__name__}:GREET", "broken": "no.such.package:COMMAND"}
    entries = [metadata.EntryPoint(name, at, "sticktree.commands") for name, at in places.items()]
    monkeypatch.setattr(
        metadata, "entry_points", lambda group: [e for e in entries if e.group == group]
    )


@pytest.mark.usefixtures("installed")
def test_another_package_can_add_a_command(told):
    assert told("greet", "you") == (0, "hello you\n", "")
    assert "    greet " in told("--help")[1]
    assert "usage: sticktree greet [-h] whom" in told("greet", "--help")[1]


@pytest.mark.usefixtures("installed")
def test_a_command_that_cannot_be_loaded_does_not_break_the_others(told):
    code, _, err = told("broken")
    assert code == 1
    assert err == "sticktree broken: cannot load no.such.package:COMMAND: No module named 'no'\n"
    assert told("greet", "you")[0] == 0
    assert told("simulate", "-n", "1", "-o", "-")[0] == 0


def test_the_command_of_a_package_that_is_not_installed_says_how_to_get_it(told, monkeypatch):
    monkeypatch.delitem(COMMANDS, "reproduce", raising=False)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [])
    code, _, err = told("reproduce", "--quick")
    assert code == 1
    assert "pip install ./paper" in err
    assert "    reproduce " in told("--help")[1]


def test_a_command_imports_no_module_of_another():
    program = "import sys; from sticktree.cli import main; main(['simulate', '-n', '1', '-o', '-'])"
    program += "; print(*(name for name in sys.modules if name.startswith('sticktree.cli.')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert set(done.stdout.splitlines()[-1].split()) == {
        "sticktree.cli.options",
        "sticktree.cli.output",
        "sticktree.cli.provenance",
        "sticktree.cli.simulate",
    }
