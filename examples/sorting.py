"""
Learning to sort
================

A network is shown lists of noisy pictures and their order, never the numbers in the pictures. It
assigns a value to each picture, and the order of the values should be that of the numbers. Ranks
are piecewise constant, so they have no gradient; the soft ranks of SparseMAP have one. A regression
of the rank of each picture sorts fewer lists, since the rank depends on the other pictures.
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
    """Pictures (many, LENGTH, 5, 8), the rank of each in increasing order, and the numbers."""
    numbers = torch.rand(many, 100).argsort(-1)[:, :LENGTH]
    pictures = torch.cat([DIGITS[numbers // 10], DIGITS[numbers % 10]], -1)
    return pictures + 0.1 * torch.randn(pictures.shape), 1 + numbers.argsort().argsort(), numbers


# %%
# Four losses of the values of the pictures. The first compares each value with the rank of its
# picture, the second the soft ranks of the values with the ranks. The others are losses of
# structured prediction over all 720 rankings; the last sums over them.

family = sp.Rankings()


def loss(how: str, values: Tensor, ranks: Tensor) -> Tensor:
    if how == "regression":
        return nn.functional.mse_loss(values, ranks.float())
    if how == "soft ranks":
        return nn.functional.mse_loss(sp.soft_rank(values), ranks.float())
    if how == "sparsemap":
        return sp.sparsemap_loss(values, ranks, family)
    return sp.crf_loss(values, ranks, family)


def train(how: str, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    value = nn.Sequential(
        nn.Flatten(2), nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(1)
    )
    optimizer = torch.optim.Adam(value.parameters(), lr=0.02)
    for _ in range(STEPS):
        pictures, ranks, _ = lists(LISTS)
        optimizer.zero_grad()
        loss(how, value(pictures), ranks).backward()
        optimizer.step()
    return value


# %%
# The share of new lists that are sorted without an error, for each seed, and the time per step.

learned: dict[str, nn.Module] = {}
for how in ("regression", "soft ranks", "sparsemap", "crf"):
    begin = time.process_time()
    values = [train(how, seed) for seed in range(SEEDS)]
    each = (time.process_time() - begin) / (SEEDS * STEPS)
    whole = []
    with torch.no_grad():
        for value in values:
            pictures, ranks, _ = lists(500)
            whole.append((sp.map(value(pictures), family).structures == ranks).all(-1))
    right = ", ".join(f"{w.float().mean():.1%}" for w in whole)
    print(f"{how:10} {right} of lists sorted, {1000 * each:.1f} ms/step")
    learned[how] = values[0]

# %%
# One list, and the soft ranks of its pictures. At low temperatures they are the ranks; those of
# pictures with close values meet first. The posterior holds whole rankings with their weights.

torch.manual_seed(0)
shown, _, numbers = lists(1)
with torch.no_grad():
    scores = learned["soft ranks"](shown)[0]
temperatures = torch.logspace(-2, 2, 100)
ranks = torch.stack([sp.soft_rank(scores, temperature=float(t)) for t in temperatures])
fig, axes = plt.subplots(1, 2, figsize=(7, 2.6), width_ratios=[0.15, 1], layout="constrained")
axes[0].imshow(
    nn.functional.pad(shown[0], (1, 0, 1, 1)).flatten(0, 1).numpy(), cmap="Blues", aspect="auto"
)
axes[0].set(title="list", xticks=[], yticks=[])
axes[1].semilogx(temperatures.numpy(), ranks.numpy(), label=[str(int(x)) for x in numbers[0]])
axes[1].set(xlabel="temperature", ylabel="soft rank")
axes[1].legend(ncols=2)

post = sp.sparsemap(scores, family, temperature=3.0)
print(sp.draw.posterior_text(post, [str(int(x)) for x in numbers[0]]))
