"""
A picture for each family
=========================

`show` and `posterior_text` draw the structures of a posterior, each family in its own kind of
picture: trees as arcs, taggings as tags, matchings as pairs. Text is for the terminal; in a
notebook, and on this page, a drawing displays itself. The scores here are noise around one
structure.
"""

from typing import Any

import torch

import sparsewood as sp
from sparsewood.draw import Drawing, posterior_text, show

torch.manual_seed(0)
words = "She saw the man".split()


def picture(family: Any, parts: tuple[int, ...], best: list[Any], **names: Any) -> Drawing:
    """At most three structures for noisy scores around `best`, of shape `parts`; prints two."""
    scores = 0.3 * torch.randn(1, *parts) + family.indicator(torch.tensor([best]), parts)
    post = sp.sparsemap(scores, family, max_support=3)
    print(posterior_text(post, k=2, **names), end="\n\n")
    return show(post, **names)


# %%
# Dependency trees with labels on their arcs. In text, the label of an arc is below its word.

labels = ["root", "nsubj", "det", "obj"]
heads = [[2, 1], [0, 0], [4, 2], [2, 3]]
picture(sp.LabelledDependencyTrees(), (4, 5, 4), heads, words=words, labels=labels)

# %%
# Taggings; a tag that differs from the given one is marked.

tags = ["NOUN", "VERB", "DET"]
picture(sp.LinearChain(), (4, 3, 4), [0, 1, 2, 0], words=words, labels=tags, given=[0, 1, 2, 1])

# %%
# Segmentations into labelled pieces.

segments = [[1, 0], [3, 1], [0, -1], [0, -1]]
picture(sp.SemiMarkov(3), (4, 2, 5), segments, words=words, labels=["who", "what"])

# %%
# Binary trees.

spans = [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
picture(sp.BinaryTrees(), (4, 4), spans, words=words)

# %%
# Binary trees with labels on their spans.

named = [[1, -1, -1, 0], [-1, 3, -1, 2], [-1, -1, 4, 1], [-1, -1, -1, 5]]
spans_of = ["S", "NP", "VP", "V", "D", "N"]
picture(sp.BinaryTrees(labelled=True), (4, 4, 6), named, words=words, labels=spans_of)

# %%
# Matchings.

french = ["elle", "vit", "l'", "homme", "hier"]
picture(sp.Matching(), (4, 5), [0, 1, 2, 3], words=words, other=french)

# %%
# Alignments with gaps.

cells = torch.eye(4, 5).long().tolist()
picture(sp.Alignment(gaps=True), (4, 5), cells, words=words, other=french)

# %%
# Alignments without gaps; in text, a ditto mark repeats the previous step.

cells[3][4] = 1
picture(sp.Alignment(), (4, 5), cells, words=words, other=french)

# %%
# Sets: the chosen items are marked.

picture(sp.Subset(2), (5,), [1, 0, 0, 1, 0], words=["apple", "pear", "plum", "quince", "fig"])

# %%
# Spanning trees of a graph. In text they are rooted at their first vertex.

cities = ["Rome", "Pisa", "Turin", "Bari", "Milan"]
picture(sp.SpanningTrees(), (5, 5), [0, 4, 0, 1], words=cities)
