"""Models from corpora, and models to and from folders."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.tasks import TASKS, ModelConfig, SentenceModel, build_model, load_model

SMALL = ModelConfig(hidden=6, embedding=4)


def test_every_task_has_its_model(corpus, vectors, task):
    model = build_model(corpus(task), SMALL, vectors)
    assert type(model) is TASKS[task].model
    assert model.task == task
    wanted = list(corpus(task).candidates) if task == "revdict" else corpus(task).labels
    assert model.labels == ([] if TASKS[task].answer == "number" else wanted)


def one_word_splits() -> Corpus:
    def rows(text: str) -> list[Example]:
        return [Example((Sentence((word,)),), "x") for word in text.split()]

    return Corpus("classify", {"train": rows("Oak oak elm"), "validation": rows("ash")})


def test_vocabulary_of_training_without_vectors():
    assert SentenceModel.build(one_word_splits(), SMALL).vocabulary.words == [
        "<unk>",
        "oak",
        "elm",
    ]
    model = SentenceModel.build(one_word_splits(), SMALL, lowercase=False, min_count=1)
    assert set(model.vocabulary.words) == {"<unk>", "Oak", "oak", "elm"}
    assert SentenceModel.build(one_word_splits(), SMALL, min_count=2).vocabulary.words == [
        "<unk>",
        "oak",
    ]


def test_vocabulary_of_all_splits_with_vectors(vectors):
    large = replace(SMALL, embedding=300)
    model: Any = SentenceModel.build(one_word_splits(), large, vectors)
    assert model.vocabulary.words == ["<unk>", "oak", "ash", "elm"]
    assert model.options.embedding == vectors.size
    table = model.encoder.embedding.weight
    assert torch.equal(table, vectors.lookup(model.vocabulary.words))
    assert not table.requires_grad


def test_a_reverse_dictionary_needs_vectors(corpus):
    with pytest.raises(ValueError, match="a reverse dictionary needs word vectors"):
        build_model(corpus("revdict"), SMALL)


@pytest.mark.parametrize("options", [{}, {"composer_input": "words", "own_embeddings": True}])
@pytest.mark.parametrize("how", ["load_model", "from_pretrained"])
def test_a_saved_model_is_the_same_bit_for_bit(how, options, make, task, tmp_path):
    model, batch = make(task, projective=True, loss="expected", dropout=0.5, noise=1.0, **options)
    model = model.float().eval()
    model.temperature = 0.25
    model.save_pretrained(tmp_path)
    read = load_model if how == "load_model" else TASKS[task].model.from_pretrained
    loaded: Any = read(tmp_path)
    assert type(loaded) is type(model)
    assert loaded.options == replace(
        model.options, estimator="sparsemap:temperature=0.25,max_active=10"
    )
    assert loaded.vocabulary.words == model.vocabulary.words
    assert loaded.vocabulary.lowercase == model.vocabulary.lowercase
    assert loaded.labels == model.labels
    assert not loaded.training
    state = model.state_dict()
    assert list(loaded.state_dict()) == list(state)
    for name, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, state[name]), name
    ours, theirs = model(batch), loaded(batch)
    assert torch.equal(ours.prediction, theirs.prediction)
    assert torch.equal(ours.loss, theirs.loss)


def test_words_of_any_script_are_saved(tmp_path):
    words = ["<unk>", "été", "木", '"', "\u2028", "🌳"]
    model = SentenceModel(SMALL, words, ["ja", "nein"], False)
    model.save_pretrained(tmp_path)
    loaded: Any = load_model(tmp_path)
    assert loaded.vocabulary.words == words
    assert not loaded.vocabulary.lowercase


@pytest.fixture
def folder(make, tmp_path):
    make("classify")[0].float().save_pretrained(tmp_path)
    return tmp_path


def change(folder, **fields) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_what_a_saved_model_does_not_say_is_as_it_was_by_default(folder):
    said = json.loads((folder / "config.json").read_text())["options"]
    old = ("estimator", "hidden", "embedding", "tune_vectors", "dropout", "projective")
    change(folder, options={name: said[name] for name in (*old, "single_root", "loss")})
    assert load_model(folder).options == ModelConfig(**said)


def lose(folder, name: str) -> None:
    (folder / name).unlink()


def cut(folder) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])


def drop_weight(folder) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["output.bias"]
    save_file(weights, folder / "model.safetensors")


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: lose(folder, "config.json"),
        lambda folder: lose(folder, "model.safetensors"),
        lambda folder: (folder / "config.json").write_text("{"),
        lambda folder: (folder / "config.json").write_text("[]"),
        lambda folder: (folder / "config.json").write_bytes(b"\xff"),
        lambda folder: change(folder, task="poetry"),
        lambda folder: change(folder, words=["oak"]),
        lambda folder: change(folder, labels=["one"]),
        lambda folder: change(folder, options={"hidden": 6, "colour": "green"}),
        cut,
        drop_weight,
    ],
)
def test_a_damaged_folder_is_named_in_one_line(damage, folder):
    damage(folder)
    with pytest.raises(ValueError, match="not a readable model of sparsewood") as caught:
        load_model(folder)
    assert str(caught.value).startswith(str(folder))
    assert "\n" not in str(caught.value)


def test_an_absent_folder_is_named(tmp_path):
    with pytest.raises(ValueError, match="none: not a readable model"):
        load_model(tmp_path / "none")
