"""The reverse dictionary: losses tree by tree, ranks against a sort."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsewood.lab.data.examples import Corpus
from sparsewood.lab.tasks import TASKS, DictionaryConfig, ReverseDictionary, load_model


def dictionary(candidates: torch.Tensor) -> ReverseDictionary:
    count, size = candidates.shape
    options = DictionaryConfig(hidden=4, embedding=size)
    model = ReverseDictionary(options, ["<unk>"], [f"w{i}" for i in range(count)]).double()
    model.set_candidates(candidates)
    return model


def drawn(*shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def plain_loss(model: ReverseDictionary, vector: torch.Tensor, target: int) -> torch.Tensor:
    """The objective of one unit vector, candidate by candidate."""
    cosines = [vector @ candidate for candidate in model.candidates]
    others = [c for i, c in enumerate(cosines) if i != target]
    options = model.options
    if options.objective == "softmax":
        scores = torch.stack(cosines) * options.scale
        return scores.logsumexp(0) - scores[target]
    if options.objective == "ranking":
        gaps = [(options.margin - cosines[target] + c).clamp(min=0) for c in others]
        return torch.stack(gaps).mean()
    return 1 - cosines[target]


@pytest.mark.parametrize("objective", ["softmax", "cosine", "ranking"])
@pytest.mark.parametrize("loss", ["marginal", "expected"])
def test_loss_is_that_of_the_answer_or_of_each_tree(make, tree_vectors, estimator, loss, objective):
    model, batch = make("revdict", estimator=estimator, loss=loss, objective=objective)
    model.eval()
    output = model(batch)
    (posterior,) = output.posteriors
    for b, target in enumerate(batch.targets.tolist()):
        mean, expected = torch.zeros(4).double(), torch.zeros(()).double()
        for weight, vector in tree_vectors(model, batch.sides[0], posterior, b):
            v = model.output.weight @ vector + model.output.bias
            v = v / v.square().sum().sqrt()
            mean += weight * v
            expected += weight * plain_loss(model, v, target)
        unit = mean / mean.square().sum().sqrt()
        torch.testing.assert_close(output.prediction[b], unit)
        answer = plain_loss(model, unit, target) if loss == "marginal" else expected
        torch.testing.assert_close(output.loss[b], answer)


def test_what_is_drawn_in_training_is_not_out_of_it(make):
    model, batch = make("revdict", estimator="flat", objective="ranking", margin=1.0)
    assert not torch.equal(model(batch).loss, model(batch).loss)
    model.eval()
    assert torch.equal(model(batch).loss, model(batch).loss)


def test_a_model_of_before_objectives_has_the_cosine(make, tmp_path):
    model, batch = make("revdict", objective="cosine")
    model.float().eval().save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    for name in ("objective", "scale", "margin"):
        del config["options"][name]
    (tmp_path / "config.json").write_text(json.dumps(config))
    loaded = load_model(tmp_path)
    assert loaded.options == model.options
    assert torch.equal(loaded(batch).loss, model(batch).loss)


def test_runs_begin_with_the_softmax():
    options = TASKS["revdict"].default_options()
    assert (options.objective, options.scale, options.hidden, options.dropout) == (
        *("softmax", 30.0),
        *(512, 0.3),
    )
    assert DictionaryConfig().objective == "cosine"
    for name, wrong in (("objective", "hinge"), ("scale", 0.0), ("margin", -1.0)):
        with pytest.raises(ValueError, match=f"model.{name}: expected"):
            replace(options, **{name: wrong})
    with pytest.raises(ValueError, match="at least two candidates"):
        ReverseDictionary.check(Corpus("revdict", {}, ("oak",)))


def test_input_and_output_vectors_are_fixed_and_of_unit_norm(make):
    model, _ = make("revdict", tune_vectors=True)
    weight = model.encoder.embedding.weight
    assert not weight.requires_grad
    assert "candidates" not in dict(model.named_parameters())
    for table in (weight[1:], model.candidates):  # the unknown word has no vector
        norms = table.norm(dim=-1)
        torch.testing.assert_close(norms, torch.ones_like(norms), rtol=0, atol=1e-6)


@settings(deadline=None)
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
