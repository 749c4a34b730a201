"""
A structure of your own
=======================

At a conference, talks overlap, and one person can hear only some of them. A structure is a set of
talks that do not overlap. Its MAP oracle is a few lines of Python; with two more methods it has
SparseMAP, gradients and everything else.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.typing import NDArray

import sparsewood as sp

# %%
# The parts are the talks; a structure is a 0/1 vector. `best` is weighted interval scheduling: the
# best choice among the talks that end first either includes the last of them, or does not.


class Programme(sp.Custom, arrays="numpy"):
    def __init__(self, talks: list[tuple[float, float]]) -> None:
        self.talks = talks
        self.order = sorted(range(len(talks)), key=lambda i: talks[i][1])

    def best(self, scores: NDArray[np.float64]) -> NDArray[np.bool_]:
        found: list[tuple[float, list[int]]] = [(0.0, [])]
        for rank, i in enumerate(self.order):
            over = sum(self.talks[j][1] <= self.talks[i][0] for j in self.order[:rank])
            score, chosen = found[over]
            found.append(max(found[-1], (score + scores[i], [*chosen, i]), key=lambda f: f[0]))
        return np.isin(np.arange(len(scores)), found[-1][1])

    def parts(self, structure: NDArray[np.int64]) -> NDArray[np.int64]:
        return structure

    def check(self, shape: tuple[int, ...]) -> None:
        if shape != (len(self.talks),):
            raise ValueError(f"expected {len(self.talks)} scores, one for each talk, got {shape}")

    def enumerate(self, n: int) -> torch.Tensor:  # only for the tests
        starts, ends = torch.tensor(self.talks).T
        overlap = (starts[:, None] < ends) & (starts < ends[:, None])
        sets = torch.cartesian_prod(*[torch.arange(2)] * n).bool()
        both = sets[:, :, None] & sets[:, None] & overlap.fill_diagonal_(False)
        return sets[~both.flatten(1).any(-1)].long()


# %%
# Eight talks and how much we want to hear them.

titles = "Opening Trees Parsing Lunch Sparsity Solvers Demos Closing".split()
hours = [(9, 10), (9.5, 11), (10, 12), (12, 13), (11, 13.5), (13, 15), (13.5, 15), (15, 16)]
interest = torch.tensor([[0.6, 0.9, 0.8, 0.3, 0.9, 1.0, 0.7, 0.5]], dtype=torch.float64)

programme = Programme(hours)
interest.requires_grad_()
post = sp.sparsemap(interest, programme, temperature=0.8)
print(f"{len(programme.enumerate(8))} programmes, {int(post.sizes)} of them with probability:")
for i in post.weights.argsort(descending=True):
    heard = [title for title, chosen in zip(titles, post.structures[i], strict=True) if chosen]
    print(f"  {post.weights[i]:.3f}  {', '.join(heard)}")

# %%
# The probability of hearing each talk, and the effect of a little more interest in "Sparsity".

(change,) = torch.autograd.grad(post.marginals[0, 4], interest)
for title, (start, end), chance, slope in zip(
    titles, hours, post.marginals[0].tolist(), change[0].tolist(), strict=True
):
    print(f"{start:>4g} to {end:<4g} {title:9} {chance:.3f}  {slope:+z.2f}")

# %%
# The day; the more probable a talk, the darker it is.

_, ax = plt.subplots(figsize=(6, 2.6))
for row, (start, end) in enumerate(hours):
    ax.barh(row, end - start, left=start, alpha=post.marginals[0, row].item(), color="C0")
    ax.barh(row, end - start, left=start, fill=False, edgecolor="C0")
ax.set_yticks(range(8), titles)
ax.invert_yaxis()
ax.set(title="which talks we hear", xlabel="o'clock")
