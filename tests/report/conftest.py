"""A browser for all tests of the page: one that is installed, as there is nothing to download."""

import os
import shutil
import warnings

import numpy as np
import pandas as pd
import pytest

from sticktree import DFPMixture
from sticktree.posterior.draws import ConvergenceWarning
from sticktree.report import write_report
from tests.support.made_fits import mixture

COMMANDS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="package")
def browser():
    """Return a browser; where there is none, skip, or fail on machines that test every change."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        _go_without("playwright is not installed")
    path = next(filter(None, map(shutil.which, COMMANDS)), None)
    # Chrome on macOS and Windows is on no path, but Playwright knows where it is.
    where = {"executable_path": path} if path else {"channel": "chrome"}
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(args=["--no-sandbox"], **where)
        except Error as error:
            _go_without(f"no Chromium or Chrome was found: {str(error).splitlines()[0]}")
        yield found
        found.close()


def _go_without(reason):
    if os.environ.get("CI"):
        pytest.fail(f"the page must be tested in a browser, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="package")
def context_of(browser):
    """Return a function that gives the context for some options, made once: making one is slow."""
    contexts = {}

    def of(**options):
        key = repr(sorted(options.items()))
        if key not in contexts:
            usual = {"viewport": {"width": 1200, "height": 900}, "offline": True}
            contexts[key] = browser.new_context(reduced_motion="reduce", **(usual | options))
            contexts[key].set_default_timeout(10_000)
        return contexts[key]

    yield of
    for context in contexts.values():
        context.close()


@pytest.fixture
def open_page(context_of):
    """Return a function that opens a file and waits until its script has run.

    Afterwards the page must not have complained, nor asked for anything but itself.
    """
    pages, complaints, asked, allowed = [], [], [], []

    def open_(path, **options):
        page = context_of(**options).new_page()
        pages.append(page)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready]", state="attached")
        allowed.append(path.as_uri())
        return page

    yield open_
    for page in pages:
        page.close()
    assert complaints == []
    assert asked == allowed


@pytest.fixture(scope="package")
def table():
    """Three groups of rows in five columns, one of them of categories, with gaps."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 20)
    frame = pd.DataFrame(rng.normal(size=(60, 4)) + 9.0 * group[:, None], columns=list("abcd"))
    frame["kind"] = np.array(["x", "y", "z"])[group]
    frame.loc[3, "a"] = np.nan
    return frame


@pytest.fixture(scope="package")
def estimator(table):
    return mixture(table, labels=np.repeat([0, 1, 2], 20))


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("report")


@pytest.fixture(scope="package")
def plain(estimator, folder):
    names = [f"sample {i}" for i in range(60)]
    classes = ["even" if i % 2 else "odd" for i in range(60)]
    return write_report(folder / "plain.html", estimator, names=names, classes=classes)


@pytest.fixture(scope="package")
def cut_table(table):
    """The numbers of the table, one column in its logarithm, without names of categories."""
    return table[list("abcd")].assign(e=np.exp(table["a"].fillna(1.0) / 9))


@pytest.fixture(scope="package")
def quick_fit():
    """Return a function that fits with few draws; chains as short as these may well disagree."""

    def fit(data):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return DFPMixture(
                covariance_type="full",
                leaf_noise="shared",
                n_chains=2,
                n_warmup=20,
                n_draws=30,
                random_state=0,
            ).fit(data)

    return fit


@pytest.fixture(scope="package")
def cut_fit(quick_fit, cut_table):
    """A fit with draws: its cluster tree can be cut."""
    return quick_fit(cut_table)


@pytest.fixture(scope="package")
def cut_page(cut_fit, folder):
    """A page with cuts, two trees, and annotations of both kinds."""
    group = np.repeat(["one", "two", "three"], 20).tolist()
    return write_report(
        folder / "cut.html",
        cut_fit,
        names=[f"sample {i}" for i in range(60)],
        annotations={"species": [None, *group[1:]], "age": [20.0 + i for i in range(60)]},
        title="Sixty <samples>",
    )
