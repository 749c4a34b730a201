"""Regression: against plain formulas, SciPy, and finite differences."""

import math
from types import SimpleNamespace
from typing import Any, Literal

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.tasks import NumberErrors, Numbers, Output, build_model, load_model
from sparsewood.lab.tasks.model_config import ModelConfig
from sparsewood.lab.tasks.target_model import TargetModel
from sparsewood.lab.tasks.targets.numbers import correlation, mean_ranks

NUMBERS = st.integers(-40, 40).map(lambda x: x / 8)  # equal now and then
PAIRS = st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=40)
scipy: Any = stats  # whose types are not told
SIDE = (Sentence(("oak",)),)


def fitted(*numbers: float) -> Numbers:
    target = Numbers()
    target.fit([Example(SIDE, str(number)) for number in numbers])
    return target


def judged(
    target: Numbers, z: Tensor, mixed: Any, y: Tensor, loss: Literal["marginal", "expected"]
) -> tuple[Tensor, Tensor]:
    answer, found = target.evaluate(z, mixed.posterior, y, loss)
    assert found is not None
    return answer, found


@given(seed=st.integers(0, 50), pairs=st.booleans(), loss=st.sampled_from(["marginal", "expected"]))
def test_answer_and_loss_are_sums_over_structures(mixture, seed, pairs, loss):
    target, mixed = fitted(10.0, 14.0), mixture(3, seed, pairs=pairs)  # mean 12, deviation 2
    z = torch.randn(mixed.total, 1, dtype=torch.float64)
    wanted = [12.5, 9.0, 30.0]
    y = torch.tensor(wanted, dtype=torch.float64)
    answer, found = judged(target, z, mixed, y, loss)
    for b, parts in enumerate(mixed.parts(z)):
        r = sum(weight * float(value) for weight, value in parts)
        right = (wanted[b] - 12) / 2
        each = sum(weight * (right - float(value)) ** 2 for weight, value in parts)
        assert float(answer[b]) == pytest.approx(12 + 2 * r)
        assert float(found[b]) == pytest.approx((right - r) ** 2 if loss == "marginal" else each)


@pytest.mark.parametrize("loss", ["marginal", "expected"])
@pytest.mark.parametrize("pairs", [False, True])
def test_gradients_agree_with_finite_differences(mixture, loss, pairs):
    target, mixed = fitted(1.0, 5.0), mixture(2, 3, pairs=pairs)
    z = torch.randn(mixed.total, 1, dtype=torch.float64).requires_grad_()
    y = torch.tensor([2.0, -4.0], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda z: judged(target, z, mixed, y, loss)[1], z)


def test_the_unit_of_the_data_is_that_of_answers_alone(mixture):
    mixed, y = mixture(3, 0), torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    z = torch.randn(mixed.total, 1, dtype=torch.float64)
    plain, loss = judged(fitted(*y.tolist()), z, mixed, y, "marginal")
    far = 1e9 + y / 1000
    moved, same = judged(fitted(*far.tolist()), z.float(), mixed, far, "marginal")
    torch.testing.assert_close(same, loss.float(), rtol=1e-3, atol=1e-3)
    # In float32 all of them would be equal.
    torch.testing.assert_close(1000 * (moved - 1e9), plain, rtol=1e-3, atol=1e-3)


def test_unknown_numbers_leave_no_loss(mixture):
    mixed = mixture(2, 0)
    targets = Numbers().encode([Example(SIDE, "1.5"), Example(SIDE)])
    assert targets.dtype == torch.float64
    assert math.isnan(targets[1])
    answer, loss = Numbers().evaluate(
        torch.zeros(mixed.total, 1), mixed.posterior, targets, "marginal"
    )
    assert loss is None
    assert answer.isfinite().all()


def test_what_is_no_number_is_named():
    with pytest.raises(ValueError, match="example 1: expected a number, got 'many'"):
        Numbers().encode([Example(SIDE, "1"), Example(SIDE, "many")])
    corpus = Corpus("classify-number", {"train": [Example(SIDE, "1"), Example(SIDE, "1.0")]})
    with pytest.raises(ValueError, match=r"expected at least two different numbers, got \[1.0\]"):
        Numbers.check(corpus)


def measured(*batches: list[tuple[float, float]]) -> NumberErrors:
    metric = NumberErrors()
    for pairs in batches:
        right, said = torch.tensor(pairs, dtype=torch.float64).T
        batch = SimpleNamespace(targets=right, units=len(pairs))
        metric.add(Output((right - said) ** 2, said, ()), batch)
    return metric


@given(pairs=PAIRS)
def test_measures_agree_with_scipy(pairs):
    right, said = numpy.array(pairs).T
    found = measured(pairs).values()
    assert found["mse"] == found["loss"] == pytest.approx(numpy.mean((right - said) ** 2))
    assert found["mae"] == pytest.approx(numpy.mean(abs(right - said)))
    if numpy.ptp(right) == 0 or numpy.ptp(said) == 0:
        assert found["pearson"] == found["spearman"] == 0
        return
    assert found["spearman"] == pytest.approx(scipy.spearmanr(right, said).statistic, abs=1e-9)
    assert found["pearson"] == pytest.approx(scipy.pearsonr(right, said).statistic, abs=1e-9)
    assert mean_ranks(right).tolist() == scipy.rankdata(right).tolist()


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_a_correlation_has_no_unit(scale):
    x = numpy.array([1.0, 2.0, 4.0])
    assert correlation(scale * x, 3 - x) == pytest.approx(-1)


@given(pairs=PAIRS, cut=st.integers(1, 39))
def test_merging_is_seeing_all(pairs, cut):
    parts = [part for part in (pairs[:cut], pairs[cut:]) if part]
    merged = NumberErrors()
    for part in parts:
        merged.merge(measured(part))
    assert merged.values() == pytest.approx(measured(pairs).values())
    assert merged.sums()["targets"] == [right for right, _ in pairs]
    assert NumberErrors().values() == {}


def test_outcomes_are_what_the_criterion_is_the_mean_of(make):
    model, batch = make("classify-number")
    with torch.no_grad():
        output = model.eval()(batch)
    metrics = model.new_metrics()
    for metric in metrics:
        metric.add(output, batch)
    assert float(model.outcomes(output, batch).mean()) == pytest.approx(
        model.measured(metrics)["mse"]
    )


@pytest.mark.parametrize("task", ["classify-number", "nli-number"])
def test_a_saved_model_keeps_the_unit(corpus, tmp_path, task):
    model = build_model(corpus(task), ModelConfig(hidden=6, embedding=4)).eval()
    assert isinstance(model, TargetModel)
    assert isinstance(model.target, Numbers)
    numbers = [float(example.label) for example in corpus(task).splits["train"]]
    assert float(model.target.mean) == pytest.approx(numpy.mean(numbers))
    assert float(model.target.deviation) == pytest.approx(numpy.std(numbers))
    model.save_pretrained(tmp_path)
    batch = model.encode(corpus(task).splits["train"]).batch(range(8))
    with torch.no_grad():
        for loaded in (load_model(tmp_path), type(model).from_pretrained(tmp_path).eval()):
            assert torch.equal(loaded(batch).prediction, model(batch).prediction)


def test_the_answer_is_one_number(make):
    model, batch = make("nli-number")
    with torch.no_grad():
        output = model(batch)
    answers = model.answers(output, 2, 5)
    assert answers == {"number": float(output.prediction[2])} == model.verdict(answers)
