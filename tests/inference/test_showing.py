"""What a terminal or a file is told while people wait."""

import os
import subprocess
import sys

import numpy as np
import pytest

from sticktree import DFPMixture
from sticktree.inference.showing import saying

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
