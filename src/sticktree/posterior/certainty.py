"""tmp"""
from __future__ import annotations

import numpy as np

from sticktree.posterior.consensus import mean_meeting_levels
from sticktree.posterior.levels import spread


def confidence(labels, draws):
    S,N=draws.shape; out=np.zeros(N); n=np.bincount(labels)
    for row in draws:
        key=labels.astype(np.int64)*N+row
        _,inv,c=np.unique(key,return_inverse=True,return_counts=True)
        out+=(c[inv]-1)/np.maximum(n[labels]-1,1)
    alone=n[labels]==1
    for i in np.flatnonzero(alone):
        out[i]=(np.sum(draws==draws[:,[i]],axis=1)==1).sum()
    return out/S
def coclustering(draws, rows):
    d=draws[:,rows]; out=np.zeros((len(rows),)*2)
    for r in d: out+=r[:,None]==r
    return out/len(d)
def meeting_times(draws, rows):
    return mean_meeting_levels(spread(draws,1000), rows)
