"""Tables from files: CSV in its dialects, Parquet and npy, into what an estimator takes.

A file is read twice. First as it is, every cell of a text file as text (:func:`read_file`); then,
once it is known which columns are wanted and what they are, into numbers and categories
(:meth:`FileTable.typed`). So names of rows keep their zeros, and a mark among numbers is told.
"""

from sticktree.data.sources.reading.cells import CellError
from sticktree.data.sources.reading.file_table import FileTable
from sticktree.data.sources.reading.formats import FORMATS, read_bytes, read_file
from sticktree.data.sources.reading.names import pick_columns

__all__ = ["FORMATS", "CellError", "FileTable", "pick_columns", "read_bytes", "read_file"]
