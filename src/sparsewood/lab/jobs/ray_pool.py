"""Runs on a Ray cluster: each is a Ray task that watches the process of the run."""

import logging
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsewood.lab._extras import require
from sparsewood.lab._process import attend
from sparsewood.lab.jobs.local_pool import tell
from sparsewood.lab.jobs.pool import Ended, Job, Place
from sparsewood.lab.jobs.worker import STOPPED
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.progress import Progress

RESUMED = 3  # maximum number of times that a run is resumed after its worker was killed
_REACHED = 10.0  # seconds to wait for a cluster to respond
_PATIENCE = 120.0  # seconds for a process to save its state after its worker was killed


@dataclass
class _Task:
    """A job in Ray, and how often it was resumed."""

    job: Job
    ref: Any
    resumed: int = 0
    stopping: bool = False


class RayPool:
    """A pool of the CPUs and GPUs of a Ray cluster.

    Args:
        place: the cluster, and the resources reserved per run.
        workers: number of parallel runs; None for as many as fit now.
        config: the configuration of a run, which determines the resources of each.
        progress: shows the progress.

    Raises:
        MissingExtra: if Ray is not installed.
        ConnectionError: if there is no cluster at the address.
        ValueError: if no node has the resources of a run.
    """

    def __init__(
        self, place: Place, workers: int | None, config: RunConfig, progress: Progress
    ) -> None:
        self._ray: Any = require("ray", extra="ray")
        self._place, self._workers, self._progress = place, workers, progress
        self._asked = place.resources(config)
        self._tasks: list[_Task] = []
        self._connected = (
            not self._ray.is_initialized()
        )  # whether this pool connects, and so disconnects
        if self._connected:
            _connect(self._ray, place.on, progress)
        if not self._room():
            self._disconnect()
            cpus, gpus = self._asked
            raise ValueError(
                f"no node of the Ray cluster has the {cpus:g} CPUs and {gpus:g} GPUs that a run "
                "requests; see --cpus-per-run and --gpus-per-run"
            )

    @property
    def slots(self) -> int:
        return self._workers or max(1, self._room())

    def start(self, job: Job) -> None:
        self._progress.start_run(job.folder)
        self._tasks.append(_Task(job, self._submit(job)))

    def ended(self) -> list[Ended]:
        if not self._tasks:
            return []
        refs = [task.ref for task in self._tasks]
        ready, _ = self._ray.wait(refs, num_returns=len(refs), timeout=0)
        found = [self._end(task) for task in self._tasks[:] if task.ref in ready]
        return [ended for ended in found if ended is not None]

    def stop(self, job: Job) -> None:
        for task in self._tasks:
            if task.job is job:
                self._cancel(task)

    def close(self) -> None:
        for task in self._tasks:
            self._cancel(task)
        for task in self._tasks[:]:
            self._end(task)
        self._disconnect()

    def _submit(self, job: Job) -> Any:
        cpus, gpus = self._place.resources(job.config)
        env = {name: v for name, v in os.environ.items() if name.startswith("SPARSEWOOD_")}
        env["OMP_NUM_THREADS"] = f"{max(1, int(cpus))}"
        if not gpus:
            env["CUDA_VISIBLE_DEVICES"] = ""
        options = {"num_cpus": cpus, "num_gpus": gpus, "max_retries": 0, "name": str(job.folder)}
        task = self._ray.remote(attend).options(**options)
        config, folder, cwd = job.config.to_json(), job.folder.absolute(), Path.cwd()
        return task.remote(config, str(folder), str(cwd), env, _PATIENCE)

    def _cancel(self, task: _Task) -> None:
        if not task.stopping:
            task.stopping = True
            self._ray.cancel(task.ref)

    def _end(self, task: _Task) -> Ended | None:
        """Wait for a task; None if it was killed and is resumed."""
        errors = self._ray.exceptions
        try:
            code, last = self._ray.get(task.ref)
            killed = f"its process ended with {code}" if code < 0 or code == STOPPED else None
        except errors.TaskCancelledError:
            code, last, killed = STOPPED, "", "it was cancelled"
        except errors.RayTaskError as error:  # the task could not start the process
            code, last, killed = 1, _one_line(error.cause), None
        except errors.RayError as error:
            code, last, killed = 1, "", type(error).__name__
        if killed is None or task.stopping:
            self._tasks.remove(task)
            return tell(task.job, code, last, self._progress)
        if task.resumed == RESUMED:
            self._tasks.remove(task)
            last = f"its worker was killed {RESUMED + 1} times: {killed}"
            return tell(task.job, 1, last, self._progress)
        self._progress.note(f"{task.job.folder}: its worker has ended ({killed}); resuming")
        task.ref, task.resumed = self._submit(task.job), task.resumed + 1
        return None

    def _room(self) -> int:
        """How many runs fit the nodes, if nothing else uses them."""
        cpus, gpus = self._asked
        rooms = [
            min(
                int(have.get("CPU", 0) / cpus),
                int(have.get("GPU", 0) / gpus) if gpus else int(have.get("CPU", 0) / cpus),
            )
            for node in self._ray.nodes()
            if node["Alive"] and (have := node["Resources"])
        ]
        return sum(rooms)

    def _disconnect(self) -> None:
        if self._connected:
            self._ray.shutdown()


def _connect(ray: Any, on: str, progress: Progress) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    known = os.environ.get("RAY_ADDRESS") if on == "ray" else on
    host, colon, port = (known or "").removeprefix("ray://").rpartition(":")
    try:
        if colon:  # Ray itself would retry for many minutes
            socket.create_connection((host, int(port)), timeout=_REACHED).close()
        ray.init(known or "auto", **quiet)
    except (OSError, ImportError, RuntimeError) as error:
        if known:
            raise ConnectionError(f"{known}: no Ray cluster there: {_one_line(error)}") from error
        progress.note("no Ray cluster is running here; starting one on this machine")
        # Otherwise Ray yields to other processes on the machine.
        ray.init("local", include_dashboard=False, _system_config={"worker_niceness": 0}, **quiet)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
