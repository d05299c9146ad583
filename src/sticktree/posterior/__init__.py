"""What sampling leaves: draws of trees and parameters, and what they say."""

from sticktree.posterior.draws import Draw, Posterior

__all__ = ["Draw", "Posterior"]
