"""What the models of all tasks share: words, encoder, trees."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self, cast

import torch
from torch import Tensor, nn

from sparsewood.estimators import Estimator, Problem
from sparsewood.lab.data.batches import Batch, EncodedSplit, PaddedSentences, class_targets
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.vectors import VectorReference, WordVectors
from sparsewood.lab.data.vocabulary import Vocabulary
from sparsewood.lab.tasks._modules import (
    SumOfScorers,
    arcs_from,
    encoders,
    has_embeddings,
    latent_trees,
    with_trees,
    word_input,
)
from sparsewood.lab.tasks.brackets import BracketStatistics
from sparsewood.lab.tasks.metrics import LossMetric, Metric, Output, TreeStatistics
from sparsewood.lab.tasks.model_config import ModelConfig
from sparsewood.lab.tasks.pretrained import Pretrained, PretrainedEncoder, saved, unread_vectors
from sparsewood.lab.tasks.readers import Reader, SentenceReader, from_name, name_of
from sparsewood.lab.tasks.task import Model
from sparsewood.lab.tasks.words import WordModel
from sparsewood.nn.encoder import SentenceEncoder
from sparsewood.nn.latent import LatentTreeEncoder
from sparsewood.nn.noise import GumbelNoise
from sparsewood.posterior import Posterior


class TreeModel(WordModel, Model):
    """Words -> embeddings -> BiLSTM -> trees -> composer -> a vector for each tree.

    Where the option `estimator` names a reader there are no dependency trees, and that reads the
    embeddings, or the vectors of the BiLSTM: a vector for each sentence. A pretrained encoder takes
    the place of embeddings and BiLSTM.

    Args:
        options: the shape of the model, a `config_class` or what `config.json` has of one.
        words: the vocabulary; the first is "<unk>".
        labels: what the integers of the targets stand for.
        lowercase: look words up in lower case.
        vectors: the file that the embeddings started from. Out of training, words outside the
            vocabulary get their vectors from it, if it is there unchanged.
        pretrained: a pretrained encoder, with any weights. Default: that of the option `encoder`,
            with its own.
        task: name of the task, where the class serves several. Default: the first of them.
    """

    config_class: ClassVar[type[ModelConfig]] = ModelConfig
    tunes_vectors: ClassVar[bool] = True  # whether `tune_vectors` has a say

    def __init__(
        self,
        options: ModelConfig | Mapping[str, Any],
        words: list[str],
        labels: list[str],
        lowercase: bool = True,
        vectors: VectorReference | None = None,
        pretrained: Pretrained | None = None,
        task: str | None = None,
    ) -> None:
        if isinstance(options, Mapping):
            options = self.config_class.from_stored(options)
        encoder, second = encoders(options, len(words), pretrained)
        vocabulary = Vocabulary(words, lowercase=lowercase)
        tuned = options.tune_vectors and self.tunes_vectors
        super().__init__(encoder, vocabulary, vectors, tuned=tuned, second=second)
        self.task = task or self.task
        self.options = options
        self.labels = labels
        chosen = from_name(options.estimator)
        self.trees: LatentTreeEncoder | None = None
        self.reader: SentenceReader | None = None
        if isinstance(chosen, Reader):
            size = options.hidden if word_input(options).context else options.embedding
            self.reader = SentenceReader(chosen, (size, options.hidden))
        else:
            self.trees = latent_trees(options, chosen)
        self.dropout = nn.Dropout(options.dropout)
        self.add_layers()

    @abstractmethod
    def add_layers(self) -> None:
        """Give the model what is the task's own, from the vector of a tree on."""

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        options: ModelConfig,
        vectors: WordVectors | None = None,
        *,
        lowercase: bool = True,
        min_count: int = 1,
    ) -> Self:
        """With `vectors` the vocabulary is that of all splits, since a word that was not seen in
        training has a vector too; without, that of the training split. Where there are no
        embeddings, it is the words of the option `leaves`.
        """
        if vectors is not None and not options.reads_vectors:
            raise ValueError(unread_vectors(options.encoder))
        embeddings = has_embeddings(options)
        if not embeddings:
            leaves = (Sentence((word,)) for word in options.leaves)
            vocabulary = Vocabulary.build(leaves, lowercase=lowercase)
        elif vectors is None:
            train = (s for example in corpus.splits["train"] for s in example.sentences)
            vocabulary = Vocabulary.build(train, lowercase=lowercase, min_count=min_count)
        else:
            vocabulary = Vocabulary.build(corpus.sentences(), lowercase=lowercase)
        if vectors is not None:
            options = replace(options, embedding=vectors.size)
        name = vectors.name if vectors is not None and embeddings else None
        reference = None if name is None else VectorReference.to(name)
        model = cls(
            options,
            vocabulary.words,
            cls.labels_of(corpus),
            lowercase,
            reference,
            task=corpus.task,
        )
        model.start_from(vectors)
        model.fit(corpus.splits["train"])
        return model

    @classmethod
    def labels_of(cls, corpus: Corpus) -> list[str]:
        """What the integers of the targets stand for."""
        return corpus.labels

    def fit(self, examples: Sequence[Example]) -> None:
        """Remember what answers need to know of the training split."""

    def start_from(self, vectors: WordVectors | None) -> None:
        """Start the embeddings from word vectors, if any."""
        if vectors is not None:
            self.set_vectors(vectors.lookup(self.vocabulary.words))

    def config(self) -> dict[str, Any]:
        return {
            **super().config(),
            "options": asdict(replace(self.options, estimator=name_of(self._chosen))),
            "words": self.vocabulary.words,
            "labels": self.labels,
            "lowercase": self.vocabulary.lowercase,
            "vectors": None if self.vectors is None else asdict(self.vectors),
            **saved(self.encoder),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        told = config.get("vectors")
        return cls(
            config["options"],
            config["words"],
            config["labels"],
            config["lowercase"],
            None if told is None else VectorReference(**told),
            Pretrained.saved_in(config),
            config["task"],
        )

    @property
    def _chosen(self) -> Estimator | Reader:
        """What the option `estimator` names, as it is now."""
        if self.reader is not None:
            return self.reader.kind
        assert self.trees is not None
        return self.trees.estimator

    @property
    def estimator(self) -> Estimator | None:
        """Of the trees that are composed; None for a model with a reader."""
        return None if self.trees is None else self.trees.estimator

    @property
    def temperature(self) -> float | None:
        """Of the trees at test, None where they have none; may be set, as the search then does."""
        chosen = self._chosen
        if isinstance(chosen, Reader):
            return chosen.temperature_at_test
        return getattr(chosen.at_test(), "temperature", None)

    @temperature.setter
    def temperature(self, value: float) -> None:
        self.set_latent("temperature", value)

    def set_latent(self, name: str, value: float) -> None:
        if self.reader is not None:
            self.reader.set(name, value)
            return
        assert self.trees is not None
        if name == "noise":
            cast(GumbelNoise, self.trees.noise).scale = value
        else:
            self.trees.estimator = replace(cast(Any, self.estimator), **{name: value})

    def parser_parameters(self) -> list[nn.Parameter]:
        if self.reader is not None:
            return self.reader.kind.parser_parameters(self.reader.net)
        if self.trees is None or self.trees.scorer is None:
            return []
        parts: list[nn.Module] = [self.trees.scorer]
        if self.options.composer_input == "words":
            alone = self.encoder if self.second is not None else self._lstm
            parts += [] if alone is None else [alone]
        return [p for part in parts for p in part.parameters() if p.requires_grad]

    @property
    def _lstm(self) -> nn.LSTM | None:
        """That of the encoder; None where the parser reads embeddings, as the composer does."""
        assert isinstance(self.encoder, SentenceEncoder)
        return self.encoder.lstm

    @property
    def reads_heads(self) -> bool:
        return self.options.needs_heads

    def encode(self, examples: Sequence[Example]) -> EncodedSplit:
        """The examples as integers.

        Out of training, words outside the vocabulary are taken in, and a warning tells of sentences
        none of whose words is known.
        """
        if not self.training:
            self.read_words([s.words for example in examples for s in example.sentences])
        targets = self.targets_of(examples)
        return EncodedSplit(examples, self.vocabulary, targets, self.split_words)

    def targets_of(self, examples: Sequence[Example]) -> Tensor:
        """What is to be said of the examples, as `Batch.targets` has it."""
        return class_targets(examples, self.labels)

    def context(self, side: PaddedSentences) -> Tensor:
        """(B, n, hidden) the vectors of the encoder, embeddings where it is nothing else."""
        if not isinstance(self.encoder, PretrainedEncoder):
            return self.encoder(side.tokens, side.lengths)
        assert side.subwords is not None, "the batch was made for another model"
        return self.encoder(side.subwords, side.owners, *side.tokens.shape)

    def read(self, side: PaddedSentences) -> tuple[Posterior, Tensor]:
        """The trees of the sentences of one side, and a vector (T, hidden) for each tree.

        With a reader, a posterior of weight 1 and a vector (B, hidden) for each sentence.
        """
        return self.composed(side, self.context(side))

    def composed(
        self, side: PaddedSentences, x: Tensor, words: Tensor | None = None
    ) -> tuple[Posterior, Tensor]:
        """What `read` returns, of word vectors `x`.

        Composer and reader read `words` (B, n, .) in place of what they are told to by the options.
        """
        if self.reader is not None:
            posterior, vectors = self.reader(x if words is None else words, side.lengths)
            return posterior, self.dropout(vectors)
        assert self.trees is not None
        if words is None:
            words = self._words(side, self.trees.estimator)
        heads, forbidden = self._told(side)
        posterior, roots = self.trees(
            self._scored(side, x),
            side.lengths,
            heads,
            words=x if words is None else words,
            forbidden=forbidden,
        )
        return posterior, self.dropout(roots)

    def trees_of(self, side: PaddedSentences, x: Tensor) -> Posterior:
        """Those of word vectors `x`, not composed; there must be no reader."""
        assert self.trees is not None
        heads, forbidden = self._told(side)
        scored = self._scored(side, x)
        return self.trees.posterior(scored, side.lengths, heads, forbidden=forbidden)

    def _scored(self, side: PaddedSentences, x: Tensor) -> Tensor:
        """What the scorer reads where the encoder's vectors are `x`."""
        assert self.trees is not None
        if not isinstance(self.trees.scorer, SumOfScorers):
            return x
        assert isinstance(self.encoder, SentenceEncoder)
        return torch.cat([x, self.dropout(self.encoder.embedding(side.tokens))], -1)

    def _told(self, side: PaddedSentences) -> tuple[Tensor | None, Tensor | None]:
        """What is known of the trees of one side beforehand: heads, and arcs that none has."""
        assert self.trees is not None
        heads = side.heads if self.reads_heads else None
        latent = self.trees.scorer is not None
        return heads, self._forbidden(side, latent=latent)

    def _words(self, side: PaddedSentences, estimator: Estimator) -> Tensor | None:
        """(B, n, embedding), what the composer reads; None where that is what the parser reads."""
        if self.second is not None:
            return self.second(side.tokens, side.lengths)
        if self.options.composer_input == "context" or not estimator.reads_scores:
            return None
        assert isinstance(self.encoder, SentenceEncoder)
        return self.dropout(self.encoder.embedding(side.tokens))

    def _forbidden(self, side: PaddedSentences, *, latent: bool) -> Tensor | None:
        """(B, n, n + 1) bool, the arcs from words that are leaves; None without such words."""
        if not self.options.leaves or not latent:
            return None
        known = [w for w in map(self.vocabulary.form, self.options.leaves) if w in self.vocabulary]
        return arcs_from(self.vocabulary.encode(known), side, self.options)

    def said(self, loss: Tensor | None, prediction: Tensor, *posteriors: Posterior) -> Output:
        """An output, the bonus for the entropy of the posteriors taken off the loss in training.

        Out of training posteriors without trees are told of by their likeliest ones.
        """
        if not self.training:
            return Output(loss, prediction, tuple(map(with_trees, posteriors)))
        if loss is not None and self.options.entropy > 0:
            loss = loss - self.options.entropy * sum(p.entropy() for p in posteriors)
        return Output(loss, prediction, posteriors)

    def posterior(self, sentences: Sequence[Sentence]) -> Posterior:
        split = self.encode([Example((sentence,)) for sentence in sentences])
        batch = split.batch(range(len(sentences))).to(next(self.parameters()).device)
        return with_trees(self.read(batch.sides[0])[0])

    def problems(self, batch: Batch) -> tuple[Problem, ...]:
        trees = self.trees
        if trees is None or trees.scorer is None:
            return ()
        return tuple(
            Problem(
                trees.scores(
                    self._scored(side, self.context(side)), self._forbidden(side, latent=True)
                ),
                trees.structure,
                side.lengths,
            )
            for side in batch.sides
        )

    @abstractmethod
    def new_metric(self, *, training: bool) -> LossMetric:
        """An empty metric of this task's answers."""

    def new_metrics(self, *, training: bool = False) -> list[Metric]:
        return [self.new_metric(training=training), *self._tree_metrics(training=training)]

    def _tree_metrics(self, *, training: bool) -> list[Metric]:
        chosen = self._chosen
        if isinstance(chosen, Reader):
            return [BracketStatistics()] if chosen.learns_trees and not training else []
        latent = chosen.reads_scores and chosen.gives_structures
        return [] if training and not latent else [TreeStatistics()]

    def measured(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        found = super().measured(metrics)
        for metric in metrics:
            if isinstance(metric, TreeStatistics):
                found["histogram"] = {str(size): n for size, n in metric.histogram().items()}
        return found
