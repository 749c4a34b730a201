"""
Two sentences, a latent tree for each
=====================================

Natural language inference: does the premise entail the hypothesis? Both have latent trees, and the
answer is an expectation over all pairs of them.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

import sparsewood as sp

torch.manual_seed(0)

# %%
# Random stand-ins for a batch of encoded premises and hypotheses of different lengths.

batch, size = 4, 24
premises, premise_lengths = torch.randn(batch, 9, size), torch.tensor([9, 7, 8, 5])
hypotheses, hypothesis_lengths = torch.randn(batch, 6, size), torch.tensor([4, 6, 3, 6])
labels = torch.tensor([0, 2, 1, 0])

# %%
# One encoder serves both sides: it returns a posterior over trees, and one vector per tree.

trees = sp.nn.LatentTreeEncoder(
    sp.nn.MLPArcScorer(size),
    sp.nn.ChildSumTreeLSTM(size, size),
    estimator=sp.SparseMAP(temperature=0.2),
)
post_p, u = trees(premises, premise_lengths)
post_h, v = trees(hypotheses, hypothesis_lengths)

# %%
# The product contains every pair of a premise tree and a hypothesis tree of the same instance. The
# weight of a pair is the product of the two weights.

pairs = post_p.product(post_h)
print("trees of the premises:  ", post_p.sizes.tolist())
print("trees of the hypotheses:", post_h.sizes.tolist())
print("pairs:                  ", pairs.sizes.tolist())

_, ax = plt.subplots(figsize=(5, 2.6))
weights = post_p[0].weights[:, None] * post_h[0].weights
grid = ax.imshow(weights.detach().numpy(), "Blues", vmin=0, aspect="auto")
ax.set(title="pairs of the first instance", xlabel="hypothesis tree", ylabel="premise tree")
ax.figure.colorbar(grid, label="probability")

# %%
# The classifier sees one pair at a time. `left` and `right` point to the rows of `u` and `v`; p(y)
# is the expectation over the pairs.

classify = nn.Sequential(nn.Linear(4 * size, size), nn.Tanh(), nn.Linear(size, 3), nn.Softmax(-1))


def entailment(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    a, b = u[left], v[right]
    return classify(torch.cat([a, b, (a - b).abs(), a * b], -1))


p = pairs.expect(entailment)
print("\n".join(str([f"{x:.2f}" for x in row]) for row in p.tolist()))

# %%
# The gradient of the loss reaches the scorer through the weights of both posteriors.

nn.functional.nll_loss(p.log(), labels).backward()
for name, parameter in trees.named_parameters():
    assert parameter.grad is not None
    print(f"{name:26} {parameter.grad.norm():.1e}")
