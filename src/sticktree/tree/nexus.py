"""Trees as NEXUS, which FigTree, PAUP*, MrBayes, BEAST, SplitsTree and R's ape read.

A block of names and one of trees. Tips of a tree are numbers that a table translates into names:
so no name can be taken for the number of another, and each is written once. The tree itself is
Newick text, with what :mod:`sticktree.tree.newick` writes into comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sticktree.errors import ParameterError
from sticktree.tree.newick import newick_pieces
from sticktree.tree.newick_reader import read_newick
from sticktree.tree.structure import Structure, SupportKind
from sticktree.tree.validation import check_names

SAFE = re.compile(r"[A-Za-z][A-Za-z0-9.]*")  # needs no quotes in any program
PART = re.compile(r"'(?:[^']|'')*'|\[[^\]]*\]|[^';,\[]+|[;,']|\[")
TREE = re.compile(r"\s*u?tree\s*\*?\s*('(?:[^']|'')*'|[^\s=]+)\s*=(.*)", re.IGNORECASE | re.DOTALL)


# ---- writing ------------------------------------------------------------------------------------


def nexus_pieces(
    tree: Structure,
    *,
    support: bool | SupportKind = True,
    lengths: bool = True,
    names: Sequence[str] | None = None,
    title: str = "consensus",
) -> Iterator[str]:
    """Yield the text of a tree piece by piece; see :meth:`Tree.to_nexus`."""
    known = tree.names if names is None else check_names(names, tree.n_data)
    labels = [_quoted(name) for name in _distinct(known, tree.n_data)]
    yield f"#NEXUS\nbegin taxa;\n  dimensions ntax={tree.n_data};\n  taxlabels\n"
    yield "".join(f"    {label}\n" for label in labels)
    yield "  ;\nend;\nbegin trees;\n  translate\n"
    yield ",\n".join(f"    {k} {label}" for k, label in enumerate(labels, start=1))
    yield f"\n  ;\n  tree {_quoted(_one_line(title) or 'tree')} = [&R] "
    numbers = [str(k) for k in range(1, tree.n_data + 1)]
    yield from newick_pieces(tree, support=support, lengths=lengths, names=numbers, bare=True)
    yield "\nend;\n"


def _distinct(names: Sequence[str] | None, n_data: int) -> list[str]:
    """Return names of which no two are equal, whatever their case, on one line each.

    A name that has occurred before has a number behind it.
    """
    if names is None:
        return [str(i) for i in range(n_data)]
    taken: set[str] = set()
    result = []
    for name in map(_one_line, names):
        base, k = name or "unnamed", 1
        found = base
        while found.lower() in taken:
            k += 1
            found = f"{base} ({k})"
        taken.add(found.lower())
        result.append(found)
    return result


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _quoted(name: str) -> str:
    return name if SAFE.fullmatch(name) else "'" + name.replace("'", "''") + "'"


# ---- reading ------------------------------------------------------------------------------------


def read_nexus(text: str, tree: str | None = None, **options: Any) -> dict[str, Any]:
    """Return the arguments of a tree; see :meth:`Tree.from_nexus`."""
    if not isinstance(text, str):
        raise ParameterError("text", text, "a NEXUS text")
    if not text.lstrip().lower().startswith("#nexus"):
        raise ValueError("text is no NEXUS: it must begin with #NEXUS")
    inside, table, found = False, dict[str, str](), list[str]()
    for command in _commands(text.lstrip()[len("#nexus") :]):
        words = [part for part in command if not part.startswith("[")]
        head = "".join(words).split(maxsplit=1)
        verb = head[0].lower() if head else ""
        if verb in ("begin", "end", "endblock"):
            inside = verb == "begin" and head[1].strip().lower() == "trees"
        elif inside and verb == "translate":
            table = _table("".join(words))
        elif inside and (match := TREE.fullmatch("".join(command))):
            found.append(_plain(match[1]))
            if tree is None or found[-1] == tree:
                return _named(read_newick(match[2] + ";", **options), table)
    if tree is None or not found:
        raise ValueError("text has no tree: NEXUS has them in a block that begins with BEGIN TREES")
    raise ParameterError("tree", tree, f"one of {', '.join(map(repr, found))}")


def _commands(text: str) -> Iterator[list[str]]:
    """Yield what is between semicolons, in parts: quoted, comments, or neither."""
    parts: list[str] = []
    for match in PART.finditer(text):
        if match.group() == ";":
            yield parts
            parts = []
        else:
            parts.append(match.group())
    if "".join(parts).strip():
        yield parts


def _table(command: str) -> dict[str, str]:
    """Return what the tips of trees are translated into."""
    table, entry = {}, list[str]()
    for part in [*(m.group() for m in PART.finditer(command.split(maxsplit=1)[1])), ","]:
        if part != ",":
            entry.append(part)
            continue
        words = "".join(entry).strip()
        key, _, label = words.partition("'") if words.startswith("'") else words.partition(" ")
        if words.startswith("'"):  # the number itself is in quotes
            quoted = PART.match(words)
            assert quoted is not None
            key, label = _plain(quoted.group()), words[quoted.end() :]
        entry = []
        if words:
            table[key] = _plain(label.strip())
    return table


def _plain(label: str) -> str:
    """Return a label without quotes; an underscore without them is a blank."""
    if label.startswith("'") and label.endswith("'") and len(label) > 1:
        return label[1:-1].replace("''", "'")
    return label.replace("_", " ")


def _named(parts: dict[str, Any], table: dict[str, str]) -> dict[str, Any]:
    """Return a tree with its tips translated, and data in the order of the table."""
    if not table:
        return parts
    keys = parts["names"]
    if keys is None:
        keys = [str(i) for i in range(len(parts["leaf"]))]
    order = list(range(len(keys)))
    if sorted(keys) == sorted(table):
        place = {key: k for k, key in enumerate(table)}
        order.sort(key=lambda i: place[keys[i]])
    names = [table.get(keys[i], keys[i]) for i in order]
    leaf = [parts["leaf"][i] for i in order]
    is_numbered = names == [str(i) for i in range(len(names))]
    return parts | {"leaf": leaf, "names": None if is_numbered else names}
