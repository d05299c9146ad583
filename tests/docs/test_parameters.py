"""The page of parameters is what its script makes of the table."""

import runpy
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_page_of_parameters_is_up_to_date():
    made = runpy.run_path(str(DOCS / "make_parameters.py"))["page"]()
    kept = (DOCS / "api" / "parameters.md").read_text(encoding="utf-8")
    assert kept == made, "run: python docs/make_parameters.py"
