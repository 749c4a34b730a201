"""The base of models of latent trees: words, encoder, trees."""

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
    """Words -> embeddings -> BiLSTM -> trees -> composer -> one vector per tree.

    If the option `estimator` names a reader, there are no dependency trees: the reader maps the
    embeddings, or the vectors of the BiLSTM, to one vector per sentence. A pretrained encoder
    replaces embeddings and BiLSTM.

    Args:
        options: the shape of the model, a `config_class` or its entry in `config.json`.
        words: the vocabulary; the first is "<unk>".
        labels: the names of the integer targets.
        lowercase: convert words to lower case.
        vectors: the file that initialised the embeddings. Outside training, words outside the
            vocabulary get their vectors from it, if it has not changed.
        pretrained: a pretrained encoder without its weights. Default: the encoder named by the
            option `encoder`, with its weights.
        task: name of the task, if the class serves several. Default: the first of them.
    """

    config_class: ClassVar[type[ModelConfig]] = ModelConfig
    tunes_vectors: ClassVar[bool] = True  # whether `tune_vectors` applies

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
        """Add the layers of the task, after the vectors of trees."""

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
        """With `vectors`, the vocabulary has the words of all splits, since unseen words have
        vectors too; otherwise those of the training split. Without embeddings, it has the words of
        the option `leaves`.
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
        """The names of the integer targets."""
        return corpus.labels

    def fit(self, examples: Sequence[Example]) -> None:
        """Store statistics of the training split that predictions need."""

    def start_from(self, vectors: WordVectors | None) -> None:
        """Initialise the embeddings from word vectors, if any."""
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
        """The current estimator or reader."""
        if self.reader is not None:
            return self.reader.kind
        assert self.trees is not None
        return self.trees.estimator

    @property
    def estimator(self) -> Estimator | None:
        """The estimator of the trees; None for a model with a reader."""
        return None if self.trees is None else self.trees.estimator

    @property
    def temperature(self) -> float | None:
        """The temperature of the trees at test time, None without one. It can be set."""
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
        """The LSTM of the encoder; None if the parser reads embeddings, as the composer does."""
        assert isinstance(self.encoder, SentenceEncoder)
        return self.encoder.lstm

    @property
    def reads_heads(self) -> bool:
        return self.options.needs_heads

    def encode(self, examples: Sequence[Example]) -> EncodedSplit:
        """The examples as integers.

        Outside training, unknown words are looked up in the file of word vectors, and a warning
        names sentences without any known word.
        """
        if not self.training:
            self.read_words([s.words for example in examples for s in example.sentences])
        targets = self.targets_of(examples)
        return EncodedSplit(
            examples,
            self.vocabulary,
            targets,
            self.split_words,
            by_subwords=bool(self.encoder_parameters()),
        )

    def targets_of(self, examples: Sequence[Example]) -> Tensor:
        """The targets of the examples, as in `Batch.targets`."""
        return class_targets(examples, self.labels)

    def context(self, side: PaddedSentences) -> Tensor:
        """(B, n, hidden) the vectors of the encoder, or embeddings if it has no other layer."""
        if not isinstance(self.encoder, PretrainedEncoder):
            return self.encoder(side.tokens, side.lengths)
        if side.states is not None:
            return self.encoder.of_outputs(side.states, side.lengths)
        assert side.subwords is not None, "the batch was made for another model"
        return self.encoder(side.subwords, side.owners, *side.tokens.shape)

    def read(self, side: PaddedSentences) -> tuple[Posterior, Tensor]:
        """The posterior over the trees of one side, and the vectors (T, hidden) of the trees.

        With a reader, a posterior with weight 1 and the vectors (B, hidden) of the sentences.
        """
        return self.composed(side, self.context(side))

    def composed(
        self, side: PaddedSentences, x: Tensor, words: Tensor | None = None
    ) -> tuple[Posterior, Tensor]:
        """What `read` returns, given word vectors `x`.

        If `words` (B, n, .) are given, composer and reader read them instead of their usual input.
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
        """The posterior over trees given word vectors `x`, for a model without a reader."""
        assert self.trees is not None
        heads, forbidden = self._told(side)
        scored = self._scored(side, x)
        return self.trees.posterior(scored, side.lengths, heads, forbidden=forbidden)

    def _scored(self, side: PaddedSentences, x: Tensor) -> Tensor:
        """The input of the scorer, given the encoder's vectors `x`."""
        assert self.trees is not None
        if not isinstance(self.trees.scorer, SumOfScorers):
            return x
        assert isinstance(self.encoder, SentenceEncoder)
        return torch.cat([x, self.dropout(self.encoder.embedding(side.tokens))], -1)

    def _told(self, side: PaddedSentences) -> tuple[Tensor | None, Tensor | None]:
        """What is known about the trees of one side: given heads, and forbidden arcs."""
        assert self.trees is not None
        heads = side.heads if self.reads_heads else None
        latent = self.trees.scorer is not None
        return heads, self._forbidden(side, latent=latent)

    def _words(self, side: PaddedSentences, estimator: Estimator) -> Tensor | None:
        """(B, n, embedding) the input of the composer; None if it reads the parser's input."""
        if self.second is not None:
            return self.second(side.tokens, side.lengths)
        if self.options.composer_input == "context" or not estimator.reads_scores:
            return None
        assert isinstance(self.encoder, SentenceEncoder)
        return self.dropout(self.encoder.embedding(side.tokens))

    def _forbidden(self, side: PaddedSentences, *, latent: bool) -> Tensor | None:
        """(B, n, n + 1) bool, the arcs from words in `leaves`; None without such words."""
        if not self.options.leaves or not latent:
            return None
        known = [w for w in map(self.vocabulary.form, self.options.leaves) if w in self.vocabulary]
        return arcs_from(self.vocabulary.encode(known), side, self.options)

    def said(self, loss: Tensor | None, prediction: Tensor, *posteriors: Posterior) -> Output:
        """The output; in training, the weighted entropy of the posteriors is subtracted from the
        loss.

        Outside training, posteriors without trees are replaced by their most probable trees.
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
