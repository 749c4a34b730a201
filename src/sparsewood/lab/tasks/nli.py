"""Inference between two sentences: a class, a number or labels, from every pair of trees."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from sparsewood.lab.data.batches import Batch, PaddedSentences
from sparsewood.lab.tasks._modules import composer_of, word_input
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.tasks.pair_config import PairConfig
from sparsewood.lab.tasks.target_model import TargetModel, tasks_of
from sparsewood.nn._composer import TreeComposer
from sparsewood.nn.cross_attention import CrossAttention
from sparsewood.posterior import Posterior
from sparsewood.structures.matching import Matching

_Side = tuple[PaddedSentences, Tensor]  # sentences and the vectors (B, n, .) of their words
_Weights = tuple[Tensor, Tensor]  # attention in both directions
_Composed = tuple[Posterior, Tensor]  # the posterior over trees and their vectors (T, hidden)


class PairModel(TargetModel):
    """A target of a pair of sentences, from every pair of their trees.

    With the target "class", p(y | x) = sum_{g, h} p(g | premise) p(h | hypothesis) p(y | g, h, x).
    See `Numbers` and `Labels` for the other targets.

    With u and v the vectors of the two trees, p(y | g, h, x) is a softmax over a tanh layer of
    [u; v; u - v; u * v]. Premise and hypothesis share encoder, scorer and composer.

    Niculae, Martins & Cardie (2018), section 4.2. `attention` adds ESIM over latent trees, which
    that paper suggests: the composer reads the words combined with what they attend to in the other
    sentence (`nn.CrossAttention`). Over "subtrees", a first composer reads the words along each
    tree, the words plus the expected states of their subtrees attend to each other, and a second
    composer reads the results along the same trees, like the tree model of Chen et al. (2017),
    "Enhanced LSTM for natural language inference", section 3, along parser-produced trees. The
    scores of trees do not depend on the other sentence.
    """

    task = "nli"
    config_class = PairConfig

    options: PairConfig

    def add_layers(self) -> None:
        hidden = self.options.hidden
        self.attention: CrossAttention | None = None
        self.second_composer: nn.Module | None = None
        if self.options.attention != "none":
            self.attention = CrossAttention(
                hidden if word_input(self.options).context else self.options.embedding,
                structure=Matching() if self.options.attention == "matching" else None,
            )
        if self.options.attention_over == "subtrees":
            self.second_composer = composer_of(self.options, hidden)
        self.compare = nn.Linear(4 * hidden, hidden)
        super().add_layers()

    def forward(self, batch: Batch) -> Output:
        (left, u), (right, v), weights = self.read_pair(*batch.sides)
        attention = None if weights is None else (weights[0] + weights[1].mT) / 2
        pairs = left.product(right)
        u, v = u[pairs.left], v[pairs.right]
        hidden = self.compare(torch.cat([u, v, u - v, u * v], -1)).tanh()
        output = self.answered(self.dropout(hidden), pairs, batch.targets, left, right)
        return replace(output, attention=attention)

    def read_pair(
        self, left: PaddedSentences, right: PaddedSentences
    ) -> tuple[_Composed, _Composed, _Weights | None]:
        """What `read` returns for each side, after cross-attention if there is any, and the
        attention.

        The attention is that of the left words, (B, n, m), and of the right words, (B, m, n),
        without gradients; or None.
        """
        if self.attention is None:
            return self.read(left), self.read(right), None
        x, y = self.context(left), self.context(right)
        if self.second_composer is not None:
            return self._over_subtrees((left, x), (right, y))
        a, b, attention = self._joined((left, x), (right, y))
        return self.composed(left, x, a), self.composed(right, y, b), attention

    def _over_subtrees(self, left: _Side, right: _Side) -> tuple[_Composed, _Composed, _Weights]:
        assert self.trees is not None
        first, second = self.trees.composer, self.second_composer
        assert isinstance(first, TreeComposer)
        assert isinstance(second, TreeComposer)
        (g, x), (h, y) = ((self.trees_of(*side), side[1]) for side in (left, right))
        forests = g.forest(), h.forest()
        # The word is added to its subtree: without it, attention hardly learns.
        x = x + self.dropout(first.subtrees(x, forests[0], g.weights))
        y = y + self.dropout(first.subtrees(y, forests[1], h.weights))
        a, b, attention = self._joined((left[0], x), (right[0], y))
        u, v = self.dropout(second(a, forests[0])), self.dropout(second(b, forests[1]))
        return (g, u), (h, v), attention

    def _joined(self, left: _Side, right: _Side) -> tuple[Tensor, Tensor, _Weights]:
        """The vectors of both sides after cross-attention, and the attention."""
        assert self.attention is not None
        (one, x), (other, y) = left, right
        lengths = one.lengths, other.lengths
        a, b, to_b, to_a = self.attention(x, y, lengths, return_weights=True)
        return self.dropout(a), self.dropout(b), (to_b.detach(), to_a.detach())


TASKS = tasks_of(
    PairModel,
    "Predict the {} of a pair of texts.",
    also=("encoder", "scorer", "attention", "attention_over"),
    sides=("premise", "hypothesis"),
    example=("Two girls are playing in the snow.", "Somebody is outside."),
)
