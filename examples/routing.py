"""
Balanced routing to experts
===========================

A mixture of experts sends each input to a small network of its own. Top-1 softmax routing overloads
some experts and starves others. A balancing loss corrects this on average, capacities always: with
`Transport`, each input goes to one expert and no expert takes more than its capacity. Capacities
that are tight have the lowest error if all kinds of inputs are equally frequent; with random kinds
they need room.
"""

import time

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

import sparsewood as sp

SEEDS, STEPS, BATCH, EXPERTS = 3, 150, 32, 4

# %%
# There are four kinds of inputs, each with its own function; the router is not told the kinds. A
# batch has equally many of each, or random kinds.


def draw(seed: int, even: bool) -> tuple[Tensor, Tensor]:
    """Batches of inputs (STEPS + 20, BATCH, 8) and their targets."""
    torch.manual_seed(seed)
    kinds = torch.arange(BATCH).expand(STEPS + 20, -1) % 4
    kinds = kinds if even else torch.randint(4, kinds.shape)
    x = 1.5 * torch.randn(4, 8)[kinds] + torch.randn(*kinds.shape, 8)
    return x, (x * torch.randn(4, 8)[kinds]).sum(-1)


# %%
# Four ways to distribute a batch. An expert takes exactly 8 inputs, or at most 16. The marginals of
# SparseMAP are then the weights of the experts: they keep the capacities, and have a gradient.
# Softmax picks the most probable expert, optionally with a loss for uneven loads (Fedus et al.
# 2021), whose weight 10 did best on even batches of other seeds. The temperature is the best of 1,
# 2 and 3 on seeds other than those below.

CAPACITIES = {
    "8 each": sp.Transport(1, BATCH // EXPERTS),
    "at most 16": sp.Transport(1, 2 * BATCH // EXPERTS, column_least=0),
}


def route(how: str, scores: Tensor) -> tuple[Tensor, Tensor]:
    """The weight of each expert in each answer, (B, n, EXPERTS), and a loss for imbalance."""
    if how in CAPACITIES:
        post = sp.sparsemap(scores, CAPACITIES[how], temperature=3.0, max_active=40)
        return post.marginals, torch.zeros(())
    p = scores.softmax(-1)
    chosen = nn.functional.one_hot(p.argmax(-1), EXPERTS).float()
    uneven = EXPERTS * (chosen.mean(1) * p.mean(1)).sum(-1).mean()
    return p * chosen, uneven * (10.0 if how == "top-1, balanced" else 0.0)


def train(how: str, even: bool, seed: int) -> tuple[float, Tensor, float]:
    """The error and the loads of the experts on new batches, and the experts used per input."""
    x, y = draw(seed, even)
    router, experts = nn.Linear(8, EXPERTS), nn.Linear(8, EXPERTS)
    optimizer = torch.optim.Adam([*router.parameters(), *experts.parameters()], lr=0.05)
    for batch, answer in zip(x[:STEPS, None], y[:STEPS], strict=True):
        routing, uneven = route(how, router(batch))
        error = ((routing * experts(batch)).sum(-1) - answer).pow(2).mean()
        optimizer.zero_grad()
        (error + uneven).backward()
        optimizer.step()
    with torch.no_grad():
        routing, _ = route(how, router(x[STEPS:]))
        error = ((routing * experts(x[STEPS:])).sum(-1) - y[STEPS:]).pow(2).mean()
        loads = (routing / routing.sum(-1, keepdim=True)).mean((0, 1))
    used = (routing > 1e-6).float().sum(-1).mean()
    return float(error / y[STEPS:].var()), loads.sort(descending=True).values, float(used)


# %%
# The error relative to the variance of the answers, for each seed.

fig, axes = plt.subplots(1, 2, figsize=(7, 2.8), sharey=True, layout="constrained")
for ax, even in zip(axes, (True, False), strict=True):
    print("as many inputs of each kind" if even else "kinds by chance")
    for place, how in enumerate((*CAPACITIES, "top-1, balanced", "top-1")):
        begin = time.process_time()
        found = [train(how, even, seed) for seed in range(SEEDS)]
        each = 1000 * (time.process_time() - begin) / (SEEDS * STEPS)
        errors, loads, used = zip(*found, strict=True)
        said = f"{', '.join(f'{error:.3f}' for error in errors)}; {each:.1f} ms/step;"
        print(f"  {how:15} {said} {sum(used) / SEEDS:.2f} experts/input")
        places = [expert + 0.2 * place for expert in range(EXPERTS)]
        ax.bar(places, torch.stack(loads).mean(0).tolist(), 0.18, label=how)
    ax.set(title="even batches" if even else "kinds by chance", xlabel="experts, busiest first")
    ax.set(xticks=[])
axes[0].set(ylabel="share of the inputs")
axes[1].legend(frameon=False)
