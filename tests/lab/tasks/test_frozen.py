"""A frozen encoder runs once: batches with its kept outputs give what sub-words give."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sparsewood.lab.data.batches import Batches
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.tasks import ParserConfig, TreeModel, build_model
from sparsewood.lab.tasks.frozen import frozen_encoder, keep_outputs

pytest.importorskip("transformers", reason="the extra [hf] is not installed")


def notes_of(model: Any, splits: Any, limit: float = 1.0) -> list[str]:
    notes: list[str] = []
    keep_outputs(model, splits, limit, notes.append)
    return notes


def forbid(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the encoder's network fail if it is run."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the network was run")

    encoder = frozen_encoder(model)
    assert encoder is not None
    monkeypatch.setattr(encoder.network, "forward", fail)


@pytest.mark.parametrize("row", ["mean", "sparsemap"])
def test_the_same_numbers_without_the_network(
    make, corpus, encoder_folder: Path, task: str, row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = make(task, estimator=row, encoder=f"hf:{encoder_folder}")
    model = model.float()
    splits = {name: model.encode(examples) for name, examples in corpus(task).splits.items()}
    plain = {name: [model(b) for b in Batches(split, 3).epoch()] for name, split in splits.items()}
    (computed,) = notes_of(model, splits)
    assert computed.startswith("computing the outputs of the frozen encoder for ")
    again = {name: model.encode(examples) for name, examples in corpus(task).splits.items()}
    (read,) = notes_of(model, again)
    assert read.startswith("reading the outputs of the frozen encoder for ")
    forbid(model, monkeypatch)
    for kept in (splits, again):
        for name, split in kept.items():
            batches = list(Batches(split, 3).epoch())
            assert all(side.subwords is None for batch in batches for side in batch.sides)
            for batch, output in zip(batches, plain[name], strict=True):
                found = model(batch)
                for name_ in ("loss", "prediction"):
                    ours, theirs = getattr(found, name_), getattr(output, name_)
                    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


def test_a_parser_reads_them_too(encoder_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heads = {"the red fox likes figs": (3, 3, 4, 0, 4), "oak likes tea": (2, 0, 2), "elm": (0,)}
    examples = [Example((Sentence(tuple(w.split()), h),)) for w, h in heads.items()]
    config = ParserConfig(encoder=f"hf:{encoder_folder}", hidden=6, arc=6, dropout=0.0)
    model = build_model(Corpus("parse", {"train": examples}), config)
    split = model.encode(examples)
    plain = model(split.batch(range(3))).loss
    notes_of(model, {"train": split})
    forbid(model, monkeypatch)
    torch.testing.assert_close(model(split.batch(range(3))).loss, plain, rtol=1e-4, atol=1e-5)


def names(folder: Path) -> set[str]:
    return {path.name for path in (folder / "encoders").glob("*.npy")}


def test_other_weights_words_and_precisions_have_other_files(
    make, corpus, save_encoder: Callable[..., Path], tmp_path: Path, cache: Path
) -> None:
    folder = save_encoder(tmp_path / "encoder")

    def keep(precision: str = "auto", *, rest: int = 8) -> int:
        model, _ = make("classify", encoder=f"hf:{folder}", encoder_precision=precision)
        model = model.float()
        notes_of(model, {"train": model.encode(corpus("classify").splits["train"][:rest])})
        return len(names(cache))

    assert [keep(), keep(), keep("float32")] == [1, 1, 1]
    assert keep("bfloat16") == 2
    assert keep(rest=5) == 3
    moved = shutil.move(folder, tmp_path / "moved")
    folder = Path(moved)
    assert keep() == 3  # by what it is, not where
    model, _ = make("classify", encoder=f"hf:{folder}")
    with torch.no_grad():
        next(model.encoder.network.parameters())[0, 0] += 1
    model.encoder.network.save_pretrained(folder)
    assert keep() == 4


def test_nothing_is_kept_beyond_the_limit_or_of_other_encoders(
    make, corpus, encoder_folder: Path, cache: Path
) -> None:
    def split_of(**options: Any) -> tuple[TreeModel, dict[str, Any]]:
        model, _ = make("classify", **options)
        return model, {"train": model.encode(corpus("classify").splits["train"])}

    frozen = {"encoder": f"hf:{encoder_folder}"}
    model, splits = split_of(**frozen)
    (note,) = notes_of(model, splits, limit=1e-9)
    assert note.startswith("the outputs of the frozen encoder for 8 sentences take 0.00 GB")
    assert note.endswith("more than the limit of 1e-09 GB: they are computed anew in every epoch")
    assert notes_of(model, splits, limit=0) == []
    assert splits["train"].states is None
    assert splits["train"].batch([0]).sides[0].subwords is not None
    for options in ({}, {**frozen, "tune_encoder": True}):
        model, splits = split_of(**options)
        assert notes_of(model, splits) == []
        assert splits["train"].states is None
    assert not cache.exists()


def test_a_tuned_encoder_has_batches_by_subwords(make, encoder_folder: Path) -> None:
    words = [["elm"] * 4, ["foxes"] * 3, ["elm"] * 5]  # "foxes" has more than one sub-word
    examples = [Example((Sentence(tuple(w)),), "no") for w in words]
    for tuned in (False, True):
        model, _ = make("classify", encoder=f"hf:{encoder_folder}", tune_encoder=tuned)
        split = model.encode(examples)
        counted = [sum(len(w.subwords) for w in model.split_words(words_)) for words_ in words]
        assert counted[1] > counted[2] > counted[0]
        assert split.lengths == [4, 3, 5]
        assert list(split.sizes) == (counted if tuned else [4, 3, 5])
        room = counted[0] + counted[2] if tuned else 12
        order = Batches(split, 1, words=room, shuffle=None).order()
        assert order == ([[0], [2], [1]] if tuned else [[1, 0], [2]])
