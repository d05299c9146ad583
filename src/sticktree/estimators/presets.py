"""Models that the DFP mixture contains, under their own names."""

from __future__ import annotations

from typing import Any

from sticktree.estimators.mixture import DFPMixture
from sticktree.inference.parameters import PRESETS


class DPMixture(DFPMixture):
    """The Dirichlet process mixture: a :class:`DFPMixture` of one level."""

    def __init__(
        self,
        *,
        concentration: float | None = None,
        discount: float | None = 0.0,
        covariance_type: str = "full",
        leaf_noise: str = "auto",
        factors: int | str | None = "auto",
        n_chains: int | str = "auto",
        n_warmup: int | str = "auto",
        n_draws: int | str = "auto",
        max_time: float | None = None,
        thin: int = 1,
        averaging: str = "stack",
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        progress: bool | None = None,
    ) -> None:
        super().__init__(
            **PRESETS["dpm"].fixed,
            concentration=concentration,
            discount=discount,
            covariance_type=covariance_type,
            leaf_noise=leaf_noise,
            factors=factors,
            n_chains=n_chains,
            n_warmup=n_warmup,
            n_draws=n_draws,
            max_time=max_time,
            thin=thin,
            averaging=averaging,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            progress=progress,
        )


class DirichletDiffusionTree(DFPMixture):
    """The Dirichlet diffusion tree, in fine steps: a :class:`DFPMixture` with shared scales.

    R. M. Neal (Density modeling and clustering using Dirichlet diffusion trees, 2003): data follow
    each other from time 0 to time 1 as Brownian motion. One that follows n others leaves them at
    time t at the rate a(t)/n, a(t) = c/(1 − t), and where their paths part it takes each with a
    probability proportional to the number of data that went there. Here time goes in ``depth``
    equal steps. With a discount d > 0 this is the :class:`PitmanYorDiffusionTree`.

    In the limit two data have parted by time t with probability 1 − (1 − t)^c, and their covariance
    is 1/(1 + c) of the variance of each. With 40 steps and c = 1 it is 0.493 in place of 0.5.
    Structures of four data are 0.07 off in total variation: three data part in the same step with
    probability 0.03, which has no chance in continuous time. These errors are halved by twice as
    many steps. With c = 0.5 they are larger, 0.21 for the structures of four, and shrink more
    slowly, as more data stay together up to the last step, where all part at once.
    """

    def __init__(
        self,
        depth: int = 40,
        *,
        concentration: float | None = None,
        discount: float | None = 0.0,
        covariance_type: str = "full",
        leaf_noise: str = "auto",
        factors: int | str | None = "auto",
        n_chains: int | str = "auto",
        n_warmup: int | str = "auto",
        n_draws: int | str = "auto",
        max_time: float | None = None,
        thin: int = 1,
        averaging: str = "stack",
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        progress: bool | None = None,
    ) -> None:
        super().__init__(
            **PRESETS["ddt"].fixed,
            depth=depth,
            concentration=concentration,
            discount=discount,
            covariance_type=covariance_type,
            leaf_noise=leaf_noise,
            factors=factors,
            n_chains=n_chains,
            n_warmup=n_warmup,
            n_draws=n_draws,
            max_time=max_time,
            thin=thin,
            averaging=averaging,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            progress=progress,
        )


class PitmanYorDiffusionTree(DFPMixture):
    """The Pitman–Yor diffusion tree, in fine steps: a :class:`DFPMixture` with shared scales.

    D. A. Knowles and Z. Ghahramani (Pitman–Yor diffusion trees, 2011): as the
    :class:`DirichletDiffusionTree`, but a datum that follows n others leaves them at the rate
    a(t)/(n − d), and where their paths part K ways it takes a path that n_k data have taken with
    probability (n_k − d)/(n − d), and one of its own with probability d(K − 1)/(n − d). So a tree
    may branch more than two ways. In their notation α is d here, and θ = −d; with other θ the tree
    is no nested restaurant, and not on offer. By default c and d are learned.

    In the limit two data have parted by time t with probability 1 − (1 − t)^{c/(1 − d)}, and their
    covariance is 1/(1 + c/(1 − d)) of the variance of each. With 40 steps, c = 1 and d = 0.3 it is
    0.407 in place of 0.412; structures of four data are 0.04 off in total variation, and three data
    part at once with probability 0.144 in place of 0.125. These errors are halved by twice as many
    steps.
    """

    def __init__(
        self,
        depth: int = 40,
        *,
        concentration: float | None = None,
        discount: float | None = None,
        covariance_type: str = "full",
        leaf_noise: str = "auto",
        factors: int | str | None = "auto",
        n_chains: int | str = "auto",
        n_warmup: int | str = "auto",
        n_draws: int | str = "auto",
        max_time: float | None = None,
        thin: int = 1,
        averaging: str = "stack",
        n_jobs: int | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        progress: bool | None = None,
    ) -> None:
        super().__init__(
            **PRESETS["pydt"].fixed,
            depth=depth,
            concentration=concentration,
            discount=discount,
            covariance_type=covariance_type,
            leaf_noise=leaf_noise,
            factors=factors,
            n_chains=n_chains,
            n_warmup=n_warmup,
            n_draws=n_draws,
            max_time=max_time,
            thin=thin,
            averaging=averaging,
            n_jobs=n_jobs,
            random_state=random_state,
            warm_start=warm_start,
            progress=progress,
        )
