"""Seeds of every kind that numpy and scikit-learn take."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sticktree.checks import check_integer, is_integer

__all__ = ["seed_sequence"]


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return a seed sequence for anything that scikit-learn or numpy take as a seed."""
    if random_state is None:
        return np.random.SeedSequence()
    if is_integer(random_state):
        check_integer("random_state", random_state, minimum=0)
        return np.random.SeedSequence(int(random_state))
    if isinstance(random_state, np.random.Generator):
        return np.random.SeedSequence(random_state.integers(2**32, size=4).tolist())
    state = check_random_state(random_state)
    return np.random.SeedSequence(state.randint(2**31, size=4).tolist())
