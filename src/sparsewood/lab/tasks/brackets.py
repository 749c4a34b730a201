"""Statistics of binary trees: their agreement with left- and right-branching trees."""

from dataclasses import dataclass
from typing import Any

import torch

from sparsewood.lab.tasks.metrics import Metric, Output
from sparsewood.posterior import Posterior
from sparsewood.structures.binary_trees import BinaryTrees


@dataclass
class BracketStatistics(Metric):
    """The most probable binary trees of sentences, compared with one-sided branching.

    Values: `left_branching` is the share of spans that begin with the first word, in percent of all
        spans in which trees can differ: those of several words except the whole sentence.
        `right_branching` is the share of spans that end with the last word. As all binary trees of
        a sentence have the same number of spans, these are precision, recall and F1 against the
        left- and the right-branching tree.
    """

    spans: int = 0
    first: int = 0
    last: int = 0

    def add(self, output: Output, batch: Any) -> None:
        for posterior in output.posteriors:
            self.add_posterior(posterior)

    def add_posterior(self, posterior: Posterior) -> None:
        """Add the sentences of `posterior`."""
        assert isinstance(posterior.structure, BinaryTrees)
        trees, lengths = posterior.mode.bool(), posterior.lengths
        assert lengths is not None
        words = torch.arange(trees.shape[-1], device=trees.device)
        final = words == lengths[:, None, None] - 1  # by last word
        whole = (words[:, None] == 0) & final
        inner = trees & (words[:, None] < words) & ~whole
        self.later(inner.sum(), inner[:, 0].sum(), (inner & final).sum())

    def take(self, numbers: list[float]) -> None:
        self.spans += int(numbers[0])
        self.first += int(numbers[1])
        self.last += int(numbers[2])

    def values(self) -> dict[str, float]:
        self.settle()
        if not self.spans:
            return {}
        return {
            "left_branching": 100.0 * self.first / self.spans,
            "right_branching": 100.0 * self.last / self.spans,
        }
