"""Trees as JSON, as data frames with a row per node or datum, and as networkx's graphs.

JSON is plain arrays, with a format name and version; what is not a number is null. Version 2 added
times, supports and names; an array that an older version does not know, it skips.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from sticktree.checks import FloatArray
from sticktree.errors import ParameterError
from sticktree.optional import optional
from sticktree.tree.arrays import NULL, data_lists
from sticktree.tree.structure import SUPPORT_KINDS, Structure, format_index
from sticktree.tree.validation import assembled, numbered

FORMAT = "sticktree.tree"
VERSION = 2
READABLE = (1, 2)

DEEPEST_PATH = 20  # of a deeper tree, paths are too long to be read


def json_pieces(
    tree: Structure,
    *,
    locations: FloatArray | None = None,
    provenance: dict[str, Any] | None = None,
) -> Iterator[str]:
    """Yield the text of a tree, one array at a time; see :meth:`Tree.to_json`."""
    record: dict[str, Any] = {"format": FORMAT, "version": VERSION}
    if provenance is not None:
        record["provenance"] = provenance
    for name in ("parent", "level", "count", "leaf"):
        record[name] = getattr(tree, name)
    if tree.has_times:
        record["time"] = tree.time
    for kind in SUPPORT_KINDS:
        if (supports := tree.supports_of(kind)) is not None:
            record[kind] = supports
    if tree.names is not None:
        record["names"] = tree.names
    if locations is not None:
        record["locations"] = np.asarray(locations, dtype=np.float64)
    lead = "{\n"
    for key, value in record.items():
        plain = value
        if isinstance(value, np.ndarray):
            plain = _with_null(value) if value.dtype.kind == "f" else value.tolist()
        yield f"{lead}  {json.dumps(key)}: {json.dumps(plain, allow_nan=False)}"
        lead = ",\n"
    yield "\n}\n"


def read_json(text: str | bytes) -> dict[str, Any]:
    """Return the arguments of a tree; see :meth:`Tree.from_json`."""
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"text is not JSON: {error}") from None
    except RecursionError:
        raise ValueError("text is not a tree: its lists are nested too deeply") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(f'text is not a tree: its "format" must be {FORMAT!r}')
    if record.get("version") not in READABLE:
        raise ValueError(
            f"the tree has format version {record.get('version')!r}; this sticktree reads "
            f"{' and '.join(map(str, READABLE))}"
        )
    missing = {"parent", "level", "count", "leaf"} - record.keys()
    if missing:
        raise ValueError(f"the tree lacks {', '.join(sorted(missing))}")
    time, names = record.get("time"), record.get("names")
    if names is not None and not isinstance(names, list):
        raise ParameterError("names", names, "a list of strings")
    return {
        "parent": record["parent"],
        "leaf": record["leaf"],
        "level": record["level"] if time is None else None,  # with times, levels are counted
        "count": record["count"],
        "time": time,
        **{kind: record.get(kind) for kind in SUPPORT_KINDS},
        "names": names,
    }


def _with_null(values: FloatArray) -> list[Any]:
    """Return numbers as lists, with None in place of NaN, which JSON does not have."""
    if np.isfinite(values).all():
        return list(values.tolist())
    listed = values.astype(object)
    listed[~np.isfinite(values)] = None
    return list(listed.tolist())


def frame_of(tree: Structure) -> Any:
    """Return the nodes of a tree; see :meth:`Tree.to_frame`."""
    pandas = optional("pandas", extra="frames", asker="to_frame")
    order = np.argsort(tree.preorder)
    # Integers mark levels, floats times.
    time = tree.time if tree.has_times else tree.level
    columns: dict[str, Any] = {"node": order, "parent": tree.parent[order]}
    if tree.depth <= DEEPEST_PATH:
        columns["path"] = _paths(tree, order.tolist())
    columns |= {
        "level": tree.level[order],
        "time": time[order],
        "length": (time - time[np.maximum(tree.parent, 0)])[order],
    }
    for kind in SUPPORT_KINDS:
        if (supports := tree.supports_of(kind)) is not None:
            columns[kind] = supports[order]
    for name in ("count", "own_count", "n_children"):
        columns[name] = getattr(tree, name)[order]
    if tree.names is not None:
        single = dict(zip(tree.leaf.tolist(), tree.names, strict=True))
        own = tree.own_count
        columns["name"] = [single[w] if own[w] == 1 else "" for w in order.tolist()]
    return pandas.DataFrame(columns)


def data_frame_of(tree: Structure) -> Any:
    """Return the data of a tree; see :meth:`Tree.data_frame`."""
    pandas = optional("pandas", extra="frames", asker="data_frame")
    columns: dict[str, Any] = {"datum": np.arange(tree.n_data)}
    if tree.names is not None:
        columns["name"] = list(tree.names)
    return pandas.DataFrame(columns | {"node": tree.leaf})


def read_frame(nodes: Any, data: Any = None) -> dict[str, Any]:
    """Return the arguments of a tree; see :meth:`Tree.from_frame`."""
    _check_columns("nodes", nodes, ["parent"])
    above = _column(nodes, "parent") or []
    keys = _column(nodes, "node") or list(range(len(above)))
    number = {key: k for k, key in enumerate(keys)}
    if len(number) < len(keys):
        twice = next(key for k, key in enumerate(keys) if number[key] != k)
        raise ValueError(f"nodes has two rows for node {twice!r}")
    parent = []
    for key, known in zip(keys, above, strict=True):
        is_root = _is_missing(known) or (known == NULL and NULL not in number)
        if not is_root and known not in number:
            raise ValueError(f"nodes: the parent of node {key!r} is {known!r}, which has no row")
        parent.append(NULL if is_root else number[known])
    place = None
    for name in ("level", "time"):
        if name in nodes.columns:
            place = np.asarray(nodes[name])
    if data is None:
        leaf, names = _data_of_leaves(nodes, parent)
    else:
        leaf, names = _data_of_rows(data, number)
    supports = {
        kind: np.asarray(nodes[kind], dtype=float)
        for kind in SUPPORT_KINDS
        if kind in nodes.columns
    }
    return assembled(parent, leaf, place=place, names=names, **supports)


def _paths(tree: Structure, order: list[int]) -> list[str]:
    """Return the index ω of the nodes in a depth-first order, as text."""
    omega: dict[int, tuple[int, ...]] = {}
    for w in order:
        above = int(tree.parent[w])
        if above == NULL:
            omega[w] = ()
        else:
            skipped = int(tree.level[w] - tree.level[above]) - 1
            omega[w] = (*omega[above], int(tree.rank[w]), *[1] * skipped)
    return [format_index(omega[w]) for w in order]


def _data_of_leaves(nodes: Any, parent: list[int]) -> tuple[list[int], list[str] | None]:
    """Take every leaf as one datum, in the order of the rows."""
    inner = set(parent)
    leaf = [k for k in range(len(parent)) if k not in inner]
    own = _column(nodes, "own_count")
    if own is not None and own != [int(k not in inner) for k in range(len(parent))]:
        raise ValueError(
            "data is needed, as data_frame() gives it: by own_count of nodes, not every leaf has "
            "just one datum"
        )
    called = _column(nodes, "name")
    return leaf, None if called is None else [_text(called[k]) for k in leaf]


def _data_of_rows(data: Any, number: dict[Any, int]) -> tuple[list[int], list[str] | None]:
    _check_columns("data", data, ["node"])
    homes = _column(data, "node") or []
    lost = next((key for key in homes if key not in number), None)
    if lost is not None:
        raise ValueError(f"data: node {lost!r} has no row in nodes")
    order = _column(data, "datum")
    order = list(range(len(homes))) if order is None else order
    called = _column(data, "name")
    return (
        numbered(order, [number[key] for key in homes], "data"),
        None if called is None else numbered(order, [_text(name) for name in called], "data"),
    )


def _check_columns(name: str, frame: Any, needed: list[str]) -> None:
    if not hasattr(frame, "columns"):
        raise ParameterError(name, frame, "a data frame", shown=type(frame).__name__)
    missing = [column for column in needed if column not in frame.columns]
    if missing:
        shown = str([*map(str, frame.columns)])
        raise ParameterError(name, frame, f"a column {missing[0]!r}", verb="have", shown=shown)


def _column(frame: Any, name: str) -> list[Any] | None:
    """Return a column as a list, of pandas and polars alike."""
    return list(frame[name].to_list()) if name in frame.columns else None


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or value != value


def _text(name: Any) -> str:
    return "" if _is_missing(name) else str(name)


# ---- graphs, with edges that lead away from the root ----------------------------------------


def graph_of(tree: Structure) -> Any:
    """Return the graph of a tree; see :meth:`Tree.to_networkx`."""
    graph = optional("networkx", extra="graph", asker="to_networkx").DiGraph(n_data=tree.n_data)
    # Integers mark levels, floats times.
    time = (tree.time if tree.has_times else tree.level).tolist()
    level, count, parent = tree.level.tolist(), tree.count.tolist(), tree.parent.tolist()
    data = data_lists(tree.leaf, tree.n_nodes)
    for w in np.argsort(tree.preorder).tolist():
        known = {"time": time[w], "level": level[w], "count": count[w], "data": data[w]}
        for kind in SUPPORT_KINDS:
            if (supports := tree.supports_of(kind)) is not None:
                known[kind] = float(supports[w])
        if tree.names is not None:
            known["names"] = [tree.names[i] for i in data[w]]
        graph.add_node(w, **known)
        if w:
            graph.add_edge(parent[w], w, length=time[w] - time[parent[w]])
    return graph


def read_graph(graph: Any) -> dict[str, Any]:
    """Return the arguments of a tree; see :meth:`Tree.from_networkx`."""
    nx = optional("networkx", extra="graph", asker="from_networkx")
    if not isinstance(graph, nx.Graph) or not graph.is_directed():
        raise ParameterError("graph", graph, "a networkx.DiGraph")
    if graph.number_of_nodes() == 0 or not nx.is_arborescence(graph):
        raise ValueError(
            "graph must be a tree with edges that lead away from one root, got a graph of "
            f"{graph.number_of_nodes()} nodes and {graph.number_of_edges()} edges that is not"
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
        transfer=_attribute(graph, keys, "transfer", np.nan),
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
