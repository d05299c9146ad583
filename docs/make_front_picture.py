"""Make the picture of the front page anew: the page of the tutorial's table, in a browser.

It needs playwright and Chromium: ``python docs/make_front_picture.py``.
"""

from __future__ import annotations

import runpy
import shutil
import tempfile
from contextlib import chdir
from pathlib import Path

import pandas as pd
from playwright.sync_api import sync_playwright

from sticktree import DFPMixture
from sticktree.report import write_report

DOCS = Path(__file__).resolve().parent
SIZE = {"width": 1240, "height": 1000}


def main() -> None:
    """Fit the table, open its page and keep what is seen of tree and data."""
    with tempfile.TemporaryDirectory() as folder:
        frame = table(Path(folder))
        tissue = frame.pop("tissue").tolist()
        mixture = DFPMixture(depth=3, leaf_noise="own", covariance_type="diag", random_state=1).fit(
            frame
        )
        page = write_report(f"{folder}/page.html", mixture, annotations={"tissue": tissue})
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            view = browser.new_page(viewport=SIZE, device_scale_factor=1.5, color_scheme="light")
            view.goto(page.as_uri())
            view.wait_for_selector("html[data-ready]", state="attached")
            box = view.locator(".explorer").bounding_box()
            assert box is not None
            clip = {"x": 0, "y": box["y"] - 8, "width": SIZE["width"], "height": 740}
            view.screenshot(path=str(DOCS / "_static" / "page.png"), clip=clip, full_page=True)
            browser.close()


def table(folder: Path) -> pd.DataFrame:
    """Return the tutorial's table, with the names of cell lines."""
    with chdir(folder):
        runpy.run_path(str(DOCS / "make_drug_table.py"))
    return pd.read_csv(folder / "drugs.csv", index_col="cell_line")


if __name__ == "__main__":
    main()
