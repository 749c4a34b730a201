"""Two processes train as one does."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from sparsewood.lab.run import Progress, train
from sparsewood.lab.run.distributed import World, choose_device, world

# Trains, then names the threads that are left (where the system tells).
SCRIPT = """
import json, sys
from pathlib import Path
import torch
from sparsewood.lab.run import Progress, RunConfig, train
torch.set_default_dtype(getattr(torch, sys.argv[3]))
train(RunConfig.from_json(json.loads(sys.argv[1])), sys.argv[2], resume=True, progress=Progress())
print(*(name.read_text() for name in Path("/proc/self/task").glob("*/comm")))
"""


def _flat(values: Any) -> list[float]:
    if isinstance(values, dict):
        skip = ("seconds", "sentences_per_second")
        return [x for k, v in values.items() if k not in skip for x in _flat(v)]
    return [values] if isinstance(values, int | float) else []


@pytest.fixture
def dtype(request: pytest.FixtureRequest) -> Iterator[torch.dtype]:
    """What a model is trained in, here and in the processes of `_together`."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    yield request.param
    torch.set_default_dtype(before)


def _together(config, folder: Path, processes: int) -> subprocess.CompletedProcess[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = folder.with_suffix(".py")
    script.write_text(SCRIPT)
    options = [f"--nproc-per-node={processes}", f"--master-port={port}"]
    dtype = str(torch.get_default_dtype()).removeprefix("torch.")
    arguments = [str(script), json.dumps(config.to_json()), str(folder), dtype]
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *options, *arguments],
        env={**os.environ, "PYTHONWARNINGS": "default"},
        capture_output=True,
        text=True,
        check=False,
    )


CANONICAL = "sparsemap:max_active=none,weights=canonical"
STAGES = {"lr": 0.2, "short_first": (4, 6), "stage_accuracy": 30.0, "stage_epochs": 3}


@pytest.mark.full
@pytest.mark.parametrize("dtype", [torch.float64], indirect=True)
@pytest.mark.parametrize(
    "options",
    [
        {"lr": 0.2, "parser_lr": 0.1, "composer_first": 1, "average": 0.5},
        {"lr": 0.02, "reduction": "sum"},
        STAGES,
    ],
)
@pytest.mark.usefixtures("dtype")
def test_two_processes_equal_one(make_config, tmp_path: Path, options: dict) -> None:
    """Two stop after an epoch and go on. One of them has no share of the last batch of an epoch.

    In float64, where a sum over a batch that is split in two is another only by 1e-16.

    A thread of the group that outlives it would abort the process in one of three runs: it frees
    tensors while the interpreter ends.
    """
    config = make_config(CANONICAL, dropout=0.0, batch=13, max_epochs=3, **options)
    train(config, tmp_path / "one", progress=Progress())
    first = replace(config, training=replace(config.training, max_epochs=1))
    for part in (first, config):
        done = _together(part, tmp_path / "two", 2)
        assert "gloo" not in done.stdout
        assert done.returncode == 0, done.stderr
    for name in ("metrics.jsonl", "result.json"):
        one, two = (
            [json.loads(x) for x in (tmp_path / n / name).read_text().splitlines()]
            if name.endswith("l")
            else [json.loads((tmp_path / n / name).read_text())]
            for n in ("one", "two")
        )
        for mine, theirs in zip(one, two, strict=True):
            assert _flat(theirs) == pytest.approx(_flat(mine), rel=1e-8, abs=1e-8)
    environment = json.loads((tmp_path / "two" / "environment.json").read_text())
    assert environment["processes"] == 2


@pytest.mark.full
@pytest.mark.parametrize("dtype", [torch.float32], indirect=True)
@pytest.mark.usefixtures("dtype")
def test_two_processes_stay_together_in_float32(make_config, tmp_path: Path) -> None:
    """Sums differ by 1e-7 there, at each of 15 steps, and weights that jump make 1e-3 of that."""
    config = make_config(CANONICAL, dropout=0.0, batch=13, max_epochs=3, **STAGES)
    train(config, tmp_path / "one", progress=Progress())
    done = _together(config, tmp_path / "two", 2)
    assert done.returncode == 0, done.stderr
    one, two = (
        load_file(max((tmp_path / n / "checkpoints").glob("*/model.safetensors")))
        for n in ("one", "two")
    )
    torch.testing.assert_close(two, one, rtol=0, atol=3e-5)


def test_one_process_alone(monkeypatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with world("cpu") as group:
        assert group == World(0, 1, torch.device("cpu"))
        assert group.first
        assert group.any(True, False) == [True, False]
        assert group.gather("x") == ["x"]
        assert group.on_first(lambda: 3) == 3


def test_devices(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto") == choose_device("cpu") == torch.device("cpu")
    with pytest.raises(ValueError, match="expected a GPU"):
        choose_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("auto", 3) == torch.device("cuda", 1)
