"""What the models of all tasks share: words, encoder, trees, and how a run describes them."""

import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from huggingface_hub import PyTorchModelHubMixin
from torch import Tensor, nn

from sparsewood._support import log_expectation
from sparsewood.estimators import Given, name_of, parse
from sparsewood.estimators.names import NAMES
from sparsewood.lab._checks import check
from sparsewood.lab.data.batches import Batch, EncodedSplit, Padded
from sparsewood.lab.data.examples import Example
from sparsewood.lab.data.vectors import VectorReference
from sparsewood.lab.data.vocabulary import Vocabulary
from sparsewood.lab.tasks._weights import save_weights
from sparsewood.lab.tasks.metrics import Metric, Output
from sparsewood.lab.tasks.words import WordModel
from sparsewood.nn.encoder import SentenceEncoder
from sparsewood.nn.latent import LatentTreeEncoder
from sparsewood.nn.scorers import MLPArcScorer
from sparsewood.nn.tree_lstm import ChildSumTreeLSTM
from sparsewood.pairs import PairPosterior
from sparsewood.posterior import Posterior
from sparsewood.structures.dependency import DependencyTrees


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a model. The defaults are what most of the published runs share.

    Attributes:
        estimator: where the trees come from: a name, and after a colon its options. The paper's
            solver stopped after ten steps.
        hidden: size of the word and tree vectors.
        embedding: size of the word embeddings where no vectors are given.
        tune_vectors: go on learning the word vectors that are given.
        dropout: on the embeddings, the word vectors and the tree vectors.
        projective: only projective trees are latent.
        single_root: only trees with one word at the root are latent.
        loss: "marginal" is -log sum_h p(h | x) p(y | h, x); "expected" is
            sum_h p(h | x) (-log p(y | h, x)).
    """

    estimator: Annotated[str, "|".join(NAMES)] = "sparsemap:max_active=10"
    hidden: int = 300
    embedding: int = 300
    tune_vectors: bool = False
    dropout: float = 0.5
    projective: bool = False
    single_root: bool = False
    loss: Literal["marginal", "expected"] = "marginal"

    def __post_init__(self) -> None:
        estimator = parse(self.estimator)
        check(
            "model",
            self,
            ("estimator", estimator.gives_structures, "one whose posterior has whole trees"),
            ("hidden", self.hidden >= 2 and self.hidden % 2 == 0, "an even number of at least 2"),
            ("embedding", self.embedding >= 1, "at least 1"),
            ("dropout", 0 <= self.dropout < 1, "at least 0, less than 1"),
        )
        object.__setattr__(self, "estimator", name_of(estimator))  # one spelling of each

    @classmethod
    def paper(cls, **options: Any) -> "ModelConfig":
        """That of the program of Niculae, Martins & Cardie (2018), but for `options`."""
        return cls(**{"dropout": 0.0, "loss": "expected", **options})


_CARD = """\
---
{{ card_data }}
---

A model made with sparsewood. `config.json` holds its options, words and labels.

```python
from sparsewood.lab.tasks import load_model

model = load_model("this folder")
```
"""


class TreeModel(
    WordModel, PyTorchModelHubMixin, library_name="sparsewood", model_card_template=_CARD
):
    """Words -> embeddings -> BiLSTM -> trees -> TreeLSTM -> a vector for each tree.

    `save_pretrained(folder)` writes weights and configuration, words and labels included;
    `from_pretrained(folder)` makes the model anew from them.

    Args:
        options: the shape of the model.
        words: the vocabulary; the first is "<unk>".
        labels: what the integers of the targets stand for.
        lowercase: look words up in lower case.
        vectors: the file that the embeddings started from. Out of training, words outside the
            vocabulary get their vectors from it, if it is there unchanged.
    """

    task: ClassVar[str]
    criterion: ClassVar[str]  # the metric that validation goes by
    higher_is_better: ClassVar[bool] = True
    tunes_vectors: ClassVar[bool] = True  # whether `tune_vectors` has a say

    def __init__(
        self,
        options: ModelConfig,
        words: list[str],
        labels: list[str],
        lowercase: bool = True,
        vectors: VectorReference | None = None,
    ) -> None:
        encoder = SentenceEncoder(
            len(words), options.embedding, options.hidden, dropout=options.dropout
        )
        tuned = options.tune_vectors and self.tunes_vectors
        super().__init__(encoder, Vocabulary(words, lowercase=lowercase), vectors, tuned=tuned)
        self.options = options
        self.labels = labels
        estimator = parse(options.estimator)
        latent = estimator.reads_scores
        family = DependencyTrees(projective=options.projective, single_root=options.single_root)
        self.trees = LatentTreeEncoder(
            MLPArcScorer(options.hidden) if latent else None,
            ChildSumTreeLSTM(options.hidden, options.hidden),
            family if latent else DependencyTrees(),
            estimator=estimator,
        )
        self.dropout = nn.Dropout(options.dropout)

    def _save_pretrained(self, save_directory: Path) -> None:
        save_weights(self, save_directory)
        described = {
            "task": self.task,
            "options": asdict(replace(self.options, estimator=name_of(self.trees.estimator))),
            "words": self.vocabulary.words,
            "labels": self.labels,
            "lowercase": self.vocabulary.lowercase,
            "vectors": None if self.vectors is None else asdict(self.vectors),
        }
        text = json.dumps(described, indent=2, ensure_ascii=False)
        (save_directory / "config.json").write_text(text, encoding="utf-8")

    @property
    def temperature(self) -> float | None:
        """Of the estimator, None for one without; may be set, as the search at test time does."""
        return getattr(self.trees.estimator, "temperature", None)

    @temperature.setter
    def temperature(self, value: float) -> None:
        found: Any = self.trees.estimator
        self.trees.estimator = replace(found, temperature=value)

    @property
    def reads_heads(self) -> bool:
        """Whether the trees are those that come with the sentences."""
        return isinstance(self.trees.estimator, Given)

    def encode(self, examples: Sequence[Example]) -> EncodedSplit:
        """The examples as integers.

        Out of training, words outside the vocabulary are taken in, and a warning tells of sentences
        none of whose words is known.
        """
        if not self.training:
            self.read_words([s.words for example in examples for s in example.sentences])
        return EncodedSplit(examples, self.vocabulary, self.labels)

    def read(self, side: Padded) -> tuple[Posterior, Tensor]:
        """The trees of the sentences of one side, and a vector (T, hidden) for each tree."""
        heads = side.heads if self.reads_heads else None
        x = self.encoder(side.tokens, side.lengths)
        posterior, roots = self.trees(x, side.lengths, heads)
        return posterior, self.dropout(roots)

    @abstractmethod
    def forward(self, batch: Batch) -> Output:
        """Loss, prediction and posteriors of a batch on the model's device."""

    @abstractmethod
    def new_metric(self) -> Metric:
        """An empty metric of this task."""


def widened(x: Tensor) -> Tensor:
    """`x`, as float32 where autocast made it 16 bits wide: losses and ranks need more digits."""
    return x.float() if x.dtype.itemsize < 4 else x


def mixture_loss(
    log_p: Tensor,
    posterior: Posterior | PairPosterior,
    targets: Tensor,
    loss: Literal["marginal", "expected"],
) -> tuple[Tensor, Tensor | None]:
    """p(y | x) = sum_h p(h | x) p(y | h, x), and the loss of the targets.

    Args:
        log_p: (T, labels), log p(y | h, x) for each structure, or pair of structures, h.
        posterior: over these.
        targets: (B,), -1 where unknown.
        loss: see `ModelConfig`.

    Returns:
        (B, labels) and (B,); the loss is None where a target is unknown.
    """
    p = posterior.expect(log_p.exp())
    if (targets < 0).any():
        return p, None
    instance = posterior.instance
    of_target = log_p.gather(1, targets[instance, None]).squeeze(1)
    if loss == "expected":
        return p, -posterior.expect(of_target)
    return p, -log_expectation(of_target, posterior.weights, instance, posterior.sizes.shape)
