"""Tables that are larger than memory, read a chunk at a time.

:func:`open_table` opens a file without reading it; :func:`map_chunks` asks a fitted mixture about
the rows of a table.
"""

from sticktree.data.sources.chunks.answers import map_chunks
from sticktree.data.sources.chunks.opening import open_table
from sticktree.data.sources.chunks.table import ChunkedTable

__all__ = ["ChunkedTable", "map_chunks", "open_table"]
