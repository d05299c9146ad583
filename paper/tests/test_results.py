import json
from pathlib import Path

import sticktree
from sticktree_paper.methods import (
    FULL,
    NO_PART_IN_RESULTS,
    OURS,
    QUICK,
    code_digest,
    density_methods,
    meaning,
    tree_methods,
)
from sticktree_paper.results import Key, Result, ResultsFile, by_method


def result(split, value=-1.5, method="m"):
    return Result(Key("density", "r15", "ab", split, method, "s"), {"test": value}, 0.1, 0.2)


def test_results_come_back_and_a_line_cut_short_does_no_harm(tmp_path):
    file = ResultsFile(tmp_path / "new" / "results.jsonl")
    assert file.read() == {}
    results = [result(k) for k in range(2)]
    for one in results:
        file.keep(one)
    with file.path.open("a") as lines:
        lines.write('{"key": {"na')
    assert file.read() == {one.key: one for one in results}
    file.keep(result(2))
    assert len(file.read()) == 3
    assert file.path.read_text().count("\n") == 4


def test_lines_of_other_forms_are_left_out(tmp_path):
    file = ResultsFile(tmp_path / "results.jsonl")
    file.path.write_text("[]\n3\n" + json.dumps({"key": {"part": "x"}}) + "\n\n")
    assert file.read() == {}


def test_the_later_of_two_results_counts(tmp_path):
    file = ResultsFile(tmp_path / "results.jsonl")
    file.keep(result(0, -1.0))
    file.keep(result(0, -2.0))
    assert file.read()[result(0).key].values == {"test": -2.0}


def test_values_are_grouped_by_method_and_split():
    found = by_method([result(0, -1.0), result(3, -2.0), result(0, -5.0, "n")], "test")
    assert found == {"m": {0: -1.0, 3: -2.0}, "n": {0: -5.0}}
    assert by_method([result(0)], "train") == {}


def test_settings_name_the_code_and_all_that_was_chosen():
    quick = density_methods("iris", QUICK)
    assert next(iter(quick)) == OURS == next(iter(tree_methods(QUICK)))
    assert f"n_draws={QUICK.n_draws}," in quick[OURS].settings
    assert code_digest() in quick[OURS].settings
    assert quick[OURS].settings != density_methods("iris", FULL)[OURS].settings
    assert code_digest("peers") in quick["KDE"].settings
    assert quick["KDE"].settings == density_methods("iris", FULL)["KDE"].settings


def test_seeds_reach_the_methods_and_their_names_are_their_keys():
    for known in (density_methods("r15", QUICK), tree_methods(QUICK)):
        for name, method in known.items():
            assert method.name == name
            if method.random:
                assert method.make(7).get_params()["random_state"] == 7


def test_comments_do_not_change_what_code_means():
    assert meaning('def f(x):\n    """Add."""\n    return x + 1  # one') == meaning(
        "def f(x): return x + 1"
    )
    assert meaning("def f(x): return x + 1") != meaning("def f(x): return x + 2")


def test_what_takes_no_part_in_results_is_still_there():
    library = Path(sticktree.__file__).parent
    assert [name for name in NO_PART_IN_RESULTS if not (library / name).exists()] == []
    assert code_digest("peers") != code_digest("metrics") != code_digest()
