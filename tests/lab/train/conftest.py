"""Runs that take a fraction of a second, and processes to try them in."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from sparsewood.lab.data.sources import ListOps
from sparsewood.lab.tasks.model import ModelConfig
from sparsewood.lab.train import Progress, RunConfig, TrainingConfig, train


def _make_config(
    estimator: str = "sparsemap:max_active=10", *, dropout: float = 0.1, **training: Any
) -> RunConfig:
    source = ListOps(train=40, validation=12, test=12, max_length=8, max_depth=4)
    model = ModelConfig(estimator, hidden=8, embedding=6, dropout=dropout)
    options = {"optimizer": "sgd", "lr": 0.5, "batch": 8, "max_epochs": 4, "threads": 1}
    return RunConfig(source, model, TrainingConfig(**{**options, "device": "cpu", **training}))


@pytest.fixture
def make_config() -> Callable[..., RunConfig]:
    """(estimator, dropout=, **training options) -> the configuration of a tiny run."""
    return _make_config


_TIMES = ("seconds", "sentences_per_second")


def _outcome(folder: Path) -> dict[str, Any]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return {
        "metrics": [{k: v for k, v in json.loads(x).items() if k not in _TIMES} for x in lines],
        "result": {
            k: v
            for k, v in json.loads((folder / "result.json").read_text()).items()
            if k not in _TIMES
        },
        "gallery": json.loads((folder / "gallery.json").read_text()),
        "weights": {
            name: weight.tolist()
            for path in (folder / "model", *sorted((folder / "checkpoints").iterdir()))
            for name, weight in load_file(path / "model.safetensors").items()
        },
        "checkpoints": sorted(path.name for path in (folder / "checkpoints").iterdir()),
    }


@pytest.fixture
def outcome() -> Callable[[Path], dict[str, Any]]:
    """(folder of a run) -> all that the run came to, times left out."""
    return _outcome


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the tiny run comes to if nothing happens to it."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    train(_make_config(), folder, progress=Progress())
    return _outcome(folder)
