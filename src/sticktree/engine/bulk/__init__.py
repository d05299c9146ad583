"""The sampler for many rows: each row chooses its leaf by itself, all else is done on sums.

Given the weights of all branches and the parameters of all leaves, rows are independent. So they
are assigned side by side, in threads or on a cluster, and what comes back are sums of each leaf,
whose size does not depend on the number of rows. Trees, scales and concentrations are moved given
those sums alone, by the same moves as in the other engines.
"""
