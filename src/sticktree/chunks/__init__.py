"""Tables that are larger than memory, read a chunk at a time.

:func:`open_table` opens a file without reading it. :mod:`sticktree.chunks.prepared` brings its rows
into the order in which the sampler for many rows wants them, on disk, and
:mod:`sticktree.chunks.rows` makes passes over them. :func:`map_chunks` asks a fitted mixture about
the rows of a table.
"""

from sticktree.chunks.answers import map_chunks
from sticktree.chunks.opening import open_table
from sticktree.chunks.table import ChunkedTable

__all__ = ["ChunkedTable", "map_chunks", "open_table"]
