"""Write api/parameters.md: the table of parameters, as the library has it.

Run it when a parameter changes: ``python docs/make_parameters.py``; a test fails until then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sticktree.inference.parameters import PARAMETERS, PRESETS, Parameter

PAGE = Path(__file__).parent / "api" / "parameters.md"
CLASSES = {
    "dfp": "DFPMixture",
    "dpm": "DPMixture",
    "ddt": "DirichletDiffusionTree",
    "pydt": "PitmanYorDiffusionTree",
}
HEAD = """\
# Parameters

All parameters of the mixtures, and the options of `sticktree fit` that set them.
{class}`~sticktree.DFPMixture` says more about each. Parameters are checked when `fit` is called:
a bad value raises a {class}`~sticktree.errors.ParameterError`.

| parameter | may be | default | option | what it is |
| --- | --- | --- | --- | --- |
"""
MODELS = """
## Models with names of their own

Each is a `DFPMixture` with some parameters fixed and other defaults for some.

| estimator | option | what it is | fixed | other defaults |
| --- | --- | --- | --- | --- |
"""
DRAWS = """
## Going on from an earlier fit

With `warm_start=True`, with a checkpoint and with `sticktree fit --resume`, a fit goes on from an
earlier one. That needs the same data and the same parameters, except those on which its draws do
not depend: {free}.
"""


def shown(value: Any) -> str:
    """Return a value as Python has it, with the quotes of the documentation."""
    return "`" + repr(value).replace("'", '"') + "`"


def row(parameter: Parameter) -> str:
    """Return the line of a parameter."""
    option = "" if parameter.flag is None else f"`{parameter.flag}`"
    words = [f"`{parameter.name}`", parameter.allowed.words, shown(parameter.default), option]
    return "| " + " | ".join([*words, parameter.help]) + " |\n"


def page() -> str:
    """Return the page."""
    text = HEAD + "".join(map(row, PARAMETERS.values())) + MODELS
    for name, preset in PRESETS.items():
        parts = [
            ", ".join("`" + f"{k}={shown(v)[1:]}" for k, v in values.items())
            for values in (preset.fixed, preset.defaults)
        ]
        first = [f"{{class}}`~sticktree.{CLASSES[name]}`", f"`--model {name}`", preset.title]
        text += "| " + " | ".join([*first, *parts]) + " |\n"
    free = [f"`{one.name}`" for one in PARAMETERS.values() if not one.changes_draws]
    return text + DRAWS.format(free=", ".join(free[:-1]) + " and " + free[-1])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
