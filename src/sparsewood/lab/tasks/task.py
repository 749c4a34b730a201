"""The interface of tasks and their models: all that training, reports and commands use."""

import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from huggingface_hub import PyTorchModelHubMixin
from huggingface_hub.constants import SAFETENSORS_SINGLE_FILE
from safetensors.torch import save
from torch import Tensor, nn

from sparsewood.estimators import Estimator, Problem
from sparsewood.lab.data.batches import Split
from sparsewood.lab.data.examples import Corpus, Example, Sentence, TargetKind
from sparsewood.lab.data.listops import read_expression
from sparsewood.lab.data.text import tokenize
from sparsewood.lab.data.typed import typed_sentence
from sparsewood.lab.data.vectors import WordVectors
from sparsewood.lab.tasks.measures import MetricSpec
from sparsewood.lab.tasks.metrics import Metric, Output
from sparsewood.lab.tasks.pretrained import PretrainedEncoder
from sparsewood.lab.tasks.readers import name_stored, scores_arcs
from sparsewood.posterior import Posterior

PLUS = " + "  # between an estimator and other options in the name of a run

_CARD = """\
---
{{ card_data }}
---

A model made with sparsewood. `config.json` holds its task, options and words.

```python
from sparsewood.lab.tasks import load_model

model = load_model("this folder")
```
"""


class Model(nn.Module, PyTorchModelHubMixin, library_name="sparsewood", model_card_template=_CARD):
    """The interface of models.

    `save_pretrained(folder)` writes the weights and `config.json`; `from_pretrained(folder)` and
    `load_model(folder)` load it again.
    """

    task: str  # name of the task, as `config.json` and sources have it
    options: Any  # an instance of the task's `config`

    @property
    def estimator(self) -> Estimator | None:
        """The estimator of composed trees; None for a parser and for models without trees."""
        return None

    @property
    def temperature(self) -> float | None:
        """The temperature of the posterior over trees; None if it has none."""
        return None

    @temperature.setter
    def temperature(self, value: float) -> None:
        raise AttributeError(f"a model for {self.task} has no temperature")

    def set_latent(self, name: str, value: float) -> None:
        """Set a numeric option of the estimator of latent trees, or the scale of the "noise"."""
        raise AttributeError(f"a model for {self.task} has no latent trees")

    def parser_parameters(self) -> list[nn.Parameter]:
        """The trained parameters that only affect the distribution over trees."""
        return []

    def encoder_parameters(self) -> list[nn.Parameter]:
        """The trained parameters of the pretrained encoder."""
        found = (m.network for m in self.modules() if isinstance(m, PretrainedEncoder))
        return [p for network in found for p in network.parameters() if p.requires_grad]

    @staticmethod
    def words_of(text: str) -> tuple[str, ...]:
        """The words of typed text, tokenized like the corpora."""
        return tokenize(text)

    @property
    def reads_operations(self) -> bool:
        """Whether all sentences are list operations."""
        return False

    def sentence_of(self, text: str) -> Sentence:
        """The sentence of typed text; list operations come with their trees.

        Raises:
            ValueError: if the model reads list operations and the text is not one.
        """
        if self.reads_operations:
            return read_expression(text)
        return typed_sentence(text, self.words_of)

    @property
    def reads_heads(self) -> bool:
        """Whether the model needs the heads of sentences, also at test time."""
        return False

    @classmethod
    @abstractmethod
    def build(
        cls,
        corpus: Corpus,
        options: Any,
        vectors: WordVectors | None = None,
        *,
        lowercase: bool = True,
        min_count: int = 1,
    ) -> Self:
        """A model for `corpus`, as initialised from the global random state.

        Args:
            corpus: a corpus of the task.
            options: an instance of the task's `config`.
            vectors: word vectors.
            lowercase: convert words to lower case.
            min_count: minimum count of a word with a learned embedding.
        """

    @classmethod
    @abstractmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The model described by `config`, with untrained weights."""

    def config(self) -> dict[str, Any]:
        """The task and the arguments of the model, as JSON."""
        return {"task": self.task}

    @classmethod
    def check(cls, corpus: Corpus) -> None:
        """Raise ValueError if the model cannot be trained on `corpus`."""

    @abstractmethod
    def encode(self, examples: Sequence[Example]) -> Split:
        """The examples as a split that makes batches."""

    @abstractmethod
    def forward(self, batch: Any) -> Output:
        """Loss, prediction and posteriors of a batch on the model's device."""

    @abstractmethod
    def new_metrics(self, *, training: bool = False) -> list[Metric]:
        """Empty metrics of this task; in training, only cheap ones."""

    def measured(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        """The values of `metrics` by name, and other results such as tables."""
        return {name: value for metric in metrics for name, value in metric.values().items()}

    def outcomes(self, output: Output, batch: Any) -> Tensor | None:
        """(B,) the criterion of each example; None if that of a split is not their mean."""
        assert output.loss is not None, "outcomes need targets"
        return output.loss.double()

    def answers(self, output: Output, i: int, k: int) -> dict[str, float]:
        """The `k` best answers to example `i`, with numbers; empty for a parser."""
        return {}

    def verdict(self, answers: dict[str, float]) -> dict[str, Any]:
        """The prediction in `answers` as JSON: an entry "label", "labels" or "number"."""
        return {"label": next(iter(answers))} if answers else {}

    def problems(self, batch: Any) -> tuple[Problem, ...]:
        """The inference problems of the trees of each side of a batch on the model's device, in
        evaluation mode; empty if trees are not scored.
        """
        return ()

    @abstractmethod
    def posterior(self, sentences: Sequence[Sentence]) -> Posterior:
        """The posterior over the trees of sentences."""

    @abstractmethod
    def unknown(self, words: Iterable[str]) -> list[str]:
        """The `words` that are unknown to the model."""

    def _save_pretrained(self, save_directory: Path) -> None:
        # Copies, as the weights of an LSTM share storage on a GPU, which safetensors refuses.
        weights = {name: x.detach().cpu().clone() for name, x in self.state_dict().items()}
        # Written by Python, whose errors name the file and the reason, such as a full disk.
        packed = save(weights, metadata={"format": "pt"})
        (save_directory / SAFETENSORS_SINGLE_FILE).write_bytes(packed)
        text = json.dumps(self.config(), indent=2, ensure_ascii=False)
        (save_directory / "config.json").write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Task:
    """All that training, reports and commands use of a task.

    Attributes:
        name: the name in sources and `config.json`.
        model: the class of the models.
        config: the dataclass of the model's options; `needs_heads` says whether examples need
            heads.
        metrics: the metrics and the validation criterion.
        form: format of the numbers in answers; None if the answers are trees.
        answer: the kind of answer: a class or a word, a number, or any number of labels.
        few: list only the best labels, as there are too many.
        varies: the option of the model that distinguishes runs on the same data.
        also: further options that do so if they are not at their defaults.
        sides: what the sentences of an example are called.
        example: an example to try a model with, one text per side.
        asked: the task in a sentence, for newcomers.
        options: defaults of new runs that differ from those of `config`. Configurations that lack
            an option have the default of `config`.
        training: defaults of `TrainingConfig` that differ for this task.
    """

    name: str
    model: type[Model]
    config: type
    metrics: MetricSpec
    form: str | None = None
    answer: TargetKind = "class"
    few: bool = False
    varies: str = "estimator"
    also: tuple[str, ...] = ("encoder", "scorer")
    sides: tuple[str, ...] = ("sentence",)
    example: tuple[str, ...] = ()
    asked: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)

    def default_options(self, **options: Any) -> Any:
        """The model options of a new run, with `options` replaced."""
        return self.config(**{**self.options, **options})

    def completed(self, options: Any) -> Any:
        """`options` as an instance of `config`, with defaults added if they are of a base class."""
        if type(options) is not self.config and isinstance(options, self.config.__mro__[1:-1]):
            return self.config(**vars(options))
        return options

    def variant(self, options: Any) -> str:
        """The name of a run in messages: "estimator flat"."""
        return f"{self.varies} {self.row(vars(options))}"

    def row(self, options: Mapping[str, Any]) -> str:
        """The name of runs with these model options in tables: "flat", "flat + softmax".

        Missing options are at their defaults. Options of any version are accepted.
        """
        default = vars(self.config())
        own = str(options.get(self.varies, "unknown"))
        if self.varies == "estimator":
            own = name_stored(own)
        # The scorer has no effect where an estimator scores no arcs.
        scored = self.varies != "estimator" or scores_arcs(own)
        also = [name for name in self.also if scored or name != "scorer"]
        named = ((name, options.get(name, default[name])) for name in also)
        others = [str(value) for name, value in named if value != default[name]]
        return PLUS.join([own, *others])
