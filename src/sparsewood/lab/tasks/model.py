"""What the models of all tasks share: words, encoder, trees."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, ClassVar, Self, cast

import torch
from torch import Tensor, nn

from sparsewood.estimators import Estimator, Problem
from sparsewood.lab.data.batches import Batch, EncodedSplit, Padded, class_targets
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.vectors import VectorReference, WordVectors
from sparsewood.lab.data.vocabulary import Vocabulary
from sparsewood.lab.tasks._modules import encoders, latent_trees, with_trees
from sparsewood.lab.tasks.brackets import BracketStatistics
from sparsewood.lab.tasks.metrics import LossMetric, Metric, Output, TreeStatistics
from sparsewood.lab.tasks.model_config import ModelConfig
from sparsewood.lab.tasks.readers import Reader, SentenceReader, name_of, parse
from sparsewood.lab.tasks.task import Model
from sparsewood.lab.tasks.words import WordModel
from sparsewood.nn.latent import LatentTreeEncoder
from sparsewood.nn.noise import GumbelNoise
from sparsewood.posterior import Posterior


class TreeModel(WordModel, Model):
    """Words -> embeddings -> BiLSTM -> trees -> composer -> a vector for each tree.

    Where the option `estimator` names a reader there are no dependency trees, and that reads the
    embeddings, or the vectors of the BiLSTM: a vector for each sentence.

    Args:
        options: the shape of the model.
        words: the vocabulary; the first is "<unk>".
        labels: what the integers of the targets stand for.
        lowercase: look words up in lower case.
        vectors: the file that the embeddings started from. Out of training, words outside the
            vocabulary get their vectors from it, if it is there unchanged.
    """

    config_class: ClassVar[type[ModelConfig]] = ModelConfig
    tunes_vectors: ClassVar[bool] = True  # whether `tune_vectors` has a say

    def __init__(
        self,
        options: ModelConfig,
        words: list[str],
        labels: list[str],
        lowercase: bool = True,
        vectors: VectorReference | None = None,
    ) -> None:
        encoder, second = encoders(options, len(words))
        vocabulary = Vocabulary(words, lowercase=lowercase)
        tuned = options.tune_vectors and self.tunes_vectors
        super().__init__(encoder, vocabulary, vectors, tuned=tuned, second=second)
        self.options = options
        self.labels = labels
        row = parse(options.estimator)
        self.trees: LatentTreeEncoder | None = None
        self.reader: SentenceReader | None = None
        if isinstance(row, Reader):
            self.reader = SentenceReader(row, (options.embedding, options.hidden))
        else:
            self.trees = latent_trees(options, row)
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
        training has a vector too; without, that of the training split.
        """
        if vectors is None:
            train = (s for example in corpus.splits["train"] for s in example.sentences)
            vocabulary = Vocabulary.build(train, lowercase=lowercase, min_count=min_count)
        else:
            options = replace(options, embedding=vectors.size)
            vocabulary = Vocabulary.build(corpus.sentences(), lowercase=lowercase)
        name = None if vectors is None else vectors.name
        reference = None if name is None else VectorReference.to(name)
        model = cls(options, vocabulary.words, cls.labels_of(corpus), lowercase, reference)
        model.start_from(vectors)
        return model

    @classmethod
    def labels_of(cls, corpus: Corpus) -> list[str]:
        """What the integers of the targets stand for."""
        return corpus.labels

    def start_from(self, vectors: WordVectors | None) -> None:
        """Start the embeddings from word vectors, if any."""
        if vectors is not None:
            self.set_vectors(vectors.lookup(self.vocabulary.words))

    def config(self) -> dict[str, Any]:
        return {
            "options": asdict(replace(self.options, estimator=name_of(self._row))),
            "words": self.vocabulary.words,
            "labels": self.labels,
            "lowercase": self.vocabulary.lowercase,
            "vectors": None if self.vectors is None else asdict(self.vectors),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        told = config.get("vectors")
        return cls(
            cls.config_class(**config["options"]),
            config["words"],
            config["labels"],
            config["lowercase"],
            None if told is None else VectorReference(**told),
        )

    @property
    def _row(self) -> Estimator | Reader:
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
        row = self._row
        if isinstance(row, Reader):
            return row.temperature_at_test
        return getattr(row.at_test(), "temperature", None)

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
            assert self.encoder.lstm is not None
            parts.append(self.encoder.lstm if self.second is None else self.encoder)
        return [p for part in parts for p in part.parameters() if p.requires_grad]

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
        return EncodedSplit(examples, self.vocabulary, self.targets_of(examples))

    def targets_of(self, examples: Sequence[Example]) -> Tensor:
        """What is to be said of the examples, as `Batch.targets` has it."""
        return class_targets(examples, self.labels)

    def read(self, side: Padded) -> tuple[Posterior, Tensor]:
        """The trees of the sentences of one side, and a vector (T, hidden) for each tree.

        With a reader, a posterior of weight 1 and a vector (B, hidden) for each sentence.
        """
        x = self.encoder(side.tokens, side.lengths)
        if self.reader is not None:
            posterior, vectors = self.reader(x, side.lengths)
            return posterior, self.dropout(vectors)
        assert self.trees is not None
        heads = side.heads if self.reads_heads else None
        posterior, roots = self.trees(
            x,
            side.lengths,
            heads,
            words=self._words(side, self.trees.estimator),
            forbidden=self._forbidden(side, latent=self.trees.scorer is not None),
        )
        return posterior, self.dropout(roots)

    def _words(self, side: Padded, estimator: Estimator) -> Tensor | None:
        """(B, n, embedding), what the composer reads; None where that is what the parser reads."""
        if self.second is not None:
            return self.second(side.tokens, side.lengths)
        if self.options.composer_input == "context" or not estimator.reads_scores:
            return None
        return self.dropout(self.encoder.embedding(side.tokens))

    def _forbidden(self, side: Padded, *, latent: bool) -> Tensor | None:
        """(B, n, n + 1) bool, the arcs from words that are leaves; None without such words."""
        if not self.options.leaves or not latent:
            return None
        known = [w for w in map(self.vocabulary.form, self.options.leaves) if w in self.vocabulary]
        leaf = torch.zeros_like(side.tokens, dtype=torch.bool)
        for token in self.vocabulary.encode(known):  # few; a tensor of them would be copied
            leaf |= side.tokens == token
        inside = torch.arange(leaf.shape[1], device=leaf.device) < side.lengths[:, None]
        others, root = inside & ~leaf, self.options.known_root
        if root is not None:
            others = others[:, root - 1 : root]
        if root is not None or self.options.single_root:  # else there is the flat tree
            leaf &= others.any(1, keepdim=True)
        heads = nn.functional.pad(leaf, (1, 0))
        return heads[:, None].expand(-1, leaf.shape[1], -1)

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
        batch = split.batch(range(len(sentences))).to(self.encoder.embedding.weight.device)
        return with_trees(self.read(batch.sides[0])[0])

    def problems(self, batch: Batch) -> tuple[Problem, ...]:
        trees = self.trees
        if trees is None or trees.scorer is None:
            return ()
        read = [self.encoder(side.tokens, side.lengths) for side in batch.sides]
        return tuple(
            Problem(
                trees.scores(x, self._forbidden(side, latent=True)), trees.structure, side.lengths
            )
            for x, side in zip(read, batch.sides, strict=True)
        )

    @abstractmethod
    def new_metric(self, *, training: bool) -> LossMetric:
        """An empty metric of this task's answers."""

    def new_metrics(self, *, training: bool = False) -> list[Metric]:
        return [self.new_metric(training=training), *self._tree_metrics(training=training)]

    def _tree_metrics(self, *, training: bool) -> list[Metric]:
        row = self._row
        if isinstance(row, Reader):
            return [BracketStatistics()] if row.learns_trees and not training else []
        latent = row.reads_scores and row.gives_structures
        return [] if training and not latent else [TreeStatistics()]

    def measured(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        found = super().measured(metrics)
        for metric in metrics:
            if isinstance(metric, TreeStatistics):
                found["histogram"] = {str(size): n for size, n in metric.histogram().items()}
        return found
