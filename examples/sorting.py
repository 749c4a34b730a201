"""
Learning to sort
================

A network is shown lists of noisy pictures and their order, never the numbers in the pictures. An
order is a matching of pictures with places. With softmax two pictures can share a place, and fewer
lists are sorted correctly. Sinkhorn iterations sort a few more lists than SparseMAP, but leave some
weight on every pair.
"""

import time

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

import sparsewood as sp

SEEDS, STEPS, LISTS, LENGTH = 3, 120, 32, 6

# %%
# Two-digit numbers, each digit 5 by 3 pixels, with noise. Each row of pixels is an octal digit.

FONT = "75557 26227 71747 71717 55711 74717 74757 71111 75757 75717".split()
DIGITS = torch.tensor([[[int(row) >> b & 1 for b in (2, 1, 0)] for row in d] for d in FONT]).float()
DIGITS = nn.functional.pad(DIGITS, (0, 1))  # a gap


def lists(many: int) -> tuple[Tensor, Tensor, Tensor]:
    """Pictures (many, LENGTH, 5, 8), the place of each in increasing order, and the numbers."""
    numbers = torch.rand(many, 100).argsort(-1)[:, :LENGTH]
    pictures = torch.cat([DIGITS[numbers // 10], DIGITS[numbers % 10]], -1)
    return pictures + 0.1 * torch.randn(pictures.shape), numbers.argsort().argsort(), numbers


# %%
# The network assigns a value to each picture; the score of a picture and a place decreases with the
# distance of the value from the place. Three ways turn scores into probabilities, each with a loss.

family, places = sp.Matching(), torch.arange(LENGTH) - (LENGTH - 1) / 2


def sinkhorn(scores: Tensor) -> Tensor:
    for _ in range(20):
        scores = scores.log_softmax(-1).log_softmax(-2)
    return scores


def loss(how: str, scores: Tensor, gold: Tensor) -> Tensor:
    if how == "sparsemap":
        return sp.sparsemap_loss(scores, gold, family)
    logits = sinkhorn(scores) if how == "sinkhorn" else scores.log_softmax(-1)
    return nn.functional.nll_loss(logits.flatten(0, 1), gold.flatten())


def train(how: str, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    value = nn.Sequential(nn.Flatten(2), nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(value.parameters(), lr=0.02)
    for _ in range(STEPS):
        pictures, gold, _ = lists(LISTS)
        optimizer.zero_grad()
        loss(how, -3 * (value(pictures) - places) ** 2, gold).backward()
        optimizer.step()
    return value


# %%
# The share of new lists that are sorted without an error, for each seed, and the time per step. The
# rows of the pictures are the numbers of one list: softmax and Sinkhorn put some weight everywhere.

torch.manual_seed(0)
shown, _, numbers = lists(1)
fig, axes = plt.subplots(1, 4, figsize=(7, 2.6), width_ratios=[0.5, 1, 1, 1], layout="constrained")
axes[0].imshow(
    nn.functional.pad(shown[0], (1, 0, 1, 1)).flatten(0, 1).numpy(), cmap="Blues", aspect="auto"
)
axes[0].set(title="list", xticks=[], yticks=[])
for how, ax in zip(("softmax", "sinkhorn", "sparsemap"), axes[1:], strict=True):
    whole, begin = [], time.process_time()
    values = [train(how, seed) for seed in range(SEEDS)]
    each = (time.process_time() - begin) / (SEEDS * STEPS)
    with torch.no_grad():
        for value in values:
            pictures, gold, _ = lists(500)
            whole.append((value(pictures).squeeze(-1).argsort().argsort() == gold).all(-1))
        scores = -3 * (values[0](shown) - places) ** 2
        if how == "sparsemap":
            pairs = sp.sparsemap(scores, family).marginals[0]
        else:
            pairs = (sinkhorn(scores) if how == "sinkhorn" else scores.log_softmax(-1)).exp()[0]
    right = ", ".join(f"{w.float().mean():.1%}" for w in whole)
    used = int((pairs > 0).sum())
    print(f"{how:9} {right} of lists sorted, {1000 * each:.1f} ms/step, {used} pairs in use")
    ax.imshow(pairs.numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    ax.set(
        title=how, xlabel="place", xticks=[], yticks=range(LENGTH), yticklabels=numbers[0].tolist()
    )
