"""What a terminal or a file is told while people wait."""

import os
import subprocess
import sys

import numpy as np
import pytest

from sticktree import DFPMixture
from sticktree.inference.course import Aim, Look, _next, most_left
from sticktree.inference.showing import Pace, saying, showing

PROGRAM = """
from sticktree.inference.showing import saying
with saying("waiting for nothing"):
    pass
print("done")
"""


def test_a_file_gets_what_is_being_done_as_a_line_if_asked_for(capsys):
    with saying("waiting", show=True):
        assert capsys.readouterr().err == "waiting\n"
    with saying("waiting"), saying("waiting", show=False):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(sys.platform == "win32", reason="no terminals to imitate")
def test_a_terminal_is_told_what_is_being_done():
    import pty

    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", PROGRAM], stdout=theirs, stderr=theirs, check=True)
    shown = os.read(ours, 65536).decode()
    os.close(theirs)
    os.close(ours)
    assert "waiting for nothing" in shown
    assert "done" in shown


def test_a_fit_says_that_its_draws_are_being_summed_up(capsys):
    data = np.random.default_rng(0).normal(size=(12, 2))
    settings = {"covariance_type": "diag", "leaf_noise": "shared", "random_state": 0}
    mixture = DFPMixture(2, n_chains=2, n_warmup=3, n_draws=5, **settings)
    mixture.set_params(progress=False).fit(data)
    assert capsys.readouterr().err == ""
    mixture.fit_.summarised(progress=True)
    assert capsys.readouterr().err == "finding what 10 draws agree on\n"


def test_all_that_is_called_meanwhile_says_what_it_does_on_the_same_line(capsys):
    with showing(True) as line:
        with showing(None) as other, showing(True) as third:
            assert (other is line, third is line) == (False, True)  # nobody looks at a file
        with showing(False) as silent:
            silent.say("nothing")
        third.say("something")
    assert capsys.readouterr().err == "something\n"


def test_what_is_left_is_told_of_the_phase_and_of_all_that_may_follow():
    times = iter([0.0, 0.5, 30.0, 60.0])
    pace = Pace(100, after=300, clock=lambda: next(times))
    pace.done = 10
    assert pace.words() == "10 %"  # too early to tell
    pace.done = 25
    assert pace.words() == "25 %, 1:30 left, 7:30 at most"
    pace.done = 100
    assert pace.words() == "100 %, 0 s left, 3:00 at most"
    assert Pace(None).words() == ""
    times = iter([0.0, 30.0])
    pace = Pace(100, after=300, most=40.0, clock=lambda: next(times))
    pace.done = 25
    assert pace.words() == "25 %, 10 s left, 10 s at most"  # time is limited


@pytest.mark.parametrize("more", [True, False])
def test_no_course_takes_more_sweeps_than_were_announced(more):
    """Whatever is found at every look, what follows is at most what was said."""
    first = Aim(4, 100)
    pending = [(first, 0)]
    while pending:
        aim, taken = pending.pop()
        assert taken + most_left(aim, more) <= most_left(first, more)
        for agreed in (True, False):
            look = Look(aim.length, (0, 1, 2, 3), (), 0.0, 1.0, 1.0, 0.1, 0.5, False, agreed)
            then = _next(aim, look, more)
            if then is not None:
                cost = then.n_chains * then.length - aim.n_chains * aim.length
                pending.append((then, taken + cost))
