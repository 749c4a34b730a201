"""Models that read sentences without dependency trees, whichever the task."""

import pytest
import torch

import sparsewood as sp
from sparsewood.estimators import parse as library_parse
from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.tasks import load_model
from sparsewood.lab.tasks.model_config import ModelConfig
from sparsewood.lab.tasks.readers import (
    READERS,
    Chart,
    Mean,
    earlier_name,
    from_name,
    learns_trees,
    name_of,
    name_stored,
)


@pytest.mark.parametrize(
    "name",
    [*READERS, "bow:input=context", "chart:input=context,choice=gumbel,temperature=0.5", "flat"],
)
def test_names_go_both_ways(name):
    assert name_of(from_name(name)) == name
    assert ModelConfig(name).estimator == name


def test_sparsemap_has_a_cap_that_its_name_always_tells():
    capped, free = sp.SparseMAP(max_active=10), sp.SparseMAP()
    assert (
        from_name("sparsemap")
        == from_name("sparse-map")
        == from_name("sparsemap:max_active=10")
        == capped
    )
    assert from_name("sparsemap:tol=0.1") == sp.SparseMAP(max_active=10, tol=0.1)
    assert from_name("sparsemap:max_active=none") == free
    assert name_of(capped) == ModelConfig("sparsemap").estimator == "sparsemap:max_active=10"
    assert ModelConfig().estimator == "sparsemap:max_active=10"
    assert name_of(free) == "sparsemap:max_active=none"
    assert name_of(sp.SparseMAP(0.5)) == "sparsemap:temperature=0.5,max_active=none"
    assert library_parse("sparsemap") == free  # the library sets no cap


def test_another_limit_takes_the_place_of_the_cap():
    few = sp.SparseMAP(max_support=5)
    assert from_name("sparsemap:max_support=5") == few
    assert name_of(few) == "sparsemap:max_support=5"
    assert from_name("sparsemap:max_support=none") == sp.SparseMAP(max_active=10)


@pytest.mark.parametrize(
    ("stored", "name"),
    [
        ("sparsemap", "sparsemap:max_active=none"),
        ("sparsemap:temperature=0.5", "sparsemap:temperature=0.5,max_active=none"),
        ("sparsemap:max_active=10", "sparsemap:max_active=10"),
        ("sparsemap:max_active=none", "sparsemap:max_active=none"),
        ("sparsemap:max_support=5", "sparsemap:max_support=5"),
        ("topk:k=5", "top-k:k=5"),
        ("of another version", "of another version"),
    ],
)
def test_names_in_files_of_earlier_versions_keep_their_meaning(stored, name):
    assert name_stored(stored) == name == name_stored(name)


def test_what_earlier_versions_called_it():
    assert earlier_name("sparsemap:max_active=none") == "sparsemap"
    assert earlier_name("sparsemap") == "sparsemap:max_active=10"


def test_what_is_no_reader_is_named():
    with pytest.raises(ValueError, match="expected one of sparsemap, .* mean, bow, lstm, chart"):
        from_name("bag")
    with pytest.raises(ValueError, match="chart: choice: expected .*soft"):
        from_name("chart:choice=hard")
    with pytest.raises(ValueError, match="estimator chart: temperature must be positive"):
        from_name("chart:temperature=0")
    with pytest.raises(ValueError, match="estimator mean: it has no options"):
        from_name("mean:input=words")
    with pytest.raises(ValueError, match="transformer: layers must be at least 1, got 0"):
        from_name("transformer:layers=0")
    with pytest.raises(ValueError, match="transformer: positions: expected .*sinusoidal"):
        from_name("transformer:positions=none")
    with pytest.raises(ValueError, match="dropout: expected at least 0 and less than 1, got 1.0"):
        from_name("transformer:dropout=1")
    with pytest.raises(ValueError, match="choice"):
        Chart(choice="hard")  # pyright: ignore[reportArgumentType]


def test_which_learn_trees():
    names = ("sparsemap", "flat", "mean", "chart", "bow")
    assert [learns_trees(from_name(name)) for name in names] == [True, False, False, True, False]
    assert Mean().input == "context"


def test_every_reader_learns(make, check_learns, task, reader):
    model, batch = make(task, estimator=reader)
    output = model(batch)
    assert model.estimator is None
    assert len(output.posteriors) == len(batch.sides)
    check_learns(model, batch)


def test_padding_changes_nothing(make, corpus, task, reader):
    model, batch = make(task, estimator=reader)
    together, split = model(batch), model.encode(corpus(task).splits["train"])
    for b in range(8):
        torch.testing.assert_close(model(split.batch([b])).prediction[0], together.prediction[b])


def test_a_saved_model_says_the_same(make, task, reader, tmp_path):
    model, batch = make(task, estimator=reader)
    model = model.float().eval()
    if model.temperature is not None:
        model.temperature = 0.5
    model.save_pretrained(tmp_path)
    loaded = load_model(tmp_path)
    assert torch.equal(loaded(batch).prediction, model(batch).prediction)
    assert loaded.temperature == model.temperature


def test_only_a_chart_has_trees_and_what_is_measured_of_them(make, task, reader):
    model, batch = make(task, estimator=reader, entropy=0.1)
    for metric in model.new_metrics(training=True):
        metric.add(model(batch), batch)
    model.eval()
    output, metrics = model(batch), model.new_metrics()
    for metric in metrics:
        metric.add(output, batch)
    told = model.measured(metrics)
    assert "support" not in told
    assert "histogram" not in told
    is_chart = reader.startswith("chart")
    assert ("left_branching" in told) == is_chart
    family = sp.BinaryTrees if is_chart else sp.Simplex
    assert all(isinstance(p.structure, family) for p in output.posteriors)
    found = model.posterior([Sentence(("oak", "elm", "ash"))])
    assert found.structures.shape == ((1, 3, 3) if is_chart else (1,))
    assert len(model.parser_parameters()) == is_chart


def test_the_temperature_of_a_chart_is_its_own_to_set(make):
    model, batch = make("classify", estimator="chart")
    model.eval()
    model.set_latent("temperature", 1e-4)
    assert model.reader.net.temperature == model.temperature == 1e-4
    assert model.config()["options"]["estimator"] == "chart:temperature=0.0001"
    (trees,) = model(batch).posteriors
    assert (trees.weights > 0.99).all()
    hard, _ = make("classify", estimator="chart:choice=gumbel")
    assert hard.temperature is None


def test_what_is_read_of_a_word(make):
    words, _ = make("classify", estimator="lstm")
    assert words.encoder.lstm is None
    context, _ = make("classify", estimator="lstm:input=context")
    assert context.encoder.lstm is not None
    assert context.reader.net.lstm.input_size == 6
    mean, batch = make("classify", estimator="mean")
    side = batch.sides[0]
    x = mean.encoder(side.tokens, side.lengths)
    expected = mean.output(x.sum(1) / side.lengths[:, None]).softmax(-1)
    torch.testing.assert_close(mean(batch).prediction, expected)


def test_entropy_of_a_charts_trees_is_a_bonus(make):
    plain, batch = make("classify", estimator="chart")
    bold, _ = make("classify", estimator="chart", entropy=0.5)
    posterior, _ = plain.read(batch.sides[0])
    torch.testing.assert_close(bold(batch).loss, plain(batch).loss - 0.5 * posterior.entropy())
