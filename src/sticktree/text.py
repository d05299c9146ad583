"""Trees as text, for terminals and logs."""

from __future__ import annotations

from sticktree.processes.mass_tree import MassTree
from sticktree.tree import Tree

__all__ = ["format_index", "tree_text"]

ROOT = "Δ"


def format_index(index: tuple[int, ...]) -> str:
    """Write an index ω as 1.2.1; the root's is Δ.

    Examples
    --------
    >>> from sticktree.text import format_index
    >>> format_index((1, 12)), format_index(())
    ('1.12', 'Δ')
    """
    return ".".join(map(str, index)) or ROOT


def tree_text(tree: Tree | MassTree, *, max_lines: int = 40, width: int = 24) -> str:
    """Draw a tree, one node a line, with a bar for its data (or mass).

    Only children are left out. Where there are more than ``max_lines`` nodes, the smallest are
    left out as well, and each node says how many of its branches are. Where indices are long, a
    node shows its last number and its level.

    Examples
    --------
    >>> from sticktree import Tree
    >>> from sticktree.text import tree_text
    >>> tree = Tree.from_paths([(1, 1), (1, 1), (1, 2), (2, 1)])
    >>> print(tree_text(tree, width=8))
    Δ         ████████  4
    ├─ 1      ██████    3
    │  ├─ 1.1 ████      2
    │  └─ 1.2 ██        1
    └─ 2.1    ██        1
    """
    if isinstance(tree, MassTree):
        weight, form = tree.mass.tolist(), "{:.3f}"
        tree = tree.tree
    else:
        tree = tree.compressed()
        weight, form = tree.count.tolist(), "{:.0f}"
    # Heaviest first, parents before their children: what is kept is a tree.
    by_weight = sorted(range(tree.n_nodes), key=lambda w: (-weight[w], tree.level[w]))
    keep = set(by_weight[:max_lines])
    lines: list[tuple[str, float]] = []

    def walk(node: int, lead: str, stem: str) -> None:
        children = [int(child) for child in tree.children(node)]
        kept = [child for child in children if child in keep]
        hidden = len(children) - len(kept)
        lines.append((lead + _name(tree, node), weight[node]))
        for child in kept:
            last = child == kept[-1] and not hidden
            walk(child, stem + ("└─ " if last else "├─ "), stem + ("   " if last else "│  "))
        if hidden:
            rest = sum(weight[child] for child in children if child not in keep)
            lines.append((stem + f"└─ … {hidden} more", rest))

    walk(0, "", "")
    label_width = max(len(label) for label, _ in lines)
    total = weight[0] or 1.0
    return "\n".join(
        f"{label:<{label_width}} {_bar(value / total, width):<{width}}  {form.format(value)}"
        for label, value in lines
    )


def _name(tree: Tree, node: int) -> str:
    index = tree.index(node)
    if tree.depth <= 6 or not index:
        return format_index(index)
    return f"{index[tree.level[tree.parent[node]]]} at level {tree.level[node]}"


def _bar(fraction: float, width: int) -> str:
    """Return a bar in eighths of a character."""
    eighths = round(fraction * width * 8)
    partial = " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    return "█" * (eighths // 8) + partial
