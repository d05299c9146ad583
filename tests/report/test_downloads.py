"""What can be taken along from the page, read back by other programs."""

import io
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from sticktree import Tree
from sticktree.report import write_report
from tests.support.made_fits import NASTY, nasty_mixture
from tests.support.pages import marked, until

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def take(open_page):
    """Return a function that presses a button of the page and returns the file's name and bytes."""

    def taken(page, button):
        with page.expect_download() as started:
            page.locator(f"#get-{button}").click()
        return started.value.suggested_filename, started.value.path().read_bytes()

    return taken


def test_svg_is_well_formed_and_has_what_is_in_view(open_page, take, cut_page):
    page = open_page(cut_page, color_scheme="dark")  # a picture to be printed is light
    page.check("input[value=dendrogram]")
    name, content = take(page, "svg")
    assert name == "Sixty-samples.svg"
    root = ET.fromstring(content)
    assert root.find(f"{SVG}title").text == "Sixty <samples>"
    texts = [one.text for one in root.iter(f"{SVG}text")]
    assert {"Sixty <samples>", *"abcde", "species", "age", "missing", "cluster 0"} <= set(texts)
    paper = root.find(f"{SVG}rect")
    assert paper.get("fill") == "#fff"
    paths = [one.get("d") for one in root.iter(f"{SVG}path")]
    assert sum(path.count("z") for path in paths) == 60 * 5  # a shape for every cell
    assert not list(root.iter(f"{SVG}image"))
    bars = [one.get("height") for one in root.iter(f"{SVG}rect")]
    assert bars.count("14") == 3  # one before every cluster


def test_png_is_twice_as_sharp_and_not_empty(open_page, take, cut_page):
    from PIL import Image

    page = open_page(cut_page)
    name, content = take(page, "png")
    assert name == "Sixty-samples.png"
    picture = Image.open(io.BytesIO(content))
    assert picture.width >= 2_000
    assert picture.height >= 1_280
    assert len(picture.convert("RGB").getcolors(1 << 24)) > 50
    assert picture.getpixel((3, 3))[:3] == (255, 255, 255)


def test_newick_is_the_tree_in_view(open_page, take, cut_page, cut_fit):
    page = open_page(cut_page)
    expected = cut_fit.cluster_tree_
    name, content = take(page, "newick")
    assert name == "Sixty-samples.nwk"
    same(Tree.from_newick(content.decode()), expected)
    page.locator("#view-options summary").click()
    page.select_option("#which-tree", "1")
    same(Tree.from_newick(take(page, "newick")[1].decode()), cut_fit.tree_)
    page.select_option("#threshold", "exact 0.5")
    same(Tree.from_newick(take(page, "newick")[1].decode()), cut_fit.tree_.collapsed(0.5))
    # A branch alone, as it is in view.
    page.select_option("#threshold", "")
    page.get_by_role("button", name="Show cluster 1 in the tree").click()
    part = Tree.from_newick(take(page, "newick")[1].decode())
    rows = {f"sample {i}" for i in np.flatnonzero(cut_fit.labels_ == 1)}
    assert rows <= set(part.names)
    assert part.n_data < 60


def same(found, expected):
    """Check that two trees have the same branches, with the same times and supports."""

    def branches(tree, names):
        tree = tree.pruned().compressed()
        found = {}
        for w in range(tree.n_nodes):
            if tree.count[w] > 1:
                rows = frozenset(names[i] for i in tree.data_below(w))
                values = [tree.time[w], tree.support[w]]
                found[rows] = [*values, np.nan if tree.transfer is None else tree.transfer[w]]
        return found

    mine = branches(found, found.names)
    theirs = branches(expected, [f"sample {i}" for i in range(expected.n_data)])
    assert mine.keys() == theirs.keys()
    for rows, values in mine.items():
        np.testing.assert_allclose(values, theirs[rows], atol=2e-5)


def test_csv_has_the_rows_that_are_chosen(open_page, take, cut_page, cut_fit, cut_table):
    page = open_page(cut_page)
    name, content = take(page, "csv")
    assert name == "Sixty-samples-rows.csv"
    table = pd.read_csv(io.BytesIO(content), encoding="utf-8-sig").set_index("row").sort_index()
    assert table["name"].tolist() == [f"sample {i}" for i in range(60)]
    assert table["cluster"].tolist() == cut_fit.labels_.tolist()
    np.testing.assert_allclose(table["confidence"], cut_fit.confidence_, atol=1e-4)
    assert table["species"].isna().tolist() == [True] + 59 * [False]
    assert table["age"].tolist() == [20.0 + i for i in range(60)]
    np.testing.assert_allclose(table[list("abcde")], cut_table, rtol=1e-6)
    page.get_by_role("button", name="Show cluster 1 in the tree").click()
    marked(page, int((cut_fit.labels_ == 1).sum()))
    part = pd.read_csv(io.BytesIO(take(page, "csv")[1]), encoding="utf-8-sig")
    assert sorted(part["row"]) == np.flatnonzero(cut_fit.labels_ == 1).tolist()
    until(page, "document.getElementById('taken').textContent.endsWith('rows written.')")


def test_hostile_text_is_text_in_every_file(open_page, take, folder):
    path = write_report(
        folder / "nasty files.html",
        nasty_mixture(),
        names=NASTY,
        annotations={NASTY[0]: NASTY, NASTY[2]: NASTY[::-1]},
        title=NASTY[1],
    )
    page = open_page(path)
    name, content = take(page, "svg")
    assert name == "script-script-window-hacked-2-script.svg"
    root = ET.fromstring(content)
    kinds = {one.tag.removeprefix(SVG) for one in root.iter()}
    assert kinds <= {"svg", "title", "defs", "clipPath", "rect", "g", "path", "text"}
    assert not [key for one in root.iter() for key in one.attrib if key.startswith("on")]
    table = pd.read_csv(
        io.BytesIO(take(page, "csv")[1]), encoding="utf-8-sig", keep_default_na=False
    )
    back = table.set_index("row").sort_index()["name"].tolist()
    # What is no character of any encoding cannot be written.
    assert back == [one.replace("\ud83d", "\ufffd") for one in NASTY]
    tree = Tree.from_newick(take(page, "newick")[1].decode())
    assert sorted(tree.names) == sorted(one.replace("\ud83d", "\ufffd") for one in NASTY)
    assert page.evaluate("window.hacked === undefined")


def test_paper_has_a_picture_of_its_own(open_page, cut_page):
    page = open_page(cut_page, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    picture = page.locator("#print-canvas")
    assert picture.is_visible()
    assert page.locator("#tree").is_hidden()
    assert page.locator("#get-svg").is_hidden()
    corner = (
        "document.getElementById('print-canvas').getContext('2d').getImageData(3, 3, 1, 1).data"
    )
    assert page.evaluate(f"[...{corner}]") == [255, 255, 255, 255]
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen", color_scheme="dark")
    assert picture.is_hidden()
    assert page.locator("#tree").is_visible()


def test_the_button_prints(open_page, cut_page):
    page = open_page(cut_page)
    page.evaluate("window.print = () => { document.body.dataset.printed = 'yes'; }")
    page.locator("#print").click()
    assert page.evaluate("document.body.dataset.printed") == "yes"
