"""The modules that the options of a model select."""

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from sparsewood.estimators import Estimator
from sparsewood.lab.data.batches import PaddedSentences
from sparsewood.lab.tasks.model_config import COMPOSERS, ModelConfig
from sparsewood.lab.tasks.pretrained import Pretrained, PretrainedEncoder
from sparsewood.lab.tasks.readers import Reader, from_name
from sparsewood.nn.between import BetweenArcScorer
from sparsewood.nn.chart_posterior import ChartPosterior
from sparsewood.nn.encoder import SentenceEncoder
from sparsewood.nn.latent import LatentTreeEncoder
from sparsewood.nn.noise import GumbelNoise
from sparsewood.nn.scorers import MLPArcScorer
from sparsewood.nn.tree_messages import TreeMessages
from sparsewood.posterior import Posterior
from sparsewood.soft_posterior import SoftPosterior
from sparsewood.structures.dependency import DependencyTrees


def latent_trees(options: ModelConfig, estimator: Estimator) -> LatentTreeEncoder:
    """The scorer of dependency trees, unless they are fixed, and their composer."""
    latent = estimator.reads_scores
    family = DependencyTrees(
        projective=options.projective, single_root=options.single_root, root=options.known_root
    )
    return LatentTreeEncoder(
        scorer_of(options) if latent else None,
        composer_of(
            options, options.embedding if options.composer_input == "words" else options.hidden
        ),
        family if latent else DependencyTrees(),
        estimator=estimator,
        noise=GumbelNoise(options.noise),
    )


class SumOfScorers(nn.Module):
    """The sum of the scores of `nn.MLPArcScorer` and `nn.BetweenArcScorer`.

    Args:
        sizes: size of a vector of the encoder and of an embedding.
        channels: channels of `nn.BetweenArcScorer`.
    """

    def __init__(self, sizes: tuple[int, int], channels: int) -> None:
        super().__init__()
        self.sizes = sizes
        self.mlp = MLPArcScorer(sizes[0])
        self.between = BetweenArcScorer(sizes[1], channels=channels)

    def forward(self, x: Tensor) -> Tensor:
        """(B, n, sum of sizes), the concatenated vectors -> (B, n, n + 1)."""
        context, words = x.split(self.sizes, -1)
        return self.mlp(context) + self.between(words)


def scorer_of(options: ModelConfig) -> nn.Module:
    """The arc scorer of latent trees."""
    match options.scorer:
        case "mlp":
            return MLPArcScorer(options.hidden)
        case "between":
            return BetweenArcScorer(options.embedding, channels=options.channels)
        case "both":
            return SumOfScorers((options.hidden, options.embedding), options.channels)


def composer_of(options: ModelConfig, input_size: int) -> nn.Module:
    """The composer selected by the options, for word vectors of this size."""
    if options.composer == "messages":
        return TreeMessages(input_size, options.hidden, options.message_steps)
    return COMPOSERS[options.composer](input_size, options.hidden)


def with_trees(posterior: Posterior) -> Posterior:
    """The most probable tree of each sentence, in place of a posterior without trees."""
    if isinstance(posterior, ChartPosterior):
        return posterior.likeliest()
    if not isinstance(posterior, SoftPosterior):
        return posterior
    shape, trees = posterior.shape, posterior.mode.flatten(0, -2)
    batch, dtype = posterior.sizes.shape, posterior.weights.dtype
    return Posterior.uniform(posterior.structure, trees, batch, shape, posterior.lengths, dtype)


def arcs_from(leaves: Iterable[int], side: PaddedSentences, options: ModelConfig) -> Tensor:
    """(B, n, n + 1) bool, the arcs from words whose tokens are in `leaves`.

    No arc is marked in a sentence that has no tree without them.
    """
    leaf = torch.zeros_like(side.tokens, dtype=torch.bool)
    for token in leaves:  # there are few; a tensor would have to be copied to the device
        leaf |= side.tokens == token
    inside = torch.arange(leaf.shape[1], device=leaf.device) < side.lengths[:, None]
    others, root = inside & ~leaf, options.known_root
    if root is not None:
        others = others[:, root - 1 : root]
    if root is not None or options.single_root:  # otherwise the flat tree remains
        leaf &= others.any(1, keepdim=True)
    heads = nn.functional.pad(leaf, (1, 0))
    return heads[:, None].expand(-1, leaf.shape[1], -1)


class WordInput(NamedTuple):
    """The inputs of a model for a word.

    Attributes:
        context: whether it reads a vector that depends on the sentence.
        embedding: whether it reads an embedding, alone or beside `context`.
    """

    context: bool
    embedding: bool


def word_input(options: ModelConfig) -> WordInput:
    """The inputs of composer or reader, and of the arc scorer."""
    chosen = from_name(options.estimator)
    words = options.composer_input == "words"
    if isinstance(chosen, Reader):
        context = chosen.input == "context" or (options.pretrained and not words)
        return WordInput(context, not context)
    # Without a parser, or with one that reads embeddings, nothing reads context.
    parser_reads = chosen.reads_scores and options.scorer != "between"
    return WordInput(not words or parser_reads, words)


def scores_embeddings(options: ModelConfig) -> bool:
    """Whether the arc scorer reads only embeddings."""
    chosen = from_name(options.estimator)
    return options.scorer == "between" and not isinstance(chosen, Reader) and chosen.reads_scores


def has_embeddings(options: ModelConfig) -> bool:
    """Whether the model has embeddings; a pretrained encoder reads none."""
    read = word_input(options)
    return read.embedding or not options.pretrained


def encoders(
    options: ModelConfig, words: int, pretrained: Pretrained | None = None
) -> tuple[SentenceEncoder | PretrainedEncoder, SentenceEncoder | None]:
    """The encoder of the parser, and that of the composer if it has its own embeddings.

    Args:
        options: options of the model.
        words: size of the vocabulary.
        pretrained: the pretrained encoder, if its weights are loaded later.
    """
    size, dropout = options.embedding, options.dropout
    plain = partial(SentenceEncoder, words, size, size, layers=0, dropout=dropout)
    read = word_input(options)
    own = read.embedding and (options.own_embeddings or options.pretrained)
    if not read.context:
        apart = own and scores_embeddings(options)
        return plain(), plain() if apart else None
    encoder = (
        PretrainedEncoder.make(
            options.encoder,
            pretrained,
            options.hidden,
            tuned=options.tune_encoder,
            dropout=dropout,
            precision=options.encoder_precision,
        )
        if options.pretrained
        else SentenceEncoder(words, size, options.hidden, dropout=dropout)
    )
    return encoder, plain() if own else None
