"""The interface of pools that train runs in parallel: local processes and Ray."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from sparsewood.lab.run.config import RunConfig


@dataclass(frozen=True)
class Job:
    """A run to train or to resume.

    Attributes:
        config: configuration of the run.
        folder: folder of the run.
        rank: jobs with a lower rank start first.
    """

    config: RunConfig
    folder: Path
    rank: int = 0


@dataclass(frozen=True)
class Ended:
    """A job that has ended.

    Attributes:
        job: the job.
        error: the error message, on one line; None on success.
        diverged: whether the error is a loss that is not finite.
    """

    job: Job
    error: str | None = None
    diverged: bool = False


class GivenUp(Exception):  # noqa: N818 (not an error)
    """Raised by a `Progress` to stop the run that it observes."""


class Pool(Protocol):
    """Trains jobs in parallel; reports failed and resumed runs to a `Progress`."""

    @property
    def slots(self) -> int:
        """How many jobs may run at the same time."""
        ...

    def start(self, job: Job) -> None:
        """Start a job, or resume it from its folder."""
        ...

    def ended(self) -> list[Ended]:
        """The jobs that have ended since the last call."""
        ...

    def stop(self, job: Job) -> None:
        """Ask a job to save its state and end; no effect if it has ended."""
        ...

    def close(self) -> None:
        """Ask all jobs to save their state and end, and wait for them."""
        ...


@dataclass(frozen=True)
class Place:
    """Where to train runs.

    Attributes:
        on: local, ray, or the address of a Ray cluster. "local" uses processes of this machine.
            "ray" uses the cluster that this machine belongs to (extra [ray]), or starts one. An
            address is HOST:PORT on a node of the cluster and ray://HOST:PORT elsewhere. All nodes
            must share the folders of runs and data.
        cpus_per_run: CPUs that Ray reserves per run; fractions are allowed. Default: the threads of
            the run.
        gpus_per_run: GPUs that Ray reserves per run; fractions are allowed. Default: 1 if the
            device is cuda, otherwise 0, and the run then sees no GPU.
    """

    on: Annotated[str, "local|ray|ADDRESS"] = "local"
    cpus_per_run: float | None = None
    gpus_per_run: float | None = None

    def __post_init__(self) -> None:
        host, colon, port = self.on.removeprefix("ray://").rpartition(":")
        address = bool(host and colon and port.isdecimal() and "/" not in host)
        if self.on not in ("local", "ray") and not address:
            raise ValueError(
                f"on: expected local, ray, HOST:PORT or ray://HOST:PORT; got {self.on!r}"
            )
        for name, least in (("cpus_per_run", "a positive"), ("gpus_per_run", "no negative")):
            asked = getattr(self, name)
            if asked is None:
                continue
            if self.here:
                raise ValueError(f"{name}: applies to Ray only; got on='local'")
            low = asked > 0 if name == "cpus_per_run" else asked >= 0
            if not (low and asked < float("inf") and (asked < 1 or asked == int(asked))):
                raise ValueError(f"{name}: expected {least} number, whole from 1 on; got {asked:g}")

    @property
    def here(self) -> bool:
        """Whether runs train on this machine without Ray."""
        return self.on == "local"

    def resources(self, config: RunConfig) -> tuple[float, float]:
        """The CPUs and GPUs that a run requests from Ray."""
        t, cpus, gpus = config.training, self.cpus_per_run, self.gpus_per_run
        return (
            (t.threads or 1) if cpus is None else cpus,
            float(t.device == "cuda") if gpus is None else gpus,
        )


LOCAL = Place()
