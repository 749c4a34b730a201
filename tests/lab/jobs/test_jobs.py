"""Runs in processes of their own: they are stopped with the one that started them."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sparsewood.lab.jobs.jobs import Job, run_jobs
from sparsewood.lab.run import Progress, Run, TrainingInterrupted


def _wait_for(path: Path) -> None:
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.02)


def test_a_signal_stops_the_workers(make_config, tmp_path: Path) -> None:
    config = make_config("flat", max_epochs=1000, patience=1000)

    def interrupt() -> None:
        for name in "ab":
            _wait_for(tmp_path / name / "metrics.jsonl")
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    todo = [Job(config, tmp_path / name) for name in "abc"]
    with pytest.raises(TrainingInterrupted, match="every run is saved"):
        run_jobs(todo, lambda job, error: [], workers=2, progress=Progress())
    for name in "ab":
        assert Run(tmp_path / name).metrics
        assert "is saved" in (tmp_path / name / "log.txt").read_text()
    assert not (tmp_path / "c").exists()


@pytest.mark.full
def test_a_worker_does_not_outlive_its_owner(make_config, tmp_path: Path) -> None:
    config = make_config("flat", max_epochs=100_000, patience=100_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "sparsewood.lab.jobs.worker", str(tmp_path)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(config.to_json()) + "\n")
    process.stdin.flush()
    _wait_for(tmp_path / "metrics.jsonl")
    _, errors = process.communicate(timeout=60)  # closes stdin, as the death of an owner does
    assert process.returncode == 130
    assert "is saved" in errors.splitlines()[-1]


def test_jobs_of_lower_rank_come_first(make_config, tmp_path: Path) -> None:
    config = make_config("flat", max_epochs=1)
    order = []

    def done(job: Job, error: str | None) -> list[Job]:
        order.append((job.folder.name, error))
        return [Job(config, tmp_path / "new", 1)] if job.folder.name == "first" else []

    todo = [Job(config, tmp_path / "last", 2), Job(config, tmp_path / "first", 0)]
    run_jobs(todo, done, progress=Progress())
    assert order == [("first", None), ("new", None), ("last", None)]
