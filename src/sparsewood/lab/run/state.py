"""The state of a run: everything that the rest of training depends on."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from sparsewood.calls import Calls
from sparsewood.lab.data.batches import Split
from sparsewood.lab.run.config import AS_LR, TrainingConfig
from sparsewood.lab.run.distributed import World
from sparsewood.lab.run.optimizer import Average, by_rate, make_optimizer
from sparsewood.lab.run.reproducibility import fingerprint, random_state, set_random_state
from sparsewood.lab.run.schedule import (
    Schedule,
    annealings,
    epochs_allowed,
    ordinary,
    rounded,
    share,
    stage_after,
)
from sparsewood.lab.tasks.build import TASKS
from sparsewood.lab.tasks.metrics import Metric
from sparsewood.lab.tasks.task import Model
from sparsewood.nn.between import BetweenArcScorer


class TrainingState:
    """Model, optimizer, schedule and position of a run.

    Attributes:
        learned: the parameters that training changes.
        epoch: number of completed epochs.
        step: number of completed steps of the current epoch.
        seconds: training time of those steps.
        metrics: metrics of those steps in this process.
        rounding: current amount of rounding of the scorers.
        history: the metrics of each completed epoch.
        saved: time of the last save, by the monotonic clock.
        fingerprint: hash of the data and of fixed weights.
    """

    def __init__(
        self,
        folder: Path,
        config: TrainingConfig,
        model: Model,
        splits: Mapping[str, Split],
        group: World,
    ) -> None:
        self.folder, self.model, self.group, self._config = folder, model, group, config
        encoder_lr = None if config.encoder_lr == AS_LR else config.encoder_lr
        self.learned = [p for p in model.parameters() if p.requires_grad]
        self._parser = model.parser_parameters()
        groups, self._shares = by_rate(
            self.learned,
            (self._parser, config.parser_lr),
            (model.encoder_parameters(), encoder_lr),
            lr=config.lr,
        )
        self.optimizer = make_optimizer(groups, config)
        self._average = Average(model, config.average) if config.average else None
        self._annealed = annealings(config.anneal, getattr(model.options, "estimator", ""))
        self._rounding = [
            module
            for kept in {model, self.evaluated}
            for module in kept.modules()
            if isinstance(module, BetweenArcScorer)
        ]
        half = config.precision == "float16" and group.device.type == "cuda"
        self.scaler = torch.amp.GradScaler(group.device.type, enabled=half)
        self.schedule = Schedule(config.lr)
        self.epoch, self.step, self.seconds = 0, 0, 0.0
        self._calls = 0
        self._counted: list[Calls] = []
        self.rounding = 0.0
        self.metrics = self.new_metrics()
        self.history: list[dict[str, Any]] = []
        self.saved = time.monotonic()
        self.fingerprint = fingerprint(model, splits.values())

    @property
    def average(self) -> Model | None:
        """The model of averaged weights, if they are averaged."""
        return None if self._average is None else self._average.model

    @property
    def evaluated(self) -> Model:
        """The model to evaluate and to keep: the average, or the trained one."""
        return self.model if self._average is None else self._average.model

    @property
    def steps(self) -> int:
        """The number of steps of completed epochs."""
        return self.history[-1]["step"] if self.history else 0

    @property
    def stage(self) -> int | None:
        """The maximum sentence length of the next epoch; None outside stages."""
        return stage_after(self.history, self._config)

    @property
    def ordinary(self) -> int:
        """The number of completed ordinary epochs."""
        return ordinary(self.history)

    @property
    def over(self) -> bool:
        """Whether training ends here."""
        allowed = epochs_allowed(self.history, self._config)
        return self.schedule.over(self.ordinary, allowed, self._config.patience)

    @property
    def position(self) -> str:
        """The position of the run, in words."""
        if self.step:
            return f"after step {self.step} of epoch {self.epoch + 1}"
        return f"after epoch {self.epoch}" if self.epoch else "at its start"

    @property
    def stopped(self) -> str:
        """The message if training stops here."""
        return f"stopped; {self.folder} is saved {self.position}"

    @property
    def calls(self) -> int:
        """The calls of inference in the current epoch, in this process."""
        self._calls += sum(calls.total for calls in self._counted)
        self._counted = []
        return self._calls

    def new_metrics(self) -> list[Metric]:
        """Empty metrics of training."""
        return self.model.new_metrics(training=True)

    def set_rate(self, steps: int) -> None:
        """Set the learning rate of the next step in an epoch of `steps` steps."""
        t, rate = self._config, self.schedule.lr
        if self.stage is None:
            # Epochs of batches by words differ by a few steps at most.
            done = self.ordinary * steps + self.step
            end = epochs_allowed(self.history, t) * steps if t.linear else None
            rate *= share(done, warm_up=t.warm_up or 0, steps=end)
        for parameters, part in zip(self.optimizer.param_groups, self._shares, strict=True):
            parameters["lr"] = rate * part

    def set_rounding(self, steps: int) -> None:
        """Set the rounding of scorers for the next step of an epoch of `steps` steps."""
        done = 0.0
        if self.stage is None:
            allowed = epochs_allowed(self.history, self._config)
            done = (self.ordinary + self.step / steps) / allowed
        self.give_rounding(rounded(done, self._config.rounding))

    def give_rounding(self, value: float) -> None:
        """Set the rounding of the models' scorers."""
        self.rounding = value
        for scorer in self._rounding:
            scorer.rounding = value

    def anneal(self, epoch: int) -> None:
        """Set annealed options to their values after `epoch` ordinary epochs."""
        for number in self._annealed:
            value = number.at(epoch, self._config.anneal_epochs)
            for model in {self.model, self.evaluated}:
                model.set_latent(number.name, value)

    def update(self, metrics: Sequence[Metric], calls: Calls | None) -> None:
        """Update the weights and clear the gradients.

        Args:
            metrics: metrics of the step, which are added to those of the epoch.
            calls: calls of inference in the step, if it has examples.
        """
        for so_far, metric in zip(self.metrics, metrics, strict=True):
            so_far.merge(metric)
        if calls is not None:
            self._counted.append(calls)
        if self.ordinary < self._config.composer_first:
            for parameter in self._parser:
                parameter.grad = None
        if self._config.clip is not None:
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.learned, self._config.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        if self._average is not None:
            self._average.update(self.model)

    def end_epoch(self, examples: int, validation: dict[str, Any]) -> dict[str, Any]:
        """Complete an epoch of so many examples; returns its entry of metrics.

        All processes call this. The state of the optimizer is reset at the end of a stage.
        """
        metrics = self.new_metrics()
        for metric in self.metrics:
            metric.settle()
        for theirs in self.group.gather(self.metrics):
            for metric, other in zip(metrics, theirs, strict=True):
                metric.merge(other)
        calls = sum(self.group.gather(self.calls))
        seconds = self.group.on_first(
            lambda: self.seconds
        )  # so that all processes end after the same epoch
        criterion, stage = TASKS[self.model.task].metrics.criterion, self.stage
        best = stage is None and self.schedule.update(
            self.epoch + 1,
            validation[criterion.name],
            decay=self._config.decay,
            higher_is_better=criterion.higher_is_better,
            settled=not self._rounding or self._config.rounding is None or self.rounding == 1,
        )
        record = {
            "epoch": self.epoch + 1,
            **({} if stage is None else {"stage": stage}),
            "step": self.steps + self.step,
            "seconds": seconds,
            "sentences_per_second": examples / seconds,
            "calls": calls / examples,
            "lr": self.optimizer.param_groups[0]["lr"],
            **({"rounding": self.rounding} if self._rounding else {}),
            "best": best,
            "train": {name: v for metric in metrics for name, v in metric.values().items()},
            "validation": validation,
        }
        self.history.append(record)
        if self.stage != stage:
            self.optimizer.state.clear()
        self.epoch, self.step, self.seconds = self.epoch + 1, 0, 0.0
        self._calls, self._counted = 0, []
        self.metrics = self.new_metrics()
        return record

    def snapshot(self) -> dict[str, Any]:
        """The state without the weights, for a checkpoint; all processes call this."""
        mine = {
            "random": random_state(self.group.device),
            "metrics": [metric.sums() for metric in self.metrics],
            "calls": self.calls,
        }
        return {
            "epoch": self.epoch,
            "step": self.step,
            "seconds": self.seconds,
            "history": self.history,
            "schedule": asdict(self.schedule),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "fingerprint": self.fingerprint,
            "processes": self.group.gather(mine),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore a `snapshot`; the caller restores the weights."""
        processes: Sequence[Mapping[str, Any]] = snapshot["processes"]
        mine = processes[min(self.group.rank, len(processes) - 1)]
        self.optimizer.load_state_dict(self._of_this_device(snapshot["optimizer"]))
        self.scaler.load_state_dict(snapshot["scaler"])
        self.schedule = Schedule(**snapshot["schedule"])
        self.epoch, self.step = int(snapshot["epoch"]), int(snapshot["step"])
        self.seconds, self.history = float(snapshot["seconds"]), list(snapshot["history"])
        if self._average is not None:
            self._average.updates = self.steps + self.step
        self._calls = int(mine.get("calls", 0))  # missing in runs of earlier versions
        for metric, sums in zip(self.metrics, mine["metrics"], strict=True):
            vars(metric).update(sums)
        set_random_state(mine["random"], self.group.device)

    def _of_this_device(self, optimizer: Mapping[str, Any]) -> dict[str, Any]:
        """The state of an optimizer whose kernels are those for the device of this process."""
        own = [{"fused": group.get("fused")} for group in self.optimizer.param_groups]
        groups = zip(optimizer["param_groups"], own, strict=True)
        return {**optimizer, "param_groups": [{**theirs, **mine} for theirs, mine in groups]}
