"""The reverse dictionary: from a definition to the word that it defines."""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from sparsewood.lab.data.batches import Batch
from sparsewood.lab.data.vectors import VectorReference
from sparsewood.lab.tasks.metrics import Metric, Output, Ranks
from sparsewood.lab.tasks.model import ModelConfig, TreeModel, widened


class ReverseDictionary(TreeModel):
    """A unit vector for each tree of a definition, compared with those of the candidates.

    With r(h, x) the vector of tree h and v(h, x) = W r(h, x) scaled to unit norm, the answer is the
    mean sum_h p(h | x) v(h, x), scaled to unit norm again ("marginal") or not ("expected"); the
    loss is 1 minus its inner product with the vector of the word. Candidates are ranked by
    that product. Input and output vectors have unit norm and are fixed.

    Niculae, Martins & Cardie (2018), section 4.3; Hill et al. (2016).

    Args:
        labels: the candidates.
    """

    task = "revdict"
    criterion = "loss"
    higher_is_better = False
    tunes_vectors = False

    candidates: Tensor

    def __init__(
        self,
        options: ModelConfig,
        words: list[str],
        labels: list[str],
        lowercase: bool = True,
        vectors: VectorReference | None = None,
    ) -> None:
        super().__init__(options, words, labels, lowercase, vectors)
        self.output = nn.Linear(options.hidden, options.embedding)
        self.register_buffer("candidates", torch.zeros(len(labels), options.embedding))

    def embedded(self, vectors: Tensor) -> Tensor:
        return normalize(vectors, dim=-1)

    def set_candidates(self, vectors: Tensor) -> None:
        """The vectors (labels, embedding) of the candidates; zero for a word that has none."""
        if vectors.shape != self.candidates.shape:
            raise ValueError(
                f"candidates: expected {tuple(self.candidates.shape)} for {len(self.labels)} "
                f"words, got {tuple(vectors.shape)}"
            )
        self.candidates.copy_(normalize(vectors, dim=-1))

    def forward(self, batch: Batch) -> Output:
        posterior, roots = self.read(batch.sides[0])
        mean = posterior.expect(normalize(widened(self.output(roots)), dim=-1))
        unit = normalize(mean, dim=-1)
        if (batch.targets < 0).any():
            return Output(None, unit, (posterior,))
        answer = mean if self.options.loss == "expected" else unit
        loss = 1 - (answer * self.candidates[batch.targets]).sum(-1)
        return Output(loss, unit, (posterior,))

    def rank(self, prediction: Tensor, targets: Tensor) -> Tensor:
        """(B,) how many candidates are at least as near to (B, d) predictions as the targets."""
        scores = prediction @ self.candidates.T
        right = scores.gather(1, targets[:, None])
        return (scores >= right).sum(-1)

    def nearest(self, prediction: Tensor, k: int) -> list[list[tuple[str, float]]]:
        """The `k` candidates nearest to each of (B, d) predictions, and their cosines."""
        cosines, index = (prediction @ self.candidates.T).topk(min(k, len(self.labels)))
        return [
            [(self.labels[i], c) for i, c in zip(row, scores, strict=True)]
            for row, scores in zip(index.tolist(), cosines.tolist(), strict=True)
        ]

    def new_metric(self) -> Metric:
        return _ModelRanks(self)


class _ModelRanks(Ranks):
    """The ranks by a model. It holds the model only while adding."""

    def __init__(self, model: ReverseDictionary) -> None:
        super().__init__()
        self._model: ReverseDictionary | None = model

    def add(self, output: Output, batch: Batch) -> None:
        assert self._model is not None
        assert output.loss is not None, "a metric needs targets"
        self.extend(output.loss, self._model.rank(output.prediction.detach(), batch.targets))

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_model": None}
