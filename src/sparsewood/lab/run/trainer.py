"""A run in the making: steps, epochs and checkpoints."""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from sparsewood.calls import Calls, count_calls
from sparsewood.lab._files import write_json
from sparsewood.lab._memory import of_sentences, told_if_out_of_memory
from sparsewood.lab.data.batches import Batches
from sparsewood.lab.run import checkpoint
from sparsewood.lab.run.board import Board
from sparsewood.lab.run.budget import seconds_left
from sparsewood.lab.run.collapse import collapse
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.distributed import World, parallel
from sparsewood.lab.run.environment import environment
from sparsewood.lab.run.evaluate import autocast
from sparsewood.lab.run.evaluator import Evaluator
from sparsewood.lab.run.finish import finish
from sparsewood.lab.run.folder import begin
from sparsewood.lab.run.interrupt import Abandoned, StopWish, TrainingInterrupted
from sparsewood.lab.run.prepare import prepare
from sparsewood.lab.run.progress import Progress, Values
from sparsewood.lab.run.stages import check_stages, given_up
from sparsewood.lab.run.state import TrainingState
from sparsewood.lab.tasks.build import TASKS
from sparsewood.lab.tasks.measures import LOSS
from sparsewood.lab.tasks.metrics import Metric, Output

_LOOK = 64  # steps on a GPU: to look at a loss, the host has to wait for it


class NonFiniteLoss(ValueError):  # noqa: N818 (named after what happened)
    """The loss is NaN or infinite; the message names the batch."""


class _Seen(NamedTuple):
    """What a step came to in this process."""

    loss: Tensor
    metrics: list[Metric]
    calls: Calls | None


class _Loss(NamedTuple):
    """The loss of a step, counted from 1, on the examples `rows`."""

    step: int
    rows: Sequence[int]
    value: Tensor


class Trainer:
    """A run, in one of the processes that share it."""

    def __init__(
        self, config: RunConfig, folder: Path, group: World, progress: Progress, stop: StopWish
    ) -> None:
        self.stop = stop
        self.config, self.folder, self.group, self.progress = config, folder, group, progress
        t = config.training
        corpus, model, splits = prepare(config, progress.note)
        if model.encoder_parameters():
            progress.note(f"fine-tuning {config.model.encoder}, encoder_lr {t.encoder_lr}")
        self.model = model.to(group.device)
        self.parallel: nn.Module = self.model
        if group.size > 1:
            self.parallel = parallel(self.model)
        self.batches = Batches(
            splits["train"], t.batch, words=t.batch_words, shuffle=t.shuffle, seed=t.seed
        )
        check_stages(t, splits["train"].lengths)
        evaluated = {
            name: Batches(splits[name], t.eval_batch) for name in ("validation", *corpus.tests)
        }
        self.state = TrainingState(t, self.model, splits, group)
        # No bound method: in a cycle, `parallel` would keep the group of processes alive.
        self.how_to_go_on = partial(_how_to_go_on, folder, self.state)
        self.evaluator = Evaluator(
            self.state.evaluated, evaluated, t, group.device, stop, self.how_to_go_on, progress
        )
        checkpoint.seed_everything(t.seed + group.rank)  # dropout differs between processes
        if self.state.restore(folder, progress.note):
            progress.note(f"{folder}: going on {self.state.position}")
        self.saved = time.monotonic()
        self._losses: list[_Loss] = []  # those that no one has looked at

    def run(self) -> dict[str, Any]:
        """Train to the end, evaluate, and return the result."""
        t, group, state = self.config.training, self.group, self.state
        if group.first:
            begin(self.config, self.folder)
            write_json(self.folder / "environment.json", environment(group))
        self.progress.begin(
            self.folder, state.ordinary, t.max_epochs, seconds_left(state.history, t)
        )
        with Board(self.folder, t.tensorboard and group.first) as board:
            board.replay(state.history)
            while not state.over:
                board.add(self._end_epoch(self._train_epoch()))
            result = group.on_first(self._finish)
        self.progress.finish(self.folder, result)
        return result

    def _finish(self) -> dict[str, Any]:
        with self._writing():
            return finish(self.folder, self.state, self.evaluator, self.progress.note)

    def _train_epoch(self) -> int:
        """The steps of an epoch that are not done yet; how many examples the epoch has."""
        state = self.state
        order = self.batches.order(state.epoch, state.stage)
        self.progress.start_epoch(state.epoch + 1, state.step, len(order), state.stage)
        self.model.train()
        state.anneal(state.ordinary)
        seen = sum(map(len, order[: state.step]))
        start = time.perf_counter() - state.seconds
        for rows in order[state.step :]:
            state.set_rate(len(order))
            stopping = self._train_or_abandon(rows)
            state.step += 1
            state.seconds = time.perf_counter() - start
            seen += len(rows)
            self.progress.step(state.step, Values(state.metrics, seen, state.seconds))
            if stopping or self._due():
                self._check_losses()
                self._save(state.snapshot())
            if stopping:
                raise TrainingInterrupted(self.how_to_go_on())
        self._check_losses()  # which waits for what a GPU has still to do
        state.seconds = time.perf_counter() - start
        return seen

    def _train_or_abandon(self, rows: Sequence[int]) -> bool:
        """One step on the examples `rows`; whether a signal has asked some process to stop.

        A step that takes long when the signal comes is abandoned, and the state is saved as it was
        before it. Where processes share a step they wait for its end.
        """
        state, device = self.state, self.group.device
        if self.group.size > 1:
            return self._update(rows, self._train_on(rows))
        before = checkpoint.random_state(device)
        memory = {name: x.clone() for name, x in checkpoint.remembered(self.model).items()}
        try:
            with self.stop.abandonable():
                seen = self._train_on(rows)
        except Abandoned:
            checkpoint.set_random_state(before, device)
            self.model.load_state_dict(memory, strict=False)
            self._check_losses()
            self._save(state.snapshot())
            raise TrainingInterrupted(self.how_to_go_on()) from None
        return self._update(rows, seen)

    def _train_on(self, rows: Sequence[int]) -> _Seen:
        """Loss, metrics and gradients of a step on the examples `rows`.

        Besides these the random state changes, and what the estimator remembers.
        """
        t, group, state = self.config.training, self.group, self.state
        metrics = state.new_metrics()
        mine = rows[group.rank :: group.size]
        # A process without a share runs an example that does not count, as DDP waits for all.
        batch = self.batches.split.batch(mine or rows[:1]).to(group.device)
        # DDP takes the mean of the processes' gradients; the loss is that of all `rows`.
        units = self.batches.split.units(rows) if t.reduction == "mean" else 1
        scale = group.size / units if mine else 0.0
        with told_if_out_of_memory(lambda: self._told_of(rows)), count_calls() as calls:
            output = self._forward(batch, rows)
            assert output.loss is not None
            loss = output.loss.sum() * scale
            if group.size > 1:  # every parameter has a gradient, as DDP expects
                loss = loss + sum(0 * p.sum() for p in state.learned)
            state.scaler.scale(loss).backward()
        for metric in metrics if mine else ():
            metric.add(output, batch)
        return _Seen(loss.detach(), metrics, calls if mine else None)

    def _told_of(self, rows: Sequence[int]) -> str:
        """The batch of a step that is too large."""
        longest = max(rows, key=self.batches.split.lengths.__getitem__)
        words = self.batches.split.lengths[longest]
        return (
            f"training on {of_sentences(len(rows), words)}, row {longest} of the training split, "
            "counted from 0; a smaller --batch needs less, and --max-length leaves long examples "
            "out of training"
        )

    def _update(self, rows: Sequence[int], seen: _Seen) -> bool:
        """End a step; whether a signal has asked some process to stop."""
        state = self.state
        self._losses.append(_Loss(state.step + 1, rows, seen.loss))
        look = len(self._losses) >= self._look_every
        (stopping,) = (self._check_losses if look else self.group.any)(self.stop.raised)
        state.add(seen.metrics, seen.calls)
        state.update()
        return stopping

    @property
    def _look_every(self) -> int:
        """Steps after which their losses are looked at: the same in all processes."""
        return 1 if self.group.device.type == "cpu" else _LOOK

    def _broken(self) -> _Loss | None:
        """The first loss that is not finite, of those that no one has looked at."""
        if not self._losses:
            return None
        finite = torch.stack([loss.value for loss in self._losses]).isfinite().tolist()
        return next(
            (loss for loss, good in zip(self._losses, finite, strict=True) if not good), None
        )

    def _check_losses(self, *flags: bool) -> list[bool]:
        """Raise NonFiniteLoss in all processes if a loss is not finite in one; else forget them.

        Nothing is saved before: on a GPU steps have been taken since. Returns each of `flags`, as
        raised by any of the processes.
        """
        broken = self._broken()
        found, *raised = self.group.any(broken is not None, *flags)
        if found:
            raise self._non_finite(broken or self._losses[-1])
        self._losses.clear()
        return raised

    def _forward(self, batch: Any, rows: Sequence[int]) -> Output:
        try:
            with autocast(self.group.device, self.config.training.precision):
                return self.parallel(batch)
        except ValueError as error:  # inference refuses scores that are not finite
            if all(bool(p.isfinite().all()) for p in self.model.parameters()):
                raise
            now = _Loss(self.state.step + 1, rows, torch.tensor(math.nan))
            raise self._non_finite(self._broken() or now) from error

    def _end_epoch(self, examples: int) -> dict[str, Any]:
        """Validate and save, after so many examples; returns the line of metrics."""
        t, state = self.config.training, self.state
        snapshot = state.snapshot()  # for the case that a signal comes while validating
        metrics = state.new_metrics()
        for metric in state.metrics:
            metric.settle()
        for theirs in self.group.gather(state.metrics):
            for metric, other in zip(metrics, theirs, strict=True):
                metric.merge(other)

        def validate() -> dict[str, Any]:
            try:
                return self.evaluator.evaluate("validation")
            except TrainingInterrupted:
                self._write(snapshot)
                raise

        calls = sum(self.group.gather(state.calls))
        seconds = self.group.on_first(lambda: state.seconds)  # all end after the same epoch
        validation = self.group.on_first(validate)
        if not math.isfinite(validation[LOSS.name]):
            raise NonFiniteLoss(
                f"epoch {state.epoch + 1}: the loss on validation is not finite. "
                f"{self._last_good()}"
            )
        criterion = TASKS[self.model.task].metrics.criterion
        stage = state.stage
        best = stage is None and state.schedule.update(
            state.epoch + 1,
            validation[criterion.name],
            decay=t.decay,
            higher_is_better=criterion.higher_is_better,
        )
        record = {
            "epoch": state.epoch + 1,
            **({} if stage is None else {"stage": stage}),
            "step": state.steps + state.step,
            "seconds": seconds,
            "sentences_per_second": examples / seconds,
            "calls": calls / examples,
            "lr": state.optimizer.param_groups[0]["lr"],
            "best": best,
            "train": {name: v for metric in metrics for name, v in metric.values().items()},
            "validation": validation,
        }
        state.end_epoch(record)
        self._save(state.snapshot())
        self.progress.end_epoch(record)
        self._tell_of_trouble()
        return record

    def _tell_of_trouble(self) -> None:
        history, estimator = self.state.history, self.model.estimator
        found = [given_up(history, self.config.training)]
        if estimator is not None:
            found.append(collapse(history, estimator))
        for told in filter(None, found):
            self.progress.note(told)

    def _due(self) -> bool:
        """Whether it is time for a checkpoint within the epoch."""
        minutes = self.config.training.checkpoint_minutes
        if minutes is None:
            return False
        waited = time.monotonic() - self.saved
        return self.group.any(self.group.first and waited >= 60 * minutes)[0]

    def _save(self, snapshot: dict[str, Any]) -> None:
        self.group.on_first(lambda: self._write(snapshot))
        self.saved = time.monotonic()

    def _write(self, snapshot: dict[str, Any]) -> None:
        with self._writing():
            self.state.save(self.folder, snapshot)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Within it files are written; where that fails, what is safe is told."""
        try:
            yield
        except OSError as error:
            kept = checkpoint.latest(self.folder / "checkpoints")
            safe = f"the last whole checkpoint is {kept}" if kept else "there is no checkpoint yet"
            raise OSError(
                f"{self.folder}: cannot be written to ({error.strerror or error}); {safe}, from "
                "which --resume goes on"
            ) from error

    def _non_finite(self, loss: _Loss) -> NonFiniteLoss:
        return NonFiniteLoss(
            f"epoch {self.state.epoch + 1}, step {loss.step}: the loss is not finite; "
            f"the batch is rows {', '.join(map(str, loss.rows))} of the training split, counted "
            f"from 0. {self._last_good()}"
        )

    def _last_good(self) -> str:
        kept = checkpoint.latest(self.folder / "checkpoints")
        where = f"The last good checkpoint is {kept}." if kept else "There is no checkpoint yet."
        return f"{where} A lower learning rate or clipping may help."


def _how_to_go_on(folder: Path, state: TrainingState) -> str:
    return f"stopped; {folder} is saved {state.position}"
