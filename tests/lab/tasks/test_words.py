"""Saved models and the file of word vectors that they were made with."""

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from sparsewood.lab.data.batches import Batches
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.vectors import WordVectors, load_vectors
from sparsewood.lab.run import evaluate
from sparsewood.lab.tasks import TASKS, ModelConfig, TreeModel, build_model, load_model, words

NEW = {"larch": [0.5, -1.0, 0.25, 2.0], "birch": [3.0, 0.0, 1.0, 4.0]}
SEEN = {"oak": [1.0, 2.0, 3.0, 4.0], "elm": [-1.0, 0.5, 0.0, 1.0]}


def example(text: str, label: str = "") -> Example:
    return Example((Sentence(tuple(text.split())),), label)


@pytest.fixture
def vector_file(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    table = SEEN | NEW
    path.write_text("".join(f"{w} {' '.join(map(str, v))}\n" for w, v in table.items()))
    return path


def saved(path: Path, folder: Path, task: str = "classify", **options: Any) -> Any:
    """A model that was trained on "oak elm xyzzy"; its folder is `folder`."""
    rows = [example("Oak elm xyzzy", "oak"), example("elm", "elm")]
    candidates = ("oak", "elm") if task == "revdict" else ()
    corpus = Corpus(task, {"train": rows, "validation": rows}, candidates)
    vectors = load_vectors(path, ["oak", "elm", "xyzzy"])
    model = build_model(corpus, ModelConfig(hidden=4, **options), vectors)
    assert isinstance(model, TreeModel)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("how", ["load_model", "from_pretrained"])
def test_a_saved_model_knows_the_words_of_the_file(how, tuned, vector_file, tmp_path) -> None:
    model = saved(vector_file, tmp_path / "m", tune_vectors=tuned)
    loaded: Any = (load_model if how == "load_model" else TASKS["classify"].model.from_pretrained)(
        tmp_path / "m"
    )
    split = loaded.encode([example("Oak Larch xyzzy plugh")])
    assert split.tokens[0][0][1] == len(model.vocabulary)
    embedding = loaded.encoder.embedding
    assert embedding.weight[len(model.vocabulary)].tolist() == NEW["larch"]
    assert torch.equal(embedding.weight[: len(model.vocabulary)], model.encoder.embedding.weight)
    assert loaded.unknown(["Oak", "Larch", "xyzzy", "plugh", "plugh"]) == ["xyzzy", *["plugh"] * 2]
    assert loaded(split.batch([0])).prediction.shape == (1, 2)
    assert loaded.encode([example("birch oak")]).tokens == [[[5, 2]]]


def test_own_embeddings_take_in_the_same_words(vector_file, tmp_path) -> None:
    saved(vector_file, tmp_path / "m", composer_input="words", own_embeddings=True)
    loaded: Any = load_model(tmp_path / "m")
    loaded(loaded.encode([example("Oak Larch birch")]).batch([0]))
    tables = [encoder.embedding.weight for encoder in (loaded.encoder, loaded.second)]
    assert tables[0].tolist()[-2:] == [NEW["birch"], NEW["larch"]]
    assert torch.equal(*tables)


def test_new_words_change_what_is_said_of_a_sentence(vector_file, tmp_path) -> None:
    saved(vector_file, tmp_path / "m")
    with warnings.catch_warnings(action="ignore"):
        loaded: Any = load_model(tmp_path / "m")
        first, second = (
            loaded(loaded.encode([example(f"oak {word}")]).batch([0])).prediction
            for word in ("plugh", "larch")
        )
    assert not torch.equal(first, second)


def test_a_reverse_dictionary_scales_new_vectors(vector_file, tmp_path) -> None:
    saved(vector_file, tmp_path / "m", "revdict")
    loaded: Any = load_model(tmp_path / "m")
    loaded.take_in(["birch"])
    row = loaded.encoder.embedding.weight[-1]
    torch.testing.assert_close(
        row, torch.nn.functional.normalize(torch.tensor(NEW["birch"]), dim=0)
    )


def test_a_stream_of_sentences_reads_the_file_a_few_times_only(
    vector_file, tmp_path, monkeypatch
) -> None:
    saved(vector_file, tmp_path / "m")
    loaded: Any = load_model(tmp_path / "m")
    reads = []

    def count(name: str, words: Any, **options: Any) -> WordVectors:
        reads.append(words)
        return load_vectors(name, words, **options)

    monkeypatch.setattr(words, "load_vectors", count)
    for i in range(30):
        loaded.take_in([f"oak{i}"])
    with torch.inference_mode():
        loaded.take_in(["larch"])
    assert len(reads) == 9
    assert loaded.unknown(["larch", "oak7"]) == ["oak7"]
    assert not loaded.encoder.embedding.weight.is_inference()


def test_training_takes_no_words_in(vector_file, tmp_path) -> None:
    model = saved(vector_file, tmp_path / "m")
    weight = model.encoder.embedding.weight
    assert model.encode([example("larch")]).tokens == [[[0]]]
    assert model.encoder.embedding.weight is weight


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda path: path.unlink(), "is not there"),
        (lambda path: path.write_text("larch 1 1 1 1\n"), "has changed since"),
    ],
)
def test_a_file_that_is_lost_is_named_once(change, reason, vector_file, tmp_path) -> None:
    saved(vector_file, tmp_path / "m")
    change(vector_file)
    loaded: Any = load_model(tmp_path / "m")
    with pytest.warns(UserWarning, match=rf"vectors.txt: .* {reason}; .* 1 of 4 here \(25.0 %\)"):
        loaded.encode([example("oak larch elm oak")])
    assert loaded.encode([example("oak larch birch")]).tokens == [[[2, 0, 0]]]


def test_a_file_that_has_moved_can_be_named(vector_file, tmp_path) -> None:
    saved(vector_file, tmp_path / "m")
    moved = vector_file.rename(tmp_path / "elsewhere.txt")
    loaded: Any = load_model(tmp_path / "m", vectors=moved)
    loaded.encode([example("oak larch")])
    assert loaded.unknown(["larch"]) == []


def test_sentences_without_a_known_word(vector_file, tmp_path) -> None:
    saved(vector_file, tmp_path / "m")
    loaded: Any = load_model(tmp_path / "m")
    with pytest.warns(
        UserWarning, match="no word of the sentence 'qqq www eee' is in the vocabulary"
    ):
        loaded.encode([example("qqq www eee")])
    with pytest.warns(UserWarning, match="of 2 of 3 sentences, the first being 'xyzzy'"):
        loaded.encode([example("xyzzy"), example("oak qqq"), example("www")])


def test_evaluation_tells_the_share_of_unknown_words(vector_file, tmp_path) -> None:
    saved(vector_file, tmp_path / "m")
    loaded: Any = load_model(tmp_path / "m")
    split = loaded.encode([example("oak larch xyzzy plugh", "oak"), example("elm", "elm")])
    assert evaluate(loaded, Batches(split, 2))["unknown"] == pytest.approx(40.0)


def test_words_without_vectors_are_learned(tmp_path) -> None:
    rows = [example("oak elm", "a"), example("elm", "b")]
    model = build_model(Corpus("classify", {"train": rows, "validation": rows}), ModelConfig())
    assert model.vectors is None
    assert model.unknown(["oak", "ash"]) == ["ash"]
