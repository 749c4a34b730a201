"""
One ambiguous sentence
======================

SparseMAP turns arc scores into the few trees that matter. A gradient then prefers one of them.
"""

import torch

import sparsewood as sp
from sparsewood.draw import show

# %%
# Every word gets a score for every head: row = dependent, column = head, column 0 = the root.
# Only the preposition is ambiguous here: its head may be the verb (2) or the noun (4).

words = "She saw the man with the telescope".split()
verb, noun = [2, 0, 4, 2, 2, 7, 5], [2, 0, 4, 2, 4, 7, 5]
trees = sp.DependencyTrees(single_root=True)
arcs = trees.indicator(torch.tensor([verb, noun]))
scores = (2.0 * arcs[:1] + 1.7 * arcs[1:]).requires_grad_()

# %%
# SparseMAP keeps both readings and nothing else.

post = sp.sparsemap(scores, trees)
show(post, words)

# %%
# The log-probability of a tree is differentiable. Its gradient is nonzero only at the two
# ambiguous arcs.

post.log_prob(torch.tensor([noun])).sum().backward()
assert scores.grad is not None
for dependent, head in scores.grad[0].nonzero().tolist():
    change = scores.grad[0, dependent, head].item()
    print(f"{words[head - 1]:>5} -> {words[dependent]:<5} {change:+.3f}")

# %%
# A step along the gradient moves the probability.

after = sp.sparsemap((scores + 0.3 * scores.grad).detach(), trees)
show(after, words)
