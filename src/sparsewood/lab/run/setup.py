"""Setting up a run: its lock, signals, data, model and state."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch

from sparsewood.lab._files import sole_writer
from sparsewood.lab.data.batches import Batches
from sparsewood.lab.run.bars import automatic
from sparsewood.lab.run.by_length import Bins
from sparsewood.lab.run.checkpoint import restore
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.distributed import World, world
from sparsewood.lab.run.evaluate import Evaluator, autocast
from sparsewood.lab.run.folder import check_folder
from sparsewood.lab.run.interrupt import Abandoned, StopWish, TrainingInterrupted, listen
from sparsewood.lab.run.loop import Trainer
from sparsewood.lab.run.machine import avoid_refused_amx
from sparsewood.lab.run.prepare import prepare
from sparsewood.lab.run.progress import Progress
from sparsewood.lab.run.reproducibility import seed_everything
from sparsewood.lab.run.schedule import check_stages
from sparsewood.lab.run.state import TrainingState
from sparsewood.lab.tasks.frozen import keep_outputs


def train(
    config: RunConfig,
    folder: Path | str,
    *,
    resume: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a model with the configuration `config`, and save the run in `folder`.

    Under `torchrun`, processes share each batch. The global random generators are seeded.

    Args:
        config: source, model and training.
        folder: folder of the run; it must not hold a run unless `resume`.
        resume: resume the run in `folder`, if there is one. On a CPU, the result equals that of an
            uninterrupted run, bit for bit. Only `max_epochs` and `max_seconds` may be raised.
        progress: shows the progress. Default: bars on a terminal, lines elsewhere.

    Returns:
        The result, as in `result.json`.

    Raises:
        ValueError: on invalid input, if the folder is in use, or if its run has another
            configuration.
        NonFiniteLoss: if training diverges; the last good checkpoint is kept.
        TrainingInterrupted: on Ctrl-C or SIGTERM, after the state is saved.
    """
    folder, t = Path(folder), config.training
    with _threads(t.threads), world(t.device) as group:
        if t.precision == "float16" and group.device.type == "cpu":
            raise ValueError("precision: float16 needs a GPU; bfloat16 works on the CPU too")
        progress = (progress or automatic()) if group.first else Progress()
        half = "bfloat16" in (t.precision, config.model.encoder_precision)
        if half and group.device.type == "cpu":
            avoid_refused_amx(progress.note)
        with ExitStack() as held:
            held.callback(progress.close)
            group.on_first(lambda: held.enter_context(sole_writer(folder)))
            result = group.on_first(lambda: check_folder(config, folder, resume=resume))
            if result is None:
                stop = held.enter_context(listen())
                return _unless_stopped(config, folder, group, progress, stop).run()
            progress.finish(folder, result, already=True)
            return result


def _unless_stopped(
    config: RunConfig, folder: Path, group: World, progress: Progress, stop: StopWish
) -> Trainer:
    """The run from `set_up`; a signal while data and vectors are read stops it immediately."""
    try:
        with stop.abandonable(grace=0):
            return set_up(config, folder, group, progress, stop)
    except Abandoned:
        raise TrainingInterrupted(
            f"stopped while the data were read; {folder} is unchanged"
        ) from None


def set_up(
    config: RunConfig, folder: Path, group: World, progress: Progress, stop: StopWish
) -> Trainer:
    """The run in `folder` at its start or at its last checkpoint."""
    t = config.training
    corpus, model, splits = prepare(config, progress.note)
    if model.encoder_parameters():
        progress.note(
            f"fine-tuning {config.model.encoder}, encoder_lr {t.encoder_lr}, warm_up {t.warm_up}"
        )
    model = model.to(group.device)
    with autocast(group.device, t.precision):
        watch = partial(_watched, progress)
        keep_outputs(model, splits, t.encoder_cache, progress.note, watch)
    train = splits["train"]
    batches = Batches(train, t.batch, words=t.batch_words, shuffle=t.shuffle, seed=t.seed)
    check_stages(t, train.lengths)
    names = ("validation", *corpus.tests)
    evaluated = {name: Batches(splits[name], t.eval_batch) for name in names}
    state = TrainingState(folder, t, model, splits, group)
    evaluator = Evaluator(
        state.evaluated,
        evaluated,
        t,
        group.device,
        stop,
        lambda: state.stopped,
        progress,
        Bins.of(config.source, corpus),
    )
    trainer = Trainer(config, state, batches, evaluator, progress, stop)
    seed_everything(t.seed + group.rank)  # dropout differs between processes
    if restore(state, progress.note):
        progress.note(f"{folder}: resuming {state.position}")
    return trainer


def _watched(progress: Progress, batches: Sequence[list[int]]) -> Iterator[list[int]]:
    """Yield the batches of a pretrained encoder and show the progress."""
    progress.start_work("encoder", len(batches))
    for done, batch in enumerate(batches):
        yield batch
        progress.work(done + 1)


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    """Run PyTorch and the solver on `number` threads."""
    before = torch.get_num_threads()
    if number is not None:
        torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
