"""Models that the DFP mixture contains, under their own names."""

from __future__ import annotations

from typing import Any

from sticktree.estimator import DFPMixture

__all__ = ["DPMixture", "DirichletDiffusionTree"]


class DPMixture(DFPMixture):
    """The Dirichlet process mixture: a :class:`DFPMixture` of one level."""

    def __init__(
        self,
        *,
        concentration: float | None = None,
        discount: float | None = 0.0,
        covariance_type: str = "full",
        leaf_noise: str = "shared",
        n_chains: int = 4,
        n_warmup: int = 1000,
        n_draws: int = 1000,
        thin: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        progress: bool | None = None,
    ) -> None:
        super().__init__(
            depth=1,
            divergence="constant",
            concentration=concentration,
            discount=discount,
            covariance_type=covariance_type,
            leaf_noise=leaf_noise,
            n_chains=n_chains,
            n_warmup=n_warmup,
            n_draws=n_draws,
            thin=thin,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            progress=progress,
        )


class DirichletDiffusionTree(DFPMixture):
    """The Dirichlet diffusion tree, in fine steps: a :class:`DFPMixture` with shared scales."""

    def __init__(
        self,
        depth: int = 40,
        *,
        concentration: float | None = None,
        discount: float | None = 0.0,
        covariance_type: str = "full",
        leaf_noise: str = "shared",
        n_chains: int = 4,
        n_warmup: int = 1000,
        n_draws: int = 1000,
        thin: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        progress: bool | None = None,
    ) -> None:
        super().__init__(
            depth=depth,
            divergence="log",
            scales="shared",
            concentration=concentration,
            discount=discount,
            covariance_type=covariance_type,
            leaf_noise=leaf_noise,
            n_chains=n_chains,
            n_warmup=n_warmup,
            n_draws=n_draws,
            thin=thin,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            progress=progress,
        )
