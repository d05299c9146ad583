import base64
import hashlib
import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from sticktree import DFPMixture, Tree
from sticktree.report import build_report, write_report
from tests.support.made_fits import NASTY, mixture, nasty_mixture
from tests.support.pages import Page, unpacked


@pytest.fixture(scope="module")
def nasty():
    estimator = nasty_mixture()
    return build_report(
        estimator,
        names=NASTY,
        classes=NASTY,
        title=NASTY[1],
        provenance={
            NASTY[0]: NASTY[2],
            "inner": {NASTY[3]: [NASTY[4], 3]},
            "all": "".join(NASTY),
        },
    )


def test_text_from_data_makes_no_elements(nasty):
    page = Page(nasty)
    assert len(page.all("script")) == 2
    names = {tag for tag, _, _ in page.elements}
    assert not names & {"img", "iframe", "object", "embed", "link", "base"}
    attributes = {name for _, attrs, _ in page.elements for name in attrs}
    assert not [name for name in attributes if name.startswith("on") or name in ("src", "style")]


def test_the_data_block_has_no_markup(nasty):
    start = nasty.index('<script type="application/json" id="report-data">') + 49
    block = nasty[start : nasty.index("</script>", start)]
    assert not set("<>&\u2028\u2029") & set(block)
    assert block.isascii()
    assert block.endswith("}")


def test_text_from_data_is_shown_as_it_is(nasty):
    page = Page(nasty)
    assert page.texts("h1") == [NASTY[1]]
    assert page.texts("title") == [NASTY[1]]
    provenance = page.table("Provenance")
    assert [NASTY[0], NASTY[2]] in provenance
    assert [f"inner.{NASTY[3]}", f"{NASTY[4]}, 3"] in provenance
    assert sorted(page.data["rows"]["names"]) == sorted(NASTY)
    known = page.data["annotations"][0]["names"]
    assert sorted(known) == sorted(NASTY[:-1])  # a blank is no class
    assert [column["name"] for column in page.data["columns"]][:3] == NASTY[:3]


def test_the_page_can_be_written_and_read_as_utf_8(nasty, tmp_path):
    nasty.encode("utf-8")
    path = write_report(tmp_path / "Grüße.html", nasty_mixture(), names=NASTY)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [file.name for file in tmp_path.iterdir()] == ["Grüße.html"]


def test_nothing_comes_from_elsewhere(nasty):
    page = Page(nasty)
    style, script = page.texts("style")[0], page.all("script")[1][1]
    for text in (style, script):
        assert not re.search(r"https?:|//\w+\.|@import|url\((?!#)|\bfetch\(|XMLHttpRequest", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", script)


def test_the_policy_admits_this_style_and_script_only(nasty):
    page = Page(nasty)
    policy = next(
        attrs["content"] for attrs, _ in page.all("meta") if attrs.get("http-equiv") is not None
    )

    def digest(text):
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    script = next(text for attrs, text in page.all("script") if "type" not in attrs)
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest(script)}';" in policy
    assert f"style-src 'sha256-{digest(page.texts('style')[0])}';" in policy
    assert "unsafe" not in policy


def test_headings_descend_by_one(nasty):
    levels = [int(tag[1]) for tag, _, _ in Page(nasty).elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


# ---- what may be passed -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"]}, "names must have an entry for each of the 14 rows, got 1"),
        ({"classes": range(15)}, "classes must have an entry for each of the 14 rows, got 15"),
        (
            {"annotations": {"x": [1]}},
            "annotations['x'] must have an entry for each of the 14 rows",
        ),
        ({"annotations": [1]}, "annotations must be a dict of sequences or None, got [1]"),
        ({"title": 3}, "title must be a string or None, got 3"),
        ({"provenance": "x"}, "provenance must be a dict or None, got 'x'"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build_report(nasty_mixture(), **options)


def test_an_unfitted_mixture_is_refused():
    with pytest.raises(ValueError, match="estimator must be a fitted mixture, got DFPMixture"):
        build_report(DFPMixture())


def test_a_report_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="names must have an entry"):
        write_report(path, nasty_mixture(), names=["a"])
    assert path.read_text() == "old"
    with pytest.raises(FileNotFoundError, match="path must be in a folder that exists"):
        write_report(tmp_path / "none" / "report.html", nasty_mixture())


# ---- odd tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rows", "n_columns"), [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 5), (5, 300)]
)
def test_small_and_wide_tables(n_rows, n_columns):
    values = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    page = Page(build_report(mixture(values)))
    assert len(page.data["columns"]) == n_columns
    assert unpacked(page.data["rows"]["number"], "<i4").size == n_rows
    words = page.texts("p")[0]
    assert words.startswith(f"{n_rows} row{'s' * (n_rows > 1)} with {n_columns} column")
    assert len(page.table("Flat clusters")) - 1 == len(set(mixture(values).labels_))


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_missing_and_constant_columns(n_columns):
    values = np.random.default_rng(0).normal(size=(12, n_columns))
    values[:, 0] = 3.0
    values[4:, -1] = np.nan
    page = Page(build_report(mixture(values)))
    column = page.data["columns"][-1]
    assert np.isnan(unpacked(column["values"], "<f4")).sum() == 8
    assert "8 entries missing" in page.texts("p")[0]


def test_all_columns_constant():
    page = Page(build_report(mixture(np.ones((6, 4)), labels=np.zeros(6, dtype=int))))
    assert page.data["cloud"]["axes"][0]["share"] == 0
    assert page.table("Flat clusters")[1][-1] == "near the overall mean"


def test_names_may_be_absent_or_repeated():
    values = np.random.default_rng(0).normal(size=(6, 2))
    assert Page(build_report(mixture(values))).data["rows"]["names"] is None
    twice = Page(build_report(mixture(values), names=["a"] * 6))
    assert twice.data["rows"]["names"] == ["a"] * 6
    named = mixture(values, tree=mixture(values).tree_.annotated(names=list("uvwxyz")))
    assert sorted(Page(build_report(named)).data["rows"]["names"]) == list("uvwxyz")


def test_categories_and_counts_keep_their_names():
    frame = pd.DataFrame(
        {
            "colour": ["red", "blue", "red", None, "blue", "red"] * 3,
            "flag": [True, False, True, True, False, True] * 3,
            "count": [1, 2, 3, 40, 5, 6] * 3,
            "x": np.arange(18.0),
        }
    )
    estimator = mixture(frame, columns={"count": "poisson"}, labels=frame["flag"].astype(int))
    page = Page(build_report(estimator))
    kinds = {column["name"]: column for column in page.data["columns"]}
    assert kinds["colour"]["categories"] == ["blue", "red"]
    assert kinds["flag"]["categories"] == ["False", "True"]
    assert kinds["count"]["categories"] is None
    apart = [line[-1] for line in page.table("Flat clusters")[1:]]
    assert apart[0].startswith("colour blue (100%, of others 0%); flag False (100%, of others 0%)")


def test_a_draw_without_times_or_supports_will_do():
    tree = Tree([-1, 0, 0, 1, 1], [3, 3, 4, 2, 2, 2], level=[0, 1, 3, 3, 3])
    values = np.random.default_rng(0).normal(size=(6, 2))
    estimator = mixture(values, tree=tree, labels=tree.cut(3))
    data = Page(build_report(estimator)).data
    (only,) = data["trees"]
    assert only["support"] is only["transfer"] is None
    assert unpacked(only["time"], "<f4").tolist() == [0, 1, 3, 3, 3]
