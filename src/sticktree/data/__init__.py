"""Tables as users have them, turned into a matrix of floats and back.

>>> import numpy as np
>>> from sticktree.data import read_table
>>> table = read_table([[1.5, "f"], [2.0, "m"], [None, "f"]], columns={1: "categorical"})
>>> table.values
array([[1.5, 0. ],
       [2. , 1. ],
       [nan, 0. ]])
>>> print(table.columns)
columns: 1 gaussian (0), 1 categorical (1: 2 categories)
"""

from sticktree.data.columns import Columns, Table, read_table
from sticktree.data.scaling import Scaling, smallest_gap
from sticktree.engine.own.kinds.kind import ColumnError

__all__ = ["ColumnError", "Columns", "Scaling", "Table", "read_table", "smallest_gap"]
