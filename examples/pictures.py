"""
A picture for each family
=========================

`show` and `posterior_text` draw the structures of a posterior, each family in its own kind of
picture: trees as arcs, taggings as tags, matchings as pairs. The scores here are noise around one
structure.

.. image:: /families.svg
   :alt: a picture of each family
"""

from typing import Any

import torch

import sparsewood as sp
from sparsewood.draw import posterior_text, show

torch.manual_seed(0)
words = "She saw the man".split()


def picture(family: Any, parts: tuple[int, ...], best: list[Any], **names: Any) -> None:
    """Print the two most probable structures for noisy scores around `best`, of shape `parts`."""
    scores = 0.3 * torch.randn(1, *parts) + family.indicator(torch.tensor([best]), parts)
    print(posterior_text(sp.sparsemap(scores, family), k=2, **names), end="\n\n")


# %%
# Dependency trees with labels on their arcs. In text, the label of an arc is below its word.

labels = ["root", "nsubj", "det", "obj"]
heads = [[2, 1], [0, 0], [4, 2], [2, 3]]
picture(sp.LabelledDependencyTrees(), (4, 5, 4), heads, words=words, labels=labels)

# %%
# Taggings, and segmentations into labelled pieces.

tags = ["NOUN", "VERB", "DET"]
picture(sp.LinearChain(), (4, 3, 4), [0, 1, 2, 0], words=words, labels=tags, given=[0, 1, 2, 1])
segments = [[1, 0], [3, 1], [0, -1], [0, -1]]
picture(sp.SemiMarkov(3), (4, 2, 5), segments, words=words, labels=["who", "what"])

# %%
# Binary trees, without and with labels on their spans.

spans = [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
picture(sp.BinaryTrees(), (4, 4), spans, words=words)
named = [[1, -1, -1, 0], [-1, 3, -1, 2], [-1, -1, 4, 1], [-1, -1, -1, 5]]
picture(
    sp.BinaryTrees(labelled=True),
    (4, 4, 6),
    named,
    words=words,
    labels=["S", "NP", "VP", "V", "D", "N"],
)

# %%
# Matchings, and alignments with and without gaps; a ditto mark repeats the previous step.

french = ["elle", "vit", "l'", "homme", "hier"]
picture(sp.Matching(), (4, 5), [0, 1, 2, 3], words=words, other=french)
cells = torch.eye(4, 5).long().tolist()
picture(sp.Alignment(gaps=True), (4, 5), cells, words=words, other=french)
cells[3][4] = 1
picture(sp.Alignment(), (4, 5), cells, words=words, other=french)

# %%
# Sets: the chosen items are marked.

picture(sp.Subset(2), (5,), [1, 0, 0, 1, 0], words=["apple", "pear", "plum", "quince", "fig"])

# %%
# Spanning trees of a graph. In text they are rooted at their first vertex.

cities = ["Rome", "Pisa", "Turin", "Bari", "Milan"]
picture(sp.SpanningTrees(), (5, 5), [0, 4, 0, 1], words=cities)

# %%
# Text is for the terminal. In a notebook, and on this page, a drawing displays itself as a picture.

family = sp.LabelledDependencyTrees()
scores = 0.3 * torch.randn(1, 4, 5, 4) + family.indicator(torch.tensor([heads]), (4, 5, 4))
show(sp.sparsemap(scores, family, max_support=3), words, labels=labels)
