"""Warnings that point at the line by which a user called the library."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

__all__ = ["warn_caller"]

HERE = str(Path(__file__).parent)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn of the line that called the library, however deep in it this is said."""
    level = 1
    frame = sys._getframe(level)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(HERE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level + 1)
