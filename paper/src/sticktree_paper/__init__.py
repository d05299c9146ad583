"""The paper's tables and figures made anew, with every peer on the same splits.

:func:`reproduce` does it, and ``sticktree reproduce`` from a terminal. What comes out is a folder
with tables (CSV and Markdown), figures, and how they were made. An interrupted run goes on where it
was.
"""

from sticktree_paper.output import PARTS
from sticktree_paper.parts import reproduce

__all__ = ["PARTS", "reproduce"]
