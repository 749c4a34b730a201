"""Runs on a Ray cluster: those of this machine, killed workers, failures, Ctrl-C."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparsewood.lab.jobs.jobs import Job, run_jobs
from sparsewood.lab.jobs.pool import Place
from sparsewood.lab.jobs.worker import STOPPED
from sparsewood.lab.run import Progress, Run, TrainingInterrupted, train
from sparsewood.lab.run.folder import whole_lines
from sparsewood.lab.study.table import train_table

fcntl = pytest.importorskip("fcntl", reason="processes are found and killed as on Linux")
ray = pytest.importorskip("ray", reason="needs the extra [ray]")
pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")

ON_RAY = Place("ray")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cluster of two CPUs, one at a time however many processes share the tests."""
    changed = pytest.MonkeyPatch()
    changed.setenv("RAY_AUTH_MODE", "disabled")  # else a token is written to the user's home
    changed.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else a FutureWarning asks for it
    changed.setenv("RAY_USAGE_STATS_ENABLED", "0")
    short = tempfile.mkdtemp(prefix="ray")  # names of sockets below pytest's folder are too long
    with (tmp_path_factory.getbasetemp().parent / "ray.lock").open("w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        ray.init(
            "local",
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=80 * 2**20,
            _temp_dir=short,
            _system_config={"worker_niceness": 0},
        )
        yield
        ray.shutdown()
    shutil.rmtree(short, ignore_errors=True)
    changed.undo()


def _wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _process_of(folder: Path) -> int | None:
    """The process that trains in `folder`."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(folder).encode() in words and b"sparsewood.lab.jobs.worker" in words:
            return int(entry.name)
    return None


def _parent(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("PPid:")))


def _epochs(folder: Path) -> list[dict[str, Any]]:
    """The lines of metrics but for times."""
    lines = whole_lines(folder / "metrics.jsonl")
    times = ("seconds", "sentences_per_second")
    return [{k: v for k, v in json.loads(x).items() if k not in times} for x in lines]


@pytest.mark.full
@pytest.mark.usefixtures("cluster")
def test_a_table_is_that_of_this_machine(make_config, outcome, recording, tmp_path: Path) -> None:
    """Beside a row that fails, which stops no other."""
    config, progress = make_config(max_epochs=2), recording()
    rows, lrs, seeds = ["sparsemap:max_active=3"], [0.1, 0.5], [0, 1]
    here, there = tmp_path / "here", tmp_path / "there"
    bad = Path("sparsemap-max_active=3", "lr-0.5", "seed-0")
    (there / bad / "log.txt").mkdir(parents=True)
    train_table(rows, config, lrs, seeds, here, progress=Progress())
    found = train_table(rows, config, lrs, seeds, there, workers=None, on=ON_RAY, progress=progress)
    runs = sorted(path.parent.relative_to(there) for path in there.rglob("result.json"))
    assert len(runs) == 2
    for run in runs:
        assert outcome(there / run) == outcome(here / run)
    assert list(found["failures"]) == [bad.as_posix()]
    assert "Is a directory" in found["failures"][bad.as_posix()]
    assert any(note.startswith(f"{there / bad}: ") for note in progress.notes)


@pytest.mark.full
@pytest.mark.usefixtures("cluster")
def test_killed_workers_and_ctrl_c(make_config, recording, tmp_path: Path) -> None:
    """Killed: the worker of Ray of one run, and the process of the other. Then all are stopped."""
    config, progress = make_config(max_epochs=100_000, patience=100_000), recording()
    a, b = folders = tmp_path / "a", tmp_path / "b"
    finished = []

    def disturb() -> None:
        try:
            for folder in folders:
                _wait_for((folder / "metrics.jsonl").exists)
            for folder in folders:
                process = _process_of(folder)
                assert process is not None
                os.kill(_parent(process) if folder is a else process, signal.SIGKILL)
            for folder in folders:
                log = folder / "log.txt"
                _wait_for(lambda log=log: "resuming" in log.read_text())
                resumed = len(_epochs(folder))  # it trains again once there are more
                _wait_for(lambda f=folder, n=resumed: len(_epochs(f)) > n)
            finished.append(True)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=disturb).start()
    todo = [Job(config, folder) for folder in folders]
    with pytest.raises(TrainingInterrupted, match="every run is saved"):
        run_jobs(todo, lambda job, error: [], workers=2, on=ON_RAY, progress=progress)
    assert finished
    assert "WorkerCrashedError" in next(n for n in progress.notes if n.startswith(f"{a}: its"))
    assert "ended with -9" in next(n for n in progress.notes if n.startswith(f"{b}: its"))
    for folder in folders:
        assert _process_of(folder) is None
        assert "is saved" in (folder / "log.txt").read_text().splitlines()[-1]
        assert not Run(folder).finished
    epochs = [_epochs(folder) for folder in folders]
    shorter = replace(config.training, max_epochs=max(map(len, epochs)))
    train(replace(config, training=shorter), tmp_path / "calm", progress=Progress())
    calm = _epochs(tmp_path / "calm")
    assert [calm[: len(found)] for found in epochs] == epochs


@pytest.mark.full
def test_no_cluster_at_the_address(make_config, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with socket.socket() as taken:  # nobody listens
        taken.bind(("127.0.0.1", 0))
        place = Place(f"ray://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(ConnectionError, match=r"ray://127.0.0.1:\d+: no Ray cluster there: "):
            run_jobs([Job(make_config(), tmp_path / "run")], lambda job, error: [], on=place)
    assert not (tmp_path / "run").exists()


@pytest.mark.full
@pytest.mark.usefixtures("cluster")
def test_a_run_that_no_node_has_room_for(make_config, tmp_path: Path) -> None:
    place = Place("ray", cpus_per_run=3, gpus_per_run=0.5)
    with pytest.raises(ValueError, match="no node .* 3 CPUs and 0.5 GPUs"):
        run_jobs([Job(make_config(), tmp_path / "run")], lambda job, error: [], on=place)
    assert not (tmp_path / "run").exists()


# What a task of Ray does, and Ray when it is cancelled.
TASK = """
import _thread, json, sys, threading, time
from pathlib import Path
from sparsewood.lab._process import attend

folder = Path(sys.argv[2])

def cancel():
    while not (folder / "metrics.jsonl").exists():
        time.sleep(0.02)
    _thread.interrupt_main()

threading.Thread(target=cancel, daemon=True).start()
print(attend(json.loads(sys.argv[1]), str(folder), ".", {}, 10.0)[0])
"""


@pytest.mark.full
def test_a_task_is_cancelled_where_sigint_was_ignored(make_config, tmp_path: Path) -> None:
    """As it is for a cluster that a script starts in the background."""
    config = json.dumps(make_config(max_epochs=100_000, patience=100_000).to_json())
    task = [sys.executable, "-c", TASK, config, str(tmp_path / "run")]
    ignoring = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *task]
    done = subprocess.run(ignoring, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == str(STOPPED), done.stderr
