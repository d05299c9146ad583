"""Cells as scanpy has them: fit the rows of an AnnData, and write what was found into it.

``sticktree.anndata.fit(adata, use_rep="X_pca")`` leaves in ``adata``, under one key:

- ``obs[key]``: clusters of the cells, as categories;
- ``obs[key + "_confidence"]``: the probability of each cell to be in its own cluster after a step
  of the walk; ``obs[key + "_stray"]``: whether it is apart from the cluster that it is nearest to;
- ``obsm[key + "_membership"]``: the probability of each cell to be in each cluster;
- ``var[key + "_relevance"]``: how far each gene carries the clusters, if genes were fitted
  themselves, as ``beyond_chance`` of :meth:`sticktree.DFPMixture.relevance`;
- ``uns[key]``: parameters, trees as Newick and linkage, whether the answer is settled;
- ``uns["dendrogram_" + key]``: the tree of the clusters, where scanpy's plots look for it.

:func:`to_anndata` goes the other way: it makes an AnnData of a fit to any table, for programs that
read ``.h5ad``, with the same results in it.

It needs the package anndata (``pip install sticktree[anndata]``).
"""

from sticktree.anndata.making import to_anndata
from sticktree.anndata.results import fit, write
from sticktree.anndata.rows import CountsWarning, table

__all__ = ["CountsWarning", "fit", "table", "to_anndata", "write"]
