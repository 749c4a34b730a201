"""
From one tree to many
=====================

The temperature divides the scores: near zero the best tree has all the probability, and as the
temperature rises, others enter one by one.

`sp.temperature_path` follows them exactly: between two changes of the support, the set of trees
with positive weight, the weights are linear in 1 / temperature.
"""

import matplotlib.pyplot as plt
import torch

import sparsewood as sp
from sparsewood.draw import tree_text

torch.manual_seed(2)
words = "I saw stars with telescopes".split()
scores = 0.5 * torch.randn(5, 6, dtype=torch.float64)
for word, head in enumerate([2, 0, 2, 5, 2]):
    scores[word, head] += 1.5
scores[4, 3] += 1.3  # alternatively, the stars have the telescopes

# %%
# One call computes the whole path up to a temperature, and the MAP oracle certifies all of it.

trees = sp.DependencyTrees(projective=True, single_root=True)
whole = sp.temperature_path(scores, trees, temperature=2.0)
assert isinstance(whole, sp.TemperaturePath)  # with a batch dimension, a list of them
path = whole
print(f"{len(path.structures)} trees, {path.calls} oracle calls")
for segment in path.segments[:4]:
    newest = path.structures[segment.support.max()].tolist()
    print(f"\nfrom temperature {segment.begin:.2f}: {len(segment.support)}, the newest of them\n")
    print(tree_text(newest, words))

# %%
# `max_support` stops where a fourth tree would enter: its temperature is that of the path.

post = sp.sparsemap(scores, trees, temperature=2.0, max_support=3)
found = float(post.temperature)
print(f"{path.temperatures[3]:.6f} = {found:.6f}: {len(post.weights)} trees, gap {post.gap:.0e}")

# %%
# The weights as stacked areas; between two changes of the support each is a + b / temperature.

places = torch.linspace(0.01, 2, 200).tolist()
shares = torch.zeros(len(path.structures), len(places), dtype=torch.float64)
for column, here in enumerate(map(path.at, places)):
    tree = (here.structures[:, None] == path.structures).all(2).int().argmax(1)
    shares[tree, column] = here.weights

_, ax = plt.subplots(figsize=(6, 3))
ax.stackplot(places, shares, alpha=0.85, edgecolor="white", linewidth=0.4)
ax.set(title="weights of the trees", xlabel="temperature", xlim=(0, 2), ylim=(0, 1))
