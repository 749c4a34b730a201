"""Many runs, one after the other or several at a time."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from sparsewood.lab.train.config import RunConfig
from sparsewood.lab.train.interrupt import StopWish, TrainingInterrupted, listen
from sparsewood.lab.train.loop import train
from sparsewood.lab.train.progress import Progress, automatic
from sparsewood.lab.train.worker import STOPPED

_POLL = 0.1  # seconds between two looks at the workers


@dataclass(frozen=True)
class Job:
    """A run to train, or to finish.

    Attributes:
        config: of the run.
        folder: of the run.
        rank: jobs of lower rank are started first.
    """

    config: RunConfig
    folder: Path
    rank: int = 0


Done = Callable[[Job, str | None], Iterable[Job]]


def run_jobs(
    jobs: Iterable[Job], done: Done, *, workers: int = 1, progress: Progress | None = None
) -> None:
    """Train all jobs; a run that is finished already costs nothing, a partial one goes on.

    Args:
        jobs: to begin with.
        done: called after each job with what went wrong, if anything; returns further jobs.
        workers: how many run at a time, each in a process of its own and with its output in
            `log.txt` of its folder; 1 trains in this process.
        progress: what to show.

    Raises:
        TrainingInterrupted: on Ctrl-C, once all workers have saved their state.
    """
    if workers < 1:
        raise ValueError(f"workers: expected at least 1, got {workers}")
    progress = progress or automatic()
    waiting = sorted(jobs, key=lambda job: job.rank)
    if workers == 1:
        while waiting:
            job = waiting.pop(0)
            waiting += done(job, _train_here(job, progress))
            waiting.sort(key=lambda job: job.rank)
        return
    running: list[_Worker] = []
    with listen() as stop:
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    running.append(_Worker(waiting.pop(0)))
                    progress.note(f"{running[-1].job.folder}: started")
                for worker in [w for w in running if w.ended]:
                    running.remove(worker)
                    waiting += done(worker.job, worker.close(progress))
                    waiting.sort(key=lambda job: job.rank)
                _wait(stop)
        finally:
            for worker in running:
                worker.stop()
            for worker in running:
                worker.close(progress)


def _train_here(job: Job, progress: Progress) -> str | None:
    progress.note(f"{job.folder}: started")
    try:
        train(job.config, job.folder, resume=True, progress=progress)
    except (ValueError, OSError, RuntimeError) as error:
        progress.note(f"{job.folder}: failed: {error}")
        return str(error)
    return None


def _wait(stop: StopWish) -> None:
    if stop.raised:
        raise TrainingInterrupted("stopped; every run is saved; the same command goes on")
    time.sleep(_POLL)


class _Worker:
    """A job in a process of its own, which ends with this one at the latest."""

    def __init__(self, job: Job) -> None:
        self.job = job
        job.folder.mkdir(parents=True, exist_ok=True)
        self._log = job.folder / "log.txt"
        with self._log.open("a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "sparsewood.lab.train.worker", str(job.folder)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
                process_group=0,  # Ctrl-C reaches this process, which passes it on
            )
        self._stdin.write(json.dumps(job.config.to_json()) + "\n")
        self._stdin.flush()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    @property
    def _stdin(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    def stop(self) -> None:
        """Ask the process to save its state and end."""
        if not self.ended:
            self._process.terminate()

    def close(self, progress: Progress) -> str | None:
        """Wait for the end; what went wrong, if anything."""
        code = self._process.wait()
        self._stdin.close()
        last = self._log.read_text(encoding="utf-8").strip().rpartition("\n")[2]
        if code == 0:
            progress.note(last)
            return None
        error = "stopped" if code == STOPPED else last or f"ended with {code}"
        progress.note(f"{self.job.folder}: {error}")
        return error
