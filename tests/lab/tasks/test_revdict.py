"""The reverse dictionary: losses tree by tree, ranks against a sort."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sparsewood.lab.tasks import ModelConfig, ReverseDictionary


def dictionary(candidates: torch.Tensor) -> ReverseDictionary:
    count, size = candidates.shape
    options = ModelConfig(hidden=4, embedding=size)
    model = ReverseDictionary(options, ["<unk>"], [f"w{i}" for i in range(count)]).double()
    model.set_candidates(candidates)
    return model


def drawn(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("loss", ["marginal", "expected"])
def test_loss_is_that_of_the_mean_unit_vector(make, tree_vectors, estimator, loss):
    model, batch = make("revdict", estimator=estimator, loss=loss)
    output = model(batch)
    (posterior,) = output.posteriors
    for b, target in enumerate(batch.targets.tolist()):
        mean = torch.zeros(4, dtype=torch.float64)
        for weight, vector in tree_vectors(model, batch.sides[0], posterior, b):
            v = model.output.weight @ vector + model.output.bias
            mean += weight * v / v.square().sum().sqrt()
        unit = mean / mean.square().sum().sqrt()
        torch.testing.assert_close(output.prediction[b], unit)
        answer = unit if loss == "marginal" else mean
        torch.testing.assert_close(output.loss[b], 1 - answer @ model.candidates[target])


def test_input_and_output_vectors_are_fixed_and_of_unit_norm(make):
    model, _ = make("revdict", tune_vectors=True)
    weight = model.encoder.embedding.weight
    assert not weight.requires_grad
    assert "candidates" not in dict(model.named_parameters())
    for table in (weight[1:], model.candidates):  # the unknown word has no vector
        norms = table.norm(dim=-1)
        torch.testing.assert_close(norms, torch.ones_like(norms), rtol=0, atol=1e-6)


@given(st.integers(2, 40), st.integers(1, 6), st.integers(0, 1000))
def test_rank_is_the_place_in_a_sorted_list(count, batch, seed):
    model = dictionary(drawn(count, 3, seed=seed))
    prediction = drawn(batch, 3, seed=seed + 1)
    targets = torch.arange(batch) % count
    scores = prediction.numpy() @ model.candidates.numpy().T
    order = np.argsort(-scores, axis=1)
    places = [int(np.where(order[b] == targets[b].item())[0][0]) + 1 for b in range(batch)]
    assert model.rank(prediction, targets).tolist() == places


def test_of_equal_candidates_all_count():
    model = dictionary(torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    prediction = torch.tensor([[1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    assert model.rank(prediction, torch.tensor([0, 0])).tolist() == [2, 3]


def test_nearest_are_the_best_ranked():
    model = dictionary(drawn(20, 3, seed=0))
    prediction = drawn(2, 3, seed=1)
    for row, answers in zip(prediction, model.nearest(prediction, 5), strict=True):
        cosines = model.candidates @ row
        order = cosines.argsort(descending=True)[:5].tolist()
        assert [word for word, _ in answers] == [f"w{i}" for i in order]
        assert [c for _, c in answers] == pytest.approx(cosines[order].tolist())
    assert len(model.nearest(prediction, 100)[0]) == 20


def test_candidates_of_another_shape_are_refused():
    model = dictionary(drawn(2, 3, seed=0))
    with pytest.raises(
        ValueError, match=r"candidates: expected \(2, 3\) for 2 words, got \(3, 3\)"
    ):
        model.set_candidates(torch.zeros(3, 3))


def test_the_metric_ranks_by_the_model_out_of_training(make):
    model, batch = make("revdict")
    output = model(batch)
    metric, _ = model.new_metrics()
    metric.add(output, batch)
    assert metric.ranks == model.rank(output.prediction, batch.targets).tolist()
    assert set(metric.values()) == {"loss", "median_rank", "accuracy_10", "accuracy_100"}
    metric, _ = model.new_metrics(training=True)
    metric.add(output, batch)
    assert set(metric.values()) == {"loss"}
