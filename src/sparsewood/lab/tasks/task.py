"""What training needs of a task and of its model, and nothing else."""

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

PLUS = " + "  # between an estimator and what else tells a run apart

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
    """What training needs of a model.

    `save_pretrained(folder)` writes the weights and `config.json`; `from_pretrained(folder)` and
    `load_model(folder)` make the model anew from them.
    """

    task: str  # name of the task, as `config.json` and sources have it
    options: Any  # of the task's `config`

    @property
    def estimator(self) -> Estimator | None:
        """Of the trees that are composed; None where trees are the answer, or there are none."""
        return None

    @property
    def temperature(self) -> float | None:
        """Of the posterior over trees; None where it has none."""
        return None

    @temperature.setter
    def temperature(self, value: float) -> None:
        raise AttributeError(f"a model for {self.task} has no temperature")

    def set_latent(self, name: str, value: float) -> None:
        """Set a number of the estimator of latent trees, or the scale of the "noise" on scores."""
        raise AttributeError(f"a model for {self.task} has no latent trees")

    def parser_parameters(self) -> list[nn.Parameter]:
        """Those learned parameters that do no more than say which trees are likely."""
        return []

    def encoder_parameters(self) -> list[nn.Parameter]:
        """Those learned parameters that a pretrained encoder came with."""
        found = (m.network for m in self.modules() if isinstance(m, PretrainedEncoder))
        return [p for network in found for p in network.parameters() if p.requires_grad]

    @staticmethod
    def words_of(text: str) -> tuple[str, ...]:
        """The words of a text that somebody types, split as those of the corpora are."""
        return tokenize(text)

    @property
    def reads_operations(self) -> bool:
        """Whether sentences are list operations, and nothing else."""
        return False

    def sentence_of(self, text: str) -> Sentence:
        """The sentence of a text that somebody types; list operations come with their trees.

        Raises:
            ValueError: if the model reads list operations and the text is none.
        """
        if self.reads_operations:
            return read_expression(text)
        return typed_sentence(text, self.words_of)

    @property
    def reads_heads(self) -> bool:
        """Whether sentences must come with heads, out of training too."""
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
            corpus: of the task.
            options: of the task's `config`.
            vectors: of words.
            lowercase: look words up in lower case.
            min_count: rarer words are unknown, where embeddings are learned.
        """

    @classmethod
    @abstractmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The model that `config` describes, with any weights."""

    def config(self) -> dict[str, Any]:
        """The task and the arguments of the model, as JSON holds them."""
        return {"task": self.task}

    @classmethod
    def check(cls, corpus: Corpus) -> None:
        """Raise ValueError if `corpus` is none to train on."""

    @abstractmethod
    def encode(self, examples: Sequence[Example]) -> Split:
        """The examples, out of which batches are made."""

    @abstractmethod
    def forward(self, batch: Any) -> Output:
        """Loss, prediction and posteriors of a batch on the model's device."""

    @abstractmethod
    def new_metrics(self, *, training: bool = False) -> list[Metric]:
        """Empty ones of this task; in training, those that cost little."""

    def measured(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        """What `metrics` have come to: numbers by name, and what is told besides."""
        return {name: value for metric in metrics for name, value in metric.values().items()}

    def outcomes(self, output: Output, batch: Any) -> Tensor | None:
        """(B,) the criterion of each example; None where that of a split is not their mean."""
        assert output.loss is not None, "outcomes need targets"
        return output.loss.double()

    def answers(self, output: Output, i: int, k: int) -> dict[str, float]:
        """The `k` best answers to example `i`, with numbers; none where trees are the answer."""
        return {}

    def verdict(self, answers: dict[str, float]) -> dict[str, Any]:
        """What `answers` come to: "label", the best of them, "labels" or "number"."""
        return {"label": next(iter(answers))} if answers else {}

    def problems(self, batch: Any) -> tuple[Problem, ...]:
        """What is solved for the trees of each side of a batch on the model's device, out of
        training; none where trees are not scored.
        """
        return ()

    @abstractmethod
    def posterior(self, sentences: Sequence[Sentence]) -> Posterior:
        """Over the trees of sentences."""

    @abstractmethod
    def unknown(self, words: Iterable[str]) -> list[str]:
        """Those of `words` that the model knows nothing of."""

    def _save_pretrained(self, save_directory: Path) -> None:
        # On a GPU the weights of an LSTM share one storage, which safetensors refuses: copies.
        weights = {name: x.detach().cpu().clone() for name, x in self.state_dict().items()}
        # Written by Python, whose errors name the file and the reason: a full disk, say.
        packed = save(weights, metadata={"format": "pt"})
        (save_directory / SAFETENSORS_SINGLE_FILE).write_bytes(packed)
        text = json.dumps(self.config(), indent=2, ensure_ascii=False)
        (save_directory / "config.json").write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class Task:
    """What training needs of a task.

    Attributes:
        name: as sources and `config.json` have it.
        model: it builds, encodes, says and saves.
        config: the dataclass of the model's options; `needs_heads` says whether examples need some.
        metrics: what is measured, and what validation goes by.
        form: of the numbers of the labels that it answers with; None where it answers with trees.
        answer: what it answers with: a class, or a word; a number; or any number of labels.
        few: there are too many labels to list them all.
        varies: the option of the model that tells runs on the same data apart.
        also: options that do so besides where they are not at their defaults.
        sides: what the sentences of an example are called.
        example: an example to try a model with, one text per side.
        options: what runs begin with where that is not the default of `config`, which stays what
            configurations mean that do not name it.
        training: defaults of `TrainingConfig` that are the task's own.
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
    options: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)

    def default_options(self, **options: Any) -> Any:
        """The options of a model that runs begin with, but for `options`."""
        return self.config(**{**self.options, **options})

    def completed(self, options: Any) -> Any:
        """`options`, the task's own at their defaults where they are of a class that has none."""
        if type(options) is not self.config and isinstance(options, self.config.__mro__[1:-1]):
            return self.config(**vars(options))
        return options

    def variant(self, options: Any) -> str:
        """The option that tells runs apart, as messages name it: "estimator flat"."""
        return f"{self.varies} {self.row(vars(options))}"

    def row(self, options: Mapping[str, Any]) -> str:
        """What runs with these options of the model are in tables: "flat", "flat + softmax".

        Those that are not there are at their defaults. Options of any version will do.
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
