"""What else this machine is doing, to be printed beside a figure."""

from __future__ import annotations

import os


def load() -> str:
    """Return the mean number of processes that wanted a core in the last minute."""
    try:
        return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    except (AttributeError, OSError):  # not on every system
        return f"{os.cpu_count()} cores"


def busy() -> bool:
    """Tell whether others want the cores too, so that two threads do not have two."""
    try:
        return os.getloadavg()[0] > (os.cpu_count() or 1) + 1
    except (AttributeError, OSError):
        return False
