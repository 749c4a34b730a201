"""
A seating plan with rules
=========================

A matching seats the guests, and a few logic rules keep the peace. LP-SparseMAP solves both at
once, and its gradient says what would change the plan.
"""

import torch

import sparsewood as sp
from sparsewood.draw import show

# %%
# Four guests, five seats in a row, and how much each guest likes each seat.

guests, seats = ["Ann", "Bob", "Cleo", "Dan"], 5
likes = torch.tensor(
    [
        [1.2, 1.0, 0.4, 0.0, 0.1],
        [1.0, 0.9, 0.5, 0.3, 0.0],
        [0.0, 0.3, 0.9, 0.8, 0.6],
        [0.2, 0.1, 0.8, 0.9, 0.7],
    ],
    requires_grad=True,
)
ann, bob, cleo, dan = range(4)

# %%
# One variable for each guest and seat. Every guest has a seat, and no two share one: a matching.

graph = sp.FactorGraph()
x = graph.variables(4, seats)
plan = graph.add(sp.Matching(), x)

# %%
# Rules. The first two seats are at the window, and at most one of Ann and Bob gets one of them. If
# Cleo takes the middle seat, Dan sits at her right. Cleo and Dan are worth half a point more side
# by side: this takes a variable for the pair, which has that score and no penalty of its own.

graph.add(sp.AtMostOne(), x[[ann, bob], :2].flatten())
graph.add(sp.Implies(), [x[cleo, 2], x[dan, 3]])

together = graph.variables(seats - 1)
for seat in range(seats - 1):
    graph.add(sp.Pairwise(), [x[cleo, seat], x[dan, seat + 1], together[seat]])

# %%
# The scores of all variables form one tensor, (batch, variables); here the batch size is one.

bonus = torch.full((seats - 1,), 0.5)
post = sp.lp_sparsemap(graph.join(likes[None], bonus[None]), graph, temperature=0.5)


def write(table: torch.Tensor) -> None:
    for guest, row in zip(guests, table.tolist(), strict=True):
        print(f"{guest:>5}  " + "  ".join(f"{p:.2f}" if p > 1e-6 else "   ." for p in row))


print("the matching alone")
write(sp.sparsemap(likes[None], sp.Matching(), temperature=0.5).marginals[0])
print(f"with rules (violated by at most {float(post.violation[0]):.0e})")
write(post.marginals[0, x])

# %%
# The matching keeps its own sparse posterior: the few plans whose mixture the marginals are.

show(post.factor(plan), guests, other=[f"seat {s}" for s in range(1, seats + 1)])

# %%
# Ann would like the first seat. Whose preferences matter for that, and in which direction?

post.marginals[0, x[ann, 0]].backward()
assert likes.grad is not None
for guest, row in zip(guests, likes.grad.tolist(), strict=True):
    print(f"{guest:>5}  " + "  ".join(f"{g:+.2f}" if abs(g) > 1e-6 else "    ." for g in row))
