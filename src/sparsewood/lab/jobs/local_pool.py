"""Pools on this machine: one run in this process, or several in their own processes."""

import signal

from sparsewood.lab._process import Process
from sparsewood.lab.jobs.pool import Ended, GivenUp, Job
from sparsewood.lab.jobs.worker import DIVERGED, STOPPED
from sparsewood.lab.run.folder import Run
from sparsewood.lab.run.losses import NonFiniteLoss
from sparsewood.lab.run.progress import Progress
from sparsewood.lab.run.setup import train


class Here:
    """A pool in this process: `start` runs the whole job."""

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


def tell(job: Job, code: int, last: str, progress: Progress) -> Ended:
    """The end of a job, from the exit code of its process and the last line of its log."""
    if code == 0:
        result = Run(job.folder).result
        assert result is not None
        progress.finish(job.folder, result)
        return Ended(job)
    # SIGTERM ends a process that has not started training.
    error = "stopped" if code in (STOPPED, -signal.SIGTERM) else last or f"ended with {code}"
    progress.note(f"{job.folder}: {error}")
    return Ended(job, error, code == DIVERGED)


class Processes:
    """A pool of `slots` processes, each with one thread unless its run sets another number."""

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
