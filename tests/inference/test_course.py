"""What follows from looks at an answer: the end, longer chains, or more of them."""

from dataclasses import replace

import pytest

from sticktree.inference.course import Aim, Course, Look

RESTLESS = Look(
    n_sweeps=100,
    chains=(0, 1, 2, 3),
    stuck=(),
    elpd=-1.0,
    change=0.3,
    difference=0.0,
    tolerance=0.02,
    agreement=1.0,
    settled=False,
    agreed=True,
)
SPLIT = replace(RESTLESS, change=0.0, difference=0.3, agreed=False)
SETTLED = replace(RESTLESS, change=0.0, settled=True)


def aims(*looks, n_chains=None):
    return Course(looks).aims(n_chains)


def test_a_course_begins_with_four_chains_of_a_hundred_sweeps():
    assert aims() == [Aim(4, 100)]
    assert aims(n_chains=7) == [Aim(7, 100)]


def test_nothing_follows_when_the_answer_is_stable():
    assert aims(SETTLED) == [Aim(4, 100), None]


def test_chains_get_longer_while_the_answer_moves_but_not_for_ever():
    found = aims(*[RESTLESS] * 4)
    assert found == [Aim(4, 100), Aim(4, 200), Aim(4, 400), Aim(4, 800), None]


def test_chains_that_disagree_get_longer_first_and_then_more():
    assert aims(SPLIT, SPLIT, SPLIT) == [Aim(4, 100), Aim(4, 200), Aim(8, 200), None]


def test_more_chains_get_longer_only_while_they_agree_and_not_for_long():
    found = aims(SPLIT, SPLIT, RESTLESS, RESTLESS)
    assert found == [Aim(4, 100), Aim(4, 200), Aim(8, 200), Aim(8, 400), None]


def test_long_chains_that_disagree_get_no_company():
    found = aims(RESTLESS, RESTLESS, RESTLESS, SPLIT)
    assert found == [Aim(4, 100), Aim(4, 200), Aim(4, 400), Aim(4, 800), None]


@pytest.mark.parametrize(("n_chains", "lengths"), [(2, 4), (6, 3)])
def test_a_number_of_chains_that_is_fixed_stays(n_chains, lengths):
    found = aims(*[SPLIT] * lengths, n_chains=n_chains)
    assert [aim.n_chains for aim in found[:-1]] == [n_chains] * lengths
    assert found[-1] is None


def test_a_chain_that_is_left_alone_gets_company_at_once():
    alone = replace(SPLIT, stuck=(0, 1, 2))
    assert aims(alone) == [Aim(4, 100), Aim(8, 100)]


def test_looks_after_the_end_change_nothing():
    assert aims(SETTLED, RESTLESS, RESTLESS) == [Aim(4, 100), None]


def test_chains_are_numbered_past_those_that_were_dropped():
    assert Course().numbers(3) == [0, 1, 2]
    dropped = Course((replace(SPLIT, stuck=(1,)),))
    assert dropped.numbers(3) == list(dropped.looks[-1].left) == [0, 2, 3]
    assert dropped.numbers(7) == [0, 2, 3, 4, 5, 6, 7]


def test_people_are_told_what_happened():
    (said,) = Course((RESTLESS, SETTLED)).words()
    assert said == "Mean density and clusters were stable after 4 chains of 100 sweeps."
    (said, stuck) = Course((replace(SPLIT, stuck=(2,)),)).words()
    assert said == "Mean density and clusters were not stable after 3 chains of 100 sweeps."
    assert stuck.startswith("Chain 3 was stuck: after 100 sweeps")
    (late,) = Course(max_time=1.5, out_of_time=True).words()
    assert "max_time = 1.5 s" in late
    assert Course().words() == []


@pytest.mark.parametrize(
    ("course", "settled"),
    [
        (Course(), False),
        (Course((SETTLED,)), True),
        (Course((SETTLED, RESTLESS)), False),
        (Course((SETTLED,), 1.0, out_of_time=True), False),
    ],
)
def test_an_answer_is_settled_if_the_last_look_says_so(course, settled):
    assert course.settled == settled
