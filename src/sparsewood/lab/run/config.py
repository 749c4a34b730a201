"""The configuration of a run: source, model and training, and their form as JSON."""

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
from sparsewood.lab.tasks.readers import scores_arcs
from sparsewood.lab.tasks.targets.classes import ACCURACY

ENCODER_LR = 3e-5  # for Adam; the learning rates of new layers destroy pretrained weights
ENCODER_WARM_UP = 100  # steps; first gradients, through new layers, are noise to the encoder
AS_LR = "lr"
EncoderRate = Annotated[float | Literal["lr"] | None, "X|lr"]


@dataclass(frozen=True)
class TrainingConfig:
    """How to train a model. The defaults are those of most published runs.

    Attributes:
        optimizer: optimizer, SGD or Adam.
        lr: learning rate of the first epoch.
        parser_lr: learning rate of the arc scorer. Default: `lr`. Where the composer reads words,
            it also applies to the BiLSTM, and to embeddings that only the parser reads. It follows
            the schedule of `lr`.
        encoder_lr: learning rate of a fine-tuned pretrained encoder. Default: 3e-5 with
            --tune-encoder. "lr" means the rate of the layers that read the encoder: `lr`, or
            `parser_lr` if only the parser reads it. It follows the schedule of `lr`.
        encoder_cache: maximum size of the kept outputs of frozen encoders. They are computed
            once and read from the cache in later epochs and runs; 0 computes them in every epoch.
        composer_first: number of first epochs in which the arc scorer is fixed.
        anneal: options of the estimator, or "noise", to change over epochs. "temperature=4:1" goes
            from 4 in the first epoch to 1 after `anneal_epochs`; likewise "max_active=2:10".
        anneal_epochs: number of epochs over which `anneal` changes them.
        rounding: shares of training between which the steps of the scorer "between" are rounded
            more and more. The best epoch is chosen among those with full rounding, if there are
            any. None: no rounding.
        average: decay of an exponential moving average of the weights. The average is then
            validated and kept, with 0.999 for example, less in the first steps; 0 turns it off.
        beta2: decay of Adam's mean of squared gradients.
        weight_decay: decoupled weight decay (AdamW; L2 with SGD) of the parameters trained at `lr`.
        batch: examples per step, over all processes.
        batch_words: maximum words per step, including padding, instead of `batch`. Sentences of
            similar length are batched together.
        reduction: loss of a step: mean or sum over its examples.
        shuffle: what to shuffle every epoch. "examples" makes new batches of similar lengths;
            "batches" makes batches of any lengths once and shuffles their order.
        short_first: maximum sentence length of each stage of a curriculum. Stages come before the
            ordinary epochs; `max_epochs`, `linear`, `warm_up`, `decay`, `patience`,
            `composer_first` and `anneal` count only ordinary epochs, and the best epoch is one of
            those. After each stage the state of the optimizer is reset.
        stage_accuracy: training accuracy, in percent, that ends a stage.
        stage_epochs: maximum epochs per stage.
        eval_batch: batch size of evaluation.
        max_epochs: maximum number of epochs.
        max_seconds: maximum seconds of training, without validation. The epoch in which they run
            out is the last, unless `max_epochs` ends the run before.
        decay: factor of the learning rate after an epoch without improvement on validation.
        patience: epochs without improvement before training stops; None for no limit.
        warm_up: steps over which the learning rate rises to `lr`. Default: 0; 100 with
            --tune-encoder.
        linear: decrease the learning rate linearly to 0 at the end. The end is that of
            `max_epochs`, or of `max_seconds` as estimated from the epochs so far.
        clip: maximum norm of the gradient; None for no clipping.
        precision: precision of the forward pass; parameters stay in float32.
        seed: seed of the initial weights, the order of examples and dropout.
        device: auto, cpu or cuda; auto uses a GPU if there is one.
        threads: number of CPU threads of PyTorch and the solver; None keeps PyTorch's setting.
        temperatures: choose the temperature of the estimator on validation after training.
        tensorboard: also write events for TensorBoard.
        checkpoint_minutes: minutes between checkpoints within an epoch.
    """

    optimizer: Literal["sgd", "adam"] = "adam"
    lr: float = 0.001
    parser_lr: float | None = None
    encoder_lr: EncoderRate = None
    encoder_cache: Annotated[float, "GB"] = 8.0
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
    warm_up: int | None = None
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
            ("encoder_cache", 0 <= self.encoder_cache < float("inf"), "at least 0"),
        )

    @classmethod
    def default(cls, source: Source | type[Source], **options: Any) -> "TrainingConfig":
        """The defaults of the source's task, with `options` replaced."""
        return cls(**{**TASKS[source.task].training, **options})


@dataclass(frozen=True)
class RunConfig:
    """Everything that a run depends on.

    Attributes:
        source: where the corpus and the word vectors come from.
        model: options of the model, of the class for the source's task. Default: those of the task.
        training: options of training. Default: those of the task. If a pretrained encoder is
            fine-tuned, `encoder_lr` is set to `ENCODER_LR` and `warm_up` to `ENCODER_WARM_UP`
            unless they are given.
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
                "training.short_first: stages end by accuracy, but the criterion of "
                f"{self.source.name} is {criterion.label}, got {self.training.short_first}"
            )

    def _complete_rates(self) -> None:
        """Set the defaults of learning rates that depend on the encoder."""
        told, tuned = self.training, self.model.tune_encoder
        if tuned and told.encoder_lr is None:
            told = replace(told, encoder_lr=ENCODER_LR)
        if told.warm_up is None:
            told = replace(told, warm_up=ENCODER_WARM_UP if tuned else 0)
        object.__setattr__(self, "training", told)

    def _check_latent(self) -> None:
        """Raise ValueError if an option of training needs latent trees that the model does not
        have.
        """
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
        """Raise ValueError if an option of source or training does not fit the encoder."""
        if self.source.vectors is not None and not self.model.reads_vectors:
            raise ValueError(f"source.{unread_vectors(self.model.encoder)}")
        if self.training.encoder_lr is not None and not self.model.tune_encoder:
            raise ValueError(
                "training.encoder_lr: expected none, as no encoder is fine-tuned (pass "
                "--encoder hf:NAME --tune-encoder to fine-tune one), got "
                f"{self.training.encoder_lr!r}"
            )

    @property
    def rounds(self) -> bool:
        """Whether training rounds the steps of an arc scorer."""
        estimator: str | None = getattr(self.model, "estimator", None)
        between = getattr(self.model, "scorer", "") in ("between", "both")
        scored = estimator is None or scores_arcs(estimator)
        return between and scored and self.training.rounding is not None

    def to_json(self) -> dict[str, Any]:
        """The configuration as dictionaries, numbers and strings."""
        return {
            "source": source_to_json(self.source),
            "model": encode(self.model),
            "training": encode(self.training),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "RunConfig":
        """The inverse of `to_json`; an extra entry "sparsewood" with the version is allowed.

        Raises:
            ValueError: if entries are unknown or of the wrong type, with their names.
        """
        parts = ("source", "model", "training")
        no_others(data, (*parts, "sparsewood"), "the configuration of a run")
        missing = [name for name in parts if not isinstance(data.get(name), Mapping)]
        if missing:
            raise ValueError(f"the configuration of a run has no {', '.join(missing)}")
        source = source_from_json(data["source"])
        model = decode(TASKS[source.task].config, stored_options(data["model"]), "model")
        training = decode(TrainingConfig, data["training"], "training")
        if model.tune_encoder and training.encoder_lr is None:  # written by an earlier version
            training = replace(training, encoder_lr=AS_LR)
        return cls(source, model, training)


def _is_span(shares: tuple[float, ...] | None) -> bool:
    return shares is None or (len(shares) == 2 and 0 <= shares[0] <= shares[1] <= 1)


def differences(old: RunConfig, new: RunConfig) -> list[str]:
    """The differences between two configurations, as "training.lr: 0.1 -> 0.3"."""
    mine, theirs = _flat(old.to_json()), _flat(new.to_json())
    return [
        f"{name}: {mine.get(name)!r} -> {theirs.get(name)!r}"
        for name in dict.fromkeys([*mine, *theirs])
        if mine.get(name) != theirs.get(name)
    ]


def _flat(data: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {f"{part}.{name}": value for part, d in data.items() for name, value in d.items()}
