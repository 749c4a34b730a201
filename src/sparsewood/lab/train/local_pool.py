"""Runs on this machine: one in this process, or several in processes of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from sparsewood.lab.train.loop import train
from sparsewood.lab.train.pool import Ended, GivenUp, Job
from sparsewood.lab.train.progress import Progress
from sparsewood.lab.train.run import Run
from sparsewood.lab.train.trainer import NonFiniteLoss
from sparsewood.lab.train.worker import DIVERGED, STOPPED


class Here:
    """A pool of this process: a job is over when it has been started."""

    slots = 1

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._ended: list[Ended] = []

    def start(self, job: Job) -> None:
        self._progress.start_run(job.folder)
        error, diverged = None, False
        try:
            train(job.config, job.folder, resume=True, progress=self._progress)
        except GivenUp:
            error = "given up"
        except (ValueError, OSError, RuntimeError) as caught:
            error, diverged = str(caught), isinstance(caught, NonFiniteLoss)
            self._progress.note(f"{job.folder}: failed: {error}")
        self._ended.append(Ended(job, error, diverged))

    def ended(self) -> list[Ended]:
        ended, self._ended = self._ended, []
        return ended

    def stop(self, job: Job) -> None: ...

    def close(self) -> None: ...


class Process:
    """A run in a process of its own, which saves and ends when the one that made it ends.

    Args:
        config: of the run, as JSON.
        folder: of the run; its `log.txt` has what the process prints.
        cwd: what relative paths of the configuration start from.
        env: variables of the environment, beside those of this process.
        patience: seconds that another process is given to leave the folder.
    """

    def __init__(
        self,
        config: dict[str, Any],
        folder: Path,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        patience: float = 0,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "log.txt"
        command = ["-m", "sparsewood.lab.train.worker", str(folder), f"{patience:g}"]
        with self._log.open("a", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                text=True,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                process_group=0,  # Ctrl-C reaches this process, which passes it on
            )
        self._stdin.write(json.dumps(config) + "\n")
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

    def wait(self) -> tuple[int, str]:
        """Wait for the end; the exit code and the last line that was printed."""
        code = self._process.wait()
        self._stdin.close()
        text = self._log.read_text(encoding="utf-8", errors="replace")
        return code, text.strip().rpartition("\n")[2]


def tell(job: Job, code: int, last: str, progress: Progress) -> Ended:
    """What has become of a job, from the exit code of its process and the last line of its log."""
    if code == 0:
        result = Run(job.folder).result
        assert result is not None
        progress.finish(job.folder, result)
        return Ended(job)
    error = "stopped" if code == STOPPED else last or f"ended with {code}"
    progress.note(f"{job.folder}: {error}")
    return Ended(job, error, code == DIVERGED)


class Processes:
    """A pool of processes, `slots` at a time, each on one thread unless its run says otherwise."""

    def __init__(self, slots: int, progress: Progress) -> None:
        self.slots = slots
        self._progress = progress
        self._running: list[tuple[Job, Process]] = []

    def start(self, job: Job) -> None:
        self._progress.start_run(job.folder)
        process = Process(job.config.to_json(), job.folder, env={"OMP_NUM_THREADS": "1"})
        self._running.append((job, process))

    def ended(self) -> list[Ended]:
        over = [one for one in self._running if one[1].ended]
        self._running = [one for one in self._running if one not in over]
        return [tell(job, *process.wait(), self._progress) for job, process in over]

    def stop(self, job: Job) -> None:
        for one, process in self._running:
            if one is job:
                process.stop()

    def close(self) -> None:
        for _, process in self._running:
            process.stop()
        for job, process in self._running:
            tell(job, *process.wait(), self._progress)
