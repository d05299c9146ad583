"""The error for a data set that is nowhere."""

__all__ = ["MissingDataError"]


class MissingDataError(FileNotFoundError):
    """A data set whose file is not there; the message says what to do."""
