"""Several labels: against plain formulas, scikit-learn, and finite differences."""

import math
from types import SimpleNamespace
from typing import Any, Literal

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.tasks import LabelCounts, Labels, Output

NAMES = ["elm", "fir", "oak"]
SIDE = (Sentence(("tree",)),)
TABLE = st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=12)


def judged(
    z: Tensor, mixed: Any, has: Tensor, loss: Literal["marginal", "expected"]
) -> tuple[Tensor, Tensor]:
    p, found = Labels(NAMES).evaluate(z, mixed.posterior, has, loss)
    assert found is not None
    return p, found


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@given(seed=st.integers(0, 50), pairs=st.booleans(), loss=st.sampled_from(["marginal", "expected"]))
def test_probabilities_and_loss_are_sums_over_structures(mixture, seed, pairs, loss):
    mixed = mixture(2, seed, pairs=pairs)
    z = 2 * torch.randn(mixed.total, 3, dtype=torch.float64)
    has = torch.tensor([[1, 0, 1], [0, 0, 0]])
    p, found = judged(z, mixed, has, loss)
    for b, parts in enumerate(mixed.parts(z)):
        wanted = 0.0
        for i in range(3):
            told = [(w, sigmoid(float(x[i]))) for w, x in parts]
            right = [(w, q if has[b, i] else 1 - q) for w, q in told]
            assert float(p[b, i]) == pytest.approx(sum(w * q for w, q in told))
            if loss == "marginal":
                wanted -= math.log(sum(w * q for w, q in right)) / 3
            else:
                wanted -= sum(w * math.log(q) for w, q in right) / 3
        assert float(found[b]) == pytest.approx(wanted)


@pytest.mark.parametrize("loss", ["marginal", "expected"])
@pytest.mark.parametrize("pairs", [False, True])
def test_gradients_agree_with_finite_differences(mixture, loss, pairs):
    mixed, has = mixture(2, 3, pairs=pairs), torch.tensor([[1, 0, 1], [0, 1, 0]])
    z = torch.randn(mixed.total, 3, dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(lambda z: judged(z, mixed, has, loss)[1], z)


@pytest.mark.parametrize("loss", ["marginal", "expected"])
def test_extreme_scores_keep_loss_and_gradient(mixture, loss):
    mixed = mixture(1, 0)
    z = torch.full((mixed.total, 3), -1000.0).requires_grad_()
    p, found = judged(z, mixed, torch.tensor([[1, 1, 0]]), loss)
    assert p.max() == 0  # it underflows
    torch.testing.assert_close(found, torch.tensor([2000 / 3]))
    found.sum().backward()
    assert z.grad is not None
    torch.testing.assert_close(z.grad.sum(0), torch.tensor([-1 / 3, -1 / 3, 0.0]))


def test_unknown_labels_are_not_no_labels(mixture):
    labels, mixed = Labels(NAMES), mixture(2, 0)
    examples = [Example(SIDE, labels=()), Example(SIDE, labels=("oak", "elm"))]
    assert labels.encode(examples).tolist() == [[0, 0, 0], [1, 0, 1]]
    targets = labels.encode([examples[0], Example(SIDE)])
    assert targets.tolist() == [[0, 0, 0], [-1, -1, -1]]
    z = torch.zeros(mixed.total, 3)
    assert labels.evaluate(z, mixed.posterior, targets, "marginal")[1] is None
    with pytest.raises(ValueError, match="example 0: the label 'yew' is not one of the 3"):
        labels.encode([Example(SIDE, labels=("oak", "yew"))])
    with pytest.raises(ValueError, match="expected labels, got none"):
        Labels.check(Corpus("classify-labels", {"train": examples[:1]}))


def measured(has: list[list[bool]], told: list[list[bool]]) -> LabelCounts:
    metric = LabelCounts()
    p = torch.tensor(told).double() * 0.2 + 0.4
    batch = SimpleNamespace(targets=torch.tensor(has).long(), units=len(has))
    metric.add(Output(torch.full((len(has),), 2.0), p, ()), batch)
    return metric


@given(has=TABLE, seed=st.randoms())
def test_measures_agree_with_counts_and_scikit_learn(has, seed):
    told = [[seed.random() < 0.5 for _ in row] for row in has]
    found = measured(has, told).values()
    cells = [
        (i, y, t)
        for a, b in zip(has, told, strict=True)
        for i, (y, t) in enumerate(zip(a, b, strict=True))
    ]

    def f1(cells: list[tuple[int, bool, bool]]) -> float | None:
        both = sum(y and t for _, y, t in cells)
        seen = sum(y + t for _, y, t in cells)
        return 2 * both / seen if seen else None

    each = [x for i in range(3) if (x := f1([c for c in cells if c[0] == i])) is not None]
    micro = f1(cells)
    assert found["micro_f1"] == pytest.approx(100 * (1 if micro is None else micro))
    assert found["macro_f1"] == pytest.approx(100 * (sum(each) / len(each) if each else 1))
    exact = sum(a == b for a, b in zip(has, told, strict=True)) / len(has)
    assert found["exact_match"] == pytest.approx(100 * exact)
    assert found["loss"] == 2


def test_scikit_learn_counts_alike():
    score = pytest.importorskip("sklearn.metrics").f1_score
    generator = torch.Generator().manual_seed(0)
    has, told = torch.rand(2, 40, 3, generator=generator) < 0.4
    found = measured(has.tolist(), told.tolist()).values()
    for average in ("micro", "macro"):
        wanted = 100 * score(has.numpy(), told.numpy(), average=average)
        assert found[f"{average}_f1"] == pytest.approx(wanted)


@given(has=TABLE, cut=st.integers(1, 11))
def test_merging_is_seeing_all(has, cut):
    told = has[1:] + has[:1]
    merged = LabelCounts()
    for part in (slice(None, cut), slice(cut, None)):
        if has[part]:
            merged.merge(measured(has[part], told[part]))
    assert merged.values() == pytest.approx(measured(has, told).values())
    assert LabelCounts().values() == {}


def test_all_labels_that_are_told_are_answers():
    labels = Labels(NAMES)
    answers = labels.answers(torch.tensor([0.5, 0.2, 0.9]), 1)
    assert answers == pytest.approx({"oak": 0.9, "elm": 0.5})
    assert labels.verdict(answers) == {"labels": ["oak", "elm"]}
    answers = labels.answers(torch.tensor([0.1, 0.2, 0.3]), 2)
    assert list(answers) == ["oak", "fir"]
    assert labels.verdict(answers) == {"labels": []}
