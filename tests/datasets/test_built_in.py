from collections import Counter

import numpy as np
import pytest

from sticktree.datasets import load

NAMES = ["synthetic", "diffusion", "penguins", "iris", "wine", "breast_cancer", "digits"]


@pytest.mark.parametrize("name", NAMES)
def test_built_in_sets_are_whole_and_the_same_each_time(name):
    found, again = load(name), load(name, download=False)
    n, d = found.data.shape
    assert np.isfinite(found.data).all()
    assert len(found.labels) == n
    assert len(found.columns) == d
    assert found.name == name
    assert found.path is None
    assert all((found.title, found.description, found.citation, found.terms, found.source))
    assert again.fingerprint == found.fingerprint
    again.data[0, 0] += 1  # that of one caller is not that of another
    assert again.fingerprint != found.fingerprint
    assert load(name).fingerprint == found.fingerprint


def test_classes_of_scikit_learn_go_by_name():
    assert set(load("iris").labels) == {"setosa", "versicolor", "virginica"}
    assert set(load("breast_cancer").labels) == {"malignant", "benign"}
    assert set(load("digits").labels) == set("0123456789")


@pytest.mark.parametrize("name", ["synthetic", "diffusion"])
def test_every_class_lies_in_one_group(name):
    found = load(name)
    pairs = set(zip(found.labels, found.groups, strict=True))
    assert len(pairs) == len(set(found.labels)) > len(set(found.groups)) > 2


def test_synthetic_clusters_are_far_apart_and_groups_farther():
    found = load("synthetic")
    labels, groups = np.array(found.labels), np.array(found.groups)
    apart = np.linalg.norm(found.data[:, None] - found.data, axis=2)
    same, near = labels[:, None] == labels, groups[:, None] == groups
    assert apart[same].max() < 2 < apart[near & ~same].min()
    assert apart[near].max() < 10 < apart[~near].min()
    sizes = [len(set(labels[groups == group])) for group in "ABC"]
    assert sizes == [3, 4, 5]


def test_synthetic_clusters_have_neighbours_at_equal_distances():
    found = load("synthetic")
    labels = np.array(found.labels)
    for group, n_clusters in zip("ABC", (3, 4, 5), strict=True):
        names = [f"{group}{k + 1}" for k in range(n_clusters)]
        centres = np.array([found.data[labels == name].mean(axis=0) for name in names])
        around = np.linalg.norm(centres - np.roll(centres, 1, axis=0), axis=1)
        # Means of 8 points with sd 1/4: a distance is off by more than 0.6 once in 10⁶ times.
        np.testing.assert_allclose(around, 4, atol=0.6)


def test_a_diffusion_s_labels_are_nodes_of_its_tree():
    found = load("diffusion")
    groups = np.array(found.groups)
    assert [label.partition(".")[0] for label in found.labels] == list(found.groups)
    centres = np.array([found.data[groups == group].mean(axis=0) for group in groups])
    assert ((found.data - centres) ** 2).mean() < found.data.var() / 3


def test_penguins_of_one_species_are_on_some_islands():
    found = load("penguins")
    assert found.data.shape == (342, 4)
    where = Counter(zip(found.labels, found.annotations["island"], strict=True))
    assert where == {
        ("Adelie", "Torgersen"): 51,
        ("Adelie", "Biscoe"): 44,
        ("Adelie", "Dream"): 56,
        ("Gentoo", "Biscoe"): 123,
        ("Chinstrap", "Dream"): 68,
    }
    assert Counter(found.annotations["sex"])[""] == 9
    assert set(found.annotations["year"]) == {"2007", "2008", "2009"}
