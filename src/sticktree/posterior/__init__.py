"""What sampling leaves: draws of trees and parameters, and what follows from them.

- :class:`Posterior`, :class:`Draw`: the draws; :func:`labels_at`: their clusterings at a level;
- :class:`Walk`: the posterior walk; :func:`longest_lasting`: how many clusters there are;
  :func:`cut_into`: clusters; :class:`NumberOfClusters`: how their number varies between draws;
- :func:`flat_clustering`: the clustering of least :func:`expected_loss`; :func:`confidence` in it;
- :func:`coclustering`, :func:`meeting_times`: matrices of which rows are together;
- :func:`support`, :func:`transfer_support`: how many draws have the branches of a tree, or nearly;
- :func:`best_draw`: the best sampled tree.
"""

from sticktree.engine.draw import Draw
from sticktree.posterior.clusterings import (
    best_draw,
    coclustering,
    confidence,
    expected_loss,
    labels_at,
)
from sticktree.posterior.consensus import meeting_times, support
from sticktree.posterior.cutting import Cut, Lasting, cut_into, longest_lasting
from sticktree.posterior.draws import Posterior
from sticktree.posterior.flat import flat_clustering
from sticktree.posterior.number import NumberOfClusters
from sticktree.posterior.transfer import transfer_support
from sticktree.posterior.walk import Walk

__all__ = [
    "Cut",
    "Draw",
    "Lasting",
    "NumberOfClusters",
    "Posterior",
    "Walk",
    "best_draw",
    "coclustering",
    "confidence",
    "cut_into",
    "expected_loss",
    "flat_clustering",
    "labels_at",
    "longest_lasting",
    "meeting_times",
    "support",
    "transfer_support",
]
