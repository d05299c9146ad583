"""A Dask array or data frame as a source of rows, checked before any work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from sticktree.checks import FloatArray, IntArray, infinite_entries
from sticktree.data.sources.dask.placement import DaskStore, prepare
from sticktree.data.sources.dask.session import Session, current_client
from sticktree.data.training import MemoryStore, Store
from sticktree.engine.bulk.measure import Scale, measure
from sticktree.errors import ParameterError

PART_BYTES = 2**28  # of rows in one part, at most

Result = TypeVar("Result")


class DaskSource:
    """Rows of a Dask array or data frame, as numbers.

    They are held by the workers of the current ``distributed.Client``; if there is none, by this
    process.

    Parameters
    ----------
    pieces : list
        Rows, or futures of them.
    facts : list of Facts
        What they are like.
    session : Session or None
        The run on a cluster, if there is one.

    Attributes
    ----------
    counts : tuple of int
        Number of rows of each partition that has any.
    names : tuple of str or None
        Names of the columns of a data frame.
    n_rows, n_columns : int
        Number of all rows, and of columns.
    """

    def __init__(self, pieces: list[Any], facts: list[Facts], session: Session | None) -> None:
        self._pieces: list[Any] | None = pieces
        self._session = session
        self.counts = tuple(found.n for found in facts)
        self.names = facts[0].names
        self.n_rows, self.n_columns = sum(self.counts), facts[0].width

    @classmethod
    def of(cls, X: Any, client: Any = None) -> DaskSource:  # noqa: N803
        """Read a Dask array or data frame; raise an error if it does not hold numbers.

        Parameters
        ----------
        X : dask array or dask DataFrame, shape (n_samples, n_features)
            Numbers; NaN is missing. Sizes of chunks need not be known.
        client : distributed.Client or None, default=None
            Where to read it; None is the current client, or this process if there is none.

        Examples
        --------
        >>> import dask.array as da
        >>> from sticktree.cluster import DaskSource
        >>> source = DaskSource.of(da.ones((100, 2), chunks=(40, 1)))
        >>> source.counts
        (40, 40, 20)
        """
        _check_dtypes(X)
        blocks, _ = blocks_of(X)
        client = current_client() if client is None else client
        if client is None:
            pieces = _read_here(blocks)
            facts = [piece.facts for piece in pieces]
            return cls([p.x for p in _checked(pieces, facts)], _filled(facts), None)
        session = Session(client)
        futures = session.compute(_reading(blocks, session.token))
        keys = [session.key("look", 0, k) for k in range(len(futures))]
        looks = {key: (_facts_of, future) for key, future in zip(keys, futures, strict=True)}
        facts = session.results(session.submit(looks, keys))
        kept = _checked(futures, facts)
        keys = [session.key("rows", 0, k) for k in range(len(kept))]
        rows = {key: (_rows, future) for key, future in zip(keys, kept, strict=True)}
        return cls(session.submit(rows, keys), _filled(facts), session)

    @property
    def first(self) -> list[int]:
        """Number of the first row of each partition."""
        return [0, *np.cumsum(self.counts)[:-1].tolist()]

    def measure(self) -> Scale:
        """Return means and standard deviations of the columns; raise if one has no value."""
        pieces, session = self._there(), self._session
        n_calls = 0

        def each(function: Callable[[FloatArray], Result]) -> list[Result]:
            nonlocal n_calls
            n_calls += 1
            if session is None:
                results = [function(piece) for piece in pieces]
            else:
                keys = [session.key("measure", n_calls, k) for k in range(len(pieces))]
                graph = {key: (function, piece) for key, piece in zip(keys, pieces, strict=True)}
                results = session.results(session.submit(graph, keys))
            return results

        return measure(each, lambda reach: reach.check_observed("X", self.names))

    def store(
        self,
        centre: FloatArray,
        spread: FloatArray,
        part_bytes: int = PART_BYTES,
        group: IntArray | None = None,
    ) -> Store:
        """Return standardised rows, ready for chains; the source has none after that.

        Parameters
        ----------
        centre, spread : float array, shape (D,)
            What is taken off each column, and what it is then divided by.
        part_bytes : int, default=268435456
            Size of the rows of one part on a cluster, at most; at least one partition of Dask.
        group : int array, shape (N,), or None, default=None
            The groups of the rows, if they belong to several.
        """
        pieces, session = self._there(), self._session
        self._pieces = None
        if session is None:
            x = np.empty((self.n_rows, self.n_columns))
            for first in reversed(self.first):
                piece = pieces.pop()  # each is let go when it is copied
                x[first : first + len(piece)] = (piece - centre) / spread
            return MemoryStore(x, group)
        places = session.places()
        cuts = cut_up(self.counts, len(places), 8 * self.n_columns, part_bytes)
        parts = []
        for j, (start, stop) in enumerate(pairwise(cuts)):
            key = session.key("prepare", 0, j)
            first, last = self.first[start], [*self.first, self.n_rows][stop]
            some = None if group is None else group[first:last]
            task = prepare, pieces[start:stop], first, centre, spread, some
            place = places[j * len(places) // (len(cuts) - 1)] if places else None
            parts += session.submit({key: task}, [key], place)
        return DaskStore(parts, (self.n_rows, self.n_columns), session)

    def _there(self) -> list[Any]:
        if self._pieces is None:
            raise RuntimeError("the rows of this source were handed over; make another source")
        return self._pieces


def cut_up(
    counts: tuple[int, ...], n_threads: int, row_bytes: int, part_bytes: int = PART_BYTES
) -> list[int]:
    """Return where to cut a sequence of partitions, given their rows, into parts for passes.

    One part for each thread has the least to send about, and its blocks of rows are closest. More
    of them, so that none is too large, can spread out to workers that come later.
    """
    ends = np.cumsum(counts)
    n = min(max(n_threads, -(-int(ends[-1]) * row_bytes // part_bytes), 1), len(counts))
    nearest = np.searchsorted(ends, ends[-1] * np.arange(1, n) / n - 0.5 * np.mean(counts)) + 1
    return [0, *sorted({int(cut) for cut in nearest if cut < len(counts)}), len(counts)]


def _facts_of(piece: Piece) -> Facts:
    return piece.facts


def _rows(piece: Piece) -> FloatArray:
    return piece.x


def blocks_of(X: Any) -> tuple[list[list[Any]], list[float]]:  # noqa: N803
    """Return what is delayed of each partition: blocks side by side, or a data frame.

    The numbers of rows come along; they are NaN where Dask does not know them.
    """
    if _is(X, "dask.array", "Array"):
        if X.ndim != 2:
            raise _refused("two dimensions, rows and columns", f"a dask array of {X.ndim}")
        return [list(row) for row in X.to_delayed()], list(X.chunks[0])
    if _is(X, "dask.dataframe", "Series"):
        remedy = "call its to_frame() first"
        raise ParameterError("X", X, "a dask DataFrame", remedy, shown="a Series")
    if _is(X, "dask.dataframe", "DataFrame"):
        frames = X.to_delayed()
        return [[frame] for frame in frames], [np.nan] * len(frames)
    raise ParameterError("X", X, "a dask array or DataFrame", shown=type(X).__name__)


def _check_dtypes(X: Any) -> None:  # noqa: N803
    """Raise an error if a column of a data frame has no numbers, as far as Dask knows."""
    if not _is(X, "dask.dataframe", "DataFrame"):
        return
    for name, dtype in X.dtypes.items():
        if getattr(dtype, "kind", "O") not in NUMBERS or str(dtype) == "category":
            raise _refused("numbers in all columns", f"dtype {dtype} in column {name!r}")


def _is(X: Any, module: str, name: str) -> bool:  # noqa: N803
    """Tell whether something is an instance of a class, whose module may not be loaded."""
    return module in sys.modules and isinstance(X, getattr(sys.modules[module], name))


def _reading(blocks: list[list[Any]], token: str) -> list[Any]:
    from dask.delayed import delayed

    read = delayed(read_piece, pure=False)
    return [read(row, dask_key_name=f"sticktree-read-{token}-{k}") for k, row in enumerate(blocks)]


def _read_here(blocks: list[list[Any]]) -> list[Piece]:
    """Read partition by partition, so that not more than one is there twice."""
    return [piece.compute() for piece in _reading(blocks, "here")]


def _filled(facts: list[Facts]) -> list[Facts]:
    return [found for found in facts if found.n]


def _checked(pieces: list[Any], facts: list[Facts]) -> list[Any]:
    """Return the pieces that have rows; raise an error if a partition is wrong."""
    for k, found in enumerate(facts):
        if found.wrong is not None:
            raise _refused("numbers in all partitions", f"{found.wrong} in partition {k}")
    kept = [k for k, found in enumerate(facts) if found.n]
    if not kept:
        raise _refused("at least one row", f"{len(facts)} partitions without any")
    model = facts[kept[0]]
    if not model.width:
        raise _refused("at least one column", "none")
    for k in kept:
        found = facts[k]
        if found.width != model.width:
            raise _refused(
                "as many columns in all partitions",
                f"{model.width} in partition {kept[0]} and {found.width} in partition {k}",
            )
        if found.names != model.names:
            raise _refused(
                "the same columns in all partitions",
                f"{_listed(model.names)} in partition {kept[0]} and {_listed(found.names)} in "
                f"partition {k}",
            )
    count = sum(found.n_infinite for found in facts)
    if count:
        firsts = np.cumsum([0, *(found.n for found in facts)])
        rows = np.concatenate([first + f.infinite for first, f in zip(firsts, facts, strict=False)])
        raise infinite_entries("X", rows, count)
    return [pieces[k] for k in kept]


def _refused(expected: str, shown: str) -> ParameterError:
    return ParameterError("X", None, expected, verb="have", shown=shown)


def _listed(names: tuple[str, ...] | None) -> str:
    return "none" if names is None else ", ".join(map(repr, names))


# ---- Partitions as workers read them -----------------------------------------------------------
#
# What is wrong with a partition is not raised there but reported, so that of several errors the
# first one is always raised.


FEW = 5  # rows with infinite entries that are named
NUMBERS = "biuf"  # kinds of dtypes


class Facts(NamedTuple):
    """What a partition is like."""

    n: int
    width: int
    wrong: str | None  # what came in place of numbers
    names: tuple[str, ...] | None
    infinite: npt.NDArray[np.int64]  # the first few rows with infinite entries
    n_infinite: int


class Piece(NamedTuple):
    """The rows of a partition, and what they are like."""

    x: FloatArray
    facts: Facts

    @classmethod
    def refused(cls, wrong: str) -> Piece:
        """Return a piece that has no numbers."""
        none = np.empty(0, dtype=np.int64)
        return cls(np.empty((0, 0)), Facts(0, 0, wrong, None, none, 0))


def read_piece(blocks: list[Any]) -> Piece:
    """Read blocks that are side by side, or one data frame."""
    names = None
    if len(blocks) == 1 and hasattr(blocks[0], "columns"):
        names = tuple(map(str, blocks[0].columns))
        try:
            tables = [_frame_numbers(blocks[0])]
        except TypeError as error:
            return Piece.refused(str(error))
    else:
        tables = []
        for block in blocks:
            array = block if isinstance(block, np.ndarray) else np.asarray(block)
            if array.ndim != 2:
                return Piece.refused(f"an array of shape {array.shape}")
            if array.dtype.kind not in NUMBERS:
                return Piece.refused(f"dtype {array.dtype}")
            tables.append(_floats(array))
    heights = {len(table) for table in tables}
    if len(heights) > 1:
        return Piece.refused(f"blocks of {' and '.join(map(str, sorted(heights)))} rows abreast")
    x = np.ascontiguousarray(tables[0] if len(tables) == 1 else np.hstack(tables))
    infinite = np.flatnonzero(np.isinf(x).any(axis=1))
    found = Facts(len(x), x.shape[1], None, names, infinite[:FEW], infinite.size)
    return Piece(x, found)


def _floats(array: npt.NDArray[Any]) -> FloatArray:
    if isinstance(array, np.ma.MaskedArray):  # what is masked is missing
        return np.asarray(np.ma.filled(array.astype(np.float64), np.nan))
    return array.astype(np.float64, copy=False)


def _frame_numbers(frame: Any) -> FloatArray:
    """Return a pandas data frame as numbers; raise TypeError if a column has none."""
    out = np.empty(frame.shape)
    for d, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if getattr(dtype, "kind", "O") not in NUMBERS or str(dtype) == "category":
            raise TypeError(f"dtype {dtype} in column {name!r}")
        out[:, d] = frame.iloc[:, d].to_numpy(dtype=np.float64, na_value=np.nan)
    return out
