"""The table of parameters: what is checked, documented and offered agrees with it."""

import inspect
import re

import numpy as np
import pytest

from sticktree import DFPMixture, DirichletDiffusionTree, DPMixture, PitmanYorDiffusionTree
from sticktree.errors import ParameterError
from sticktree.inference.parameters import PARAMETERS, PRESETS, checked, draws_depend_on

CLASSES = {
    "dfp": DFPMixture,
    "dpm": DPMixture,
    "ddt": DirichletDiffusionTree,
    "pydt": PitmanYorDiffusionTree,
}


def signature(estimator):
    found = dict(inspect.signature(estimator.__init__).parameters)
    del found["self"]
    return {name: parameter.default for name, parameter in found.items()}


def entries(docstring):
    """Return what the docstring has on each parameter: its type, its default and its words."""
    section = docstring.split("Parameters\n    ----------\n")[1].split("\n\n    Attributes")[0]
    found = re.findall(r"^    (\w.*) : (.*), default=(.*)\n((?:        .*\n?)+)", section, re.M)
    assert len(found) == len(re.findall(r"^    \w", section, re.M))
    return {name: (words, default, " ".join(text.split())) for name, words, default, text in found}


def test_the_signature_of_the_mixture_is_that_of_the_table():
    assert signature(DFPMixture) == {name: one.default for name, one in PARAMETERS.items()}


def test_the_docstring_of_the_mixture_agrees_with_the_table():
    found = entries(DFPMixture.__doc__)
    assert list(found) == list(PARAMETERS)
    for name, (words, default, text) in found.items():
        parameter = PARAMETERS[name]
        assert words == parameter.allowed.words, name
        assert default == repr(parameter.default).replace("'", '"'), name
        first = parameter.help[0].upper() + parameter.help[1:]
        assert text.startswith(f"{first}."), name


@pytest.mark.parametrize("name", PRESETS)
def test_a_model_with_a_name_of_its_own_is_that_of_the_table(name):
    preset = PRESETS[name]
    plain = {one: parameter.default for one, parameter in PARAMETERS.items()}
    expected = plain | preset.defaults | preset.fixed
    assert CLASSES[name]().model_parameters() == expected
    named = signature(CLASSES[name])
    assert not named.keys() & preset.fixed.keys()
    assert preset.defaults.keys() <= named.keys()


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_default_is_allowed(name):
    PARAMETERS[name].check(PARAMETERS[name].default)


NEVER = object()
LATER = {"columns", "level", "random_state", "divergence"}


@pytest.mark.parametrize("name", sorted(PARAMETERS.keys() - LATER))
def test_a_value_that_is_nothing_known_is_refused_by_name(name):
    values = {one: parameter.default for one, parameter in PARAMETERS.items()} | {name: NEVER}
    with pytest.raises(ParameterError, match=f"^{name} must be ") as caught:
        checked(values)
    assert (caught.value.name, caught.value.got) == (name, NEVER)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"standardize": "no"}, "standardize must be a bool, got 'no'"),
        ({"warm_start": 1}, "warm_start must be a bool, got 1"),
        ({"progress": "yes"}, "progress must be True, False or None, got 'yes'"),
        ({"checkpoint": 5}, "checkpoint must be a path or None, got 5"),
        ({"n_jobs": -2}, "n_jobs must be an integer of at least 1, got -2"),
        ({"depth": 10_001}, "depth must be an integer of at most 10000, got 10001"),
        ({"n_draws": 10**20}, "n_draws must be an integer of at most 1000000000, got 1000"),
        ({"algorithm": ["gibbs"]}, "algorithm must be one of"),
    ],
)
def test_what_is_wrong_is_told_before_the_data_are_read(parameters, words):
    with pytest.raises(ParameterError, match=re.escape(words)):
        DFPMixture(**parameters).fit("no table at all")


def test_values_have_the_form_that_the_fit_uses():
    values = {name: parameter.default for name, parameter in PARAMETERS.items()}
    found = checked(values | {"n_jobs": -1, "n_draws": np.int64(7), "scale_prior": [1, 2]})
    assert found["n_jobs"] is None
    assert (found["n_draws"], type(found["n_draws"])) == (7, int)
    assert found["scale_prior"] == (1.0, 2.0)
    assert found["resolution"] is None


def test_draws_do_not_depend_on_how_a_fit_is_run():
    values = DFPMixture(n_jobs=2, progress=False).get_params()
    kept = draws_depend_on(values)
    assert values.keys() - kept.keys() == {
        "averaging",
        "n_draws",
        "max_time",
        "n_jobs",
        "warm_start",
        "progress",
        "checkpoint",
        "level",
    }
    assert kept["n_warmup"] == "'auto'"
