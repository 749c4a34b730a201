import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sparsewood.lab.cli import main
from sparsewood.lab.run import TrainingInterrupted


def test_a_run_has_it_all(latent: Path) -> None:
    config = json.loads((latent / "config.json").read_text())
    assert config["source"]["kind"] == "listops"
    assert config["source"]["train"] == 40
    assert config["model"]["estimator"] == "sparsemap:max_active=10"
    assert config["training"]["max_epochs"] == 1
    assert (latent / "result.json").is_file()
    assert (latent / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_the_papers_protocol_and_what_is_said_beside_it(
    listops: list[str], prints: Callable[..., str], tmp_path: Path
) -> None:
    options = "--estimator flat --no-temperatures --preset paper --lr 0.3".split()
    prints("train", "listops", *listops, *options, "--out", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    model = {"dropout": 0.0, "loss": "expected", "hidden": 6}
    training = {"optimizer": "sgd", "lr": 0.3, "reduction": "sum", "shuffle": "batches"}
    assert config["model"].items() >= model.items()
    assert config["training"].items() >= {**training, "clip": 5.0, "max_epochs": 1}.items()


def test_a_preset_of_source_and_model_and_what_is_said_beside_it(
    prints: Callable[..., str], tmp_path: Path
) -> None:
    sizes = "--train 80 --validation 4 --test 4 --depths 2 3 --hidden 6 --embedding 4"
    options = f"{sizes} --max-epochs 1 --device cpu --no-projective"
    text = prints("train", "listops", "--preset", "paulus", *options.split(), "--out", tmp_path)
    assert "without" in text
    config = json.loads((tmp_path / "config.json").read_text())
    source = {"train": 80, "operators": ["MIN", "MAX", "MED"], "depths": [2, 3], "min_length": 10}
    assert config["source"].items() >= source.items()
    model = {"estimator": "sparsemap:max_active=5", "projective": False, "hidden": 6}
    assert config["model"].items() >= model.items()
    assert config["training"]["clip"] == 5.0


def test_a_parser(parser: Path, prints: Callable[..., str], fails: Callable[..., str]) -> None:
    config = json.loads((parser / "config.json").read_text())
    assert config["model"]["loss"] == "hinge"
    assert config["training"].items() >= {"batch_words": 1000, "linear": True, "clip": 5.0}.items()
    page = (parser / "report.html").read_text()
    assert "hinge" in page
    assert "Validation attachment" in page
    assert "best epoch 1 of 1" in prints("train", "--resume", parser)
    message = "preset 'paper': there is none for parse"
    assert fails("train", "parse", "--data", parser.parent, "--preset=paper") == message
    assert "no option --parser" in fails("train", "parse", "--data", parser.parent, "--parser", "x")
    assert "unknown source 'parse'" in fails("table", "parse", "--data", parser.parent)


def test_a_parser_serves_other_runs(
    parser: Path, tmp_path: Path, cache: Path, prints: Callable[..., str]
) -> None:
    (tmp_path / "train.tsv").write_text("x\toaks shade elms\ny\telms shade\n" * 6)
    small = "--estimator given --hidden 6 --embedding 4 --max-epochs 1 --threads 1 --device cpu"
    for name, folder in (("run", parser), ("model", parser / "model")):
        given = ("--train", tmp_path / "train.tsv", "--parser", folder, "--out", tmp_path / name)
        prints("train", "classify", *given, *small.split())
    results = [json.loads((tmp_path / n / "result.json").read_text()) for n in ("run", "model")]
    assert results[0]["tests"] == results[1]["tests"]
    assert len(list((cache / "parses").iterdir())) == 1  # what it is, not where


def test_resume(latent: Path, prints: Callable[..., str], fails: Callable[..., str]) -> None:
    assert "best epoch 1 of 1" in prints("train", "--resume", latent)
    assert "best epoch 1 of 1" in prints("train", f"--resume={latent}")
    assert "holds no run" in fails("train", "--resume", latent.parent)
    absent = latent.parent / "absent"
    assert "absent: is not a folder" in fails("train", "listops", "--resume", absent)
    assert not absent.exists()
    assert "expected one folder" in fails("train", "--resume")
    options = ("--resume", latent, "--out", latent.parent / "other")
    assert "leave out --out" in fails("train", "listops", *options)


def test_the_default_folder(
    listops: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "listops", *listops, "--estimator", "flat"]) == 0
    said = capsys.readouterr()
    assert "run: runs/listops-flat-1\n" in said.err
    assert (said.out + said.err).count("best epoch") == 1  # the result is told once
    assert (tmp_path / "runs" / "listops-flat-1" / "report.html").is_file()


def test_bad_input_is_one_line_and_leaves_nothing(
    fails: Callable[..., str], latent: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert "absent: no such folder" in fails("train", "sst", "--data", "absent", "--out", out)
    (tmp_path / "a.csv").write_text("label,sentence\n1,a b\n")
    message = fails("train", "classify", "--train", tmp_path / "a.csv", "--out", out)
    assert "a.csv" in message
    assert "text" in message
    assert not out.exists()
    assert "did you mean 'sst'?" in fails("train", "ssst")
    assert "which source?" in fails("train")
    assert "training.lr: expected a positive number" in fails("train", "listops", "--lr", "0")
    assert "holds a run" in fails("train", "listops", "--out", latent)
    assert latent.exists()


def test_several_processes_agree_on_a_folder(
    fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "--out" in fails("train", "listops")


def test_only_the_first_process_speaks(
    latent: Path, prints: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    assert not prints("train", "--resume", latent)


def test_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*_args: object, **_options: object) -> None:
        raise TrainingInterrupted("stopped; all is saved")

    monkeypatch.setattr("sparsewood.lab.cli.train.train", stopped)
    assert main(["train", "listops", "--out", str(tmp_path / "run")]) == 130
    said = capsys.readouterr().err.strip()
    resume = f"sparsewood train --resume {tmp_path / 'run'}"
    assert said == f"sparsewood: stopped; all is saved; to go on: {resume}"


def encoder_options(text: str) -> list[str]:
    """The options in the group of encoders of a help text."""
    together = text.partition("encoder options")[2].partition("training options")[0]
    return re.findall(r"^[│ ]*(--[a-z][a-z-]*)", together, re.MULTILINE)


def test_a_pretrained_encoder(
    save_encoder: Callable[..., Path],
    prints: Callable[..., str],
    fails: Callable[..., str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Trained by its folder; told of, drawn and evaluated without it."""
    monkeypatch.chdir(tmp_path)
    save_encoder(tmp_path / "tiny")
    rows = [f"{'good' if i % 2 else 'dull'}\tthe red fox likes {i} elms\n" for i in range(20)]
    (tmp_path / "train.tsv").write_text("".join(rows))
    small = "--hidden 6 --max-epochs 1 --threads 1 --device cpu".split()
    train = ["train", "classify", "--train", "train.tsv", *small]
    tuned = ["--tune-encoder", "--encoder-lr", "1e-4"]
    text = prints(*train, "--encoder", "hf:tiny", *tuned, "--out", "run")
    assert "best epoch 1 of 1" in text
    assert json.loads(Path("run/config.json").read_text())["model"]["encoder"] == "hf:tiny"
    tune = [*train, "--encoder", "hf:tiny", "--tune-encoder"]
    capsys.readouterr()
    assert main([*tune, "--out", "default"]) == 0
    assert "fine-tuning hf:tiny, encoder_lr 3e-05, warm_up 100" in capsys.readouterr().err
    config = json.loads(Path("default/config.json").read_text())
    assert config["training"]["encoder_lr"] == 3e-5
    wrong = fails(*tune, "--encoder-lr", "low")
    assert "--encoder-lr" in wrong
    assert "'low'" in wrong
    (tmp_path / "tiny").rename(tmp_path / "gone")
    assert "foxes" in prints("predict", "run", "The foxes like elms")
    assert "elms" in prints("trees", "run", "The foxes like elms")
    assert "accuracy" in prints("evaluate", "run", "classify", "--train", "train.tsv")
    missing = fails(*train, "--encoder", "hf:./tiny")
    assert missing == "model.encoder: no such folder of a pretrained encoder: tiny"
    assert encoder_options(prints("train", "classify", "--help")) == [
        "--encoder",
        "--tune-encoder",
    ]
    assert encoder_options(prints("train", "classify", "--help-all")) == [
        *("--encoder", "--tune-encoder", "--encoder-precision", "--encoder-lr", "--encoder-cache")
    ]
