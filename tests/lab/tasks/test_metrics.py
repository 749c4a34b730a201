"""Metrics against explicit loops; merging against adding."""

import copy
import statistics
from collections import Counter
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sparsewood as sp
from sparsewood.lab.data.batches import Batch, PaddedSentences
from sparsewood.lab.tasks import Accuracy, LossMetric, Output, Ranks, TreeStatistics
from sparsewood.lab.tasks.metrics import Metric


def posterior(batch: int, n: int, seed: int) -> sp.SparsePosterior:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(batch, n, n + 1, generator=generator, dtype=torch.float64)
    scores[0, :, 0] += 2  # makes the flat tree of the first sentence likely
    lengths = torch.randint(1, n + 1, (batch,), generator=generator)
    return sp.sparsemap(scores, sp.DependencyTrees(), lengths=lengths)


def gold(post: sp.SparsePosterior, seed: int) -> torch.Tensor:
    """Heads that agree with the modes in part."""
    assert post.lengths is not None
    scores = torch.randn(*post.marginals.shape, generator=torch.Generator().manual_seed(seed))
    return sp.DependencyTrees().argmax(2 * post.marginals + scores, post.lengths)


def classified(seed: int, size: int = 5) -> tuple[Output, Batch]:
    generator = torch.Generator().manual_seed(seed)
    post = posterior(size, 4, seed)
    p = torch.rand(size, 3, generator=generator)
    loss = torch.rand(size, generator=generator)
    assert post.lengths is not None
    side = PaddedSentences(torch.zeros(size, 4, dtype=torch.int64), post.lengths, gold(post, seed))
    targets = torch.randint(3, (size,), generator=generator)
    return Output(loss, p, (post,)), Batch((side,), targets, torch.arange(size))


@settings(deadline=None)
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 1000), st.booleans())
def test_tree_statistics_by_loops(batch, n, seed, known):
    post = posterior(batch, n, seed)
    heads = gold(post, seed + 1) if known else None
    metric = TreeStatistics()
    metric.add_posterior(post, heads)
    assert post.lengths is not None

    sizes, flat, agreement, attached, words = Counter(), 0.0, 0.0, 0, 0
    steps: Counter[int] = Counter()  # how far to the right the head of a word is
    for b, one in enumerate(post):
        length = int(post.lengths[b])
        trees = list(zip(one.structures.tolist(), one.weights.tolist(), strict=True))
        sizes[len(trees)] += 1
        best = max(weight for _, weight in trees)
        likeliest = next(tree for tree, weight in trees if weight == best)
        flat += sum(weight for tree, weight in trees if tree[:length] == [0] * length)
        steps.update(head - i - 1 for i, head in enumerate(likeliest[:length]) if head > 0)
        for i in range(length):
            if heads is None:
                break
            words += 1
            head = int(heads[b, i])
            attached += likeliest[i] == head
            agreement += sum(weight for tree, weight in trees if tree[i] == head)

    expected = {
        "support": sum(k * v for k, v in sizes.items()) / batch,
        "single": 100 * sizes[1] / batch,
        "flat": 100 * flat / batch,
        "chain": 100 * max(steps[1], steps[-1]) / max(1, steps.total()),
        "unconverged": float((~post.converged).sum()),
        "capped": 0.0,
    }
    if known:
        expected["agreement"] = 100 * agreement / words
        expected["attachment"] = 100 * attached / words
    assert metric.values() == pytest.approx(expected)
    assert metric.histogram() == dict(sorted(sizes.items()))
    assert list(metric.histogram()) == sorted(sizes)


def test_attachment_of_scored_words():
    heads = torch.tensor([[0, 1, 1], [2, 0, -1]])
    scored = torch.tensor([[True, True, False], [False, True, False]])
    scores = torch.zeros(2, 3, 4)
    lengths = torch.tensor([3, 2])
    guess = torch.tensor([[0, 1, 2], [0, 1, -1]])
    post = sp.Given(guess)(scores, sp.DependencyTrees(), lengths)
    metric = TreeStatistics()
    metric.add_posterior(post, heads, scored)
    assert metric.values()["attachment"] == 100 * 2 / 5
    assert metric.values()["attachment_without_brackets"] == pytest.approx(100 * 2 / 3)
    everything = TreeStatistics()
    everything.add_posterior(post, heads)
    assert "attachment_without_brackets" not in everything.values()


def test_sentences_that_reach_the_cap_are_counted():
    scores = torch.zeros(3, 6, 7)  # all trees alike: many are needed
    scores[1, :, 0] += 100  # one will do
    post = sp.sparsemap(scores, sp.DependencyTrees(), max_active=3)
    assert post.converged.tolist() == [False, True, False]
    metric = TreeStatistics()
    side = PaddedSentences(torch.zeros(3, 6, dtype=torch.int64), torch.full((3,), 6), None)
    batch = Batch((side,), torch.zeros(3, dtype=torch.int64), torch.arange(3))
    metric.add(Output(None, torch.zeros(3, 1), (post,)), batch)
    assert (metric.values()["unconverged"], metric.values()["capped"]) == (2, 2)
    stalled = replace(post, status=2 * post.status)
    metric.add(Output(None, torch.zeros(3, 1), (stalled,)), batch)
    assert (metric.values()["unconverged"], metric.values()["capped"]) == (4, 2)
    flat = sp.Fixed("flat")(scores, sp.DependencyTrees())  # nothing to be certified
    metric.add(Output(None, torch.zeros(3, 1), (flat,)), batch)
    assert (metric.values()["unconverged"], metric.values()["capped"]) == (4, 2)


def test_tree_statistics_of_both_sides():
    (left, one), (right, two) = classified(0), classified(1)
    sides = Batch(one.sides + two.sides, one.targets, one.rows)
    both, each = TreeStatistics(), TreeStatistics()
    both.add(Output(None, left.prediction, left.posteriors + right.posteriors), sides)
    each.add(left, one)
    each.add(right, two)
    assert both == each


def test_accuracy_by_loops():
    metric = Accuracy()
    right = count = 0
    losses = []
    for seed in range(4):
        output, batch = classified(seed)
        metric.add(output, batch)
        assert output.loss is not None
        losses += output.loss.tolist()
        for p, target in zip(output.prediction.tolist(), batch.targets.tolist(), strict=True):
            right += p.index(max(p)) == target
            count += 1
    assert 0 < right < count
    values = metric.values()
    assert values["loss"] == pytest.approx(statistics.mean(losses))
    assert values["accuracy"] == pytest.approx(100 * right / count)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1))
def test_macro_f1_and_the_confusion_matrix_by_precision_and_recall(pairs):
    metric = Accuracy()
    for start in range(0, len(pairs), 3):
        part = pairs[start : start + 3]
        targets = torch.tensor([target for target, _ in part])
        p = torch.eye(5)[[predicted for _, predicted in part]]
        metric.add(Output(torch.ones(len(part)), p, ()), Batch((), targets, targets))
    scores = []
    for label in range(5):
        right = sum(t == p == label for t, p in pairs)
        of_label = sum(t == label for t, _ in pairs)
        predicted = sum(p == label for _, p in pairs)
        if not of_label and not predicted:
            continue
        recall = right / of_label if of_label else 0
        precision = right / predicted if predicted else 0
        both = precision + recall
        scores.append(2 * precision * recall / both if both else 0)
    assert metric.values()["macro_f1"] == pytest.approx(100 * statistics.mean(scores))
    table = metric.table("abcde")
    assert list(table) == sorted({"abcde"[t] for t, _ in pairs})
    for target, row in table.items():
        assert list(row) == sorted(row)
        for predicted, n in row.items():
            assert n == pairs.count(("abcde".index(target), "abcde".index(predicted))) > 0
    assert sum(n for row in table.values() for n in row.values()) == len(pairs)


@given(st.lists(st.integers(1, 300), min_size=1))
def test_ranks_by_definition(ranks):
    metric = Ranks()
    metric.extend(torch.ones(len(ranks)), torch.tensor(ranks))
    assert metric.values() == pytest.approx(
        {
            "loss": 1.0,
            "median_rank": statistics.median(ranks),
            "accuracy_10": 100 * sum(r <= 10 for r in ranks) / len(ranks),
            "accuracy_100": 100 * sum(r <= 100 for r in ranks) / len(ranks),
        }
    )


@pytest.mark.parametrize(
    ("kind", "share"), [("left_to_right", 100.0), ("right_to_left", 100.0), ("flat", 0.0)]
)
def test_the_share_of_a_chain_in_fixed_trees(kind, share):
    scores, lengths = torch.zeros(3, 5, 6), torch.tensor([5, 1, 3])
    statistics = TreeStatistics()
    statistics.add_posterior(sp.Fixed(kind)(scores, sp.DependencyTrees(), lengths), None)
    assert statistics.values()["chain"] == share


def test_the_share_of_a_chain_is_of_arcs_between_words_in_one_direction():
    heads = torch.tensor([[2, 0, 2, 3, 3], [2, 3, 0, -1, -1]])  # to the next: 3, before: 2, of 6
    given = sp.Given(heads)(torch.zeros(2, 5, 6), sp.DependencyTrees(), torch.tensor([5, 3]))
    statistics = TreeStatistics()
    statistics.add_posterior(given, None)
    assert statistics.values()["chain"] == pytest.approx(50)


@pytest.mark.parametrize("kind", [LossMetric, Accuracy, TreeStatistics])
def test_merging_equals_adding(kind):
    together, parts = kind(), []
    for seed in range(3):
        output, batch = classified(seed)
        together.add(output, batch)
        part = kind()
        part.add(output, batch)
        parts.append(part)
    total = kind()
    others = copy.deepcopy(parts)
    for part in parts:
        total.merge(part)
    assert total.values() == pytest.approx(together.values())
    assert parts == others  # what is merged stays as it was


def test_merging_ranks_equals_adding():
    together, first, second = Ranks(), Ranks(), Ranks()
    for metrics, ranks in (((together, first), [3, 200]), ((together, second), [1])):
        for metric in metrics:
            metric.extend(torch.ones(len(ranks)), torch.tensor(ranks))
    first.merge(second)
    assert first == together


def test_only_like_metrics_merge():
    with pytest.raises(TypeError, match="merge: expected Accuracy, got Ranks"):
        Accuracy().merge(Ranks())


@pytest.mark.parametrize("kind", [LossMetric, Accuracy, Ranks, TreeStatistics])
def test_nothing_added_gives_no_values(kind):
    assert kind().values() == {}


def later(self: Metric, *numbers: torch.Tensor) -> None:
    """`Metric.later` as of numbers on a GPU."""
    self._pending.append(torch.cat([number.detach().double().flatten() for number in numbers]))


def test_numbers_that_wait_on_a_device_are_those_taken_at_once(monkeypatch) -> None:
    outputs = [classified(seed) for seed in range(3)]

    def measured() -> list[Metric]:
        metrics = [Accuracy(), TreeStatistics(), LossMetric()]
        for output, batch in outputs:
            one = [type(metric)() for metric in metrics]
            for metric, so_far in zip(one, metrics, strict=True):
                metric.add(output, batch)
                so_far.merge(metric)
        return metrics

    at_once = measured()
    monkeypatch.setattr(Metric, "later", later)
    waiting = measured()
    assert all(len(metric._pending) == 3 for metric in waiting)
    for found, expected in zip(waiting, at_once, strict=True):
        assert found.values() == expected.values()
        assert not found._pending
    for found, expected in zip(measured(), at_once, strict=True):
        assert found.sums() == expected.sums()
    ranks = Ranks()
    ranks.extend(torch.tensor([0.5, 1.0]), torch.tensor([3, 1]))
    assert ranks.values()["median_rank"] == 2.0
    assert ranks.sums() == {"count": 2, "loss": 1.5, "ranks": [3, 1]}
