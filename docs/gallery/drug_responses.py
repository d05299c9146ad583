"""
Drug responses as a heat map
============================

Invented cell lines, invented drugs, simulated responses with gaps: the tree orders the rows, and
the heat map shows what sets its branches apart.
"""

# %%
# The script that makes the table is that of the :doc:`tutorial for biologists </biologists>`. Four
# tissues have three subtypes each, and about one response in twelve was never measured.

import runpy

import pandas as pd

from sticktree import DFPMixture
from sticktree.plotting import CoclusteringDisplay, DendrogramDisplay, HeatmapDisplay

runpy.run_path("../make_drug_table.py")
table = pd.read_csv("drugs.csv", index_col="cell_line")
tissue = table.pop("tissue")

# %%
# Every cluster has its own spread of each drug (``leaf_noise="own"``, ``"diag"``), which is what
# the data choose when they are left to. Names of rows come from the index.

mixture = DFPMixture(
    covariance_type="diag", leaf_noise="own", n_warmup=500, n_draws=500, random_state=1
).fit(table)

# %%
# Rows in the order of the tree, columns by how alike they are; what is missing stays blank.

HeatmapDisplay.from_estimator(mixture, classes=tissue)

# %%
# The tree itself, with transfer supports: of a branch with 0.9, about one row in ten moves from
# draw to draw.

DendrogramDisplay.from_estimator(mixture, classes=tissue)

# %%
# How often two cell lines share a cluster, over all draws: dark squares are sure, grey is doubt.

CoclusteringDisplay.from_estimator(mixture)
