"""Work that was stopped, with words on how to go on."""

from __future__ import annotations

__all__ = ["Interrupted", "LostError"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after which a person is told what to do."""


class LostError(RuntimeError):
    """The machines of a fit are gone, and a person is told what to do."""
