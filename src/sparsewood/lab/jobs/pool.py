"""What trains runs beside each other: the interface of this machine's processes and of Ray."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from sparsewood.lab.run.config import RunConfig


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


@dataclass(frozen=True)
class Ended:
    """A job that is over.

    Attributes:
        job: which.
        error: what went wrong, in a line; None if nothing did.
        diverged: whether that was a loss that is not finite.
    """

    job: Job
    error: str | None = None
    diverged: bool = False


class GivenUp(Exception):  # noqa: N818 (no error: it is wanted)
    """Raised by a `Progress` that has seen enough of the run it is told of."""


class Pool(Protocol):
    """Trains jobs side by side; tells a `Progress` of what fails and of what is resumed."""

    @property
    def slots(self) -> int:
        """How many jobs may be under way now."""
        ...

    def start(self, job: Job) -> None:
        """Begin a job, or go on with it: its folder holds what there is."""
        ...

    def ended(self) -> list[Ended]:
        """The jobs that are over since the last call."""
        ...

    def stop(self, job: Job) -> None:
        """Ask a job to save its state and end; one that is over already is left alone."""
        ...

    def close(self) -> None:
        """Ask all jobs to save and end, and wait until they have."""
        ...


@dataclass(frozen=True)
class Place:
    """Where runs are trained.

    Attributes:
        on: local, processes of this machine; ray, the Ray cluster that this machine is a node of
            (extra [ray]), or one that is started if there is none; or the address of a cluster,
            HOST:PORT on one of its nodes and ray://HOST:PORT elsewhere. All nodes have to share
            the folders of runs and data.
        cpus_per_run: that Ray keeps for each run, or a part of one; the threads of the run by
            default.
        gpus_per_run: that Ray keeps for each run, or a part of one; by default 1 if the device is
            cuda, else 0, and then the run sees none.
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
                raise ValueError(f"{name}: only Ray keeps them for a run; got on='local'")
            low = asked > 0 if name == "cpus_per_run" else asked >= 0
            if not (low and asked < float("inf") and (asked < 1 or asked == int(asked))):
                raise ValueError(f"{name}: expected {least} number, whole from 1 on; got {asked:g}")

    @property
    def here(self) -> bool:
        """Whether it is this machine, without Ray."""
        return self.on == "local"

    def resources(self, config: RunConfig) -> tuple[float, float]:
        """CPUs and GPUs that a run asks Ray for."""
        t, cpus, gpus = config.training, self.cpus_per_run, self.gpus_per_run
        return (
            (t.threads or 1) if cpus is None else cpus,
            float(t.device == "cuda") if gpus is None else gpus,
        )


LOCAL = Place()
