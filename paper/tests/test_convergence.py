"""Whether chains of our fits agree, as the page of results says it."""

import csv

from sticktree_paper import reproduce
from sticktree_paper.convergence import judge, markdown
from sticktree_paper.methods import QUICK


def test_a_set_is_judged_by_the_verdict_of_its_fit():
    line = judge("iris", QUICK)
    assert line.chains == "2 of 20 + 20"
    for told in (line.clusters, line.tree, line.density):
        answer, _, figure = told.partition(" (")
        assert answer in ("yes", "nearly", "no")
        assert float(figure.rstrip(")")) >= 0
    table = markdown([line])[2]
    assert table.splitlines()[-1].startswith("| Iris | 2 of 20 + 20 | ")


def test_the_part_is_on_the_page(tmp_path):
    options = {"quick": True, "sets": ["iris"], "n_jobs": 1, "tell": lambda line: None}
    page = reproduce(["convergence"], tmp_path / "out", **options)
    assert "## Had the chains converged?" in page.read_text(encoding="utf-8")
    with (page.parent / "convergence.csv").open(newline="") as file:
        assert [row["set"] for row in csv.DictReader(file)] == ["iris"]
