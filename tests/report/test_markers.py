"""What makes each cluster, on the page: the numbers without a script, colours and bars with one."""

import numpy as np
import pandas as pd

from sticktree.present.table import number
from sticktree.report import build_report, write_report
from sticktree.report.markers import MOST_CLUSTERS, MOST_LINES
from tests.support.made_fits import NASTY, mixture, nasty_mixture
from tests.support.pages import Page


def test_the_tables_have_the_markers(estimator):
    page = Page(build_report(estimator))
    for k in range(3):
        head, *lines = page.table(f"Cluster {k}: 20 rows")
        assert head == ["Column", "Inside", "Outside", "Effect", "Probability"]
        markers = list(estimator.markers().of(k))
        assert len(lines) == len(markers) == 5
        for line, one in zip(lines, markers, strict=True):
            if one.category is None:
                assert line[:3] == [one.column, number(one.inside), number(one.outside)]
            else:
                assert line[:3] == [f"kind = {'xyz'[k]}", "100%", "0%"]
            assert line[4] == f"{one.evidence:.3f}" or line[4] == ">0.999"
    assert "no test of whether there are any" in " ".join(page.texts("p"))


def test_many_clusters_and_columns_are_cut_and_that_is_said():
    values = np.random.default_rng(0).normal(size=(90, 9))
    labels = np.minimum(np.arange(90) // 3, 28)
    page = Page(build_report(mixture(values, labels=labels)))
    captions = [text for text in page.texts("caption") if text.startswith("Cluster ")]
    assert len(captions) == MOST_CLUSTERS
    assert "Cluster 28: 6 rows" in captions
    assert len(page.table(captions[0])) == 1 + MOST_LINES
    words = " ".join(page.texts("p"))
    assert "Shown are the 6 columns with the most evidence of each cluster" in words
    assert "and the 24 largest clusters; markers.csv of a run has all." in words


def test_what_is_not_known_is_said():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "flat": 5.0})
    page = Page(build_report(mixture(frame, labels=[0, 0, 0])))
    lines = page.table("Cluster 0: 3 rows")[1:]
    assert {tuple(line[2:]) for line in lines} == {("–", "–", "no values outside")}
    page = Page(build_report(mixture(frame, labels=[0, 1, 1])))
    assert page.table("Cluster 0: 1 row")[1][4] == "only one value inside"


def test_names_from_data_are_text(open_page, folder):
    page = open_page(write_report(folder / "nasty-markers.html", nasty_mixture()))
    names = page.locator("table[id^=markers-] tbody th").all_inner_texts()
    assert NASTY[0] in names
    assert page.evaluate("window.hacked === undefined")


def test_bars_and_colours_are_drawn(open_page, plain):
    page = open_page(plain)
    tables = page.locator("table[id^=markers-]")
    assert tables.count() == 3
    for k in range(3):
        swatch = page.evaluate(
            "(k) => getComputedStyle("
            "document.querySelector(`#markers-${k} .swatch`)).backgroundColor",
            k,
        )
        assert swatch == page.evaluate(
            "(k) => getComputedStyle(document.querySelector("
            "`#clusters-table tr[data-label='${k}'] .swatch`)).backgroundColor",
            k,
        )
    sides = page.locator("#markers-0 .bar span").evaluate_all(
        "(bars) => bars.map((bar) => bar.className)"
    )
    assert sides.count("less") == 4  # the four numbers are lowest in the first cluster
    assert sides.count("more") == 1  # and its category is in no other


def test_a_small_screen_shows_whole_lines(open_page, plain):
    page = open_page(plain, viewport={"width": 400, "height": 800}, is_mobile=True, has_touch=True)
    hidden = page.locator("table[id^=markers-]").evaluate_all(
        "(tables) => tables.map((t) => t.parentElement.scrollWidth - t.parentElement.clientWidth)"
    )
    assert max(hidden) <= 0
