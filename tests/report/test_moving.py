"""The page in a real browser: moving through the tree by mouse, keys and search."""

import re

import numpy as np
import pytest

from sticktree import Tree
from sticktree.report import write_report
from sticktree.report.branches import Branches
from tests.support.made_fits import mixture
from tests.support.pages import (
    Page,
    current,
    marked,
    picture,
    point_of,
    size_of,
    titled,
    unpacked,
    until,
)

# ---- by mouse -----------------------------------------------------------------------------------


def test_the_page_opens_from_disk(open_page, plain):
    page = open_page(plain)
    assert page.locator("#explore").is_visible()
    assert page.locator("#details h3").inner_text() == "All 60 rows"
    assert current(page).startswith("All 60 rows, transfer support 1.00, parts at level")


def test_pointing_at_a_branch_shows_and_marks_it(open_page, plain):
    page = open_page(plain)
    page.mouse.move(*point_of(page, 0.6, 0.9))
    until(page, "document.querySelector('#details h3').textContent !== 'All 60 rows'")
    name = page.locator("#details h3").inner_text()
    assert page.locator("#tip strong").inner_text() == name
    marked(page, 1 if name.startswith("sample") else size_of(name))
    page.mouse.move(1, 1)
    titled(page, "All 60 rows")
    assert page.locator("#tip").is_hidden()
    marked(page, 0)


def test_a_click_zooms_and_the_path_leads_back(open_page, plain):
    page = open_page(plain)
    page.mouse.move(*point_of(page, 0.45, 0.2))
    until(page, "document.querySelector('#details h3').textContent !== 'All 60 rows'")
    name = page.locator("#details h3").inner_text()
    page.mouse.click(*point_of(page, 0.45, 0.2))
    until(page, "document.querySelectorAll('#path li').length > 1")
    assert page.locator("#path [aria-current]").inner_text() == name
    assert name in current(page)
    page.locator("#zoom-up").click()
    page.locator("#path button").first.click()
    titled(page, "All 60 rows")
    assert page.locator("#path li").count() == 1


def test_buttons_magnify_and_dragging_pans(open_page, plain):
    page = open_page(plain)
    seen = [page.evaluate(picture())]
    for _ in range(3):
        page.locator("#zoom-in").click()
    until(page, f"(old) => {picture()} !== old", arg=seen[-1])
    seen.append(page.evaluate(picture()))
    x, y = point_of(page, 0.5, 0.5)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 150, steps=4)
    page.mouse.up()
    until(page, f"(old) => {picture()} !== old", arg=seen[-1])
    assert page.locator("#path li").count() == 1  # a drag is no click
    page.locator("#zoom-all").click()
    page.mouse.move(1, 1)
    until(page, f"(old) => {picture()} === old", arg=seen[0])


def test_modes_colours_and_supports_change_the_picture(open_page, plain):
    page = open_page(plain)
    page.locator("#view-options summary").click()
    seen = page.evaluate(picture())
    for act in (
        lambda: page.check("input[value=dendrogram]"),
        lambda: page.select_option("#colour", "a0"),
        lambda: page.select_option("#threshold", "exact 0.5"),
        lambda: page.locator("#details button", has_text="Fold").click(),
    ):
        act()
        until(page, f"(old) => {picture()} !== old", arg=seen)
        seen = page.evaluate(picture())
    assert "odd" in page.locator("#legend").inner_text()
    assert page.locator("#details button", has_text="Unfold").count() == 1


def test_both_supports_are_told_and_explained(open_page, plain, estimator):
    page = open_page(plain)
    page.locator("#view-options summary").click()
    data = Page(plain.read_text()).data["trees"][0]
    transfer, exact = (unpacked(data[kind], "float32") for kind in ("transfer", "support"))
    assert (exact <= transfer + 1e-6).all()
    facts = page.locator("#details .facts").first.inner_text().split("\n")
    assert facts[facts.index("Transfer support") + 1] == "1.00"
    assert facts[facts.index("Exact support") + 1] == "1.00"
    said = page.locator("#details .facts [title]").first.get_attribute("title")
    assert said == "1 − the share of rows that would have to move to match a draw"
    assert "exact: the share of draws with exactly" in page.locator("#support-meaning").inner_text()
    # A row that has nodes of any support above it, and those that are left with enough of either.
    parent, number = (unpacked(data[name], "int32") for name in ("parent", "start"))
    path = [int(np.flatnonzero((number == 30) & (unpacked(data["count"], "int32") == 1))[0])]
    while parent[path[-1]] >= 0:
        path.append(int(parent[path[-1]]))
    name = Page(plain.read_text()).data["rows"]["names"][30]
    for kind, least, supports in (("transfer", 0.9, transfer), ("exact", 0.5, exact)):
        page.select_option("#threshold", f"{kind} {least}")
        page.fill("#search", name)
        page.keyboard.press("Enter")
        until(page, f"document.querySelector('#details h3').textContent === '{name}'")
        left = [w for w in path if supports[w] >= least or w in (path[0], 0)]
        assert page.locator(".row-path li").count() == len(left) < len(path)
        page.fill("#search", "sample 1")
        page.keyboard.press("Enter")
        until(page, f"document.querySelector('#details h3').textContent !== '{name}'")


def test_a_page_of_one_support_has_no_word_of_another(open_page, folder, table, estimator):
    tree = estimator.tree_
    exact = Tree(tree.parent, tree.leaf, time=tree.time, support=tree.support)
    labels = np.repeat([0, 1, 2], 20)
    page = open_page(write_report(folder / "exact.html", mixture(table, tree=exact, labels=labels)))
    assert current(page).startswith("All 60 rows, support 1.00")
    assert "ransfer" not in page.locator("#explore").inner_text()
    values = page.locator("#threshold option").evaluate_all("all => all.map((one) => one.value)")
    assert values == ["", "exact 0.05", "exact 0.5", "exact 0.95"]


def test_the_table_of_clusters_sorts_and_leads_into_the_tree(open_page, plain):
    page = open_page(plain)
    rows = page.locator("#clusters-table tbody tr")
    confidence = page.locator("#clusters-table th button", has_text="Confidence")
    confidence.click()
    confidence.click()
    assert [text.split()[0] for text in rows.all_inner_texts()] == ["2", "1", "0"]
    page.get_by_role("button", name="Show cluster 1 in the tree").click()
    marked(page, 20)
    assert "chosen" in rows.nth(1).get_attribute("class")


# ---- by keys ------------------------------------------------------------------------------------


def test_arrows_walk_enter_zooms_and_backspace_leaves(open_page, plain, estimator):
    page = open_page(plain)
    branches = Branches.of(estimator.tree_)
    page.locator("#outline [tabindex='0']").focus()
    first, second = np.flatnonzero(branches.parent == 0)
    page.keyboard.press("ArrowRight")
    assert current(page).startswith(f"Branch of {branches.count[first]} rows")
    page.keyboard.press("ArrowDown")
    assert current(page).startswith(f"Branch of {branches.count[second]} rows")
    page.keyboard.press("ArrowUp")
    assert current(page).startswith(f"Branch of {branches.count[first]} rows")
    page.keyboard.press("ArrowDown")
    marked(page, branches.count[second])
    page.keyboard.press("Enter")
    assert page.locator("#path li").count() == 2
    page.keyboard.press("Backspace")
    assert page.locator("#path li").count() == 1
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert current(page).startswith("All 60 rows")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "treeitem"


def test_a_button_unfolds_all(open_page, plain):
    page = open_page(plain)
    page.locator("#outline [tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    name = current(page)
    page.keyboard.press(" ")
    assert current(page) == f"{name}, folded"
    page.locator("#unfold").click()
    until(page, "!document.querySelector('#outline').textContent.includes(', folded')")


def test_space_folds_and_right_unfolds(open_page, plain):
    page = open_page(plain)
    page.locator("#outline [tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    name = current(page)
    page.keyboard.press(" ")
    assert current(page) == f"{name}, folded"
    page.keyboard.press("ArrowRight")
    assert current(page) == name
    page.keyboard.press("ArrowRight")
    assert current(page) != name


def test_the_means_of_a_branch_are_right(open_page, plain, estimator, table):
    page = open_page(plain)
    branches = Branches.of(estimator.tree_)
    page.locator("#outline [tabindex='0']").focus()
    page.keyboard.press("ArrowRight")
    node = int(np.flatnonzero(branches.parent == 0)[0])
    rows = branches.order[branches.start[node] : branches.start[node] + branches.count[node]]
    marked(page, len(rows))
    lines = {
        line.split("\t")[0].strip(): line.split("\t")[1:]
        for line in page.locator("#details .features tr").all_inner_texts()
    }
    for name in "abcd":
        column = table[name]
        mean = column.iloc[rows].mean()
        assert float(lines[name][0].replace("−", "-")) == pytest.approx(mean, rel=1e-3)
        sds = (mean - column.mean()) / column.std(ddof=0)
        assert lines[name][1].strip() == f"{sds:+.1f} sd".replace("-", "−")
    kinds = table["kind"].iloc[rows].value_counts(normalize=True)
    chief = kinds[kinds == kinds.max()].index
    assert lines["kind"][0] in [f"{kind} {100 * kinds.max():.0f}%" for kind in chief]


def test_tab_passes_every_part_in_order(open_page, plain):
    page = open_page(plain)
    page.locator("#view-options summary").click()
    page.locator("#search").focus()
    seen = []
    for _ in range(22):
        seen.append(
            page.evaluate(
                """() => {
                  const at = document.activeElement;
                  const shown = getComputedStyle(at.closest('#tree') ?? at).outlineStyle;
                  if (shown === 'none' && at.type !== 'radio') throw new Error(at.outerHTML);
                  return at.id || at.getAttribute('role') || at.value || at.type || at.tagName;
                }"""
            )
        )
        page.keyboard.press("Tab")
    tools = ["search", "colour", "icicle", "SUMMARY", "threshold", "column-order"]
    assert seen[:10] == [*tools, "label", "a0", "confidence", "heat"]
    path, tree, *buttons = seen[10:]
    assert (path, tree) == ("button", "treeitem")
    assert buttons[:7] == [
        *("zoom-in", "zoom-out", "zoom-up", "zoom-all", "unfold"),
        *("columns-in", "columns-out"),
    ]
    assert buttons[7:] == ["get-svg", "get-png", "get-newick"]


# ---- search -------------------------------------------------------------------------------------


def test_search_finds_a_row_and_shows_its_path(open_page, plain, estimator):
    page = open_page(plain)
    page.keyboard.press("/")
    page.keyboard.type("SAMPLE 4")
    options = page.locator("#search-list [role=option]")
    assert options.count() == 11
    assert options.first.inner_text().startswith("sample 4\n")
    assert page.locator("#search-status").inner_text() == "11 rows found"
    page.keyboard.press("ArrowDown")
    assert page.locator("#search").get_attribute("aria-activedescendant") == "found-0"
    page.keyboard.press("Enter")
    titled(page, "sample 4")
    facts = page.locator("#details .facts").inner_text()
    assert f"{estimator.confidence_[4]:.2f}" in facts
    assert "Cluster\n0" in facts
    path = page.locator("#details .row-path li")
    assert path.first.inner_text().startswith("All 60 rows")
    assert path.last.inner_text().startswith("sample 4")
    assert path.count() == estimator.tree_.path(int(estimator.tree_.leaf[4])).size
    assert "sample 4: cluster 0" in page.locator("#search-status").inner_text()


def test_missing_values_and_unknown_names_are_called_so(open_page, plain):
    page = open_page(plain)
    page.fill("#search", "sample 3")
    page.keyboard.press("Enter")
    titled(page, "sample 3")
    assert re.search(r"a\s+missing", page.locator("#details .features").inner_text())
    page.fill("#search", "nobody")
    assert "No row has this name" in page.locator("#search-status").inner_text()
    assert page.locator("#search-list").is_hidden()


def test_pointing_at_the_data_finds_the_row(open_page, plain, estimator):
    page = open_page(plain)
    cloud = Page(plain.read_text()).data["cloud"]
    box = page.locator("#cloud-canvas").bounding_box()
    inner = {"left": 46, "right": 12, "top": 10, "bottom": 38}  # what the axes take
    across, up = (
        (unpacked(place["values"], "<f4") - axis["low"]) / (axis["high"] - axis["low"])
        for place, axis in zip(cloud["places"], cloud["axes"], strict=True)
    )
    row = int(np.argmax(across))
    x = box["x"] + inner["left"] + across[row] * (box["width"] - inner["left"] - inner["right"])
    height = box["height"] - inner["top"] - inner["bottom"]
    page.mouse.move(float(x), float(box["y"] + inner["top"] + (1 - up[row]) * height))
    name = f"sample {Branches.of(estimator.tree_).order[row]}"
    heading = page.locator("#details h3")
    titled(page, name)
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(1, 1)
    page.wait_for_selector("#path li:nth-child(2)")
    assert heading.inner_text() == name
