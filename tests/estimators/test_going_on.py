"""``warm_start=True`` after fits and streams of rows in groups: it goes on, or says why not."""

import copy

import numpy as np
import pytest

from sticktree import DFPMixture
from tests.estimators.test_online import quiet
from tests.estimators.test_online_groups import CHOICES, assert_same_draws
from tests.estimators.test_online_parents import TREATED, patients
from tests.support.checks import assert_rejected

ROWS = patients(["a", "b", "c", "d"], n=40)
X, GROUPS, PARENTS = ROWS["X"], ROWS["groups"], ROWS["parents"]
KINDS = {
    "groups": {"groups": GROUPS},
    "parents": {"groups": GROUPS, "parents": PARENTS},
    "times": {"times": GROUPS},
}
SHORT = CHOICES | {"n_warmup": 10, "n_draws": 6, "warm_start": True}
FITS = {}


def fitted(kind, algorithm="parallel"):
    """Return a copy of a fit, which is made once."""
    if (kind, algorithm) not in FITS:
        mixture = DFPMixture(**SHORT, algorithm=algorithm)
        FITS[kind, algorithm] = quiet(mixture.fit, X, **KINDS[kind])
    return copy.deepcopy(FITS[kind, algorithm])


@pytest.mark.parametrize("algorithm", ["gibbs", "parallel"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_groups_go_on_as_one_longer_fit(kind, algorithm):
    mixture = fitted(kind, algorithm)
    quiet(mixture.set_params(n_draws=4).fit, X, **KINDS[kind])
    longer = fitted(kind, algorithm)
    quiet(longer.more_draws, 4)
    assert len(mixture.posterior_.draws) == 20
    assert_same_draws(mixture, longer)


MIXED = np.roll(GROUPS, 7)
WRONG = {
    "no groups": ("groups", {}, "groups"),
    "other groups": ("groups", {"groups": MIXED}, "groups"),
    "no times": ("times", {}, "times"),
    "groups for times": ("times", {"groups": GROUPS}, "groups"),
    "times for groups": ("groups", {"times": GROUPS}, "times"),
    "no parents": ("parents", {"groups": GROUPS}, "parents"),
    "parents of groups that had none": ("groups", KINDS["parents"], "parents"),
    "other parents": ("parents", {"groups": GROUPS, "parents": {"a": "no", "c": "no"}}, "parents"),
}


@pytest.mark.parametrize("name", WRONG)
def test_other_groups_are_named(name):
    kind, given, parameter = WRONG[name]
    words = (f"{parameter} must be those of the last fit", "warm_start=True")
    assert_rejected(lambda: fitted(kind).fit(X, **given), *words)


def test_groups_where_there_were_none_are_named():
    mixture = quiet(DFPMixture(**SHORT).fit, X)
    assert_rejected(lambda: mixture.fit(X, groups=GROUPS), "groups must be those of the last fit")


def streamed(kind):
    """Return a mixture after two batches, and the second one: of two of the four groups."""
    if kind not in FITS:
        mixture, parts = DFPMixture(**SHORT), []
        for seed, names in enumerate([["a", "b", "c", "d"], ["b", "c"]]):
            given = patients(names, seed, 40)
            if kind == "times":
                given = {"X": given["X"], "times": given["groups"]}
            parts.append({name: given[name] for name in ("X", *KINDS[kind])})
        quiet(mixture.partial_fit, **parts[0])
        quiet(mixture.partial_fit, **parts[1], n_warmup=2, n_draws=3)
        FITS[kind] = mixture, parts
    return copy.deepcopy(FITS[kind][0]), FITS[kind][1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_goes_on_with_its_last_batch(kind):
    mixture, (first, last) = streamed(kind)
    longer = copy.deepcopy(mixture)
    quiet(mixture.set_params(n_draws=4).fit, **last)
    quiet(longer.more_draws, 4)
    assert_same_draws(mixture, longer)
    assert mixture.composition_.groups[:4] == ("a", "b", "c", "d")
    assert mixture.composition_.n_rows[:4].tolist() == [40, 80, 80, 40]
    assert len(mixture.stream_) == 2
    words = ("X must be the data of the last batch", "partial_fit")
    assert_rejected(lambda: mixture.fit(**first), *words)
    quiet(mixture.partial_fit, **first, n_warmup=1, n_draws=2)
    assert len(mixture.stream_) == 3


def test_a_stream_of_one_group_goes_on():
    mixture = DFPMixture(**SHORT)
    given = {"X": X[:40], "groups": ["a"] * 40}
    quiet(mixture.partial_fit, **given)
    quiet(mixture.fit, **given)
    assert len(mixture.posterior_.draws) == 24
    assert mixture.composition_.groups == ("a",)


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        ("groups", {"groups": ["x"] * 40 + ["y"] * 40}, ("groups", "last batch", "partial_fit")),
        ("groups", {"parents": TREATED}, ("parents", "last batch")),
        ("parents", {"parents": {"b": "yes"}}, ("parents", "the same", "'yes' of 'b'")),
        ("times", {"times": ["x"] * 80}, ("times", "last batch")),
    ],
)
def test_other_groups_of_the_last_batch_are_named(kind, change, words):
    mixture, (_, last) = streamed(kind)
    assert_rejected(lambda: mixture.fit(**last | change), *words)
