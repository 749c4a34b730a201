"""The display of results in notebooks, which never raises."""

from collections import Counter
from dataclasses import replace
from xml.etree import ElementTree

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.draw.notebook import forest_html, posterior_html
from sparsewood.draw.shared import sentences_of, shared_graph, uses_of
from tests.choice import Choice
from tests.families import FAMILIES, batch_of
from tests.forests import read_node


def texts(html: str | None) -> list[str]:
    """The texts of a fragment, which is well-formed."""
    assert html is not None
    return [text for text in ElementTree.fromstring(html).itertext() if text]


def trees(batch: int = 3, n: int = 4) -> sp.SparsePosterior:
    generator = torch.Generator().manual_seed(1)
    return sp.sparsemap(torch.randn(batch, n, n + 1, generator=generator), sp.DependencyTrees())


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family(name: str) -> None:
    family = FAMILIES[name]
    scores, lengths = batch_of(family)
    shown = texts(posterior_html(sp.sparsemap(scores, family.structure, lengths=lengths)))
    assert shown[0].startswith("SparsePosterior(")
    assert shown.count("Instance 1") == 1
    assert shown[-1] == "and 6 more instances: post[2], …"


def test_a_batch_shows_the_first_and_their_certificates() -> None:
    post = trees()
    shown = texts(post._repr_html_())
    for i in (0, 1):
        size = int(post.sizes[i])
        assert f"{size} tree{'s' * (size != 1)}, certified" in shown
    assert shown[-1] == "and 1 more instance: post[2], …"
    capped = sp.sparsemap(torch.zeros(2, 4, 5), sp.DependencyTrees(), max_active=2)
    assert sum("not certified: capped (gap" in text for text in texts(capped._repr_html_())) == 2


def test_one_instance_folds_what_is_many() -> None:
    post = sp.sparsemap(torch.zeros(1, 100), sp.Simplex())
    shown = texts(post._repr_html_())
    assert "92 more, together 92.0%" in shown
    assert shown[-1] == "and 68 more, together 68.0%"


def test_what_is_too_large_is_told() -> None:
    post = sp.MAP()(torch.zeros(1, 700), sp.Hypercube())
    shown = texts(post._repr_html_())
    assert shown[-1] == "too large to draw"
    long = trees(1, 300)
    assert len(long._repr_html_() or "") < 300_000


@pytest.mark.parametrize("batch", [(0,), (2, 0), (), (2, 2)])
def test_batches_of_any_shape(batch: tuple[int, ...]) -> None:
    post = sp.sparsemap(torch.randn(*batch, 3, 4), sp.DependencyTrees())
    assert texts(post._repr_html_())


def test_other_posteriors() -> None:
    scores = torch.tensor([[0.4, 0.1, 0.0], [0.0, 1.0, 0.5]], requires_grad=True)
    post = sp.sparsemap(scores, Choice())
    assert "parts 0" in texts(post._repr_html_())
    assert texts(sp.TopK(k=3)(torch.randn(2, 3, 4), sp.DependencyTrees())._repr_html_())
    half = replace(trees(), weights=trees().weights.bfloat16())
    assert texts(half._repr_html_())


def test_soft_posteriors_show_their_marginals() -> None:
    scores = torch.randn(2, 3, 4, requires_grad=True)
    post = sp.Gibbs()(scores, sp.DependencyTrees())
    shown = texts(post._repr_html_())
    assert shown[0] == repr(post)
    assert len(shown) == 3 + 12
    assert f"(2, 1): {post.marginals[0, 2, 1].item():.3f}" in shown
    assert len(texts(post[1]._repr_html_())) == 3 + 12
    deep = sp.Gibbs()(torch.randn(2, 3, 2, 3), sp.LinearChain())
    assert texts(deep._repr_html_()) == [repr(deep)]
    assert texts(sp.Gibbs()(torch.randn(0, 3, 4), sp.DependencyTrees())._repr_html_())


class Broken(Choice):
    """A family whose parts fail, and whose name is a script."""

    def indicator(self, structures: Tensor, shape: tuple[int, ...]) -> Tensor:
        raise RuntimeError("no parts")

    def __str__(self) -> str:
        return "<script>alert(1)</script>"


def test_what_cannot_be_drawn_is_no_error() -> None:
    post = sp.Posterior(Broken(), torch.tensor([0]), torch.ones(1), torch.tensor([1]), (3,))
    assert post._repr_html_() is None
    nan = replace(trees(), weights=trees().weights * torch.nan)
    assert nan._repr_html_() is None
    whole = torch.empty(0, dtype=torch.int64)
    none = sp.Posterior(Broken(), whole, torch.ones(0), whole, (3,))
    assert "<script>" not in (none._repr_html_() or "")
    assert "<script>" in texts(none._repr_html_())[0]


def test_forest() -> None:
    forest = trees(4, 6).forest()
    shown = texts(forest._repr_html_())
    assert f"{forest.num_nodes} nodes" in shown[0]
    assert f"stand for {forest.num_tree_nodes} (" in shown[0]
    assert shown[-1].endswith("in several trees (shaded)")


def test_uses_count_trees() -> None:
    post = trees(4, 6)
    forest = post.forest()
    counts = Counter(
        (int(b), node)
        for b, root in zip(post.instance, forest.roots.tolist(), strict=True)
        for node in _below(read_node(forest, root))
    )
    uses = uses_of(forest)
    assert int(uses.sum()) == forest.num_tree_nodes
    assert sorted(counts.values()) == sorted(uses.tolist())
    assert torch.equal(sentences_of(forest), post.instance)


def _below(tree: tuple) -> list[tuple]:
    return [tree, *(node for child in tree[1] for node in _below(child))]


def test_the_graph_of_a_sentence_in_a_larger_forest() -> None:
    """Two trees over three words that share the last arc; another sentence is deeper."""
    heads = torch.tensor([[0, 1, 2, 3], [0, 1, 2, -1], [2, 0, 2, -1], [2, 3, 0, -1]])
    forest = sp.Forest.from_heads(heads, torch.tensor([4, 3]), torch.tensor([0, 1, 1, 1]))
    graph = shared_graph(forest, forest.roots[[1, 2]].tolist())
    assert graph.words == ("1", "2", "3")
    assert graph.parts() == ["2 trees", "7 nodes", "1 in several trees"]
    assert max(node.level for node in graph.nodes) == 3
    assert [node.word for node in graph.nodes if node.uses > 1] == [2]
    panel = graph.panel()
    assert all(0 <= x <= panel.width for s in panel.shapes for x in [getattr(s, "x", 0)])
    assert "Sentence 1: 3 trees" in texts(forest_html(forest))[-1]


def test_forests_of_little() -> None:
    none = torch.empty(0, 3, dtype=torch.int64)
    empty = sp.Forest.from_heads(none, torch.tensor([3]), torch.empty(0, dtype=torch.int64))
    assert texts(empty._repr_html_()) == [repr(empty)]
    assert "1 tree over 1 sentence:" in texts(trees(1, 1).forest()._repr_html_())[0]
    weighted = sp.StraightThrough()(torch.randn(2, 3, 4), sp.DependencyTrees()).forest()
    assert texts(weighted._repr_html_())
    assert len(texts(trees(1, 100).forest()._repr_html_())) == 1
