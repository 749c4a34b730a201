"""The training loop: epochs, their steps, and when the state is saved."""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from torch import Tensor, nn

from sparsewood.calls import Calls, count_calls
from sparsewood.lab._memory import of_sentences, told_if_out_of_memory
from sparsewood.lab.data.batches import Batches
from sparsewood.lab.run.checkpoint import save, writing
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.diagnose import diagnose
from sparsewood.lab.run.distributed import World, parallel
from sparsewood.lab.run.evaluate import Evaluator, autocast
from sparsewood.lab.run.finish import finish
from sparsewood.lab.run.folder import begin
from sparsewood.lab.run.interrupt import Abandoned, StopWish, TrainingInterrupted
from sparsewood.lab.run.losses import Losses
from sparsewood.lab.run.progress import Progress, Values
from sparsewood.lab.run.reproducibility import random_state, remembered, set_random_state
from sparsewood.lab.run.schedule import seconds_left
from sparsewood.lab.run.state import TrainingState
from sparsewood.lab.run.tensorboard import Board
from sparsewood.lab.tasks.measures import LOSS
from sparsewood.lab.tasks.metrics import Metric, Output


class _Seen(NamedTuple):
    """The results of a step in this process."""

    loss: Tensor
    metrics: list[Metric]
    calls: Calls | None


class Trainer:
    """A run in one of its processes.

    Args:
        config: configuration of the run.
        state: current state.
        batches: training batches.
        evaluator: evaluates the model on the other splits.
        progress: shows the progress.
        stop: whether a signal has asked to stop.
    """

    def __init__(
        self,
        config: RunConfig,
        state: TrainingState,
        batches: Batches,
        evaluator: Evaluator,
        progress: Progress,
        stop: StopWish,
    ) -> None:
        self.config, self.state, self.batches = config, state, batches
        self.evaluator, self.progress, self.stop = evaluator, progress, stop
        self.group: World = state.group
        self.folder: Path = state.folder
        self.model = state.model
        self._parallel: nn.Module = parallel(self.model) if self.group.size > 1 else self.model
        self._losses = Losses(state)

    def run(self) -> dict[str, Any]:
        """Train to the end, evaluate, and return the result."""
        t, group, state = self.config.training, self.group, self.state
        if group.first:
            begin(self.config, self.folder, group)
        left = seconds_left(state.history, t)
        self.progress.begin(self.folder, state.ordinary, t.max_epochs, left)
        with Board(self.folder, t.tensorboard and group.first) as board:
            board.replay(state.history)
            while not state.over:
                examples = self._train_epoch()
                record = state.end_epoch(examples, self._validate())
                save(state)
                self.progress.end_epoch(record)
                for trouble in diagnose(state.history, t, self.model.estimator):
                    self.progress.note(trouble)
                board.add(record)
            result = group.on_first(self._finish)
        self.progress.finish(self.folder, result)
        return result

    def _train_epoch(self) -> int:
        """Do the remaining steps of an epoch; returns the number of its examples."""
        state = self.state
        order = self.batches.order(state.epoch, state.stage)
        self.progress.start_epoch(state.epoch + 1, state.step, len(order), state.stage)
        self.model.train()
        state.anneal(state.ordinary)
        seen = sum(map(len, order[: state.step]))
        start = time.perf_counter() - state.seconds
        for rows in order[state.step :]:
            state.set_rate(len(order))
            state.set_rounding(len(order))
            stopping = self._step(rows)
            state.step += 1
            state.seconds = time.perf_counter() - start
            seen += len(rows)
            self.progress.step(state.step, Values(state.metrics, seen, state.seconds))
            if stopping:
                self._save_and_stop()
            if self._checkpoint_due():
                self._losses.check()
                save(state)
        state.set_rounding(len(order))
        self._losses.check()  # waits for the GPU
        state.seconds = time.perf_counter() - start
        return seen

    def _step(self, rows: Sequence[int]) -> bool:
        """Do one step on the examples `rows`; returns whether a process got a signal to stop.

        A long step is abandoned on a signal, and the state before it is saved. With several
        processes, the step is finished first.
        """
        device = self.group.device
        if self.group.size > 1:
            return self._update(rows, self._gradients(rows))
        before = random_state(device)
        memory = {name: x.clone() for name, x in remembered(self.model).items()}
        try:
            with self.stop.abandonable():
                seen = self._gradients(rows)
        except Abandoned:
            set_random_state(before, device)
            self.model.load_state_dict(memory, strict=False)
            self._save_and_stop()
        return self._update(rows, seen)

    def _gradients(self, rows: Sequence[int]) -> _Seen:
        """Loss, metrics and gradients of a step on the examples `rows`.

        This also changes the random state and the memory of the estimator.
        """
        group, state, split = self.group, self.state, self.batches.split
        metrics = state.new_metrics()
        mine = rows[group.rank :: group.size]
        # A process without examples runs one with weight 0, as DDP waits for all processes.
        batch = split.batch(mine or rows[:1]).to(group.device)
        # DDP averages gradients over processes; the loss is over all `rows`.
        units = split.units(rows) if self.config.training.reduction == "mean" else 1
        scale = group.size / units if mine else 0.0
        with told_if_out_of_memory(lambda: self._told_of(rows)), count_calls() as calls:
            output = self._forward(batch, rows)
            assert output.loss is not None
            loss = output.loss.sum() * scale
            if group.size > 1:  # DDP expects a gradient of every parameter
                loss = loss + sum(0 * p.sum() for p in state.learned)
            state.scaler.scale(loss).backward()
        for metric in metrics if mine else ():
            metric.add(output, batch)
        return _Seen(loss.detach(), metrics, calls if mine else None)

    def _forward(self, batch: Any, rows: Sequence[int]) -> Output:
        try:
            with autocast(self.group.device, self.config.training.precision):
                return self._parallel(batch)
        except ValueError as error:  # inference refuses scores that are not finite
            if all(bool(p.isfinite().all()) for p in self.model.parameters()):
                raise
            raise self._losses.refused(rows) from error

    def _told_of(self, rows: Sequence[int]) -> str:
        """Describe a training batch that is too large."""
        longest = max(rows, key=self.batches.split.lengths.__getitem__)
        words = self.batches.split.lengths[longest]
        return (
            f"training on {of_sentences(len(rows), words)}, row {longest} of the training split, "
            "counted from 0; a smaller --batch needs less, and --max-length drops long examples "
            "from training"
        )

    def _update(self, rows: Sequence[int], seen: _Seen) -> bool:
        """Finish a step; returns whether a process got a signal to stop."""
        self._losses.add(rows, seen.loss)
        check = self._losses.check if self._losses.due else self.group.any
        (stopping,) = check(self.stop.raised)
        self.state.update(seen.metrics, seen.calls)
        return stopping

    def _validate(self) -> dict[str, Any]:
        """The metrics of validation; on a signal, the state before validation is saved."""
        snapshot = self.state.snapshot()
        try:
            values = self.group.on_first(lambda: self.evaluator.evaluate("validation"))
        except TrainingInterrupted:
            save(self.state, snapshot)
            raise
        if not math.isfinite(values[LOSS.name]):
            raise self._losses.refused_validation()
        return values

    def _finish(self) -> dict[str, Any]:
        with writing(self.folder):
            return finish(self.state, self.evaluator, self.progress.note)

    def _checkpoint_due(self) -> bool:
        """Whether it is time for a checkpoint within the epoch."""
        minutes = self.config.training.checkpoint_minutes
        if minutes is None:
            return False
        waited = time.monotonic() - self.state.saved
        return self.group.any(self.group.first and waited >= 60 * minutes)[0]

    def _save_and_stop(self) -> NoReturn:
        self._losses.check()
        save(self.state)
        raise TrainingInterrupted(self.state.stopped) from None
