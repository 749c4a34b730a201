"""
Any program along a tree
========================

The downstream model may be a plain Python function of one tree: it can branch, recurse and look
things up. SparseMAP returns only a few trees, so a loop over them is cheap.
"""

import torch
from torch import Tensor, nn

import sparsewood as sp
from sparsewood.draw import show

torch.manual_seed(0)

# %%
# A tiny calculator. "double" doubles the sum of its children and "minus" negates it; a number adds
# itself to the sum of its children.

words = "minus double 3 4".split()
numbers = {"3": 3.0, "4": 4.0}


def value(heads: list[int], word: int = 0) -> float:
    """The value of the subtree below `word`, by recursion; 0 is the root."""
    below = sum(value(heads, child) for child, head in enumerate(heads, start=1) if head == word)
    match words[word - 1] if word else "ROOT":
        case "minus":
            return -below
        case "double":
            return 2 * below
        case name:
            return numbers.get(name, 0.0) + below


print("a chain:       ", value([0, 1, 2, 3]))
print("all from root: ", value([0, 0, 0, 0]))

# %%
# The tree is latent: only the result is given, -10, and we look for scores of the arcs. `expect`
# calls a function with all trees; the loop over them is ours. The program is not differentiated:
# the gradient reaches the scores through the probabilities of its results.

family = sp.DependencyTrees(single_root=True)


def error(trees: Tensor, instance: Tensor) -> Tensor:
    return torch.tensor([abs(value(heads) + 10.0) for heads in trees.tolist()])


scores = nn.Parameter(0.1 * torch.randn(1, 4, 5))
optimizer = torch.optim.SGD([scores], lr=0.3)
for step in range(31):
    post = sp.sparsemap(scores, family, temperature=3.0)
    expected = post.expect(error).sum()
    optimizer.zero_grad()
    expected.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step:2}: {len(post.weights):2} trees, expected error {expected.item():5.2f}")

# %%
# The result: a parse under which the program returns -10.

post = sp.sparsemap(scores.detach(), family, temperature=3.0)
print("result:", value(post.mode[0].tolist()))
show(post, words)

# %%
# A network along a tree works in the same way: it returns one vector per tree, and its parameters
# get gradients too. (`ChildSumTreeLSTM` is much faster if it fits the model.)

embedding, layer = nn.Embedding(len(words) + 1, 8), nn.Linear(16, 8)


def state(heads: list[int], word: int = 0) -> Tensor:
    children = [state(heads, child) for child, head in enumerate(heads, start=1) if head == word]
    below = torch.stack(children).sum(0) if children else torch.zeros(8)
    return layer(torch.cat([embedding.weight[word], below])).tanh()


vector = post.expect(lambda trees, _: torch.stack([state(heads) for heads in trees.tolist()]))
vector.sum().backward()
assert layer.weight.grad is not None
print(tuple(vector.shape), f"and a gradient of norm {layer.weight.grad.norm():.2f}")
