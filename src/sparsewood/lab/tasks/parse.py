"""A dependency parser: from words to one tree per sentence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Self

import torch
from torch import Tensor, nn

from sparsewood.estimators import Problem
from sparsewood.lab.data.batches import cut_by_words
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.vectors import WordVectors
from sparsewood.lab.data.vocabulary import UNKNOWN, Vocabulary
from sparsewood.lab.tasks._parser_input import ParserBatch, ParserInput, ParserSplit, characters_of
from sparsewood.lab.tasks._spelling import Spelling
from sparsewood.lab.tasks.attachment import Attachment
from sparsewood.lab.tasks.measures import LOSS, Measure, MetricSpec
from sparsewood.lab.tasks.metrics import LossMetric, Metric, Output
from sparsewood.lab.tasks.parser_config import LOSSES, ParserConfig
from sparsewood.lab.tasks.pretrained import Pretrained, PretrainedEncoder, saved, unread_vectors
from sparsewood.lab.tasks.task import Model, Task
from sparsewood.nn._bilstm import run_bilstm
from sparsewood.nn.between import BetweenArcScorer
from sparsewood.nn.scorers import BiaffineArcScorer
from sparsewood.posterior import Posterior
from sparsewood.structures.dependency import DependencyTrees

_BUDGET = 5000  # maximum words per batch of `parse`, including padding


class DependencyParser(Model):
    """Words -> word vectors and spellings -> BiLSTM -> biaffine arc scores -> the best tree.

    The parser of Dozat & Manning (2017), without tags and labels. A word is the concatenation of
    three vectors: a learned one, a projected fixed one, and the output of a convolution over its
    characters (Ma & Hovy 2016). In training, each of the three is dropped for some words. A
    pretrained encoder replaces everything before the scorer. Trees have one root.

    Args:
        options: the shape of the parser.
        words: the words with a learned embedding; the first is "<unk>".
        characters: the characters with a learned embedding.
        vector_words: the words with a fixed vector; the first is "<unk>", whose vector is zero.
        vector_size: size of the fixed vectors; 0 without them.
        pretrained: a pretrained encoder without its weights. Default: the encoder named by the
            option `encoder`, with its weights.
    """

    task = "parse"
    vectors: Tensor

    def __init__(
        self,
        options: ParserConfig,
        words: list[str],
        characters: list[str],
        vector_words: list[str],
        vector_size: int,
        pretrained: Pretrained | None = None,
    ) -> None:
        super().__init__()
        self.options: ParserConfig = options
        self.structure = DependencyTrees(projective=options.projective, single_root=True)
        self.encoder: PretrainedEncoder | None = None
        split = None
        if options.pretrained:
            size, tuned = 2 * options.hidden, options.tune_encoder
            self.encoder = PretrainedEncoder.make(
                options.encoder, pretrained, size, tuned=tuned, precision=options.encoder_precision
            )
            split = self.encoder.split
        self.input = ParserInput(words, vector_words, characters, split)
        if self.encoder is None:
            self._add_bilstm(vector_size)
        self.scorer = BiaffineArcScorer(2 * options.hidden, options.arc, dropout=options.dropout)

    def _add_bilstm(self, vector_size: int) -> None:
        """Add the BiLSTM and its inputs."""
        options, words = self.options, len(self.input.words)
        self.embedding = nn.Embedding(words, options.embedding)
        self.spelling = Spelling(self.input.alphabet, options.characters, options.filters)
        width = options.embedding + options.filters
        # Half precision saves space; the vectors have few significant digits anyway.
        table = torch.zeros(len(self.input.vector_words), vector_size, dtype=torch.float16)
        self.register_buffer("vectors", table)
        if vector_size:
            self.projection = nn.Linear(vector_size, options.embedding)
            width += options.embedding
        self.between: BetweenArcScorer | None = None
        if options.scorer == "both":
            self.between = BetweenArcScorer(width, options.arc)
        sizes = [width, *[2 * options.hidden] * (options.layers - 1)]
        self.layers = nn.ModuleList(
            nn.LSTM(size, options.hidden, batch_first=True, bidirectional=True) for size in sizes
        )

    @classmethod
    def build(
        cls,
        corpus: Corpus,
        options: ParserConfig,
        vectors: WordVectors | None = None,
        *,
        lowercase: bool = True,
        min_count: int = 1,
    ) -> Self:
        """Learned embeddings are for frequent words of the training split, fixed vectors for all
        words that have one. Spellings distinguish upper and lower case. A pretrained encoder uses
        none of these.
        """
        if options.pretrained:
            if vectors is not None:
                raise ValueError(unread_vectors(options.encoder))
            return cls(options, [UNKNOWN], [], [UNKNOWN], 0)
        sentences = [s for example in corpus.splits["train"] for s in example.sentences]
        words = Vocabulary.build(sentences, min_count=min_count).words
        known = [] if vectors is None else sorted({w.lower() for w in vectors.words} - {UNKNOWN})
        size = 0 if vectors is None else vectors.size
        parser = cls(options, words, characters_of(sentences), [UNKNOWN, *known], size)
        if vectors is not None and known:
            parser.vectors[1:] = vectors.lookup(known)
        return parser

    def config(self) -> dict[str, Any]:
        return {
            **super().config(),
            "options": asdict(self.options),
            "words": self.input.words.words,
            "characters": self.input.characters,
            "vector_words": self.input.vector_words.words,
            "vector_size": 0 if self.encoder is not None else self.vectors.shape[1],
            **saved(self.encoder),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        names = ("words", "characters", "vector_words", "vector_size")
        options, shape = ParserConfig(**config["options"]), Pretrained.saved_in(config)
        return cls(options, *(config[name] for name in names), pretrained=shape)

    def encode(self, examples: Sequence[Example]) -> ParserSplit:
        return ParserSplit(examples, self.input, by_subwords=bool(self.encoder_parameters()))

    def scores(self, batch: ParserBatch) -> Tensor:
        """Arc scores (B, n, n + 1) of a batch on the parser's device."""
        if self.encoder is not None and batch.states is not None:
            return self._of_pairs(self.encoder.of_outputs(batch.states, batch.lengths))
        if self.encoder is not None:
            assert batch.subwords is not None, "the batch was made for another parser"
            x = self.encoder(batch.subwords, batch.owners, *batch.words.shape)
            return self._of_pairs(x)
        words = self._words(batch)
        scores = self._of_pairs(self._in_sentence(words, batch.lengths))
        if self.between is None:
            return scores
        return scores + self.between(self._drop_features(words)).float()

    def _of_pairs(self, x: Tensor) -> Tensor:
        """The biaffine scores of the encoder's vectors (B, n, 2 * hidden)."""
        return self.scorer(self._drop_features(x)).float()

    def _words(self, batch: ParserBatch) -> Tensor:
        """(B, n, .) word vectors: the learned ones, the spellings, the projected ones."""
        known = [self.embedding(batch.words), self.spelling(batch.spellings)[batch.spelled]]
        if self.vectors.shape[1]:
            rows = self.vectors[batch.vectors].to(self.projection.weight.dtype)
            known.append(self.projection(rows))
        return torch.cat([self._drop_words(part) for part in known], -1)

    def _in_sentence(self, x: Tensor, lengths: Tensor) -> Tensor:
        """(B, n, 2 * hidden) the vectors of the BiLSTM, from those of the words."""
        for layer in self.layers:
            assert isinstance(layer, nn.LSTM)
            x = run_bilstm(layer, self._drop_features(x), lengths)
        return x

    def forward(self, batch: ParserBatch) -> Output:
        """The loss of each sentence is a sum over its words; the prediction is the arc scores.

        Outside training, the posterior is the best tree of each sentence.
        """
        scores, loss = self.scores(batch), None
        if batch.heads is not None:
            loss = LOSSES[self.options.loss](
                scores, batch.heads, self.structure, lengths=batch.lengths, reduction="none"
            )
        best = () if self.training else (self._best(scores, batch.lengths),)
        return Output(loss, scores, best)

    def _best(self, scores: Tensor, lengths: Tensor) -> Posterior:
        heads = self.structure.argmax(scores.detach(), lengths)
        batch, shape = scores.shape[:1], tuple(scores.shape[1:])
        return Posterior.uniform(self.structure, heads, batch, shape, lengths, scores.dtype)

    def outcomes(self, output: Output, batch: ParserBatch) -> None:
        """None: attachment is a mean over words, not over sentences."""

    def new_metrics(self, *, training: bool = False) -> list[Metric]:
        return [LossMetric() if training else Attachment()]

    def problems(self, batch: ParserBatch) -> tuple[Problem, ...]:
        return (Problem(self.scores(batch), self.structure, batch.lengths),)

    def posterior(self, sentences: Sequence[Sentence]) -> Posterior:
        batch = self.input.batch(sentences).to(next(self.parameters()).device)
        return self._best(self.scores(batch), batch.lengths)

    def unknown(self, words: Iterable[str]) -> list[str]:
        """The `words` with only a spelling, or without a sub-word."""
        if self.encoder is not None:
            text = list(words)
            never = self.encoder.split.unknown(text)
            return [word for word in text if word in never]
        known = (self.input.words, self.input.vector_words)
        return [word for word in words if not any(word in vocabulary for vocabulary in known)]

    def parse(
        self, sentences: Sequence[Sequence[str]], *, budget: int = _BUDGET
    ) -> list[tuple[int, ...]]:
        """The heads of each sentence, given its words.

        Args:
            sentences: of at least one word each.
            budget: maximum words per batch, including padding.
        """
        heads: list[tuple[int, ...]] = [()] * len(sentences)
        for row, tree in self.parsed(sentences, budget=budget):
            heads[row] = tree
        return heads

    def parsed(
        self, sentences: Sequence[Sequence[str]], *, budget: int = _BUDGET
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """As `parse`, but yields the index and the heads of each sentence, shorter ones first."""
        for row, words in enumerate(sentences):
            if not words:
                raise ValueError(f"sentence {row} has no words")
        training = self.training
        self.eval()
        try:
            lengths = [len(words) for words in sentences]
            order = sorted(range(len(lengths)), key=lengths.__getitem__)
            for rows in cut_by_words(order, lengths, budget):
                with torch.no_grad():
                    best = self.posterior([Sentence(tuple(sentences[row])) for row in rows])
                for row, tree in zip(rows, best.structures.tolist(), strict=True):
                    yield row, tuple(tree[: lengths[row]])
        finally:
            self.train(training)

    def _drop_words(self, x: Tensor) -> Tensor:
        """Dropout of whole words: (B, n, d)."""
        return x * nn.functional.dropout(
            x.new_ones(*x.shape[:2], 1), self.options.dropout, self.training
        )

    def _drop_features(self, x: Tensor) -> Tensor:
        """Dropout of features, the same for all words of a sentence: (B, n, d).

        Gal & Ghahramani (2016), "A theoretically grounded application of dropout in RNNs".
        """
        return x * nn.functional.dropout(
            x.new_ones(len(x), 1, x.shape[2]), self.options.dropout, self.training
        )


_UAS = Measure(
    "uas",
    "attachment",
    2,
    "%",
    brief="attachment {:.2f}",
    compared=True,
    narrow="attach-\nment %",
)
_UAS_WITHOUT_PUNCTUATION = Measure(
    "uas_without_punctuation", "without punctuation", 2, "%", compared=True
)
_EXACT = Measure("exact", "whole trees", 2, "%", compared=True, narrow="whole\ntrees %")
TASK = Task(
    "parse",
    DependencyParser,
    ParserConfig,
    MetricSpec(_UAS, (LOSS, _UAS, _UAS_WITHOUT_PUNCTUATION, _EXACT)),
    varies="loss",
    example=("She saw the man with the telescope.",),
    asked="Find the head of each word: in “She saw him.” it is “saw” for “She” and for “him”.",
    training={
        "optimizer": "adam",
        "lr": 2e-3,
        "beta2": 0.9,
        "batch_words": 1000,
        "max_epochs": 40,
        "decay": 1.0,
        "patience": None,
        "warm_up": 100,
        "linear": True,
        "clip": 5.0,
    },
)
