"""Runs that were copied from another machine go on, if data and encoder are the same."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from sparsewood.lab.data.sources import Classify
from sparsewood.lab.run import Progress, RunConfig, TrainingConfig, train
from sparsewood.lab.run.folder import check_folder
from sparsewood.lab.study.table import train_table
from sparsewood.lab.tasks import ModelConfig

QUIET = Progress()
ROWS = [
    f"{'yes' if i % 2 else 'no'}\tthe red fox likes {'oak' * (i % 3)} elm {i}\n" for i in range(30)
]


def place(folder: Path, name: str = "corpus.tsv") -> Path:
    folder.mkdir()
    for split in ("", "test-"):
        (folder / f"{split}{name}").write_text("".join(ROWS), encoding="utf-8")
    (folder / "vectors.txt").write_text("red 1 2\nelm 2 1\noak 0 1\n", encoding="utf-8")
    return folder


def config_of(folder: Path, name: str = "corpus.tsv", **training: Any) -> RunConfig:
    source = Classify(
        str(folder / name), test=str(folder / f"test-{name}"), vectors=str(folder / "vectors.txt")
    )
    options = {"max_epochs": 2, "batch": 8, "device": "cpu", "threads": 1, "temperatures": False}
    return RunConfig(
        source, ModelConfig("flat", hidden=4), TrainingConfig(**{**options, **training})
    )


class Broken(Progress):
    """Ends the process, as it were, after some steps."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def step(self, step: int, values: Any) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_a_table_goes_on_where_data_and_folder_are_elsewhere(
    outcome: Callable[[Path], dict[str, Any]], tmp_path: Path
) -> None:
    """The first run is finished, the second in its second epoch, the third not begun."""
    place(tmp_path / "here")
    rows, told = ["flat", "mean"], ([0.1], [0])
    once = train_table(rows, config_of(tmp_path / "here"), *told, tmp_path / "once", progress=QUIET)
    with pytest.raises(KeyboardInterrupt):
        train_table(
            rows,
            config_of(tmp_path / "here", checkpoint_minutes=1e-9),
            *told,
            tmp_path / "a",
            progress=Broken(13),
        )
    shutil.copytree(tmp_path / "a", tmp_path / "b" / "table")
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "here").rename(tmp_path / "there")
    there = config_of(tmp_path / "there", device="auto", encoder_cache=1.0)
    twice = train_table(rows, there, *told, tmp_path / "b" / "table", progress=QUIET)
    assert twice["failures"] == {}
    for row in rows:
        folders = [f / row / "lr-0.1" / "seed-0" for f in (tmp_path / "once", tmp_path / "b/table")]
        assert outcome(folders[0])["metrics"] == outcome(folders[1])["metrics"]
        assert outcome(folders[0])["result"] == outcome(folders[1])["result"]
        assert once["rows"][row]["tests"] == twice["rows"][row]["tests"]


def test_other_data_are_refused(tmp_path: Path) -> None:
    place(tmp_path / "here")
    place(tmp_path / "same")
    place(tmp_path / "renamed", "other.tsv")
    done, begun = tmp_path / "done", tmp_path / "begun"
    result = train(config_of(tmp_path / "here"), done, progress=QUIET)
    with pytest.raises(KeyboardInterrupt):
        train(config_of(tmp_path / "here", checkpoint_minutes=1e-9), begun, progress=Broken(3))
    for config in (config_of(tmp_path / "same"), config_of(tmp_path / "renamed", "other.tsv")):
        assert check_folder(config, done, resume=True) == result
        assert check_folder(config, begun, resume=True) is None
    other = place(tmp_path / "different")
    (other / "corpus.tsv").write_text("".join(ROWS[:-1]), encoding="utf-8")
    wrong = "the run is finished, on other data or with another encoder: source.vectors: '.*here/v"
    with pytest.raises(ValueError, match=wrong):
        check_folder(config_of(other), done, resume=True)
    with pytest.raises(ValueError, match="the data, word vectors or pretrained encoder have chang"):
        train(config_of(other), begun, resume=True, progress=QUIET)
    vectors = config_of(tmp_path / "same")
    vectors = replace(vectors, source=replace(vectors.source, vectors="other.txt"))
    with pytest.raises(ValueError, match="another configuration: source.vectors"):
        check_folder(vectors, done, resume=True)
    shutil.rmtree(done / "checkpoints")  # nothing to compare with
    with pytest.raises(ValueError, match="the run is finished, on other data"):
        check_folder(config_of(tmp_path / "same"), done, resume=True)
    assert check_folder(config_of(tmp_path / "here"), done, resume=True) == result


def test_an_encoder_may_be_elsewhere(save_encoder: Callable[..., Path], tmp_path: Path) -> None:
    place(tmp_path / "here")
    save_encoder(tmp_path / "a" / "tiny")

    def config(encoder: str) -> RunConfig:
        plain = config_of(tmp_path / "here")
        source = replace(plain.source, vectors=None)
        return replace(plain, source=source, model=replace(plain.model, encoder=encoder))

    run = tmp_path / "run"
    result = train(config(f"hf:{tmp_path / 'a' / 'tiny'}"), run, progress=QUIET)
    (tmp_path / "a").rename(tmp_path / "b")
    assert check_folder(config(f"hf:{tmp_path / 'b' / 'tiny'}"), run, resume=True) == result
    with pytest.raises(ValueError, match="another configuration: model.encoder"):
        check_folder(config("bilstm"), run, resume=True)


def test_an_optimizer_of_a_gpu_goes_on_on_a_cpu(
    outcome: Callable[[Path], dict[str, Any]], tmp_path: Path
) -> None:
    """A GPU's checkpoint says that its kernels are fused."""
    place(tmp_path / "here")
    config = config_of(tmp_path / "here", checkpoint_minutes=1e-9)
    train(config, tmp_path / "once", progress=QUIET)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "twice", progress=Broken(3))
    for path in (tmp_path / "twice").glob("checkpoints/*/state.pt"):
        state = torch.load(path, weights_only=True)
        for group in state["optimizer"]["param_groups"]:
            assert group["fused"] is None
            group["fused"] = True
        torch.save(state, path)
    train(config, tmp_path / "twice", resume=True, progress=QUIET)
    assert outcome(tmp_path / "once")["metrics"] == outcome(tmp_path / "twice")["metrics"]
    found = torch.load(next((tmp_path / "twice" / "checkpoints").glob("*/state.pt")))
    assert {group["fused"] for group in found["optimizer"]["param_groups"]} == {None}
