"""Samplers of the posterior: one engine for each kind of noise, behind one interface."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sticktree.engine.chain import Engine
from sticktree.model import Model

if TYPE_CHECKING:
    from sticktree.engine.bulk.chain import BulkChain

__all__ = ["engine_of", "parallel_chain_of"]


def engine_of(model: Model) -> Engine:
    """Return the engine that samples a model; its kernels are loaded only now."""
    if model.leaf_noise == "own":
        from sticktree.engine.own.chain import ColumnsChain
        from sticktree.engine.own.predictive import predictives as of_columns

        return Engine(ColumnsChain, of_columns)
    from sticktree.engine.shared.chain import Chain
    from sticktree.engine.shared.predictive import predictives

    return Engine(Chain, predictives)


def parallel_chain_of(model: Model) -> type[BulkChain]:
    """Return the class of chains that sample a model given `Rows`, for many rows."""
    if model.leaf_noise == "own":
        from sticktree.engine.bulk.own import OwnBulkChain

        return OwnBulkChain
    from sticktree.engine.bulk.shared import SharedBulkChain

    return SharedBulkChain
