"""Links decoded from attention, against enumeration, and their scores, by hand."""

from itertools import permutations

import pytest
import torch

from sparsewood.lab.data.alignments import AlignedPair
from sparsewood.lab.tasks.alignments import (
    DECODINGS,
    Decoded,
    attention_of,
    decoded,
    links_of,
    similarities,
)

WORDS = "oak elm ash yew fir box may bay fig tea".split()


def pair(n: int, m: int) -> AlignedPair:
    words = tuple(WORDS[:n]), tuple(WORDS[::-1][:m])
    return AlignedPair(words, frozenset({(0, 0)}), frozenset())


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (3, 4), (4, 3), (4, 4)])
def test_links_are_those_of_plain_loops(n: int, m: int) -> None:
    generator = torch.Generator().manual_seed(10 * n + m)
    to_target = torch.rand(n, m, generator=generator)
    to_source = torch.rand(m, n, generator=generator)
    found = links_of(to_target, to_source)
    assert found.keys() == DECODINGS.keys()
    links = {name: set(map(tuple, table.tolist())) for name, (table, _) in found.items()}
    source = {(i, max(range(m), key=lambda j: to_target[i, j])) for i in range(n)}
    target = {(max(range(n), key=lambda i: to_source[j, i]), j) for j in range(m)}
    assert links["source"] == source
    assert links["target"] == target
    assert links["both"] == source & target
    mean = (to_target + to_source.mT) / 2
    orders = permutations(range(max(n, m)), min(n, m))
    ways = [set(enumerate(order)) for order in orders]
    if n > m:
        ways = [{(i, j) for j, i in way} for way in ways]
    assert links["matching"] == max(ways, key=lambda way: sum(float(mean[i, j]) for i, j in way))
    for name, table in {"source": to_target, "both": mean, "matching": mean}.items():
        for (i, j), weight in zip(*found[name], strict=True):
            assert weight == table[i, j]
    for (i, j), weight in zip(*found["target"], strict=True):
        assert weight == to_source[j, i]


def test_scores_by_hand() -> None:
    pairs = [
        AlignedPair((("a", "b"), ("c", "d")), frozenset({(0, 0), (1, 1)}), frozenset({(0, 1)})),
        AlignedPair((("a",), ("c", "d")), frozenset({(0, 1)}), frozenset()),
    ]
    links = [
        (torch.tensor([[0, 0], [0, 1], [1, 0]]), torch.tensor([0.9, 0.5, 0.2])),
        (torch.tensor([[0, 1]]), torch.tensor([0.4])),
    ]
    found = Decoded(pairs, links)
    # Two of four links are sure, a third is possible; there are three sure links, one possible.
    score = found.score()
    assert score == pytest.approx(
        {"precision": 50, "recall": 200 / 3, "f1": 400 / 7, "f1_possible": 75, "links": 4}
    )
    assert found.score(0.3)["precision"] == pytest.approx(200 / 3)
    assert found.score(0.3)["recall"] == pytest.approx(200 / 3)
    assert found.score(1.0) == dict.fromkeys(score, 0.0)
    # 0.21 to 0.4 leave out what is wrong, above 0.5 also what is possible, but a sure link too.
    assert found.best_threshold([0.0, 0.4, 0.3, 0.6, 1.0]) == 0.3


def test_cosines_and_words_without_a_vector() -> None:
    a = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    b = torch.tensor([[4.0, 3.0], [6.0, 8.0]])
    to_target, to_source = similarities(a, b)
    torch.testing.assert_close(to_target, torch.tensor([[0.96, 1.0], [0.0, 0.0]]))
    assert torch.equal(to_source, to_target.mT)


@pytest.mark.parametrize(
    "options", [{}, {"attention_over": "subtrees"}, {"estimator": "mean"}], ids=str
)
@pytest.mark.parametrize("kind", ["softmax", "matching"])
def test_a_pair_has_the_attention_that_it_has_alone(make, kind: str, options: dict) -> None:
    model, _ = make("nli", attention=kind, **options)
    model.train()
    pairs = [pair(2, 5), pair(4, 1), pair(3, 3)]
    found = attention_of(model, pairs, batch=2)
    assert model.training
    for one, (to_target, to_source) in zip(pairs, found, strict=True):
        n, m = map(len, one.words)
        assert (to_target.shape, to_source.shape) == ((n, m), (m, n))
        ((alone, back),) = attention_of(model, [one])
        torch.testing.assert_close(to_target, alone)
        torch.testing.assert_close(to_source, back)
        if kind == "softmax":
            torch.testing.assert_close(to_target.sum(1), torch.ones(n, dtype=torch.float64))
            torch.testing.assert_close(to_source.sum(1), torch.ones(m, dtype=torch.float64))
        else:
            assert torch.equal(to_target, to_source.mT)
            torch.testing.assert_close(to_target.sum(), torch.tensor(float(min(n, m))).double())
    assert decoded(pairs, found).keys() == DECODINGS.keys()


def test_other_models_have_no_attention(make) -> None:
    for model, _ in (make("nli"), make("classify")):
        with pytest.raises(ValueError, match="expected a model of pairs with attention"):
            attention_of(model, [pair(1, 1)])
