"""Links between the words of two sentences: decoded from attention, compared with people's."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparsewood.lab.data.alignments import AlignedPair
from sparsewood.lab.data.batches import Batches
from sparsewood.lab.tasks.nli import PairModel
from sparsewood.structures.matching import Matching

DECODINGS = {
    "source": "strongest of each source word",
    "target": "strongest of each target word",
    "both": "in both of these",
    "matching": "one-to-one, of the largest sum",
}

Weights = tuple[Tensor, Tensor]
"""Attention of each word to the words of the other sentence: (n, m) and (m, n)."""


class Decoded:
    """The links of one decoding for some pairs, beside those of people.

    Args:
        pairs: pairs of sentences.
        links: the links (L, 2) of each pair, and their weights (L,).
    """

    def __init__(self, pairs: Sequence[AlignedPair], links: Iterable[tuple[Tensor, Tensor]]):
        kinds: list[int] = []
        weights: list[float] = []
        for pair, (found, own) in zip(pairs, links, strict=True):
            kinds += [_kind(pair, (i, j)) for i, j in found.tolist()]
            weights += own.tolist()
        self._kinds, self._weights = numpy.array(kinds, numpy.int64), numpy.array(weights)
        self._sure = sum(len(pair.sure) for pair in pairs)
        self._all = self._sure + sum(len(pair.possible) for pair in pairs)

    def score(self, threshold: float = 0.0) -> dict[str, float]:
        """Precision, recall and F1 in percent, over all links together.

        `precision`, `recall` and `f1` are against sure links alone, so that a possible link counts
        as wrong. `f1_possible` is against sure and possible links.

        Args:
            threshold: links of a smaller weight are left out.
        """
        kept: NDArray[numpy.int64] = self._kinds[self._weights >= threshold]
        sure = _ratios(int((kept == 2).sum()), len(kept), self._sure)
        both = _ratios(int((kept >= 1).sum()), len(kept), self._all)
        return {**sure, "f1_possible": both["f1"], "links": float(len(kept))}

    def best_threshold(self, thresholds: Iterable[float]) -> float:
        """The threshold with the highest F1, the lowest of several."""
        return max(sorted(thresholds), key=lambda threshold: self.score(threshold)["f1"])


def _kind(pair: AlignedPair, link: tuple[int, int]) -> int:
    """2 for a sure link, 1 for a possible one, 0 for others."""
    return 2 if link in pair.sure else int(link in pair.possible)


def _ratios(right: int, predicted: int, expected: int) -> dict[str, float]:
    precision = 100 * right / predicted if predicted else 0.0
    recall = 100 * right / expected if expected else 0.0
    whole = precision + recall
    f1 = 2 * precision * recall / whole if whole else 0.0
    return {"precision": precision, "recall": recall, "f1": f1}


def decoded(pairs: Sequence[AlignedPair], weights: Iterable[Weights]) -> dict[str, Decoded]:
    """The links of each of the `DECODINGS`.

    Args:
        pairs: pairs of sentences.
        weights: attention or similarities of the words of each pair.
    """
    found: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in DECODINGS}
    for to_target, to_source in weights:
        for name, links in links_of(to_target, to_source).items():
            found[name].append(links)
    return {name: Decoded(pairs, links) for name, links in found.items()}


def links_of(to_target: Tensor, to_source: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
    """The links (L, 2) by each of the `DECODINGS`, and their weights (L,).

    A link is weighted by the direction that chose it; in "both" and "matching", by the mean.

    Args:
        to_target: (n, m) attention of each source word.
        to_source: (m, n) attention of each target word.
    """
    n, m = to_target.shape
    mean = (to_target + to_source.mT) / 2
    source = torch.stack([torch.arange(n), to_target.argmax(1)], 1)
    target = torch.stack([to_source.argmax(1), torch.arange(m)], 1)
    mutual = to_source.argmax(1)[to_target.argmax(1)] == torch.arange(n)
    (partners,) = Matching().argmax(mean[None])
    paired = (partners >= 0).nonzero()[:, 0]
    matched = torch.stack([paired, partners[paired]], 1)
    both = source[mutual]
    return {
        "source": (source, to_target[source[:, 0], source[:, 1]]),
        "target": (target, to_source[target[:, 1], target[:, 0]]),
        "both": (both, mean[both[:, 0], both[:, 1]]),
        "matching": (matched, mean[matched[:, 0], matched[:, 1]]),
    }


def attention_of(model: Any, pairs: Sequence[AlignedPair], *, batch: int = 64) -> list[Weights]:
    """The attention of a model between the sentences of each pair.

    Args:
        model: a model of pairs with attention, on its device.
        pairs: pairs of sentences.
        batch: pairs per batch.

    Raises:
        ValueError: if the model has no attention.
    """
    if not isinstance(model, PairModel) or model.attention is None:
        raise ValueError(
            "expected a model of pairs with attention (--attention softmax or matching), got a "
            f"model for {model.task} without it"
        )
    split = model.encode([pair.example for pair in pairs])
    found: dict[int, Weights] = {}
    for rows, one in _outputs(model, Batches(split, batch)):
        to_target, to_source = (weights.cpu() for weights in one)
        for b, row in enumerate(rows):
            n, m = map(len, pairs[row].words)
            found[row] = to_target[b, :n, :m], to_source[b, :m, :n]
    return [found[row] for row in range(len(pairs))]


def _outputs(model: PairModel, batches: Batches) -> Iterator[tuple[list[int], Weights]]:
    device, was_training = next(model.parameters()).device, model.training
    model.eval()
    try:
        for rows in batches.order():
            with torch.no_grad():
                batch = batches.split.batch(rows).to(device)
                *_, weights = model.read_pair(*batch.sides)
            assert weights is not None
            yield rows, weights
    finally:
        model.train(was_training)


def similarities(source: Tensor, target: Tensor) -> Weights:
    """The cosines of word vectors (n, d) and (m, d), in both directions; 0 for zero vectors."""
    a, b = (torch.nn.functional.normalize(x, dim=-1) for x in (source, target))
    cosines = a @ b.mT
    return cosines, cosines.mT
