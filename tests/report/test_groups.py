"""Groups on the page: the tree over stacked bars, and which branches differ."""

import re
import warnings

import numpy as np
import pytest

from sticktree import DFPMixture
from sticktree.posterior.draws import ConvergenceWarning
from sticktree.report import build_report, write_report
from sticktree.report.groups import MOST_GROUPS
from tests.support.made_fits import NASTY
from tests.support.pages import Page, until

NAMES = [NASTY[0], "b", "c", "d", "e", "f"]
CONDITIONS = {name: "treated" if k > 2 else "<i>control</i>" for k, name in enumerate(NAMES)}
SHARES = "Shares in percent, with 94 % intervals"


def fitted(rows, groups):
    mixture = DFPMixture(
        covariance_type="full", leaf_noise="shared", n_chains=2, n_warmup=60, n_draws=40
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.set_params(random_state=1).fit(rows, groups=groups)


@pytest.fixture(scope="module")
def grouped():
    rng = np.random.default_rng(0)
    counts = [[24, 11, 5], [25, 12, 3], [23, 13, 4], [8, 12, 20], [7, 11, 22], [9, 12, 19]]
    kind = np.concatenate([np.repeat(range(3), row) for row in counts])
    centres = np.array([[0, 0], [6, 0], [3, 5]])
    return fitted(centres[kind] + rng.normal(size=(240, 2)), np.repeat(NAMES, 40))


def test_bars_and_numbers_are_the_composition(grouped):
    found = grouped.composition_
    page = Page(build_report(grouped))
    head, *lines = page.table(SHARES)
    order = found.tree.data_order.tolist()
    assert head == ["Group", *(f"Cluster {k}" for k in order), "Not seen yet"]
    assert sorted(line[0] for line in lines) == sorted(NAMES)
    for name, *cells, unseen in lines:
        j = found.groups.index(name)
        shown = [float(cell.split()[0]) for cell in cells]
        assert shown == pytest.approx([100 * found.mean[j, k] for k in order], abs=0.051)
        assert float(unseen) == pytest.approx(100 * found.unseen[j], abs=0.051)
    said = " ".join(page.texts("p"))
    assert "Do groups matter? yes" in said


def test_without_conditions_groups_far_apart_are_compared(grouped):
    head, *lines = Page(build_report(grouped)).table("Groups that are farthest apart")
    assert head[:4] == ["Branch", "Largest in", "Smallest in", "Ratio"]
    found = grouped.composition_
    assert {line[0] for line in lines} == set(found.names)
    for branch, largest, smallest, ratio, *_ in lines:
        k = found.names.index(branch)
        assert found.groups[found.mean[:, k].argmax()] == largest
        expected = {one["branch"]: one for one in grouped.compare(largest, smallest).table}[branch]
        assert float(ratio) == pytest.approx(np.exp(expected["log_ratio"]), rel=0.06)


def test_conditions_are_compared_by_groups(grouped):
    page = Page(build_report(grouped, conditions=CONDITIONS))
    for within, what in ((None, "share of all rows"), ("parent", "share of the branch above")):
        caption = f"treated over <i>control</i>, {what} (3 and 3 groups)"
        found = grouped.compare("treated", "<i>control</i>", conditions=CONDITIONS, within=within)
        lines = page.table(caption)[1:]
        assert [line[0] for line in lines] == [one["branch"] for one in found.table]


def test_the_tree_stands_over_the_bars(grouped, open_page, folder):
    path = write_report(folder / "grouped.html", grouped, conditions=CONDITIONS)
    page = open_page(path)
    rows = page.locator("#groups-table tbody tr")
    assert rows.count() == 1 + len(NAMES)
    assert rows.nth(0).locator("line").count() >= 4
    for k in range(rows.count()):
        boxes = (
            rows.nth(k)
            .locator("rect")
            .evaluate_all(
                "all => all.map(one => one.getBoundingClientRect()).map(box => [box.x, box.width])"
            )
        )
        whole = rows.nth(k).locator("svg").bounding_box()
        assert sum(width for _, width in boxes) == pytest.approx(whole["width"], abs=1.0)
        assert boxes[0][0] == pytest.approx(whole["x"], abs=0.5)
    feet = (
        rows.nth(0)
        .locator("line")
        .evaluate_all(
            "all => all.filter(one => one.y2.baseVal.value === 64).map(one => one.x1.baseVal.value)"
        )
    )
    parts = (
        rows.nth(0)
        .locator("rect")
        .evaluate_all("all => all.map(one => one.x.baseVal.value + one.width.baseVal.value / 2)")
    )
    assert sorted(feet) == pytest.approx(sorted(parts), abs=0.5)
    assert page.locator("#groups-table").inner_text().count(NASTY[0].strip()[:10]) >= 1
    assert page.locator("#groups i, #groups script, #groups img").count() == 0


def test_a_phone_shows_the_bars_whole(grouped, open_page, folder):
    path = write_report(folder / "phone.html", grouped, conditions=CONDITIONS)
    page = open_page(path, viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    bar = page.locator("#groups-table svg").nth(1).bounding_box()
    assert bar["width"] > 90


def test_many_groups_are_cut_and_that_is_said():
    rng = np.random.default_rng(0)
    rows = np.repeat([[0.0], [9.0]], 70, axis=0) + rng.normal(size=(140, 1))
    page = build_report(fitted(rows, np.tile(np.arange(70), 2)))
    assert len(Page(page).table(SHARES)) == 1 + MOST_GROUPS
    assert re.search(r"10 groups more in composition.csv", page)


def test_rows_can_be_coloured_by_their_group(grouped, open_page, folder):
    page = open_page(write_report(folder / "coloured.html", grouped))
    options = page.locator("#colour option").all_inner_texts()
    assert "group" in options
    page.locator("#colour").select_option(label="group")
    until(page, "document.getElementById('legend').textContent.includes('group')")
    head = Page(build_report(grouped)).table("Flat clusters")[0]
    assert "Most frequent class" not in head  # groups are no classes


def test_fits_without_groups_have_no_such_section(estimator):
    assert 'id="groups"' not in build_report(estimator)
    with pytest.raises(ValueError, match="conditions must be left out of a fit without groups"):
        build_report(estimator, conditions={"a": "b"})
