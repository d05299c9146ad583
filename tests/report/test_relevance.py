"""Which columns carry the clusters, on the page."""

import numpy as np

from sticktree.report import build_report
from sticktree.report.relevance import MOST_LINES
from tests.support.made_fits import NASTY, mixture, nasty_mixture
from tests.support.pages import Page

TABLE = "Columns that carry the clusters"


def test_the_table_has_the_relevance(estimator):
    page = Page(build_report(estimator))
    head, *lines = page.table(TABLE)
    assert head == ["Column", "Share", "94 % interval", "By chance", "Beyond chance"]
    found = list(estimator.relevance())
    assert [line[:2] for line in lines] == [[one.column, f"{one.share:.3f}"] for one in found]
    assert {line[2] for line in lines} == {"–"}  # there are no draws
    assert "is no test" in " ".join(page.texts("p"))


def test_many_columns_are_cut_and_that_is_said():
    values = np.random.default_rng(0).normal(size=(20, 50))
    page = Page(build_report(mixture(values, labels=np.arange(20) // 10)))
    assert len(page.table(TABLE)) == 1 + MOST_LINES
    assert "Shown are 20 of 50 columns; relevance.csv of a run has all." in " ".join(
        page.texts("p")
    )


def test_one_cluster_is_carried_by_nothing():
    page = Page(build_report(mixture(np.arange(6.0)[:, None], labels=np.zeros(6, dtype=int))))
    assert "There is one cluster, so no column has variance between clusters." in page.texts("p")


def test_names_from_data_are_text():
    lines = Page(build_report(nasty_mixture())).table(TABLE)
    assert NASTY[0] in [line[0] for line in lines]
