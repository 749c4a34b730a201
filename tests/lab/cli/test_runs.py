from pathlib import Path

import pytest

from sparsewood.lab.cli import Interrupted
from sparsewood.lab.cli._options import descriptions, fields
from sparsewood.lab.cli._runs import (
    about,
    at_least,
    config_groups,
    interruptible,
    is_run,
    new_folder,
    open_model,
    runs_below,
    writable_file,
    writable_folder,
)
from sparsewood.lab.data.sources import SOURCES, ListOps
from sparsewood.lab.run import RunConfig, TrainingInterrupted
from sparsewood.lab.tasks import ModelConfig


@pytest.mark.parametrize("name", SOURCES)
def test_options_have_descriptions(name: str) -> None:
    assert about(SOURCES[name])
    for group in config_groups(SOURCES[name], []):
        assert {field.name for field in fields(group)} <= set(descriptions(group.kind))


def test_the_next_free_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config = RunConfig(ListOps(), ModelConfig("left-to-right"))
    assert new_folder(config) == Path("runs/listops-left-to-right-1")
    new_folder(config).mkdir(parents=True)
    assert new_folder(config) == Path("runs/listops-left-to-right-2")


def test_runs_and_models(latent: Path, tmp_path: Path) -> None:
    assert is_run(latent)
    assert not is_run(latent / "model")
    assert open_model(latent).labels == open_model(latent / "model").labels
    assert runs_below(latent) == runs_below(latent.parent) == [latent]
    for call in (open_model, runs_below):
        with pytest.raises(ValueError, match="absent: no such folder"):
            call(tmp_path / "absent")
    with pytest.raises(ValueError, match="neither a run nor a model"):
        open_model(tmp_path)
    with pytest.raises(ValueError, match="no run in this folder"):
        runs_below(tmp_path)
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(ValueError, match="not finished: sparsewood train --resume"):
        open_model(tmp_path)


def test_an_interruption_says_how_to_go_on() -> None:
    with pytest.raises(Interrupted, match="saved; to go on: do this"), interruptible("do this"):
        raise TrainingInterrupted("saved")
    with pytest.raises(Interrupted, match="saved$"), interruptible():
        raise TrainingInterrupted("saved")


def test_places_to_write_to(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    assert writable_folder(tmp_path / "new" / "run") == tmp_path / "new" / "run"
    assert writable_file(file) == file
    for wrong in (file, file / "run"):
        with pytest.raises(ValueError, match="file: is a file; expected a folder"):
            writable_folder(wrong)
    with pytest.raises(ValueError, match="is a folder; expected the name of a file"):
        writable_file(tmp_path)
    assert file.read_text() == "mine"


def test_numbers_that_are_too_small() -> None:
    at_least(1, most=None, words=1)
    with pytest.raises(ValueError, match="--eval-batch: expected at least 1, got 0"):
        at_least(1, words=2, eval_batch=0)
