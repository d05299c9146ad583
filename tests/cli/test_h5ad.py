"""A run as a file of AnnData: ``sticktree export run --format h5ad``."""

import sys

import numpy as np
import pytest

from sticktree.cli.runs import RunFolder
from sticktree.present.findings import Findings

pytestmark = pytest.mark.filterwarnings("ignore:The '.*' option is deprecated")
REASON = "anndata is not installed: pip install sticktree[anndata]"


def test_a_run_is_written_as_cells(run, told):
    package = pytest.importorskip("anndata", reason=REASON)
    code, out, err = told("export", "run", "--format", "h5ad", "-o", "cells.h5ad")
    assert (code, out, err) == (0, "wrote cells.h5ad\n", "")
    folder = RunFolder.open(run)
    adata, fit = package.read_h5ad("cells.h5ad"), folder.estimator.fit_
    np.testing.assert_array_equal(adata.X, Findings(fit).table.values)
    assert adata.obs_names.tolist() == (folder.ids or [str(k) for k in range(adata.n_obs)])
    np.testing.assert_array_equal(adata.obs["sticktree"].astype(int), fit.labels)
    for name, words in folder.annotations.items():
        assert [word if word == word else None for word in adata.obs[name]] == words
    code, _, err = told("export", "run", "--format", "h5ad", "-o", "cells.h5ad")
    assert code == 2
    assert "--output cells.h5ad exists" in err


def test_what_is_wrong_is_said_before_the_work(run, told, monkeypatch):
    code, _, err = told("export", "run", "--format", "h5ad")
    assert code == 2
    assert "--format h5ad is no text: give a file with --output" in err
    words = ("export", "run", "--format", "h5ad", "-o", "cells.h5ad")
    code, _, err = told(*words, "--min-support", "0.5")
    assert code == 2
    assert "--min-support is for trees, and --format h5ad has all rows" in err
    monkeypatch.setitem(sys.modules, "anndata", None)
    code, _, err = told(*words)
    assert code == 1
    assert "--format h5ad needs anndata: install it with `pip install sticktree[anndata]`" in err
    assert not (run.parent / "cells.h5ad").exists()
