"""What is said when a cluster is gone."""

from __future__ import annotations

__all__ = ["ClusterLostError"]


class ClusterLostError(RuntimeError):
    """The cluster that a fit ran on is gone, or does not answer any more.

    Single workers may come and go. This is raised if the scheduler is lost, the client closes, all
    workers are gone for long, or a pass takes beyond all measure.

    Attributes
    ----------
    what : str
        What happened, without what can be done.
    """

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        """Return what happened, and what can be done."""
        return (
            f"{self.what}; a fit with a checkpoint goes on from there if it is called again with a "
            "new client, one without must start anew"
        )
