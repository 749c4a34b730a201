"""The state of a run: all that its future depends on, as objects and as a checkpoint."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from sparsewood.calls import Calls
from sparsewood.lab._files import write_text
from sparsewood.lab.data.batches import Split
from sparsewood.lab.run import checkpoint
from sparsewood.lab.run.anneal import annealings
from sparsewood.lab.run.budget import epochs_allowed
from sparsewood.lab.run.config import AS_LR, TrainingConfig
from sparsewood.lab.run.distributed import World
from sparsewood.lab.run.schedule import Schedule, share
from sparsewood.lab.run.stages import ordinary, stage_after
from sparsewood.lab.tasks.metrics import Metric
from sparsewood.lab.tasks.task import Model

_ENTRIES = (
    *("epoch", "step", "seconds", "history", "schedule", "optimizer", "scaler"),
    *("fingerprint", "processes"),
)


class TrainingState:
    """Model, optimizer, schedule, and how far training has come.

    Attributes:
        learned: the parameters that training changes.
        evaluated: the model that is evaluated and kept: the average, or the one trained.
        epoch: how many are complete.
        step: how many steps of the next one are done.
        seconds: what those took.
        metrics: what those saw, in this process.
        history: the metrics of each complete epoch.
    """

    def __init__(
        self,
        config: TrainingConfig,
        model: Model,
        splits: dict[str, Split],
        group: World,
    ) -> None:
        self.model, self.group, self._config = model, group, config
        encoder_lr = None if config.encoder_lr == AS_LR else config.encoder_lr
        self.learned = [p for p in model.parameters() if p.requires_grad]
        self._parser = model.parser_parameters()
        groups, self._shares = _by_rate(
            self.learned,
            (self._parser, config.parser_lr),
            (model.encoder_parameters(), encoder_lr),
            lr=config.lr,
        )
        self.optimizer = _optimizer(groups, config)
        self._average = _Average(model, config.average) if config.average else None
        self.evaluated = model if self._average is None else self._average.model
        self._annealed = annealings(config.anneal, getattr(model.options, "estimator", ""))
        half = config.precision == "float16" and group.device.type == "cuda"
        self.scaler = torch.amp.GradScaler(group.device.type, enabled=half)
        self.schedule = Schedule(config.lr)
        self.epoch, self.step, self.seconds = 0, 0, 0.0
        self._calls = 0
        self._counted: list[Calls] = []
        self.metrics = self.new_metrics()
        self.history: list[dict[str, Any]] = []
        self._fingerprint = checkpoint.fingerprint(model, splits.values())

    @property
    def steps(self) -> int:
        """Those of the complete epochs."""
        return self.history[-1]["step"] if self.history else 0

    @property
    def stage(self) -> int | None:
        """The most words of a sentence in the next epoch; None outside stages."""
        return stage_after(self.history, self._config)

    @property
    def ordinary(self) -> int:
        """How many of the complete epochs are of no stage."""
        return ordinary(self.history)

    @property
    def over(self) -> bool:
        """Whether training ends here."""
        allowed = epochs_allowed(self.history, self._config)
        return self.schedule.over(self.ordinary, allowed, self._config.patience)

    def set_rate(self, steps: int) -> None:
        """Give the optimizer the learning rate of the next of an epoch's `steps` steps."""
        t, rate = self._config, self.schedule.lr
        if self.stage is None:
            # Epochs of batches by words differ by a few steps at most.
            done = self.ordinary * steps + self.step
            end = epochs_allowed(self.history, t) * steps if t.linear else None
            rate *= share(done, warm_up=t.warm_up, steps=end)
        for parameters, part in zip(self.optimizer.param_groups, self._shares, strict=True):
            parameters["lr"] = rate * part

    def anneal(self, epoch: int) -> None:
        """Give the models what is annealed, as it is after `epoch` epochs of no stage."""
        for number in self._annealed:
            value = number.at(epoch, self._config.anneal_epochs)
            for model in {self.model, self.evaluated}:
                model.set_latent(number.name, value)

    def update(self) -> None:
        """Change the weights by their gradients, and take these away."""
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

    @property
    def calls(self) -> int:
        """What the steps of the next epoch have asked of inference so far, in this process."""
        self._calls += sum(calls.total for calls in self._counted)
        self._counted = []
        return self._calls

    def add(self, metrics: Sequence[Metric], calls: Calls | None) -> None:
        """Take into account what a step saw, and what it asked of inference."""
        for so_far, metric in zip(self.metrics, metrics, strict=True):
            so_far.merge(metric)
        if calls is not None:
            self._counted.append(calls)

    def new_metrics(self) -> list[Metric]:
        """Those of training."""
        return self.model.new_metrics(training=True)

    def end_epoch(self, record: dict[str, Any]) -> None:
        """An epoch is complete; `record` is its line of metrics.

        The optimizer starts afresh where a stage ends.
        """
        self.history.append(record)
        if self.stage != record.get("stage"):
            self.optimizer.state.clear()
        self.epoch, self.step, self.seconds = record["epoch"], 0, 0.0
        self._calls, self._counted = 0, []
        self.metrics = self.new_metrics()

    def snapshot(self) -> dict[str, Any]:
        """The state as a checkpoint has it, without the weights; every process takes part."""
        mine = {
            "random": checkpoint.random_state(self.group.device),
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
            "fingerprint": self._fingerprint,
            "processes": self.group.gather(mine),
        }

    def save(self, folder: Path, snapshot: dict[str, Any]) -> None:
        """Write a checkpoint and the metrics; keep the one before and the best besides."""
        name = checkpoint.name_of(snapshot["epoch"], snapshot["step"])
        average = None if self._average is None else self.evaluated
        checkpoint.save(folder / "checkpoints" / name, self.model, snapshot, average)
        self._tidy(folder, name)

    def restore(self, folder: Path, note: Callable[[str], None] = lambda _: None) -> bool:
        """Go back to the last checkpoint, if there is one; whether there is.

        From a checkpoint that is damaged, `note` being told, to the one before it.

        Raises:
            ValueError: if data, word vectors or the number of processes are not those of the run,
                or no checkpoint is whole.
        """
        found = checkpoint.checkpoints(folder / "checkpoints")
        damage: list[str] = []
        for path in found:
            try:
                self._restore_from(path, folder)
            except checkpoint.Damaged as error:
                damage.append(str(error))
                continue
            for text in damage:
                note(f"{text}: going back to {path.name}")
            if self.group.first:  # a kill may have come before this was done
                self._tidy(folder, path.name)
            return True
        if found:
            raise ValueError(f"{damage[0]}; no checkpoint of {folder} is whole")
        return False

    def _restore_from(self, path: Path, folder: Path) -> None:
        state = checkpoint.load(path, _ENTRIES)
        if state["fingerprint"] != self._fingerprint:
            raise ValueError(
                f"{folder}: the data, word vectors or pretrained encoder have changed since the "
                "run began"
            )
        checkpoint.load_weights(path, self.model)
        if self._average is not None:
            checkpoint.load_weights(path, self.evaluated, average=True)
        try:
            processes = len(state["processes"])
            mine = state["processes"][min(self.group.rank, processes - 1)]
            self.optimizer.load_state_dict(state["optimizer"])
            self.scaler.load_state_dict(state["scaler"])
            self.schedule = Schedule(**state["schedule"])
            self.epoch, self.step = int(state["epoch"]), int(state["step"])
            self.seconds, self.history = float(state["seconds"]), list(state["history"])
            if self._average is not None:
                self._average.begun = self.steps + self.step > 0
            self._calls = int(mine.get("calls", 0))  # runs of before it was counted go on
            for metric, sums in zip(self.metrics, mine["metrics"], strict=True):
                vars(metric).update(sums)
            checkpoint.set_random_state(mine["random"], self.group.device)
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
            raise checkpoint.Damaged(f"{path}: not a checkpoint of this run ({error})") from error
        if processes != self.group.size:
            raise ValueError(f"{folder}: a run of {processes} processes, not {self.group.size}")

    @property
    def position(self) -> str:
        """How far training has come, in words."""
        if self.step:
            return f"after step {self.step} of epoch {self.epoch + 1}"
        return f"after epoch {self.epoch}" if self.epoch else "at its start"

    def take_best(self, folder: Path) -> None:
        """Give `evaluated` the weights of the best epoch, and what is annealed as it was then."""
        best = self.schedule.best_epoch
        path = folder / "checkpoints" / checkpoint.name_of(best)
        checkpoint.load_weights(path, self.evaluated, average=self._average is not None)
        self.anneal(ordinary(self.history[: best - 1]))

    def close(self, folder: Path) -> None:
        """Training is over: keep the last checkpoint and the best one."""
        last, best = map(checkpoint.name_of, (self.epoch, self.schedule.best_epoch))
        checkpoint.prune(folder / "checkpoints", [last, best])

    def _tidy(self, folder: Path, last: str) -> None:
        """Keep the checkpoint `last`, the one before it and the best, and write the metrics."""
        names = [path.name for path in checkpoint.checkpoints(folder / "checkpoints")]
        best = checkpoint.name_of(self.schedule.best_epoch)
        after = names.index(last) + 1
        checkpoint.prune(folder / "checkpoints", [last, best, *names[after : after + 1]])
        lines = [json.dumps(record) + "\n" for record in self.history]
        write_text(folder / "metrics.jsonl", "".join(lines))


def _by_rate(
    learned: list[nn.Parameter], *apart: tuple[list[nn.Parameter], float | None], lr: float
) -> tuple[list[list[nn.Parameter]], list[float]]:
    """The parameters of each learning rate, and its share in that of the step.

    Args:
        learned: all of them.
        apart: some, and a rate of their own unless that is None; of several the last one counts.
        lr: that of the others.
    """
    groups, shares = [learned], [1.0]
    for own, rate in apart:
        if rate is not None and own:
            taken = set(own)
            groups = [*([p for p in group if p not in taken] for group in groups), own]
            shares.append(rate / lr)
    return groups, shares


def _optimizer(groups: list[list[nn.Parameter]], config: TrainingConfig) -> torch.optim.Optimizer:
    options = [{"params": parameters} for parameters in groups]
    # On a GPU one kernel changes all weights, and tells by itself whether a gradient overflowed.
    fused = all(p.is_cuda for parameters in groups for p in parameters) or None
    if config.optimizer == "sgd":
        return torch.optim.SGD(options, config.lr, fused=fused)
    return torch.optim.Adam(options, config.lr, betas=(0.9, config.beta2), fused=fused)


class _Average:
    """The moving average of the weights of a model, which begins with those after a step."""

    def __init__(self, model: Model, decay: float) -> None:
        self.model, self.begun = deepcopy(model), False
        self._blend = get_ema_multi_avg_fn(decay)
        for module in self.model.modules():  # on a GPU, copies of its weights lie apart
            if isinstance(module, nn.RNNBase):
                module.flatten_parameters()

    @torch.no_grad()
    def update(self, model: Model) -> None:
        """Take into account what the weights are after one more step."""
        mine: list[Tensor] = list(self.model.parameters())
        others: list[Tensor] = list(model.parameters())
        copied = list(zip(self.model.buffers(), model.buffers(), strict=True))
        if self.begun:
            self._blend(mine, others, None)
        else:
            copied += zip(mine, others, strict=True)
        for average, other in copied:
            average.copy_(other)
        self.begun = True
