"""What sampling leaves: draws of trees and parameters, and what they say."""

from sticktree.posterior.draws import Draw, Posterior
from sticktree.posterior.flat import flat_clustering
from sticktree.posterior.levels import labels_at
from sticktree.posterior.loss import expected_loss

__all__ = ["Draw", "Posterior", "expected_loss", "flat_clustering", "labels_at"]
