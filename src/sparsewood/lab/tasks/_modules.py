"""The modules that the options of a model ask for, and what is told of their trees."""

from functools import partial

from torch import nn

from sparsewood.estimators import Estimator
from sparsewood.lab.tasks.model_config import COMPOSERS, ModelConfig
from sparsewood.lab.tasks.readers import Reader, parse
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
    """What scores dependency trees, unless they are fixed, and composes them."""
    latent = estimator.reads_scores
    family = DependencyTrees(
        projective=options.projective, single_root=options.single_root, root=options.known_root
    )
    return LatentTreeEncoder(
        MLPArcScorer(options.hidden) if latent else None,
        composer_of(
            options, options.embedding if options.composer_input == "words" else options.hidden
        ),
        family if latent else DependencyTrees(),
        estimator=estimator,
        noise=GumbelNoise(options.noise),
    )


def composer_of(options: ModelConfig, input_size: int) -> nn.Module:
    """That of the options, over word vectors of this size."""
    if options.composer == "messages":
        return TreeMessages(input_size, options.hidden, options.message_steps)
    return COMPOSERS[options.composer](input_size, options.hidden)


def with_trees(posterior: Posterior) -> Posterior:
    """The likeliest tree of each sentence in place of a posterior without trees."""
    if isinstance(posterior, ChartPosterior):
        return posterior.likeliest()
    if not isinstance(posterior, SoftPosterior):
        return posterior
    shape, trees = posterior.shape, posterior.mode.flatten(0, -2)
    batch, dtype = posterior.sizes.shape, posterior.weights.dtype
    return Posterior.uniform(posterior.structure, trees, batch, shape, posterior.lengths, dtype)


def encoders(options: ModelConfig, words: int) -> tuple[SentenceEncoder, SentenceEncoder | None]:
    """That of the parser, and that of the composer where it has embeddings of its own."""
    size, dropout = options.embedding, options.dropout
    plain = partial(SentenceEncoder, words, size, size, layers=0, dropout=dropout)
    row = parse(options.estimator)
    if isinstance(row, Reader):
        only_words, own = row.input == "words", False
    else:  # without a parser nothing else would read context
        only_words = options.composer_input == "words" and not row.reads_scores
        own = options.own_embeddings
    if only_words:
        return plain(), None
    encoder = SentenceEncoder(words, size, options.hidden, dropout=dropout)
    return encoder, plain() if own else None
