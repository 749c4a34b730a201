"""Setting up a run: its data are checked first, its folder is its own; and what a run leaves."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sparsewood.lab._files import sole_writer
from sparsewood.lab.data.batches import Batches
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.sources import Classify, Subj
from sparsewood.lab.run import Progress, evaluate, train
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.prepare import check, prepare
from sparsewood.lab.tasks import ModelConfig, load_parser

QUIET = Progress()


def test_a_run_and_what_it_leaves(make_config, tmp_path: Path) -> None:
    config = make_config()
    result = train(config, tmp_path / "run", progress=QUIET)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    files = "config.json environment.json gallery.json metrics.jsonl outcomes.json result.json"
    assert names == {*files.split(), "checkpoints", "model"}
    lines = [json.loads(x) for x in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4]
    assert [line["step"] for line in lines] == [5, 10, 15, 20]
    lr = 0.5
    for line in lines:
        assert line["lr"] == pytest.approx(lr)
        lr *= 1 if line["best"] else 0.9
        assert {"loss", "accuracy", "support", "single"} <= line["train"].keys()
        assert sum(line["validation"]["histogram"].values()) == 12
    best = [line for line in lines if line["best"]][-1]
    assert result["best_epoch"] == best["epoch"]
    assert len(result["temperature_curve"]) == 17
    assert result["validation"]["accuracy"] >= best["validation"]["accuracy"]
    assert result["tests"].keys() == {"test"}


@pytest.mark.parametrize("estimator", ["flat", "left-to-right", "right-to-left", "given"])
def test_fixed_trees_have_no_temperature(make_config, tmp_path: Path, estimator: str) -> None:
    result = train(make_config(estimator, max_epochs=1), tmp_path, progress=QUIET)
    assert result["temperature"] is None
    assert result["temperature_curve"] == {}
    assert result["validation"]["support"] == 1.0


def test_patience_ends_a_run(make_config, recording, tmp_path: Path) -> None:
    config = make_config("flat", lr=1e-9, max_epochs=50, patience=2)
    recorder = recording()
    train(config, tmp_path, progress=recorder)
    assert recorder.epochs == [1, 2, 3]
    longer = replace(config, training=replace(config.training, max_epochs=60))
    train(longer, tmp_path, resume=True, progress=recorder)
    assert recorder.epochs == [1, 2, 3]
    assert recorder.notes[-1] == f"{tmp_path}: already finished"


def test_training_in_another_thread(make_config, outcome, undisturbed, tmp_path: Path) -> None:
    thread = threading.Thread(
        target=train, args=(make_config(), tmp_path), kwargs={"progress": QUIET}
    )
    thread.start()
    thread.join()
    assert outcome(tmp_path) == undisturbed


def test_a_parser_is_trained_by_the_same_loop(make_parser_config, tmp_path: Path) -> None:
    config = make_parser_config()
    result = train(config, tmp_path / "run", progress=QUIET)
    assert result["criterion"] == "uas"
    assert result["temperature"] is None
    assert result["tests"]["test"].keys() == {
        *("loss", "uas", "uas_without_punctuation", "exact", "unknown"),
    }
    lines = [json.loads(x) for x in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    steps = [line["step"] for line in lines]
    assert steps == [3, 6, 9]  # sentences of four words and of one, at most five words in a step
    rates = [line["lr"] for line in lines]  # up in two steps, down to 0 in nine
    assert rates == pytest.approx([0.01 * (9 - done) / 9 for done in (2, 5, 8)])
    assert [line["train"].keys() for line in lines] == [{"loss"}] * 3
    gallery = json.loads((tmp_path / "run/gallery.json").read_text())
    assert all(side["given"] and len(side["trees"]) == 1 for e in gallery for side in e["sides"])
    parser = load_parser(tmp_path / "run")
    assert evaluate(parser, Batches(parser.encode(config.source.load().splits["test"]), 2)) == (
        pytest.approx(result["tests"]["test"])
    )
    longer = replace(config, training=replace(config.training, max_epochs=4))
    with pytest.raises(ValueError, match="training.max_epochs: 3 -> 4"):  # the rate would differ
        train(longer, tmp_path / "run", resume=True, progress=QUIET)


def test_folders_in_use(make_config, tmp_path: Path) -> None:
    config = make_config("flat", max_epochs=1)
    train(config, tmp_path / "run", progress=QUIET)
    with pytest.raises(ValueError, match="holds a run; pass --resume"):
        train(config, tmp_path / "run", progress=QUIET)
    other = make_config("flat", max_epochs=1, lr=0.25)
    with pytest.raises(ValueError, match="another configuration: training.lr: 0.5 -> 0.25$"):
        train(other, tmp_path / "run", resume=True, progress=QUIET)
    shorter = make_config("flat", max_epochs=2)
    train(shorter, tmp_path / "run", resume=True, progress=QUIET)
    with pytest.raises(ValueError, match="training.max_epochs: 2 -> 1"):
        train(config, tmp_path / "run", resume=True, progress=QUIET)
    (tmp_path / "parts" / "checkpoints").mkdir(parents=True)
    with pytest.raises(ValueError, match="no config.json"):
        train(config, tmp_path / "parts", progress=QUIET)


def test_two_processes_cannot_train_in_one_folder(make_config, tmp_path: Path) -> None:
    with (
        sole_writer(tmp_path),
        pytest.raises(ValueError, match="another process is writing there"),
    ):
        train(make_config("flat"), tmp_path, resume=True, progress=QUIET)
    assert not list(tmp_path.iterdir())


def test_bad_input_leaves_no_run(make_config, tmp_path: Path) -> None:
    config = make_config("flat", max_epochs=1)
    missing = replace(config, source=Subj(tmp_path / "nowhere"))
    with pytest.raises((ValueError, OSError), match="nowhere"):
        train(missing, tmp_path / "run", progress=QUIET)
    train(config, tmp_path / "run", progress=QUIET)  # the folder is free


def test_tensorboard(make_config, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs the extra [tensorboard]")
    train(make_config("flat", max_epochs=1, tensorboard=True), tmp_path, progress=QUIET)
    assert list((tmp_path / "tensorboard").glob("events.*"))


def _corpus(**splits: list[Example]) -> Corpus:
    return Corpus("classify", dict(splits))


FLAT, GIVEN = ModelConfig(estimator="flat"), ModelConfig(estimator="given")
PARSED = Example((Sentence(("a", "b"), (0, 1)),), "x")
OTHER = Example((Sentence(("b", "a"), (0, 1)),), "y")
PLAIN = Example((Sentence(("a", "b")),), "x")


def test_the_seed_gives_the_model(make_config) -> None:
    first, again, other = (prepare(make_config(seed=s))[1].state_dict() for s in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_examples_that_are_left_out_are_told(tmp_path) -> None:
    (tmp_path / "a.tsv").write_text("x\ta b c\nx\ta\ny\ta b c d\ny\tb\n")
    path, notes = str(tmp_path / "a.tsv"), []
    source = Classify(path, validation=path, max_length=2)
    corpus, _, _ = prepare(RunConfig(source), notes.append)
    assert len(corpus.splits["train"]) == 2
    assert notes == ["2 of 4 training examples are longer than 2 words: left out"]


def test_splits_that_are_missing_or_empty() -> None:
    with pytest.raises(ValueError, match="'validation' has no examples"):
        check(_corpus(train=[PLAIN]), FLAT, print)
    with pytest.raises(ValueError, match="'test' has no examples"):
        check(_corpus(train=[PLAIN], validation=[PLAIN], test=[]), FLAT, print)


def test_one_label_is_too_few() -> None:
    with pytest.raises(ValueError, match=r"at least two labels, got \['x'\]"):
        check(_corpus(train=[PLAIN], validation=[PLAIN]), FLAT, print)


def test_given_trees_need_heads() -> None:
    corpus = _corpus(train=[PARSED, OTHER], validation=[PARSED, PLAIN])
    assert check(corpus, ModelConfig(), print) is corpus
    with pytest.raises(ValueError, match="1 of the 2 .* 'validation' have none, example 1 "):
        check(corpus, GIVEN, print)
    many = _corpus(train=[OTHER] * 98 + [PLAIN], validation=[PARSED])
    with pytest.raises(ValueError, match="'train' have none, example 98 "):
        check(many, GIVEN, print)


def test_a_few_training_examples_may_lack_heads() -> None:
    notes: list[str] = []
    corpus = _corpus(train=[PLAIN, *[OTHER] * 99], validation=[PARSED])
    assert check(corpus, GIVEN, notes.append).splits["train"] == [OTHER] * 99
    assert notes == ["1 of 100 training examples have no heads: left out"]
