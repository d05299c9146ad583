"""
Missing values
==============

Entries that are missing stay missing: they add nothing to the fit, and can be filled in afterwards
with their uncertainty.
"""

# %%
# One entry in five of the iris table is removed at random, so that the truth is known.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from sticktree import DFPMixture

complete = load_iris().data
rng = np.random.default_rng(0)
gap = rng.random(complete.shape) < 0.2
table = np.where(gap, np.nan, complete)
print(f"{gap.sum()} of {gap.size} entries are missing")

mixture = DFPMixture(
    depth=2, covariance_type="full", leaf_noise="shared", n_warmup=500, n_draws=500, random_state=0
).fit(table)

# %%
# ``impute`` gives posterior means, or with ``n_draws`` complete tables, each drawn given what was
# observed. The draws tell how far to trust the means.

filled = mixture.impute(table)
draws = mixture.impute(table, n_draws=200, random_state=0)
low, high = np.quantile(draws, [0.05, 0.95], axis=0)
inside = ((complete >= low) & (complete <= high))[gap].mean()
column_means = np.broadcast_to(np.nanmean(table, axis=0), table.shape)


def error(guess: np.ndarray) -> float:
    """Return the root mean square error, in units of each column's standard deviation."""
    return float(np.sqrt(np.mean(((guess - complete) / complete.std(axis=0))[gap] ** 2)))


print(f"error of column means    {error(column_means):.2f}")
print(f"error of posterior means {error(filled):.2f}")
print(f"truths inside the 90 % intervals: {inside:.0%}")

# %%
# Each dot is an entry that was removed, its line the 90 % interval.

figure, ax = plt.subplots(figsize=(5.5, 4.5), layout="constrained")
error_bars = np.abs(np.stack([low, high]) - filled)[:, gap]
ax.errorbar(complete[gap], filled[gap], error_bars, fmt="o", ms=3, lw=0.7, alpha=0.7)
ax.axline((1, 1), slope=1, color="0.6", lw=1, zorder=0)
ax.set_xlabel("what was removed, cm")
ax.set_ylabel("posterior mean and 90 % interval, cm")
ax.spines[["top", "right"]].set_visible(False)
