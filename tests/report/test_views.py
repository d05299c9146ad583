"""The page in a real browser: heat map, tracks, colours, cuts, trees and the link to a view."""

import re

import numpy as np
import pytest

from sticktree.posterior.cutting import Cut
from sticktree.report import write_report
from tests.support.made_fits import mixture
from tests.support.pages import Page, marked, picture, point_of, titled, unpacked, until


@pytest.fixture(scope="module")
def data(cut_page):
    return Page(cut_page.read_text()).data


# The colours of some points of the tree, read at once: browsers complain of more.
COLOURS = """(points) => {
  const canvas = document.getElementById('tree-canvas');
  const { data, width } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return points.map(([x, y]) => [0, 1, 2].map(
    (k) => data[4 * (Math.round(y) * width + Math.round(x)) + k]));
}"""


def places(page):
    """Where things stand on the canvas, in pixels."""
    numbers = map(float, page.locator("#tree-canvas").get_attribute("data-place").split())
    return dict(zip(("head", "bottom", "tracks", "heat", "width"), numbers, strict=True))


def at(page, x, y):
    """A point of the tree's canvas, by pixels, on the screen."""
    page.locator("#tree-canvas").scroll_into_view_if_needed()
    box = page.locator("#tree-canvas").bounding_box()
    return box["x"] + x, box["y"] + y


def cell(page, row, column, n_columns=5, n_rows=60):
    """The middle of a cell of the heat map, where all of it is in view."""
    place = places(page)
    x = place["heat"] + (column + 0.5) * place["width"] / n_columns
    return x, place["head"] + (row + 0.5) * (place["bottom"] - place["head"]) / n_rows


def hash_of(page, wanted):
    """Wait until the address says something."""
    until(page, "(wanted) => decodeURIComponent(location.hash).includes(wanted)", wanted)


def tip(page, words):
    until(page, "(words) => document.getElementById('tip').textContent.includes(words)", words)
    return page.locator("#tip").inner_text()


# ---- the heat map -------------------------------------------------------------------------------


def test_cells_are_those_of_the_table(open_page, cut_page, data, cut_table):
    page = open_page(cut_page)
    number = unpacked(data["rows"]["number"], "<i4")
    order = unpacked(data["column_tree"]["order"], "<i4")
    scores = (cut_table - cut_table.mean()) / cut_table.std(ddof=0)
    points, expected = [], []
    for row, column in ((0, 0), (17, 4), (59, 2)):
        name = cut_table.columns[order[column]]
        point = cell(page, row, column)
        page.mouse.move(*at(page, *point))
        text = tip(page, f"{name}: ")
        assert text.startswith(f"sample {number[row]}\n")
        value = cut_table[name][number[row]]
        shown = re.search(rf"{name}: (\S+) \((\S+) sd\)", text)
        assert float(shown[1].replace("−", "-")) == pytest.approx(value, rel=1e-5)
        score = scores[name][number[row]]
        assert float(shown[2].replace("−", "-")) == pytest.approx(score, abs=0.051)
        points.append(point)
        expected.append(score > 0)
    # Row 3 lacks its first column.
    row = int(np.flatnonzero(number == 3)[0])
    column = int(np.flatnonzero(order == 0)[0])
    point = cell(page, row, column)
    page.mouse.move(*at(page, *point))
    assert "a: missing" in tip(page, "sample 3")
    titled(page, "sample 3")
    colours = page.evaluate(COLOURS, [*points, point])
    assert [red > blue for red, _, blue in colours[:-1]] == expected
    assert colours[-1] == [178, 178, 178]


def test_columns_are_magnified_panned_and_parted(open_page, cut_page):
    page = open_page(cut_page)
    page.locator("#columns-in").click()
    hash_of(page, "across=")
    first, last = map(float, re.search(r"across=([\d.]+)\+([\d.]+)", page.url).groups())
    assert last - first == pytest.approx(5 / 1.5, abs=0.02)
    page.locator("#columns-out").click()
    until(page, "!location.hash.includes('across')")
    page.locator("#columns-in").click()
    hash_of(page, "across=")
    place = places(page)
    start = at(page, place["heat"] + 0.7 * place["width"], 0.5 * (place["head"] + place["bottom"]))
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] - 0.4 * place["width"], start[1], steps=3)
    page.mouse.up()
    hash_of(page, "+5")  # panned to the last of them
    page.locator("#zoom-all").click()
    until(page, "!location.hash.includes('across')")
    place = places(page)
    # The highest join has all of them, and those below it are fewer.
    page.mouse.move(*at(page, place["heat"] + 0.5 * place["width"], 4))
    assert "5 columns that go together" in tip(page, "columns that go")
    for y in range(6, 30, 4):
        page.mouse.move(*at(page, place["heat"] + 0.9 * place["width"], y))
        if "5 columns" not in page.locator("#tip").inner_text():
            break
    count = int(page.locator("#tip strong").inner_text().split()[0])
    assert 2 <= count < 5
    page.mouse.down()
    page.mouse.up()
    hash_of(page, "across=")
    first, last = map(float, re.search(r"across=([\d.]+)\+([\d.]+)", page.url).groups())
    assert last - first == count
    page.keyboard.press("[")
    until(page, "!location.hash.includes('across')")


def test_the_heat_map_can_be_put_away_and_columns_in_their_order(
    open_page, cut_page, cut_table, cut_fit
):
    page = open_page(cut_page)
    page.locator("#view-options summary").click()
    page.select_option("#column-order", "relevance")
    hash_of(page, "columns=relevance")
    for column, name in enumerate(cut_fit.relevance().to_frame()["column"]):
        page.mouse.move(*at(page, *cell(page, 5, column)))
        tip(page, f"{name}: ")
    page.select_option("#column-order", "table")
    hash_of(page, "columns=table")
    for column, name in enumerate(cut_table.columns):
        page.mouse.move(*at(page, *cell(page, 5, column)))
        tip(page, f"{name}: ")
    page.uncheck("#heat")
    hash_of(page, "heat=0")
    assert places(page)["width"] == 0


def test_a_column_is_coloured_by_a_click_on_its_name(open_page, cut_page, data, cut_table):
    page = open_page(cut_page)
    place = places(page)
    point = at(page, cell(page, 0, 3)[0], place["head"] - 8)
    name = cut_table.columns[unpacked(data["column_tree"]["order"], "<i4")[3]]
    page.mouse.move(*point)
    tip(page, "Click to colour by it")
    page.mouse.down()
    page.mouse.up()
    until(page, "document.getElementById('colour').value.startsWith('c')")
    assert page.locator("#colour option:checked").inner_text() == name
    assert page.locator("#legend .ramp-key").first.inner_text().startswith(name)
    # The ends of its colours are the first and last per cent of its values.
    page.mouse.down()
    page.mouse.up()
    until(page, "document.getElementById('colour').value === 'label'")


# ---- colours and tracks -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by", "said"), [("confidence", "confidence 0"), ("a1", "age 21"), ("a0", "species:")]
)
def test_everything_known_can_be_a_colour(open_page, cut_page, by, said):
    page = open_page(cut_page)
    both = f"[{picture()}, {picture('cloud-canvas')}]"
    before = page.evaluate(both)
    page.select_option("#colour", by)
    until(page, f"(old) => {both}.every((one, k) => one !== old[k])", before)
    assert said in page.locator("#legend").inner_text()


def test_the_keyboard_hears_the_colours(open_page, cut_page):
    page = open_page(cut_page)
    spoken = page.locator("#outline [aria-selected=true]")
    page.select_option("#colour", "a1")
    assert "mean age 49.5" in spoken.inner_text()
    page.select_option("#colour", "a0")
    assert "% " in spoken.inner_text()


def test_tracks_come_and_go_and_are_told(open_page, cut_page, data):
    page = open_page(cut_page)
    place = places(page)
    number = unpacked(data["rows"]["number"], "<i4")
    row = int(np.flatnonzero(number == 0)[0])  # whose species is not known
    page.mouse.move(*at(page, place["tracks"] + 18, cell(page, row, 0)[1]))
    assert "species: unknown" in tip(page, "sample 0")
    page.mouse.move(*at(page, place["tracks"] + 31, cell(page, row, 0)[1]))
    assert "age: 20" in tip(page, "age")
    page.locator("#view-options summary").click()
    page.locator("#tracks-list input[value=a0]").uncheck()
    page.locator("#tracks-list input[value=confidence]").check()
    hash_of(page, "tracks=label+a1+confidence")
    page.mouse.move(*at(page, places(page)["tracks"] + 31, cell(page, row, 0)[1]))
    assert "confidence: " in tip(page, "confidence")


def test_a_name_of_the_legend_chooses_its_rows(open_page, cut_page):
    page = open_page(cut_page)
    key = page.get_by_role("button", name="Choose three", exact=True)
    key.click()
    marked(page, 20)
    assert key.get_attribute("aria-pressed") == "true"
    assert page.locator("#get-csv").inner_text() == "20 rows (CSV)"
    key.click()
    until(page, "!location.hash.includes('group')")


# ---- cuts ---------------------------------------------------------------------------------------


def test_everything_follows_the_number_of_clusters(open_page, cut_page, cut_fit, cut_table):
    page = open_page(cut_page)
    found = len(set(cut_fit.labels_))
    page.locator("#cut").focus()
    page.keyboard.press("Home")  # by keys
    assert page.locator("#cut").get_attribute("aria-valuetext") == "1 cluster"
    page.fill("#cut-number", "5")
    page.keyboard.press("Enter")
    until(page, "document.getElementById('cut').getAttribute('aria-valuetext') === '5 clusters'")
    labels = cut_fit.cluster(n_clusters=5)
    sizes = np.bincount(labels)
    lines = page.locator("#clusters-table tbody tr")
    cells = [line.split("\t") for line in lines.all_inner_texts()]
    assert [int(line[1]) for line in cells] == sizes.tolist()
    sure = cut_fit.fit_.membership_in(5)[np.arange(60), labels]
    means = [sure[labels == k].mean() for k in range(5)]
    assert [float(line[3]) for line in cells] == pytest.approx(means, abs=0.0051)
    assert "Cut by hand into 5 clusters" in page.locator("#cut-note").inner_text()
    assert page.locator("#legend ul").first.locator("button").count() == 5
    # What makes them: differences of means in standard deviations within, the largest first.
    shown = page.locator("#markers-cut-1 tbody tr").all_inner_texts()
    inside = labels == 1
    effects = {}
    for name in cut_table:
        a, b = cut_table[name][inside].dropna(), cut_table[name][~inside].dropna()
        within = (a.var(ddof=0) * a.size + b.var(ddof=0) * b.size) / (a.size + b.size)
        effects[name] = (a.mean() - b.mean()) / np.sqrt(within)
    expected = sorted(effects, key=lambda name: -abs(effects[name]))
    assert [line.split("\t")[0] for line in shown] == expected
    first = shown[0].split("\t")
    assert float(first[3].replace("−", "-")) == pytest.approx(effects[expected[0]], abs=0.051)
    page.get_by_role("button", name="Show cluster 1 in the tree").click()
    marked(page, sizes[1])
    page.locator("#cut-found").click()
    until(page, f"document.querySelectorAll('#clusters-table tbody tr').length === {found}")
    assert page.locator("#cut-note").is_hidden()
    assert page.locator("#markers-0").is_visible()


def test_strays_are_marked_and_may_be_left_out(open_page, folder, table):
    labels = np.repeat([0, 1, 2], 20)
    estimator = mixture(table, labels=labels)
    stray = np.zeros(60, dtype=bool)
    stray[[4, 44]] = True
    vars(estimator.fit_)["cut"] = Cut(labels, stray)
    page = open_page(write_report(folder / "strays.html", estimator))
    assert "2 strays, in a small branch" in page.locator("#legend").inner_text()
    page.fill("#search", "44")
    page.keyboard.press("Enter")
    until(page, "document.getElementById('details').textContent.includes('apart from its cluster')")
    page.locator("#view-options summary").click()
    page.select_option("#strays", "label")
    page.get_by_role("button", name="Choose stray", exact=True).click()
    marked(page, 2)


# ---- trees and links ----------------------------------------------------------------------------


def test_either_tree_orders_everything(open_page, cut_page, cut_fit, data):
    page = open_page(cut_page)
    assert [tree["word"] for tree in data["trees"]] == ["clusters", "consensus"]
    assert "parts as number 1 of " in page.locator("#outline [aria-selected=true]").inner_text()
    page.fill("#search", "sample 33")
    page.keyboard.press("Enter")
    titled(page, "sample 33")
    confidence = page.locator("#details .facts").inner_text()
    page.locator("#view-options summary").click()
    page.select_option("#which-tree", "1")
    until(
        page,
        "document.querySelector('#outline [aria-selected=true]').textContent.includes('level')",
    )
    titled(page, "sample 33")  # the row stays chosen
    assert page.locator("#details .facts").inner_text() == confidence
    path = page.locator("#details .row-path li").count()
    assert path == cut_fit.tree_.path(int(cut_fit.tree_.leaf[33])).size
    page.locator("#zoom-all").click()
    number = cut_fit.tree_.data_order
    for row in (0, 31):
        page.mouse.move(*at(page, *cell(page, row, 1)))
        assert tip(page, f"sample {number[row]}").startswith(f"sample {number[row]}\n")


def test_the_address_brings_the_view_back(open_page, cut_page, context_of):
    page = open_page(cut_page)
    page.locator("#view-options summary").click()
    page.select_option("#colour", "c1")
    page.fill("#cut-number", "4")
    page.keyboard.press("Enter")
    page.check("input[value=dendrogram]")
    page.select_option("#threshold", "exact 0.05")
    page.mouse.click(*point_of(page, 0.25, 0.5))
    page.locator("#columns-in").click()
    page.mouse.move(1, 1)
    hash_of(page, "zoom=")
    page.wait_for_timeout(250)
    seen, address = page.evaluate(picture()), page.url
    assert "k=4" in address
    other = context_of().new_page()
    other.goto(address)
    other.wait_for_selector("html[data-ready]", state="attached")
    until(other, f"(seen) => {picture()} === seen", seen)
    assert other.locator("#cut-number").input_value() == "4"
    other.wait_for_timeout(250)
    assert other.url == address
    other.evaluate("location.hash = 'k=2'")  # an address typed by hand
    until(other, "document.getElementById('cut-number').value === '2'")
    assert other.locator("#colour").input_value() == "label"
    other.close()


@pytest.mark.parametrize(
    "hash_",
    ["k=99&zoom=-4&row=1e9&colour=c999&tracks=zz+a9&across=9+1&folded=1+x&group=a1+7", "main", "="],
)
def test_addresses_that_mean_nothing_do_no_harm(context_of, cut_page, hash_):
    page = context_of().new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{cut_page.as_uri()}#{hash_}")
    page.wait_for_selector("html[data-ready]", state="attached")
    assert page.locator("#details h3").inner_text() == "All 60 rows"
    page.locator("#copy-link").click()
    until(page, "document.getElementById('taken').textContent.includes('address of this view')")
    assert complaints == []
    page.close()
