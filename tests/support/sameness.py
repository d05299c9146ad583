"""Deep comparison of estimators, written without the code under test."""

import math
from dataclasses import fields, is_dataclass

import numpy as np

from sticktree import Tree
from sticktree.inference.packing import pack_chain
from sticktree.inference.runner import Run
from sticktree.posterior import Posterior

TREE = ("parent", "leaf", "level", "count", "time", "has_times", "support", "names")


def differences(a, b, where="it"):
    """Return where two objects differ, in all that they hold."""
    if type(a) is not type(b):
        return [f"{where}: {type(a).__name__} and {type(b).__name__}"]
    if isinstance(a, np.ndarray):
        return [] if same_array(a, b) else [f"{where}: {a!r} and {b!r}"]
    if isinstance(a, dict):
        if a.keys() != b.keys():
            return [f"{where}: keys {sorted(map(str, a.keys() ^ b.keys()))}"]
        return [d for key in a for d in differences(a[key], b[key], f"{where}[{key!r}]")]
    if isinstance(a, list | tuple):
        if len(a) != len(b):
            return [f"{where}: lengths {len(a)} and {len(b)}"]
        return [d for k in range(len(a)) for d in differences(a[k], b[k], f"{where}[{k}]")]
    if isinstance(a, Tree):
        return differences(*({n: getattr(t, n) for n in TREE} for t in (a, b)), where)
    if isinstance(a, Posterior):
        return differences((a.chains, a.depth), (b.chains, b.depth), where)
    if isinstance(a, Run):
        parts = ((pack_chain(r.chain), r.chain.model, r.draws, r.n_sweeps) for r in (a, b))
        return differences(*parts, where)
    if isinstance(a, np.random.Generator):
        return differences(a.bit_generator.state, b.bit_generator.state, where)
    if isinstance(a, np.random.RandomState):
        return differences(a.get_state(), b.get_state(), where)
    if is_dataclass(a):
        names = [field.name for field in fields(a)]  # what is cached may be there or not
        return differences(*({n: getattr(x, n) for n in names} for x in (a, b)), where)
    if type(a).__module__.startswith("sticktree."):
        return differences(vars(a), vars(b), where)
    if isinstance(a, float) and math.isnan(a):
        return [] if math.isnan(b) else [f"{where}: {a!r} and {b!r}"]
    return [] if a == b else [f"{where}: {a!r} and {b!r}"]


def same_array(a, b):
    if (a.dtype, a.shape, a.flags.writeable) != (b.dtype, b.shape, b.flags.writeable):
        return False
    if a.dtype == object:
        return a.tolist() == b.tolist()
    return np.array_equal(a, b) if a.dtype.kind in "US" else a.tobytes() == b.tobytes()
