"""Many runs, one by one or in parallel, on this machine or on a cluster."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from sparsewood.lab.jobs.local_pool import Here, Processes
from sparsewood.lab.jobs.pool import LOCAL, Ended, Job, Place, Pool
from sparsewood.lab.jobs.ray_pool import RayPool
from sparsewood.lab.run.bars import automatic
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.interrupt import TrainingInterrupted, listen
from sparsewood.lab.run.progress import Progress

_POLL = 0.1  # seconds between two checks of the pool

Done = Callable[[Job, str | None], Iterable[Job]]


def run_jobs(
    jobs: Iterable[Job],
    done: Done,
    *,
    workers: int | None = 1,
    on: Place = LOCAL,
    progress: Progress | None = None,
) -> None:
    """Train all jobs; finished runs are skipped and partial ones resumed.

    Args:
        jobs: the first jobs.
        done: called after each job with the error message or None; returns further jobs.
        workers: number of parallel runs, each in its own process with its output in `log.txt` of
            its folder. On this machine, 1 (the default) trains in this process; None means as many
            as fit the Ray cluster.
        on: where to train.
        progress: shows the progress.

    Raises:
        ConnectionError: if there is no Ray cluster at the address; nothing is written.
        TrainingInterrupted: on Ctrl-C, after all workers have saved their state.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers: expected at least 1, got {workers}")
    waiting = sorted(jobs, key=lambda job: job.rank)

    def take() -> Job | None:
        return waiting.pop(0) if waiting else None

    def after(ended: Ended) -> None:
        waiting.extend(done(ended.job, ended.error))
        waiting.sort(key=lambda job: job.rank)

    if waiting:
        with open_pool(on, workers, waiting[0].config, progress or automatic()) as pool:
            drive(pool, take, after)


@contextmanager
def open_pool(
    on: Place, workers: int | None, config: RunConfig, progress: Progress
) -> Iterator[Pool]:
    """A pool for runs with the resources of `config`; at the end its jobs are stopped.

    Signals are deferred from here on, after connecting to Ray, which installs a SIGTERM handler.
    """
    pool: Pool
    if not on.here:
        pool = RayPool(on, workers, config, progress)
    elif workers is None or workers == 1:
        pool = Here(progress)
    else:
        pool = Processes(workers, progress)
    with listen():
        try:
            yield pool
        finally:
            pool.close()


def drive(
    pool: Pool,
    take: Callable[[], Job | None],
    done: Callable[[Ended], None],
    look: Callable[[Pool], None] = lambda _: None,
) -> None:
    """Keep `pool` busy until all jobs are done.

    Args:
        pool: the pool that trains.
        take: returns the next job; None if there is none now.
        done: called after each job; `take` may return more jobs after that.
        look: called while jobs run, ten times per second.

    Raises:
        TrainingInterrupted: on Ctrl-C; the jobs save their state when the pool closes.
    """
    running = 0
    with listen() as stop:
        while not stop.raised:
            while running < pool.slots and (job := take()) is not None:
                pool.start(job)
                running += 1
            if not running:
                return
            over = pool.ended()
            for ended in over:
                running -= 1
                done(ended)
            if not over:
                look(pool)
                time.sleep(_POLL)
    raise TrainingInterrupted("stopped; every run is saved; the same command resumes")
