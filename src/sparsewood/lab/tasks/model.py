"""What the models of all tasks share: words, encoder, trees, and how a run describes them."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from torch import Tensor, nn

from sparsewood._support import log_expectation
from sparsewood.estimators import Given, name_of, parse
from sparsewood.estimators.names import NAMES
from sparsewood.lab._checks import check
from sparsewood.lab.data.batches import EncodedSplit, Padded
from sparsewood.lab.data.examples import Corpus, Example, Sentence
from sparsewood.lab.data.vectors import VectorReference, WordVectors
from sparsewood.lab.data.vocabulary import Vocabulary
from sparsewood.lab.tasks.metrics import LossMetric, Metric, Output, TreeStatistics
from sparsewood.lab.tasks.task import Model
from sparsewood.lab.tasks.words import WordModel
from sparsewood.nn.encoder import SentenceEncoder
from sparsewood.nn.latent import LatentTreeEncoder
from sparsewood.nn.scorers import MLPArcScorer
from sparsewood.nn.tree_lstm import ChildSumTreeLSTM
from sparsewood.pairs import PairPosterior
from sparsewood.posterior import Posterior
from sparsewood.structures.dependency import DependencyTrees

# What help offers: the names of those that give whole trees.
ESTIMATORS = "|".join(name for name, (kind, _) in NAMES.items() if kind.gives_structures)


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a model. The defaults are what most of the published runs share.

    Attributes:
        estimator: where the trees come from; a name, and after a colon its options. The paper's
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

    estimator: Annotated[str, ESTIMATORS] = "sparsemap:max_active=10"
    hidden: int = 300
    embedding: int = 300
    tune_vectors: bool = False
    dropout: float = 0.5
    projective: bool = False
    single_root: bool = False
    loss: Literal["marginal", "expected"] = "marginal"

    @property
    def needs_heads(self) -> bool:
        """Whether examples need heads."""
        return isinstance(parse(self.estimator), Given)

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


class TreeModel(WordModel, Model):
    """Words -> embeddings -> BiLSTM -> trees -> TreeLSTM -> a vector for each tree.

    Args:
        options: the shape of the model.
        words: the vocabulary; the first is "<unk>".
        labels: what the integers of the targets stand for.
        lowercase: look words up in lower case.
        vectors: the file that the embeddings started from. Out of training, words outside the
            vocabulary get their vectors from it, if it is there unchanged.
    """

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
            "options": asdict(replace(self.options, estimator=name_of(self.trees.estimator))),
            "words": self.vocabulary.words,
            "labels": self.labels,
            "lowercase": self.vocabulary.lowercase,
            "vectors": None if self.vectors is None else asdict(self.vectors),
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        told = config.get("vectors")
        return cls(
            ModelConfig(**config["options"]),
            config["words"],
            config["labels"],
            config["lowercase"],
            None if told is None else VectorReference(**told),
        )

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
        return self.options.needs_heads

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

    def posterior(self, sentences: Sequence[Sentence]) -> Posterior:
        split = self.encode([Example((sentence,)) for sentence in sentences])
        batch = split.batch(range(len(sentences))).to(self.encoder.embedding.weight.device)
        return self.read(batch.sides[0])[0]

    def answers(self, output: Output, i: int, k: int) -> dict[str, float]:
        """The `k` likeliest labels of example `i`, with probabilities."""
        p, index = output.prediction[i].float().topk(min(k, len(self.labels)))
        return {self.labels[j]: x for j, x in zip(index.tolist(), p.tolist(), strict=True)}

    @abstractmethod
    def new_metric(self, *, training: bool) -> LossMetric:
        """An empty metric of this task's answers."""

    def new_metrics(self, *, training: bool = False) -> list[Metric]:
        trees = [] if training and not self.trees.estimator.reads_scores else [TreeStatistics()]
        return [self.new_metric(training=training), *trees]

    def measured(self, metrics: Sequence[Metric]) -> dict[str, Any]:
        found = super().measured(metrics)
        sizes = [m.histogram() for m in metrics if isinstance(m, TreeStatistics)]
        return {**found, "histogram": {str(size): n for size, n in sizes[0].items()}}


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
