"""The exact posterior over all trees on a few data, all hyper-parameters given.

Blocks of columns are independent given the tree, and φ of a block has few coordinates: integrals
over φ are sums over a grid, node by node from the leaves up. Every integrand is smooth and falls
off like a normal density, so that plain sums are right to many digits.
"""

import numpy as np
from scipy import stats

from sticktree.processes import enumerate_trees
from tests.support.own.evidence import log_block_evidence


class BlockIntegrals:
    """Integrals over φ of one block of columns, for any tree on the data.

    ``reach`` is how far the grid goes, in prior standard deviations of the deepest φ; ``spacing``
    is the step, in units of the smallest standard deviation of a transition.
    """

    def __init__(self, data, setting, columns, reach=7.5, spacing=0.3):
        self._data, self._setting, self._columns = data, setting, columns
        self._at = setting.coordinates(columns)
        v = setting.v[:, self._at]
        self.points, self._kernels = [], []
        for variances in v.T:
            end = reach * np.sqrt(variances.sum())
            size = int(np.ceil(2 * end / (spacing * np.sqrt(variances.min())))) + 1
            x, step = np.linspace(-end, end, size, retstep=True)
            first = stats.norm.pdf(x, 0.0, np.sqrt(variances[0]))[None]
            later = [stats.norm.pdf(x, x[:, None], np.sqrt(w)) for w in variances[1:]]
            self.points.append(x)
            self._kernels.append([kernel * step for kernel in (first, *later)])
        grid = np.meshgrid(*self.points, indexing="ij")
        self._u = np.zeros((*grid[0].shape, setting.n_coordinates))
        self._u[..., self._at] = np.stack(grid, axis=-1)
        self._known = {}

    def _leaf(self, members):
        rows = self._data[list(members)]
        return np.exp(log_block_evidence(rows, self._u, self._setting, self._columns))

    def _step(self, values, level):
        """Integrate over φ of a node of the level, for each φ of its parent on the grid."""
        for axis, kernels in enumerate(self._kernels):
            values = np.moveaxis(np.tensordot(kernels[level], values, (1, axis)), 0, axis)
        return values

    def below(self, tree, node):
        """Return p(data below the node | its φ) on the grid; of a leaf, given φ of its parent."""
        members = [i for i in range(tree.n_data) if node in _ancestors(tree, tree.leaf[i])]
        key = (tree.level[node], *((i, *_path(tree, i, node)) for i in members))
        if key not in self._known:
            if tree.level[node] == self._setting.depth:
                self._known[key] = self._leaf(members)
            else:
                value = np.ones(self._u.shape[:-1])
                for child in tree.children(node):
                    message = self.below(tree, child)
                    if tree.level[child] < self._setting.depth:
                        message = self._step(message, tree.level[child])
                    value = value * message
                self._known[key] = value
        return self._known[key]

    def evidence(self, tree):
        """Return p(data of the block | tree)."""
        return self._step(self.below(tree, 0), 0).item()

    def root_density(self, tree, axis):
        """Return p(data of the block, φ of the root | tree) at the points of one coordinate."""
        joint = self.below(tree, 0)
        for k, kernels in enumerate(self._kernels):
            shape = [-1 if j == k else 1 for j in range(joint.ndim)]
            joint = joint * kernels[0].reshape(shape)
        step = self.points[axis][1] - self.points[axis][0]
        return joint.sum(axis=tuple(k for k in range(joint.ndim) if k != axis)) / step


def _ancestors(tree, node):
    """Return the node and all nodes above it."""
    nodes = [int(node)]
    while tree.parent[nodes[-1]] >= 0:
        nodes.append(int(tree.parent[nodes[-1]]))
    return nodes


def _path(tree, i, node):
    """Return the first data of the nodes between datum and node: the same for equal subtrees."""
    nodes = _ancestors(tree, tree.leaf[i])
    below = nodes[: nodes.index(int(node))]
    return tuple(_first(tree, w) for w in below)


def _first(tree, node):
    return next(i for i in range(tree.n_data) if node in _ancestors(tree, tree.leaf[i]))


def log_marginals(trees, data, setting, **grid):
    """Return log p(tree, data) of each tree with φ integrated out."""
    blocks = [BlockIntegrals(data, setting, columns, **grid) for columns in setting.blocks]
    return np.array(
        [
            setting.law.log_prob(tree) + sum(np.log(block.evidence(tree)) for block in blocks)
            for tree in trees
        ]
    )


def tree_posterior(data, setting, **grid):
    """Return the posterior probability of every tree, canonical and uncompressed."""
    trees = list(enumerate_trees(len(data), setting.depth))
    logs = log_marginals(trees, data, setting, **grid)
    weights = np.exp(logs - logs.max())
    return dict(zip(trees, (weights / weights.sum()).tolist(), strict=True))


def root_posterior(data, setting, p, **grid):
    """Return points and the posterior density of coordinate p of the root's φ, over all trees."""
    columns = next(c for c in setting.blocks if p in setting.coordinates(c))
    block = BlockIntegrals(data, setting, columns, **grid)
    axis = setting.coordinates(columns).index(p)
    density = sum(
        probability / block.evidence(tree) * block.root_density(tree, axis)
        for tree, probability in tree_posterior(data, setting, **grid).items()
    )
    return block.points[axis], density
