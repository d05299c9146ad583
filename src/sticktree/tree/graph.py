"""Trees as networkx's directed graphs, edges leading away from the root."""

from __future__ import annotations

from typing import Any

import numpy as np

from sticktree.optional import optional
from sticktree.tree.arrays import NULL, data_lists
from sticktree.tree.assembly import assembled, numbered
from sticktree.tree.tree import Tree

__all__ = ["tree_from_networkx", "tree_to_networkx"]


def tree_to_networkx(tree: Tree) -> Any:
    """Write a tree; see :meth:`Tree.to_networkx`."""
    graph = optional("networkx", extra="graph", asker="to_networkx").DiGraph(n_data=tree.n_data)
    # Whole times say that they are levels.
    time = (tree.time if tree.has_times else tree.level).tolist()
    level, count, parent = tree.level.tolist(), tree.count.tolist(), tree.parent.tolist()
    data = data_lists(tree.leaf, tree.n_nodes)
    for w in np.argsort(tree.preorder).tolist():
        known = {"time": time[w], "level": level[w], "count": count[w], "data": data[w]}
        if tree.support is not None:
            known["support"] = float(tree.support[w])
        if tree.names is not None:
            known["names"] = [tree.names[i] for i in data[w]]
        graph.add_node(w, **known)
        if w:
            graph.add_edge(parent[w], w, length=time[w] - time[parent[w]])
    return graph


def tree_from_networkx(graph: Any) -> Tree:
    """Read a tree; see :meth:`Tree.from_networkx`."""
    nx = optional("networkx", extra="graph", asker="from_networkx")
    if not isinstance(graph, nx.Graph) or not graph.is_directed():
        raise ValueError(f"graph must be a networkx.DiGraph, got {graph!r}")
    if graph.number_of_nodes() == 0 or not nx.is_arborescence(graph):
        raise ValueError(
            "graph must be a tree with edges that lead away from one root, got a graph of "
            f"{graph.number_of_nodes()} nodes and {graph.number_of_edges()} edges that is none"
        )
    keys = _walk(graph)
    number = {key: k for k, key in enumerate(keys)}
    parent = [NULL] + [number[next(iter(graph.predecessors(key)))] for key in keys[1:]]
    homes, data, names = _data_of(graph, keys)
    time = _attribute(graph, keys, "time")
    return assembled(
        parent,
        numbered(data, homes, "graph"),
        place=_attribute(graph, keys, "level") if time is None else time,
        support=_attribute(graph, keys, "support", np.nan),
        names=None if names is None else numbered(data, names, "graph"),
    )


def _walk(graph: Any) -> list[Any]:
    """Return the nodes depth first, siblings in the order of their edges."""
    pending = [next(key for key, degree in graph.in_degree() if degree == 0)]
    keys = []
    while pending:
        key = pending.pop()
        keys.append(key)
        pending += reversed(list(graph.successors(key)))
    return keys


def _data_of(graph: Any, keys: list[Any]) -> tuple[list[int], list[int], list[str] | None]:
    """Return the node of each datum, its number, and its name if there are names."""
    if not any("data" in graph.nodes[key] for key in keys):
        leaves = [k for k, key in enumerate(keys) if graph.out_degree(key) == 0]
        called = [keys[k] for k in leaves]
        names = called if all(isinstance(key, str) for key in called) else None
        return leaves, list(range(len(leaves))), names
    homes, data, listed = [], [], []
    for k, key in enumerate(keys):
        own = list(graph.nodes[key].get("data", ()))
        homes += [k] * len(own)
        data += own
        listed += list(graph.nodes[key].get("names", ()))
    has_names = any("names" in graph.nodes[key] for key in keys)
    if has_names and len(listed) != len(data):
        raise ValueError(f"graph has {len(listed)} names for {len(data)} data")
    return homes, data, listed if has_names else None


def _attribute(graph: Any, keys: list[Any], name: str, default: Any = None) -> Any:
    """Return an attribute of all nodes, or None if one lacks it and there is no default."""
    values = [graph.nodes[key].get(name, default) for key in keys]
    found = any(name in graph.nodes[key] for key in keys)
    return values if found and all(value is not None for value in values) else None
