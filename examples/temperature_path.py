"""
From one tree to many
=====================

The temperature divides the scores: near zero the best tree has all probability, and others enter
one by one as it rises. `sp.temperature_path` follows them exactly: the weights are linear in
1 / temperature between one change of the support and the next.

.. image:: /temperature_path.svg
   :alt: the weights of the trees of a sentence over the temperature, and the first four trees
"""

import sys
from pathlib import Path

import torch

import sparsewood as sp
from sparsewood.draw import draw, tree_text

torch.manual_seed(2)
words = "I saw stars with telescopes".split()
scores = 0.5 * torch.randn(5, 6, dtype=torch.float64)
for word, head in enumerate([2, 0, 2, 5, 2]):
    scores[word, head] += 1.5
scores[4, 3] += 1.3  # or do the stars have the telescopes?

# %%
# One call gives the whole path up to a temperature, all of it certified by the MAP oracle.

trees = sp.DependencyTrees(projective=True, single_root=True)
whole = sp.temperature_path(scores, trees, temperature=2.0)
assert isinstance(whole, sp.TemperaturePath)  # a list of them, had the scores a batch dimension
path = whole
print(f"{len(path.structures)} trees, {path.calls} oracle calls")
for segment in path.segments[:4]:
    newest = path.structures[segment.support.max()].tolist()
    print(f"\nfrom temperature {segment.begin:.2f}: {len(segment.support)}, the newest of them\n")
    print(tree_text(newest, words))

# %%
# `max_support` stops where a fourth tree would enter: the temperature is that of the path.

post = sp.sparsemap(scores, trees, temperature=2.0, max_support=3)
found = float(post.temperature)
print(f"{path.temperatures[3]:.6f} = {found:.6f}: {len(post.weights)} trees, gap {post.gap:.0e}")

# %%
# The picture: the weights as areas, one on top of the other, and the first four trees with what
# they weigh at the end. It is written to the file that the command line names.

WIDTH, HEIGHT, LEFT, TOP = 620, 200, 40, 12
COLOURS = "#2a7fc9 #d9730d #3a9d5d #b0529e #c9a227 #7a6ccf #4bb3b8 #c8553d".split()
places = torch.linspace(0, 2, 101).tolist()
shares = torch.zeros(len(places), len(path.structures), dtype=torch.float64)
for row, here in enumerate(map(path.at, places)):
    tree = (here.structures[:, None] == path.structures).all(2).int().argmax(1)
    shares[row, tree] = here.weights


def edge(heights: torch.Tensor) -> list[str]:
    rows = zip(places, heights.tolist(), strict=True)
    return [f"{LEFT + WIDTH * t / 2:.1f} {TOP + HEIGHT * (1 - y):.1f}" for t, y in rows]


def area(tree: int) -> str:
    below = shares[:, :tree].sum(1)
    outline = edge(below) + edge(below + shares[:, tree])[::-1]
    return f'<path d="M{"L".join(outline)}z" fill="{COLOURS[tree % 8]}"/>'


def panel(tree: int) -> str:
    x, y = LEFT + tree % 2 * 350, TOP + HEIGHT + 66 + tree // 2 * 130
    enters = next(s.begin for s in path.segments if tree in s.support)
    heads, weight = path.structures[tree].tolist(), float(shares[-1, tree])
    return (
        f'<path d="M{x} {y - 10}h10v10h-10z" fill="{COLOURS[tree]}"/>'
        f'<text x="{x + 16}" y="{y}">from temperature {enters:.2f}</text>'
        + draw(words, [heads], [weight], format="svg").replace("<svg", f'<svg x="{x}" y="{y + 6}"')
    )


ticks = "".join(
    f'<text x="{LEFT + WIDTH * t / 2 - 8}" y="228">{t}</text>' for t in (0, 0.5, 1, 1.5, 2)
)
ticks += f'<text x="{LEFT}" y="246">weights of the trees, by temperature</text>'
shapes = [*map(area, range(len(path.structures))), ticks, *map(panel, range(4))]
picture = (
    '<svg xmlns="http://www.w3.org/2000/svg" class="sparsewood-alone" viewBox="0 0 740 510" '
    'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="currentColor">'
    f"<title>Trees over the temperature</title>{''.join(shapes)}</svg>"
)
if len(sys.argv) > 1:
    Path(sys.argv[1]).write_text(picture + "\n")
