"""The colours of clusters, wherever they are drawn."""

from __future__ import annotations

# Okabe and Ito's hues, told apart by colour-blind readers and in print, without black and yellow,
# in an order in which neighbours differ most; and more that were chosen for their distance from
# those before.
CLUSTERS = (
    *("#0072B2", "#E69F00", "#CC79A7", "#D55E00", "#56B4E9", "#009E73", "#4B2D78", "#B4D269"),
    *("#5A87E1", "#692D00", "#5AD2FF", "#4B4BA5", "#4BB478", "#873C2D", "#00A5C3", "#964B78"),
    *("#96C396", "#692D4B", "#B44B2D", "#5AC3C3"),
)
