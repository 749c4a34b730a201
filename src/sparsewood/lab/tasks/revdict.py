"""The reverse dictionary: from a definition to the defined word."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from sparsewood._internal.host import host_copy
from sparsewood._internal.numbers import check_choice
from sparsewood.lab._checks import check
from sparsewood.lab.data.batches import Batch
from sparsewood.lab.data.definitions import definition_words
from sparsewood.lab.data.examples import Corpus
from sparsewood.lab.data.vectors import WordVectors
from sparsewood.lab.tasks.measures import LOSS, TREES, Measure, MetricSpec
from sparsewood.lab.tasks.metrics import LossMetric, Output, Ranks
from sparsewood.lab.tasks.mixture import widened
from sparsewood.lab.tasks.model import TreeModel
from sparsewood.lab.tasks.model_config import ModelConfig
from sparsewood.lab.tasks.objectives import Objective, objective_loss
from sparsewood.lab.tasks.task import Task


@dataclass(frozen=True)
class DictionaryConfig(ModelConfig):
    """The shape and the objective of a reverse dictionary.

    Attributes:
        objective: training objective: softmax, cosine or ranking. "softmax" is the cross-entropy of
            scaled cosines over all candidates; "cosine" the distance to the vector of the word;
            "ranking" the margin between that word and a random one.
        scale: scale of the cosines in the softmax.
        negatives: number of candidates drawn per batch for the softmax in training. None means all;
            fewer are faster.
        margin: margin of the ranking.
    """

    objective: Objective = "cosine"
    scale: float = 30.0
    negatives: int | None = None
    margin: float = 0.1

    @property
    def reads_vectors(self) -> bool:
        return True  # those of the candidates

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("model.objective", self.objective, Objective)
        check(
            "model",
            self,
            ("scale", 0 < self.scale < float("inf"), "a positive number"),
            ("negatives", self.negatives is None or self.negatives >= 2, "at least 2"),
            ("margin", 0 <= self.margin < float("inf"), "at least 0"),
        )


class ReverseDictionary(TreeModel):
    """One unit vector per tree of a definition, compared with the vectors of candidates.

    With r(h, x) the vector of tree h and v(h, x) = W r(h, x) scaled to unit norm, the prediction is
    the mean m(x) = sum_h p(h | x) v(h, x), and candidates are ranked by their cosine with it. With
    l(v) the objective of a unit vector (`objective_loss`), the loss of an example is

        marginal    l(m(x) / ||m(x)||)                  that of the answer, as it is ranked
        expected    sum_h p(h | x) l(v(h, x))           that of each tree on its own

    "marginal" computes one softmax over all candidates per example, "expected" one per tree; with
    one tree they are equal. Input and output vectors have unit norm and are fixed.

    Niculae, Martins & Cardie (2018), section 4.3; Hill et al. (2016).

    Args:
        labels: the candidates.
    """

    task = "revdict"
    config_class = DictionaryConfig
    tunes_vectors = False

    options: DictionaryConfig
    candidates: Tensor

    def add_layers(self) -> None:
        self.output = nn.Linear(self.options.hidden, self.options.embedding)
        self.register_buffer("candidates", torch.zeros(len(self.labels), self.options.embedding))

    @staticmethod
    def words_of(text: str) -> tuple[str, ...]:
        return definition_words(text)

    @classmethod
    def check(cls, corpus: Corpus) -> None:
        if len(corpus.candidates) < 2:
            raise ValueError(f"expected at least two candidates, got {corpus.candidates}")

    @classmethod
    def labels_of(cls, corpus: Corpus) -> list[str]:
        return list(corpus.candidates)

    def start_from(self, vectors: WordVectors | None) -> None:
        if vectors is None:
            raise ValueError("a reverse dictionary needs word vectors")
        super().start_from(vectors)
        self.set_candidates(vectors.lookup(self.labels))

    def embedded(self, vectors: Tensor) -> Tensor:
        return normalize(vectors, dim=-1)

    def set_candidates(self, vectors: Tensor) -> None:
        """Set the vectors (labels, embedding) of the candidates; zero for words without one."""
        if vectors.shape != self.candidates.shape:
            raise ValueError(
                f"candidates: expected {tuple(self.candidates.shape)} for {len(self.labels)} "
                f"words, got {tuple(vectors.shape)}"
            )
        self.candidates.copy_(normalize(vectors, dim=-1))

    def forward(self, batch: Batch) -> Output:
        posterior, roots = self.read(batch.sides[0])
        each = normalize(widened(self.output(roots)), dim=-1)
        unit = normalize(posterior.expect(each), dim=-1)
        if (host_copy(batch.targets) < 0).any():
            return self.said(None, unit, posterior)
        if self.options.loss == "expected":
            loss = posterior.expect(self._loss(each, batch.targets[posterior.instance]))
        else:
            loss = self._loss(unit, batch.targets)
        return self.said(loss, unit, posterior)

    def _loss(self, vectors: Tensor, targets: Tensor) -> Tensor:
        """The objective (T,) of unit vectors (T, d); outside training it is deterministic."""
        options = self.options
        return objective_loss(
            vectors,
            targets,
            self.candidates,
            options.objective,
            scale=options.scale,
            margin=options.margin,
            draw=self.training,
            negatives=options.negatives,
        )

    def rank(self, prediction: Tensor, targets: Tensor) -> Tensor:
        """(B,) the number of candidates at least as close to (B, d) predictions as the target."""
        scores = prediction @ self.candidates.T
        right = scores.gather(1, targets[:, None])
        return (scores >= right).sum(-1)

    def nearest(self, prediction: Tensor, k: int) -> list[list[tuple[str, float]]]:
        """The `k` candidates closest to each of (B, d) predictions, with their cosines."""
        cosines, index = (prediction @ self.candidates.T).topk(min(k, len(self.labels)))
        return [
            [(self.labels[i], c) for i, c in zip(row, scores, strict=True)]
            for row, scores in zip(index.tolist(), cosines.tolist(), strict=True)
        ]

    def answers(self, output: Output, i: int, k: int) -> dict[str, float]:
        """The `k` nearest words of example `i`, with cosines."""
        return dict(self.nearest(output.prediction[i : i + 1], k)[0])

    def new_metric(self, *, training: bool) -> LossMetric:
        # Ranking all candidates in every training step would be too expensive.
        return LossMetric() if training else _ModelRanks(self)


class _ModelRanks(Ranks):
    """Ranks computed by a model."""

    def __init__(self, model: ReverseDictionary) -> None:
        super().__init__()
        self._model = model

    def add(self, output: Output, batch: Batch) -> None:
        assert output.loss is not None, "a metric needs targets"
        self.extend(output.loss, self._model.rank(output.prediction.detach(), batch.targets))


_MEDIAN_RANK = Measure(
    "median_rank",
    "median rank",
    1,
    higher_is_better=False,
    brief="median rank {:.1f}",
    compared=True,
)
_AT_10 = Measure("accuracy_10", "acc@10", 1, "%", brief="at 10 {:.1f}", compared=True)
_AT_100 = Measure("accuracy_100", "acc@100", 1, "%", compared=True)
TASK = Task(
    "revdict",
    ReverseDictionary,
    DictionaryConfig,
    MetricSpec(LOSS, (LOSS, _MEDIAN_RANK, _AT_10, _AT_100, *TREES)),
    form="{:.3f}",  # cosines
    few=True,
    sides=("definition",),
    example=("a small wood",),
    asked="Find the word that a definition defines: “a small wood” is a grove.",
    options={"hidden": 512, "dropout": 0.3, "objective": "softmax"},
    training={"batch": 256, "eval_batch": 256, "max_epochs": 100},
)
