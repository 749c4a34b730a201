"""What a run is made from: source, model and training, and the same as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, Literal

from sparsewood.lab._checks import check
from sparsewood.lab._json import decode, encode, no_others
from sparsewood.lab.data.batches import Shuffle
from sparsewood.lab.data.sources import Source, source_from_json, source_to_json
from sparsewood.lab.run.schedule import annealings
from sparsewood.lab.tasks.build import TASKS
from sparsewood.lab.tasks.model_config import stored_options
from sparsewood.lab.tasks.pretrained import unread_vectors
from sparsewood.lab.tasks.targets.classes import ACCURACY

ENCODER_LR = 3e-5  # for Adam: at the rates of new layers, pretrained weights are soon lost
AS_LR = "lr"
EncoderRate = Annotated[float | Literal["lr"] | None, "X|lr"]


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained. The defaults are what most of the published runs share.

    Attributes:
        optimizer: SGD or Adam.
        lr: the learning rate of the first epoch.
        parser_lr: that of what scores latent trees: the scorer, and where the composer reads words,
            the BiLSTM; its embeddings too where it has its own. None: as `lr`. It rises and falls
            as `lr` does.
        encoder_lr: learning rate of a fine-tuned pretrained encoder (3e-5 if --tune-encoder is
            given). "lr": that of what reads the encoder, `lr` or, where only the parser does,
            `parser_lr`. It rises and falls as `lr` does.
        composer_first: so many epochs at the start, what scores latent trees does not learn.
        anneal: numbers of the estimator, and "noise", that change from epoch to epoch, as
            "temperature=4:1" or "max_active=2:10": from the first epoch's value to that of all
            epochs from `anneal_epochs` on.
        anneal_epochs: how many epochs that takes.
        rounding: shares of training between which the steps of the scorer "between" are rounded
            more and more. The best epoch is chosen among those with full rounding, if there are
            any. None: no rounding.
        average: validate and keep an exponential moving average of the weights, of which every
            step keeps this share, 0.999 say; 0: the weights themselves.
        beta2: of Adam, the share of the mean of squared gradients that a step keeps.
        weight_decay: decoupled weight decay (AdamW; SGD: L2) of the parameters at the rate `lr`.
        batch: examples in a step, of all processes together.
        batch_words: the most words in a step, padding included, in place of `batch`; sentences of
            like length come together.
        reduction: the loss of a step is the mean over its examples, or their sum.
        shuffle: "examples" composes batches anew every epoch, of like lengths; "batches" composes
            them once, of any lengths, and shuffles them as wholes.
        short_first: train on sentences of at most so many words first, stage by stage. Epochs of
            stages come before all others, which alone `max_epochs`, `linear`, `warm_up`, `decay`,
            `patience`, `composer_first` and `anneal` count, and among which the best is chosen.
            After each stage the optimizer starts afresh.
        stage_accuracy: a stage ends with an epoch of this accuracy on training, in percent.
        stage_epochs: or after so many epochs.
        eval_batch: examples evaluated together.
        max_epochs: the most epochs.
        max_seconds: the most seconds of training, validation not counted: the epoch in which they
            are over is the last, if one of `max_epochs` was not before. None: without end.
        decay: the learning rate is multiplied by this after an epoch that is not the best so far
            on validation.
        patience: stop after so many epochs in a row without a new best; None never does.
        warm_up: steps in which the learning rate rises to `lr`.
        linear: let the learning rate fall, step by step, to 0 at the end of `max_epochs`, or of
            `max_seconds` as far as the epochs so far foretell it.
        clip: the largest norm of the gradient; None leaves it alone.
        precision: of the forward pass; parameters stay in float32.
        seed: of the initial weights, the order of examples and dropout.
        device: auto, cpu or cuda: "auto" takes a GPU where there is one.
        threads: of PyTorch and the solver on the CPU; None leaves them as they are.
        temperatures: choose the temperature of the estimator on validation, at the end.
        tensorboard: write events for TensorBoard as well.
        checkpoint_minutes: save within an epoch too, whenever so many minutes have passed.
    """

    optimizer: Literal["sgd", "adam"] = "adam"
    lr: float = 0.001
    parser_lr: float | None = None
    encoder_lr: EncoderRate = None
    composer_first: int = 0
    anneal: tuple[str, ...] = ()
    anneal_epochs: int = 0
    rounding: Annotated[tuple[float, float] | None, "FROM TO"] = (0.2, 0.6)
    average: float = 0.0
    beta2: float = 0.999
    weight_decay: float = 0.0
    batch: int = 16
    batch_words: int | None = None
    reduction: Literal["mean", "sum"] = "mean"
    shuffle: Shuffle = "examples"
    short_first: tuple[int, ...] = ()
    stage_accuracy: float = 97.0
    stage_epochs: int = 40
    eval_batch: int = 64
    max_epochs: int = 20
    max_seconds: float | None = None
    decay: float = 0.9
    patience: int | None = 5
    warm_up: int = 0
    linear: bool = False
    clip: float | None = None
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    seed: int = 0
    device: Annotated[Literal["auto", "cpu", "cuda"], "NAME"] = "auto"
    threads: int | None = None
    temperatures: bool = True
    tensorboard: bool = False
    checkpoint_minutes: float | None = None

    def __post_init__(self) -> None:
        def at_least(least: int, *names: str) -> list[tuple[str, bool, str]]:
            values = {name: getattr(self, name) for name in names}
            return [(n, v is None or v >= least, f"at least {least}") for n, v in values.items()]

        limited = ("parser_lr", "clip", "threads", "max_seconds", "checkpoint_minutes")
        limits = {name: getattr(self, name) for name in limited}
        rate = self.encoder_lr
        given = rate is None or rate == AS_LR or (not isinstance(rate, str) and rate > 0)
        rising = all(a < b for a, b in pairwise((0, *self.short_first)))
        check(
            "training",
            self,
            *at_least(
                1, "batch", "batch_words", "eval_batch", "max_epochs", "patience", "stage_epochs"
            ),
            *at_least(0, "warm_up", "seed", "composer_first"),
            *at_least(1 if self.anneal else 0, "anneal_epochs"),
            ("lr", 0 < self.lr < float("inf"), "a positive number"),
            ("short_first", rising, "lengths of at least 1 that increase"),
            ("stage_accuracy", 0 < self.stage_accuracy <= 100, "more than 0 and at most 100"),
            ("decay", 0 < self.decay <= 1, "more than 0 and at most 1"),
            (
                "rounding",
                _is_span(self.rounding),
                "two shares from 0 to 1, the second not less than the first, or None",
            ),
            ("average", 0 <= self.average < 1, "at least 0, less than 1"),
            ("beta2", 0 <= self.beta2 < 1, "at least 0, less than 1"),
            ("weight_decay", 0 <= self.weight_decay < float("inf"), "at least 0"),
            *((name, v is None or v > 0, "a positive number") for name, v in limits.items()),
            ("encoder_lr", given, f"a positive number, or {AS_LR!r}"),
        )

    @classmethod
    def default(cls, source: Source | type[Source], **options: Any) -> "TrainingConfig":
        """That of the source's task, but for `options`."""
        return cls(**{**TASKS[source.task].training, **options})


@dataclass(frozen=True)
class RunConfig:
    """All that a run depends on.

    Attributes:
        source: where the corpus and the word vectors come from.
        model: of the class that the source's task has for it; by default, as the task has it.
        training: how it is trained; by default, as the task has it. A pretrained encoder that is
            fine-tuned gets `ENCODER_LR` here where no rate is given.
    """

    source: Source
    model: Any = None
    training: TrainingConfig = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        kind = TASKS[self.source.task].config
        if self.model is None:
            object.__setattr__(self, "model", TASKS[self.source.task].default_options())
        if self.training is None:
            object.__setattr__(self, "training", TrainingConfig.default(self.source))
        object.__setattr__(self, "model", TASKS[self.source.task].completed(self.model))
        if not isinstance(self.model, kind):
            raise TypeError(
                f"model: expected {kind.__name__} for {self.source.name}, got {self.model!r}"
            )
        self._complete_rates()
        self._check_latent()
        self._check_encoder()
        criterion = TASKS[self.source.task].metrics.criterion
        if self.training.short_first and criterion is not ACCURACY:
            raise ValueError(
                f"training.short_first: a stage ends by accuracy, but {self.source.name} goes by "
                f"{criterion.label}, got {self.training.short_first}"
            )

    def _complete_rates(self) -> None:
        """Give an encoder that is fine-tuned the default rate where it has none."""
        if self.model.tune_encoder and self.training.encoder_lr is None:
            told = replace(self.training, encoder_lr=ENCODER_LR)
            object.__setattr__(self, "training", told)

    def _check_latent(self) -> None:
        """Raise ValueError where training tells of latent trees what the model has not."""
        estimator: str | None = getattr(self.model, "estimator", None)
        if estimator is not None:
            annealings(self.training.anneal, estimator)
            return
        for name in ("parser_lr", "composer_first", "anneal"):
            if value := getattr(self.training, name):
                raise ValueError(
                    f"training.{name}: a model for {self.source.name} has no latent trees, got "
                    f"{value!r}"
                )

    def _check_encoder(self) -> None:
        """Raise ValueError where source or training tell of an encoder what the model has not."""
        if self.source.vectors is not None and not self.model.reads_vectors:
            raise ValueError(f"source.{unread_vectors(self.model.encoder)}")
        if self.training.encoder_lr is not None and not self.model.tune_encoder:
            raise ValueError(
                "training.encoder_lr: expected none, as no encoder is fine-tuned (pass "
                "--encoder hf:NAME --tune-encoder to fine-tune one), got "
                f"{self.training.encoder_lr!r}"
            )

    def to_json(self) -> dict[str, Any]:
        """As plain dictionaries, numbers and strings."""
        return {
            "source": source_to_json(self.source),
            "model": encode(self.model),
            "training": encode(self.training),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "RunConfig":
        """The inverse of `to_json`; an entry "sparsewood" with the version may come along.

        Raises:
            ValueError: on entries that are unknown or of the wrong kind, naming them.
        """
        parts = ("source", "model", "training")
        no_others(data, (*parts, "sparsewood"), "the configuration of a run")
        missing = [name for name in parts if not isinstance(data.get(name), Mapping)]
        if missing:
            raise ValueError(f"the configuration of a run lacks {', '.join(missing)}")
        source = source_from_json(data["source"])
        model = decode(TASKS[source.task].config, stored_options(data["model"]), "model")
        training = decode(TrainingConfig, data["training"], "training")
        if model.tune_encoder and training.encoder_lr is None:  # of an earlier version
            training = replace(training, encoder_lr=AS_LR)
        return cls(source, model, training)


def _is_span(shares: tuple[float, ...] | None) -> bool:
    return shares is None or (len(shares) == 2 and 0 <= shares[0] <= shares[1] <= 1)


def differences(old: RunConfig, new: RunConfig) -> list[str]:
    """The fields in which two configurations differ, as "training.lr: 0.1 -> 0.3"."""
    mine, theirs = _flat(old.to_json()), _flat(new.to_json())
    return [
        f"{name}: {mine.get(name)!r} -> {theirs.get(name)!r}"
        for name in dict.fromkeys([*mine, *theirs])
        if mine.get(name) != theirs.get(name)
    ]


def _flat(data: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{part}.{name}": value for part, d in data.items() for name, value in d.items()}
