"""
Learning costs from shortest paths
==================================

A network is shown maps, and the cheapest path through each of them, never the costs. It learns what
each kind of ground costs: the loss compares the path shown with the SparseMAP marginals of the
cells, which are a mixture of the few paths that the costs so far make cheap.
"""

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

import sparsewood as sp

SEEDS, STEPS, MAPS, SIDE = 3, 60, 16, 9

# %%
# A map is a picture of four kinds of ground, each a colour with noise. The traveller goes from the
# upper left to the lower right corner, in eight directions, and pays for each cell visited.

COLOURS = torch.tensor([[0.9, 0.85, 0.5], [0.4, 0.7, 0.3], [0.55, 0.5, 0.5], [0.2, 0.4, 0.8]])
COSTS = torch.tensor([0.8, 1.6, 4.0, 8.0])  # sand, grass, rock, water
grid = sp.GridPaths(neighbours=8)


def maps(many: int) -> tuple[Tensor, Tensor]:
    """Pictures (many, 3, SIDE, SIDE) and the kind of ground in each cell."""
    rough = torch.randn(many, 4, SIDE, SIDE)
    kinds = nn.functional.avg_pool2d(rough, 3, 1, 1, count_include_pad=False).argmax(1)
    pictures = COLOURS[kinds].permute(0, 3, 1, 2)
    return pictures + 0.1 * torch.randn(pictures.shape), kinds


# %%
# The network sees the colours of a cell and its neighbours. Its output is made positive, as
# `GridPaths` takes costs, with a minus sign. The Fenchel-Young loss of SparseMAP needs only the
# cheapest paths (Niculae et al. 2018; Blondel et al. 2020).


def train(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    network = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 1, 1),
        nn.Softplus(),
        nn.Flatten(1, 2),
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=0.03)
    for _ in range(STEPS):
        pictures, kinds = maps(MAPS)
        shown = grid.argmax(-COSTS[kinds])
        optimizer.zero_grad()
        sp.sparsemap_loss(-network(pictures), shown, grid).backward()
        optimizer.step()
    return network


# %%
# On new maps: how much more the predicted path costs than the cheapest, by the true costs, and the
# same for the straight line.

torch.manual_seed(0)
pictures, kinds = maps(200)
costs = COSTS[kinds]
cheapest = -sp.map(-costs, grid).scores.sum()


def excess(paths: Tensor) -> float:
    """The additional cost of paths, as a share."""
    return float((costs * paths).sum() / cheapest) - 1


networks = [train(seed) for seed in range(SEEDS)]
straight = excess(torch.eye(SIDE).expand(200, SIDE, SIDE))
with torch.no_grad():
    learned = [excess(grid.argmax(-network(pictures))) for network in networks]
print(f"straight line {straight:.1%} more than the cheapest path")
print(f"learned costs {', '.join(f'{share:.1%}' for share in learned)} more")

# %%
# One of these maps: the ground and its cheapest path, the costs that were learned and the path they
# give, and the cells of all paths that SparseMAP keeps at a higher temperature.

one = int((costs * (1 - torch.eye(SIDE))).sum((1, 2)).argmax())
with torch.no_grad():
    scores = -networks[0](pictures[one : one + 1])
post = sp.sparsemap(scores, grid, temperature=3.0)
panels = (
    ("map, cheapest path", pictures[one].permute(1, 2, 0).clamp(0, 1), grid.argmax(-costs)[one]),
    ("learned costs, their path", -scores[0], grid.argmax(scores)[0]),
    (f"marginals of {int(post.sizes)} paths", post.marginals[0], None),
)
fig, axes = plt.subplots(1, 3, figsize=(7, 2.6), layout="constrained")
for ax, (title, picture, path) in zip(axes, panels, strict=True):
    ax.imshow(picture.numpy(), cmap="Blues")
    if path is not None:
        rows, columns = path.nonzero(as_tuple=True)
        ax.plot(columns, rows, "o", color="#d5601c", markersize=5)
    ax.set(title=title, xticks=[], yticks=[])
