"""
An oracle from SciPy
====================

Which variables depend on each other? The tree of Chow & Liu (1968) links them by the largest mutual
information: a maximum spanning tree, which SciPy finds. SparseMAP turns that oracle into a
distribution over trees, with gradients.

Needs SciPy. (`sp.SpanningTrees` is the same family, in native code.)
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree

import sparsewood as sp

torch.manual_seed(2)

# %%
# The parts are the edges between `n` nodes, (0, 1), (0, 2), ..., (n - 2, n - 1). SciPy minimises,
# and treats 0 as no edge. A spanning tree depends only on the order of the scores, so the rank of
# an edge, from 1, can be its cost: exact, with ties decided by position, forbidden edges last.


class SpanningTrees(sp.Custom, arrays="numpy"):
    def __init__(self, n: int) -> None:
        self.n = n
        self.rows, self.columns = np.triu_indices(n, 1)

    def best(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        costs = np.empty(len(scores))
        costs[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
        graph = csr_array((costs, (self.rows, self.columns)), (self.n, self.n))
        tree = minimum_spanning_tree(graph)
        return (tree.toarray()[self.rows, self.columns] > 0).astype(np.int64)

    def parts(self, structure: NDArray[np.int64]) -> NDArray[np.int64]:
        return structure

    def check(self, shape: tuple[int, ...]) -> None:
        if shape != self.rows.shape:
            raise ValueError(f"{self.n} nodes have {len(self.rows)} edges, got scores of {shape}")


# %%
# Six variables, each sampled given an earlier one: 0 - 1, 1 - 2, 1 - 3, 3 - 4, 3 - 5.

truth = [(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)]


def draw(samples: int) -> torch.Tensor:
    x = torch.randn(samples, 6, dtype=torch.float64)
    for parent, child in truth:
        x[:, child] += 0.8 * x[:, parent]
    return x


def mutual_information(x: torch.Tensor) -> torch.Tensor:
    """For each pair of Gaussian variables, times the number of samples: a log-likelihood."""
    pairs = torch.triu_indices(6, 6, 1)
    correlation = torch.corrcoef(x.T)[pairs[0], pairs[1]]
    return -0.5 * len(x) * (1 - correlation.square()).log()


# %%
# With few samples many trees are possible, with many only one: the true tree. The width of an edge
# is its probability, and edges that are not in the true tree are orange.

trees = SpanningTrees(6)
edges = list(zip(trees.rows.tolist(), trees.columns.tolist(), strict=True))
x, y = np.cos(np.arange(6) * np.pi / 3), np.sin(np.arange(6) * np.pi / 3)
_, panels = plt.subplots(1, 3, figsize=(7, 2.5))
for samples, panel in zip((20, 60, 2000), panels, strict=True):
    post = sp.sparsemap(mutual_information(draw(samples))[None], trees, temperature=8.0)
    best = [edges[e] for e in post.mode[0].nonzero()[:, 0]]
    print(f"{samples:4} samples: {int(post.sizes):2} kept, the best " + ", ".join(map(str, best)))
    for edge, chance in zip(edges, post.marginals[0].tolist(), strict=True):
        panel.plot(x[[*edge]], y[[*edge]], "C0" if edge in truth else "C1", linewidth=4 * chance)
    for node in range(6):
        panel.text(1.2 * x[node], 1.2 * y[node], node, ha="center", va="center")
    panel.set(title=f"{samples} samples", aspect="equal", xlim=(-1.4, 1.4), ylim=(-1.4, 1.4))
    panel.axis("off")

# %%
# The weights have gradients with respect to the data: which sample matters most for the edge 1 - 2?

data = draw(20).requires_grad_()
post = sp.sparsemap(mutual_information(data)[None], trees, temperature=8.0)
(slope,) = torch.autograd.grad(post.marginals[0, edges.index((1, 2))], data)
print("probability of each edge:")
for edge, chance in zip(edges, post.marginals[0].tolist(), strict=True):
    if chance > 0:
        print(f"  {edge}  {chance:.3f}" + ("  true" if edge in truth else ""))
most = int(slope.norm(dim=-1).argmax())
print(f"the edge 1 - 2 depends most on sample {most}: {[round(v, 1) for v in data[most].tolist()]}")
