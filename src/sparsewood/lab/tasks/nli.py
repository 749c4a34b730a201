"""Natural language inference: a softmax over every pair of trees of premise and hypothesis."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from sparsewood._numbers import check_choice
from sparsewood.lab._checks import check
from sparsewood.lab.data.batches import Batch, Padded
from sparsewood.lab.tasks._modules import composer_of
from sparsewood.lab.tasks.classify import METRICS, PROBABILITIES, Classifier
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.tasks.mixture import mixture_loss, widened
from sparsewood.lab.tasks.model_config import ModelConfig
from sparsewood.lab.tasks.readers import Reader, parse
from sparsewood.lab.tasks.task import Task
from sparsewood.nn._composer import TreeComposer
from sparsewood.nn.cross_attention import CrossAttention
from sparsewood.posterior import Posterior
from sparsewood.structures.matching import Matching

Attention = Literal["none", "softmax", "matching"]
Over = Literal["words", "subtrees"]


@dataclass(frozen=True)
class PairConfig(ModelConfig):
    """The shape of a model of two sentences: a `ModelConfig`, and how they attend to each other.

    Attributes:
        attention: how the two sentences attend to each other before they are composed: "softmax",
            each word to all of the other sentence, as in ESIM; "matching", by a latent matching of
            their words; "none": not at all.
        attention_over: what attends to what: words, or the subtrees that they head.
    """

    attention: Attention = "none"
    attention_over: Over = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("model.attention", self.attention, Attention)
        check_choice("model.attention_over", self.attention_over, Over)
        attends, subtrees = self.attention != "none", self.attention_over == "subtrees"
        has_subtrees = not isinstance(parse(self.estimator), Reader) and self.composer != "messages"
        check(
            "model",
            self,
            (
                "attention",
                not attends or self.composer_input == "context",
                '"none" where composer_input is "words"',
            ),
            (
                "attention_over",
                not subtrees or (attends and has_subtrees),
                f'"words" with attention {self.attention}, {self.estimator} and {self.composer}',
            ),
        )


class PairClassifier(Classifier):
    """p(y | x) = sum_{g, h} p(g | premise) p(h | hypothesis) p(y | g, h, x).

    With u and v the vectors of the two trees, p(y | g, h, x) is a softmax over a tanh layer of
    [u; v; u - v; u * v]. Premise and hypothesis share encoder, scorer and composer.

    Niculae, Martins & Cardie (2018), section 4.2. With `attention`, the outlook of its section 6:
    ESIM over latent trees. What is composed are then words that know what they attend to in the
    other sentence (`nn.CrossAttention`). Over "subtrees", a first composer reads the words along
    each tree, the expected states of the subtrees attend to each other, and a second one composes
    what comes of that along the same trees, as the tree-structured model of Chen et al. (2017),
    "Enhanced LSTM for natural language inference", section 3, does along a parser's. Trees are
    scored without a look at the other sentence.
    """

    task = "nli"
    config_class = PairConfig

    options: PairConfig

    def add_layers(self) -> None:
        hidden = self.options.hidden
        self.attention: CrossAttention | None = None
        self.second_composer: nn.Module | None = None
        if self.options.attention != "none":
            only_words = self.reader is not None and self.reader.kind.input == "words"
            self.attention = CrossAttention(
                self.options.embedding if only_words else hidden,
                structure=Matching() if self.options.attention == "matching" else None,
            )
        if self.options.attention_over == "subtrees":
            self.second_composer = composer_of(self.options, hidden)
        self.compare = nn.Linear(4 * hidden, hidden)
        self.output = nn.Linear(hidden, len(self.labels))

    def forward(self, batch: Batch) -> Output:
        (left, u), (right, v) = self.read_pair(batch.sides)
        pairs = left.product(right)
        u, v = u[pairs.left], v[pairs.right]
        hidden = self.compare(torch.cat([u, v, u - v, u * v], -1)).tanh()
        log_p = widened(self.output(self.dropout(hidden))).log_softmax(-1)
        p, loss = mixture_loss(log_p, pairs, batch.targets, self.options.loss)
        return self.said(loss, p, left, right)

    def read_pair(self, sides: tuple[Padded, ...]) -> list[tuple[Posterior, Tensor]]:
        """What `read` returns of each side, which has looked at the other if there is attention."""
        if self.attention is None:
            return [self.read(side) for side in sides]
        read = [self.vectors_of(side) for side in sides]
        if self.second_composer is not None:
            return self._over_subtrees(sides, read)
        joined = self._joined(sides, read)
        return [self.composed(*told) for told in zip(sides, read, joined, strict=True)]

    def _over_subtrees(
        self, sides: tuple[Padded, ...], read: list[Tensor]
    ) -> list[tuple[Posterior, Tensor]]:
        assert self.trees is not None
        first, second = self.trees.composer, self.second_composer
        assert isinstance(first, TreeComposer)
        assert isinstance(second, TreeComposer)
        posteriors = [self.trees_of(side, x) for side, x in zip(sides, read, strict=True)]
        forests = [posterior.forest() for posterior in posteriors]
        states = [
            self.dropout(first.subtrees(x, forest, posterior.weights))
            for x, forest, posterior in zip(read, forests, posteriors, strict=True)
        ]
        joined = self._joined(sides, states)
        roots = [second(x, forest) for x, forest in zip(joined, forests, strict=True)]
        return list(zip(posteriors, map(self.dropout, roots), strict=True))

    def _joined(self, sides: tuple[Padded, ...], read: list[Tensor]) -> list[Tensor]:
        """The vectors of both sides, each knowing what it attends to in the other."""
        assert self.attention is not None
        premise, hypothesis = sides
        joined = self.attention(*read, (premise.lengths, hypothesis.lengths))
        return [self.dropout(x) for x in joined]


TASK = Task(
    PairClassifier,
    PairConfig,
    METRICS,
    PROBABILITIES,
    also=("attention", "attention_over"),
    sides=2,
)
