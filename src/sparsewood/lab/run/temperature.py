"""The temperature at test time: that of training, unless another is significantly better."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from sparsewood.lab.data.batches import Batch
from sparsewood.lab.run.outcomes import Gathered
from sparsewood.lab.tasks.build import TASKS
from sparsewood.lab.tasks.metrics import Output, count_status
from sparsewood.lab.tasks.task import Model
from sparsewood.status import Status

FACTORS = tuple(2.0**k for k in range(-8, 9))  # Niculae, Martins & Cardie (2018)
LEVEL = 0.05  # significance level
WORTH = 1e-3  # minimum relative gain over the temperature of training
_DRAWS = 9999  # draws of a permutation test
_AT_ONCE = 1000


@dataclass(frozen=True)
class TemperatureSearch:
    """The result of the search on validation.

    Attributes:
        trained: the temperature of training.
        chosen: the temperature for the tests.
        curve: the criterion at each temperature.
        p: the one-sided p value of the gain over `trained`, before correction.
        capped: number of sentences without a certificate because of a cap.
        sentences: number of sentences, counting both sides of pairs.
    """

    trained: float
    chosen: float
    curve: Mapping[float, float]
    p: Mapping[float, float]
    capped: Mapping[float, int]
    sentences: int

    def to_json(self) -> dict[str, object]:
        """The entry of `result.json` beside the curve."""
        return {
            "trained": self.trained,
            "p": {str(t): p for t, p in self.p.items()},
            "capped": {str(t): n for t, n in self.capped.items()},
            "sentences": self.sentences,
        }

    def __str__(self) -> str:
        others = len(self.p)
        if self.chosen == self.trained:
            best = min(self.p, key=self.p.__getitem__)
            text = (
                f"temperature {self.trained:g} kept: none of the {others} other temperatures is "
                f"significantly better on validation (the best candidate, {best:g}: "
                f"{self._compared(best)})"
            )
        else:
            text = (
                f"temperature {self.chosen:g} chosen among {others} others on validation: "
                f"{self._compared(self.chosen)}"
            )
        cap = self.capped[self.chosen]
        if cap:
            text += f"; {cap:,} of {self.sentences:,} sentences capped"
        return text

    def _compared(self, other: float) -> str:
        values = f"{self.curve[other]:.4g} against {self.curve[self.trained]:.4g}"
        return f"{values}, p = {self.p[other]:.2g}"


def temperature_search(
    model: Model, outputs: Callable[[], Iterable[tuple[Output, Batch]]]
) -> TemperatureSearch:
    """Choose the temperature for the tests among 2^-8 ... 2^8 times that of training, on
    validation.

    Each is compared with the temperature of training by paired outcomes: correctness or loss of
    each example. A gain counts if it is significant at 5 % after Holm's correction for the number
    of temperatures, and at least a thousandth of the value. The best of those is chosen; among
    equals the closest to that of training on a logarithmic scale, then the lower. If none counts,
    the temperature of training is kept. The temperature of the model is not changed.

    Args:
        model: the model whose temperature is varied.
        outputs: returns the outputs of the current `model` on validation.
    """
    trained = model.temperature
    if trained is None:
        variant = TASKS[model.task].variant(model.options)
        raise ValueError(f"the {variant} has no temperature to choose")
    points: dict[float, Tensor] = {}
    reached: dict[float, int] = {}
    sentences = 0
    try:
        for factor in FACTORS:
            tried = model.temperature = trained * factor
            points[tried], reached[tried], sentences = _measure(model, outputs())
    finally:
        model.temperature = trained
    sign = 1 if TASKS[model.task].metrics.criterion.higher_is_better else -1
    others = [t for t in points if t != trained]
    gains = sign * (torch.stack([points[t] for t in others]) - points[trained])
    p = dict(zip(others, p_values(gains), strict=True))
    curve = {t: float(outcomes.mean()) for t, outcomes in points.items()}
    least = WORTH * abs(curve[trained])
    good = [t for t in rejected(p) if sign * (curve[t] - curve[trained]) >= least]
    chosen = max(
        good or [trained], key=lambda t: (sign * curve[t], -abs(math.log2(t / trained)), -t)
    )
    return TemperatureSearch(trained, chosen, curve, p, reached, sentences)


def _measure(model: Model, said: Iterable[tuple[Output, Batch]]) -> tuple[Tensor, int, int]:
    """The outcome of each example, in the order of the split; the numbers of capped and of all
    sentences.
    """
    gathered = Gathered(model)
    reached = sentences = 0
    for output, batch in said:
        gathered.add(output, batch)
        for posterior in output.posteriors:
            reached += count_status(posterior, Status.CAPPED)
            sentences += len(posterior)
    outcomes = gathered.in_order()
    assert outcomes is not None, "temperatures are compared per example"
    return outcomes, reached, sentences


def p_values(gains: Tensor) -> list[float]:
    """One-sided p values of the sums of the rows of (C, n) paired gains.

    This is a sign-flip test. If all nonzero gains have the same size, as for correct and wrong
    answers, it is exact (McNemar 1947); otherwise it uses 9,999 draws, the same for all rows and
    calls (Pitman 1937; Phipson & Smyth 2010 for the added 1).
    """
    exact = [_mcnemar(row) for row in gains]
    if None not in exact:
        return [p for p in exact if p is not None]
    generator = torch.Generator().manual_seed(0)
    totals = gains.sum(1)
    above = torch.zeros(len(gains), dtype=torch.int64)
    slack = 1e-12 * gains.abs().sum(1)  # rounding of sums depends on their order
    for start in range(0, _DRAWS, _AT_ONCE):
        size = min(_AT_ONCE, _DRAWS - start), gains.shape[1]
        signs = torch.randint(0, 2, size, generator=generator).to(gains) * 2 - 1
        above += (signs @ gains.T >= totals - slack).sum(0)
    drawn = ((above + 1) / (_DRAWS + 1)).tolist()
    return [q if p is None else p for p, q in zip(exact, drawn, strict=True)]


def _mcnemar(gains: Tensor) -> float | None:
    """P(X >= wins) for X binomial(wins + losses, 1/2); None if gains have several sizes."""
    sizes = gains[gains != 0].abs()
    if len(sizes) and not torch.equal(sizes, sizes[0].expand_as(sizes)):
        return None
    wins, n = int((gains > 0).sum()), len(sizes)
    return sum(math.comb(n, k) for k in range(wins, n + 1)) / 2**n


def rejected(p: Mapping[float, float], level: float = LEVEL) -> list[float]:
    """The keys whose p values are significant by Holm's (1979) step-down procedure."""
    order = sorted(p, key=p.__getitem__)
    found = []
    for i, key in enumerate(order):
        if p[key] > level / (len(order) - i):
            break
        found.append(key)
    return found
