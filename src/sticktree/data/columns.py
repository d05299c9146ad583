"""The columns of a table: how they were read, and how new rows are read in the same way."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray
from sticktree.data.frames import Container, Raw, build, is_empty, read
from sticktree.display import html
from sticktree.engine.own.kinds import DECLARED, KINDS, LIKELIHOODS
from sticktree.tree import NULL

NAMES_SHOWN = 6


@dataclass(frozen=True, repr=False)
class Columns:
    """What the columns of a table are, and all that is needed to read new rows like them.

    Attributes
    ----------
    names : tuple
        Names of the columns of a data frame; positions for an array.
    declared : tuple of str
        The kind of each column in the user's words, whether given or inferred.
    categories : tuple of tuples
        The values of each categorical or bernoulli column, sorted; empty for other columns.
    trials : tuple of int
        For a binomial column the position of that with its trials; NULL for other columns.
    joined : tuple of int
        Binomial columns whose cells hold both numbers, such as 3/10. Here they are two columns,
        the trials next to the successes.
    """

    names: tuple[Any, ...]
    declared: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]
    container: Container
    dtypes: tuple[Any, ...]
    whole: tuple[bool, ...]  # integers that were inferred to be gaussian
    trials: tuple[int, ...] = ()
    joined: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Give columns of files that know no trials their place."""
        if not self.trials:
            object.__setattr__(self, "trials", (NULL,) * len(self.names))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of each column in the engine's words."""
        return tuple(KINDS[kind].likelihood.name for kind in self.declared)

    @property
    def is_continuous(self) -> npt.NDArray[np.bool_]:
        """Which columns are gaussian or lognormal."""
        return np.array([LIKELIHOODS[kind].is_continuous for kind in self.kinds])

    @property
    def discrete(self) -> list[str]:
        """The kinds that are neither gaussian nor lognormal, in the engine's words."""
        return sorted({k for k in self.kinds if not LIKELIHOODS[k].is_continuous} - {"trials"})

    @property
    def spoken(self) -> npt.NDArray[Any] | None:
        """What messages call the columns; None if they have no names but their numbers."""
        return None if self.container == "array" else np.array(self.names, dtype=object)

    @property
    def n_declared(self) -> int:
        """How many kinds it takes to declare them all."""
        return sum(KINDS[kind].is_declared for kind in self.declared)

    @property
    def is_log(self) -> npt.NDArray[np.bool_]:
        """Which columns are encoded as logarithms."""
        return np.array([KINDS[kind].is_log for kind in self.declared])

    @property
    def given(self) -> tuple[Any, ...]:
        """Names of the columns of the user's table."""
        return tuple(name for k, name in enumerate(self.names) if k - 1 not in self.joined)

    @property
    def n_categories(self) -> tuple[int, ...]:
        """The number of categories of each column; 0 where it has none."""
        return tuple(map(len, self.categories))

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self.names)

    def __str__(self) -> str:
        """Say what the columns are."""
        return self.describe()

    def __repr__(self) -> str:
        """Return how many columns there are of each kind, and which."""
        return f"Columns({self.listed()})"

    def _repr_html_(self) -> str:
        """Return how they look in a notebook."""
        return html("columns", self)

    # ---- rows to numbers ------------------------------------------------------------------------

    def encode(self, X: Any) -> FloatArray:  # noqa: N803
        """Return rows as a matrix of floats: categories as their numbers, NaN where missing."""
        raws, container = read(X)
        self._check_columns(raws, container)
        for d in self.joined:
            raws[d : d + 1] = _two(raws[d], self.declared[d])
        return self._encoded(raws)

    def _encoded(self, raws: list[Raw]) -> FloatArray:
        matrix = np.empty((len(raws[0]), len(raws)))
        for k, (raw, name) in enumerate(zip(raws, self.declared, strict=True)):
            matrix[:, k] = KINDS[name].encode(raw, self.categories[k])
        for k, trials in enumerate(self.trials):
            pair = KINDS[self.declared[k]].pair
            if pair is not None:
                matrix[:, k] = pair.settle(raws[k], matrix[:, k], matrix[:, trials])
        return matrix

    def log_jacobian(self, matrix: FloatArray) -> FloatArray:
        """Return what to add to log densities of encoded rows to have them in the user's units.

        It is −log y for each lognormal column; missing entries add nothing.
        """
        return np.asarray(0.0 - np.nansum(matrix[:, self.is_log], axis=1))

    def _check_columns(self, raws: list[Raw], container: Container) -> None:
        # The words are scikit-learn's, which users know.
        if len(raws) != len(self.given):
            raise ValueError(
                f"X has {len(raws)} features, but the mixture is expecting {len(self.given)} "
                "features as input"
            )
        names = tuple(raw.name for raw in raws)
        if "array" in (container, self.container) or names == self.given:
            return
        text = "The feature names should match those that were passed during fit."
        unseen = [name for name in names if name not in self.given]
        absent = [name for name in self.given if name not in names]
        if unseen or absent:
            text += f" Unseen at fit time: {_some(unseen)}. Seen at fit time, yet now missing: "
            text += f"{_some(absent)}."
        else:
            text += " Feature names must be in the same order as they were in fit."
        raise ValueError(text)

    # ---- numbers to rows ------------------------------------------------------------------------

    def decode(self, matrix: FloatArray, index: Any = None) -> Any:
        """Return an encoded matrix as rows in the container and the units that the table had.

        ``index`` is for the rows of a pandas DataFrame.
        """
        if matrix.ndim != 2 or matrix.shape[1] != len(self):
            raise ValueError(
                f"matrix must have {len(self)} columns, got an array of shape {matrix.shape}"
            )
        columns, dtypes = [], []
        for k, name in enumerate(self.declared):
            if k - 1 in self.joined:
                continue
            pair = KINDS[name].pair
            if k in self.joined and pair is not None:
                values = pair.join(matrix[:, k], matrix[:, k + 1])
            else:
                values = KINDS[name].decode(matrix[:, k], self.categories[k])
            numeric = all(isinstance(value, int | float) for value in self.categories[k])
            if self.categories[k] and numeric and self.container == "array":
                values = values.astype(np.float64)
            columns.append(values)
            dtypes.append(self.dtypes[k] if self.categories[k] else None)
        return build(columns, self.given, dtypes, self.container, index)

    # ---- words ----------------------------------------------------------------------------------

    def describe(self, *, advice: bool = True) -> str:
        """Return in words what the columns are, and how to make whole numbers something else."""
        text = f"columns: {self.listed()}"
        whole = [name for name, flag in zip(self.names, self.whole, strict=True) if flag]
        if whole and advice:
            shown = [str(name) for name in whole[:NAMES_SHOWN]] + ["…"] * (len(whole) > NAMES_SHOWN)
            text += (
                f"\nwhole numbers are gaussian unless declared otherwise: {', '.join(shown)} "
                f'(for counts or codes: columns={{{whole[0]!r}: "poisson"}} or "categorical")'
            )
        return text

    def listed(self) -> str:
        """Return the columns of each kind."""
        parts = []
        for kind in DECLARED:
            of_kind = [k for k in range(len(self)) if self.declared[k] == kind]
            if of_kind:
                shown = [self._described(k) for k in of_kind[:NAMES_SHOWN]]
                more = ["…"] if len(of_kind) > NAMES_SHOWN else []
                parts.append(f"{len(of_kind)} {kind} ({', '.join(shown + more)})")
        return ", ".join(parts)

    def _described(self, k: int) -> str:
        name = self.names[k]
        if self.trials[k] != NULL and k not in self.joined:
            name = f"{name}/{self.names[self.trials[k]]}"
        return KINDS[self.declared[k]].describe(name, self.categories[k])


@dataclass(frozen=True, eq=False)
class Table:
    """A table as the engine takes it.

    Attributes
    ----------
    values : float array, shape (n, D)
        The rows as numbers; NaN is what is missing.
    columns : Columns
        Names, kinds and categories of the columns.
    names : tuple of str or None
        Names of the rows.
    """

    values: FloatArray
    columns: Columns
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)


def read_table(X: Any, columns: Any = None, table: Columns | None = None) -> Table:  # noqa: N803
    """Read a table.

    Parameters
    ----------
    X : array, list of rows, or DataFrame of pandas or polars
        The rows. None, NaN, NaT, pandas' NA and empty cells are missing.
    columns : dict, sequence or None, default=None
        Kinds of columns, one of "gaussian", "lognormal", "bernoulli", "categorical", "poisson",
        "negative_binomial" and "binomial": a dict from names or positions, or a sequence with one
        for each column. A binomial column is given with its trials, as ``"hits/shots"``, ``"0/1"``
        or ``("hits", "shots")``, or its cells are texts such as 3/10. For the rest, the columns of
        an array are gaussian, and those of a data frame what their type says: numbers gaussian
        (whole numbers too), truth values bernoulli, text categorical.
    table : Columns or None, default=None
        The columns of a table that was read before; ``X`` is read as that one was.
    """
    if table is not None:
        return Table(table.encode(X), table)
    raws, container = read(X)
    names = tuple(raw.name for raw in raws)
    given, trials = _declared(columns, names, named=container != "array")
    as_given, learned = list(raws), {}
    if any(is_empty(raw) for raw in raws):
        raise _all_wrong(as_given, given)
    try:
        kinds = [
            _inferred(raw) if kind is None else kind for raw, kind in zip(raws, given, strict=True)
        ]
        for raw, kind in zip(raws, kinds, strict=True):
            if KINDS[kind].pair is None:
                learned[id(raw)] = KINDS[kind].learn(raw)
    except ValueError:
        raise _all_wrong(as_given, given) from None
    whole = [raw.type == "integer" and kind is None for raw, kind in zip(raws, given, strict=True)]
    joined: list[int] = []
    for d in reversed(range(len(raws))):
        pair = KINDS[kinds[d]].pair
        if pair is None or trials[d] != NULL:
            continue
        raws[d : d + 1] = _two(raws[d], kinds[d])
        kinds[d + 1 : d + 1], whole[d + 1 : d + 1] = [pair.kind], [False]
        trials = [t + 1 if t > d else t for t in trials]
        trials[d : d + 1] = [d + 1, NULL]
        joined = [d, *(k + 1 for k in joined)]
    found = Columns(
        names=tuple(raw.name for raw in raws),
        declared=tuple(kinds),
        categories=tuple(
            learned[id(raw)] if id(raw) in learned else KINDS[kind].learn(raw)
            for raw, kind in zip(raws, kinds, strict=True)
        ),
        container=container,
        dtypes=tuple(raw.dtype for raw in raws),
        whole=tuple(whole),
        trials=tuple(trials),
        joined=tuple(joined),
    )
    return Table(found._encoded(raws), found)


def _two(raw: Raw, kind: str) -> list[Raw]:
    """Return a column whose cells hold two numbers as two columns."""
    pair = KINDS[kind].pair
    assert pair is not None
    first, second = pair.split(raw)
    dtype = np.dtype(np.float64)
    return [
        replace(raw, type="real", dtype=dtype, values=first, levels=None),
        replace(
            raw,
            name=f"{raw.name} {pair.kind}",
            label=f"{raw.label} ({pair.kind})",
            type="real",
            dtype=dtype,
            values=second,
            levels=None,
        ),
    ]


# ---- kinds that are declared or inferred ---------------------------------------------------------


def _declared(
    columns: Any, names: Sequence[Any], *, named: bool
) -> tuple[list[str | None], list[int]]:
    """Return the kind of each column that ``columns`` gives, or None, and where its trials are."""
    kinds: list[str | None] = [None] * len(names)
    trials = [NULL] * len(names)
    if columns is None:
        return kinds, trials
    if isinstance(columns, Mapping):
        for key, given in columns.items():
            kind = _check_kind(f"columns[{key!r}]", given)
            pair = None if kind is None else KINDS[kind].pair
            both = None if pair is None else split_pair(key, names, named=named)
            if both is None or pair is None:
                kinds[_position(key, names, named=named)] = kind
                continue
            first, second = (_position(part, names, named=named) for part in both)
            if first == second or kinds[second] not in (None, pair.kind):
                raise ValueError(
                    f"columns[{key!r}] needs two columns, one of them for the {pair.kind} alone"
                )
            kinds[first], kinds[second], trials[first] = kind, pair.kind, second
        return kinds, trials
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise ValueError(
            "columns must be a dict from names or positions to kinds, or a sequence with one kind "
            f"per column, got {columns!r}"
        )
    given = list(columns)
    if len(given) != len(names):
        raise ValueError(
            f"columns must have one kind for each of the {len(names)} columns of X, got "
            f"{len(given)}; a dict may name only some"
        )
    return [_check_kind(f"columns[{k}]", kind) for k, kind in enumerate(given)], trials


def split_pair(key: Any, names: Sequence[Any], *, named: bool = True) -> tuple[Any, Any] | None:
    """Return the two columns that a key such as ``"hits/shots"`` names, or None if it names one.

    Examples
    --------
    >>> from sticktree.data.columns import split_pair
    >>> split_pair("hits/shots", ["hits", "shots"])
    ('hits', 'shots')
    >>> split_pair("hits/shots", ["hits/shots"]) is None
    True
    """
    if named and key in names:
        return None
    if isinstance(key, tuple) and len(key) == 2:
        return key[0], key[1]
    if not isinstance(key, str) or "/" not in key:
        return None
    parts = key.split("/")
    pairs = [("/".join(parts[:k]), "/".join(parts[k:])) for k in range(1, len(parts))]
    if not named:
        first, second = pairs[0]
        return (int(first), int(second)) if first.isdecimal() and second.isdecimal() else pairs[0]
    return next((pair for pair in pairs if set(pair) <= set(names)), pairs[0])


def _all_wrong(raws: Sequence[Raw], given: Sequence[str | None]) -> ValueError:
    """Return an error with all that is wrong with columns."""
    empty = [raw.name for raw in raws if is_empty(raw)]
    errors = []
    if empty:
        errors.append(
            ValueError(
                "Input X must have a value in every column, got only missing ones in "
                f"column{'s' * (len(empty) > 1)} {_some(empty)}; remove such columns"
            )
        )
    for raw, kind in zip(raws, given, strict=True):
        try:
            likely = KINDS[_inferred(raw) if kind is None else kind]
            if raw.name not in empty and likely.pair is None:
                likely.learn(raw)
        except ValueError as error:
            errors.append(error)
    if len(errors) == 1:
        return errors[0]
    lines = "\n  ".join(map(str, errors))
    return ValueError(
        f"{len(errors)} things are wrong with the columns of X:\n  {lines}\n"
        "sticktree.plan_table(X) shows what each column could be instead, and its select(X) has "
        "those that can be fitted"
    )


def _inferred(raw: Raw) -> str:
    """Return the kind that the type of a column shows.

    Whole numbers are gaussian, as other numbers are: whether they are counts, codes or measurements
    cannot be seen from them.
    """
    for name, kind in KINDS.items():
        if raw.type in kind.inferred_from:
            return name
    raise ValueError(
        f"{raw.label} holds dates or times: turn them into numbers, such as days since the "
        "first, or remove the column"
    )


def _check_kind(name: str, kind: Any) -> str | None:
    if kind is None:
        return None
    if not isinstance(kind, str) or kind not in DECLARED:
        guess = nearest(kind, DECLARED)
        raise ValueError(f"{name} must be one of {', '.join(DECLARED)}, got {kind!r}{guess}")
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


def _some(names: list[Any]) -> str:
    shown = [repr(name) for name in names[:5]] + ["…"] * (len(names) > 5)
    return ", ".join(shown) or "none"
