"""Training from a configuration to a result: who may write, who listens, on how many threads."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from sparsewood.lab._files import sole_writer
from sparsewood.lab.run.amx import avoid_refused_amx
from sparsewood.lab.run.bars import automatic
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.distributed import World, world
from sparsewood.lab.run.folder import claim
from sparsewood.lab.run.interrupt import Abandoned, StopWish, TrainingInterrupted, listen
from sparsewood.lab.run.progress import Progress
from sparsewood.lab.run.trainer import Trainer


def train(
    config: RunConfig,
    folder: Path | str,
    *,
    resume: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a model as `config` says and keep all there is to know of it in `folder`.

    Under `torchrun` the processes share each batch. The global random generators are seeded.

    Args:
        config: source, model and training.
        folder: of the run; it holds none yet unless `resume`.
        resume: go on where the run in `folder` stopped, if there is one. On a CPU the outcome is
            that of an undisturbed run, bit for bit. Only `max_epochs` and `max_seconds` may be
            raised.
        progress: what to show; by default bars on a terminal and lines elsewhere.

    Returns:
        The result, as in `result.json`.

    Raises:
        ValueError: on bad input, a folder in use, or another configuration than the run's.
        NonFiniteLoss: when training diverges; the last good checkpoint is kept.
        TrainingInterrupted: on Ctrl-C or SIGTERM, once the state is saved.
    """
    folder, t = Path(folder), config.training
    with _threads(t.threads), world(t.device) as group:
        if t.precision == "float16" and group.device.type == "cpu":
            raise ValueError("precision: float16 needs a GPU; bfloat16 works on the CPU too")
        progress = (progress or automatic()) if group.first else Progress()
        if t.precision == "bfloat16" and group.device.type == "cpu":
            avoid_refused_amx(progress.note)
        with ExitStack() as held:
            held.callback(progress.close)
            group.on_first(lambda: held.enter_context(sole_writer(folder)))
            result = group.on_first(lambda: claim(config, folder, resume=resume))
            if result is None:
                stop = held.enter_context(listen())
                return _prepared(config, folder, group, progress, stop).run()
            progress.finish(folder, result, already=True)
            return result


def _prepared(
    config: RunConfig, folder: Path, group: World, progress: Progress, stop: StopWish
) -> Trainer:
    """The run as it stands; a signal while data and vectors are read ends that at once."""
    try:
        with stop.abandonable(grace=0):
            return Trainer(config, folder, group, progress, stop)
    except Abandoned:
        raise TrainingInterrupted(
            f"stopped while the data were read; {folder} is as it was"
        ) from None


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    """PyTorch, and with it the solver, on `number` threads."""
    before = torch.get_num_threads()
    if number is not None:
        torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
