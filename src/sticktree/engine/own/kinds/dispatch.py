"""Kernels that ask a column's kind: each a chain of comparisons, one for every kind there is.

They are written out here by a program, since a kernel can look a function up in a table only by a
call that cannot be inlined. The kernels of all kinds are compiled into these.
"""

from __future__ import annotations

from typing import Any

from sticktree.engine.own.kinds import LIKELIHOODS
from sticktree.engine.own.kinds.kind import Here
from sticktree.engine.own.state import COUNT, KAPPA, SCALE, SHAPE, SQUARES
from sticktree.jit import inlined, linked
from sticktree.tree.arrays import NULL

HERE = """\
    column = state.columns[d]
    here = Here(
        column.offset, column.width, state.hyper[KAPPA, d], state.hyper[SHAPE, d],
        state.hyper[SCALE, d], column.floor, {n}, {squares}
    )
"""
OF_LEAF = HERE.format(n="state.entries[leaf, d, COUNT]", squares="state.entries[leaf, d, SQUARES]")
WITHOUT = HERE.format(
    n="state.entries[leaf, d, COUNT] - inside",
    squares="state.entries[leaf, d, SQUARES] - inside * trials",
)
OF_NODE = HERE.format(n="0.0", squares="0.0")
UNLESS_EMPTY = """\
    if state.entries[leaf, d, COUNT] == 0.0:
        return {}
"""
TRIALS = """\
    column = state.columns[d]
    trials = state.data[i, column.trials] if column.trials != NULL else 0.0
"""
NAMES = {
    "COUNT": COUNT,
    "KAPPA": KAPPA,
    "NULL": NULL,
    "SCALE": SCALE,
    "SHAPE": SHAPE,
    "SQUARES": SQUARES,
    "Here": Here,
}


def _chain(name: str, arguments: str, last: str, first: str = "", passed: str = "") -> Any:
    """Return a function that calls the kernel of that name of column d's kind.

    It starts with the lines of ``first`` and passes ``passed`` on, or all its arguments. A column
    without such a kernel, since it is not modelled, gets ``last``.
    """
    text = f"def {name}(state, d, {arguments}):\n{first}    kind = state.columns[d].kind\n"
    names: dict[str, Any] = dict(NAMES)
    for code, likelihood in enumerate(LIKELIHOODS.values()):
        kernel = getattr(likelihood.kernels, name, None)
        if kernel is not None:
            names[f"of_{code}"] = kernel
            text += f"    if kind == {code}:\n"
            text += f"        return of_{code}({passed or f'state, d, {arguments}'})\n"
    exec(f"{text}    return {last}\n", names)
    return names[name]


# What each does is said by `Kernels`.
expect = linked(_chain("expect", "node", "None", OF_NODE, "here, state.coordinates, node"))
add = inlined(
    _chain(
        "add",
        "leaf, i, sign",
        "None",
        TRIALS,
        "state.coordinates, state.entries, column.offset, d, leaf, state.data[i, d], trials, sign",
    )
)
evidence = linked(
    _chain(
        "evidence",
        "leaf, node",
        "0.0",
        UNLESS_EMPTY.format("0.0") + OF_LEAF,
        "here, state.coordinates, leaf, node",
    )
)
predict = inlined(
    _chain(
        "predict",
        "leaf, node, i, inside",
        "0.0",
        TRIALS + WITHOUT,
        "here, state.coordinates, leaf, node, state.data[i, d], trials, inside",
    )
)
constants = linked(_chain("constants", "", "0.0"))
approximate = linked(_chain("approximate", "leaf, p", "0.0, 0.0", UNLESS_EMPTY.format("0.0, 0.0")))
