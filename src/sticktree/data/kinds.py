"""What a column holds: as the user says, or as its type shows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from sticktree.data.containers import Raw
from sticktree.errors import ParameterError

__all__ = ["ENGINE_KINDS", "KINDS", "EngineKind", "Kind", "declared_kinds", "inferred_kind"]

Kind = Literal["gaussian", "lognormal", "bernoulli", "categorical", "poisson", "negative_binomial"]
EngineKind = Literal["gaussian", "categorical", "poisson", "negative_binomial"]

KINDS: tuple[Kind, ...] = get_args(Kind)
ENGINE_KINDS: dict[Kind, EngineKind] = {
    "gaussian": "gaussian",
    "lognormal": "gaussian",  # of the logarithm
    "bernoulli": "categorical",  # of two
    "categorical": "categorical",
    "poisson": "poisson",
    "negative_binomial": "negative_binomial",
}


def declared_kinds(columns: Any, names: Sequence[Any], *, named: bool) -> list[Kind | None]:
    """Return the kind of each column that ``columns`` gives, and None where it gives none."""
    if columns is None:
        return [None] * len(names)
    if isinstance(columns, Mapping):
        kinds: list[Kind | None] = [None] * len(names)
        for key, kind in columns.items():
            kinds[_position(key, names, named=named)] = _check_kind(f"columns[{key!r}]", kind)
        return kinds
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ParameterError(
            "columns",
            columns,
            "a dict from names or positions to kinds, or a sequence with one kind per column",
        )
    given = list(columns)
    if len(given) != len(names):
        raise ValueError(
            f"columns must have one kind for each of the {len(names)} columns of X, got "
            f"{len(given)}; a dict may name only some"
        )
    return [_check_kind(f"columns[{k}]", kind) for k, kind in enumerate(given)]


def inferred_kind(raw: Raw) -> Kind:
    """Return the kind that the type of a column shows.

    Whole numbers are gaussian, as other numbers are: whether they are counts, codes or measurements
    cannot be seen from them.
    """
    if raw.type == "dates":
        raise ValueError(
            f"{raw.label} holds dates or times: turn them into numbers, such as days since the "
            "first, or remove the column"
        )
    return {"bool": "bernoulli", "text": "categorical"}.get(raw.type, "gaussian")  # type: ignore[return-value]


def _check_kind(name: str, kind: Any) -> Kind | None:
    if kind is None:
        return None
    if not isinstance(kind, str) or kind not in KINDS:
        shown = f"{kind!r}{nearest(kind, KINDS)}"
        raise ParameterError(name, kind, f"one of {', '.join(KINDS)}", shown=shown)
    return kind


def _position(key: Any, names: Sequence[Any], *, named: bool) -> int:
    """Return the position of a column given by its name or, failing that, by its position."""
    if named and key in names:
        if names.count(key) > 1:
            raise ValueError(
                f"columns has the key {key!r}, but X has {names.count(key)} columns of that name; "
                "use positions or a sequence"
            )
        return names.index(key)
    if isinstance(key, int) and not isinstance(key, bool) and 0 <= key < len(names):
        return key
    if named:
        shown = ", ".join(repr(name) for name in names[:10]) + ", …" * (len(names) > 10)
        raise ValueError(
            f"columns has the key {key!r}, but X has no such column{nearest(key, names)}; its "
            f"columns are {shown}"
        )
    raise ValueError(
        f"columns has the key {key!r}, but the columns of an array are given by their positions, "
        f"0 to {len(names) - 1}"
    )


def nearest(word: Any, known: Iterable[Any]) -> str:
    """Return a question for the known word that is most like one, or nothing."""
    words = [other for other in known if isinstance(other, str)]
    found = difflib.get_close_matches(word, words, 1) if isinstance(word, str) else []
    return f" (did you mean {found[0]!r}?)" if found else ""
