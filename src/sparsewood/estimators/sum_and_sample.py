"""An exact sum over the k best structures, and samples of all others."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood._internal.numbers import check_real, check_whole
from sparsewood.distribution import StructureDistribution
from sparsewood.estimators._baselines import mean_of_others
from sparsewood.estimators._carried import carried
from sparsewood.estimators.base import Estimator, Primitive, Problem
from sparsewood.estimators.map import MAP
from sparsewood.inference.kbest import kbest
from sparsewood.inference.marginals import marginals
from sparsewood.posterior import Posterior

_ROUNDS = (2, 6, 24, 96)  # draws per requested sample
_LEAST = 2.0**-24  # a smaller probability of the rest is lost next to 1 in float32


@dataclass(frozen=True, repr=False)
class SumAndSample(Estimator):
    """The k best structures with their probabilities, and samples of the remaining structures.

        E[L] = sum_i p_i L_i + (1 - C) E[L | none of the k best],       C = sum_i p_i

    with the probabilities `p_i` of the `k` best structures under the Gibbs distribution `p(h)`,
    proportional to `exp(<scores, m(h)> / temperature)` (Liu, Regier, Tripuraneni, Jordan &
    McAuliffe 2019, "Rao-Blackwellized stochastic gradients for discrete distributions", section 3).
    The larger `C`, the lower the variance. The weights of the k best are `p_i`, with exact
    gradient. Each of the `S` samples has weight `(1 - C) / S`; with its loss `L_s`, the gradient is

        mean_s L_s d(1 - C)  +  (1 - C) mean_s (L_s - b_s) d log(p(h_s) / (1 - C))

    where `b_s` is the mean loss of the other samples, or of the k best if `S = 1`. See
    `ScoreFunction` for losses that are nonlinear in the weights.

    The remaining structures are sampled by rejection: at most `D = 128 S` samples per instance are
    drawn from the whole distribution, and the k best among them rejected. If fewer than `S` remain,
    these are used; if none remains, which has probability `C^D`, the k best get all weight,
    `p_i / C`. The bias of the expectation is thus `(1 - C) C^D` times the difference between the
    mean losses of the k best and of the rest: at most 0.3 % of that difference, for `1 - C` of
    about 1/128. The k best also get all weight if there are no other structures, or if `1 - C` is
    below 6e-8.

    `posterior.mode` is the structure with the largest weight, which is a sample if `1 - C` is
    large. In evaluation, `MAP` replaces this estimator.

    Args:
        k: number of best structures to sum over, at least 1.
        samples: `S`, number of samples of the rest.
        temperature: scores are divided by it; lower is sharper.
    """

    k: int
    samples: int = 1
    temperature: float = 1.0

    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        check_whole("samples", self.samples)
        check_real("temperature", self.temperature, positive=True)

    def needs(self) -> tuple[Primitive, ...]:
        return ("kbest", "sums")

    def at_test(self) -> Estimator:
        return MAP()

    def estimate(self, problem: Problem) -> Posterior:
        scores, structure, lengths, generator = problem
        found = marginals(scores, structure, lengths=lengths, temperature=self.temperature)
        batch = found.batch_shape
        shape = tuple(scores.shape[len(batch) :])
        best = kbest(scores.detach().double(), structure, self.k, lengths=lengths)
        listed = best.structures.flatten(0, len(batch)).unflatten(0, (len(found), self.k))
        exists = best.scores.reshape(len(found), self.k).isfinite()  # -inf if there are fewer
        log_best = self._log_prob(found, listed, shape).masked_fill(~exists, -torch.inf)
        log_mass = log_best.logsumexp(-1)
        rest = -log_mass.expm1()
        wanted = exists.all(-1) & (rest > _LEAST)
        sampled, drawn = self._draw(found, listed, wanted, generator)
        some = drawn.any(-1)
        of_best = (log_best - torch.where(some, 0, log_mass).unsqueeze(-1)).exp()
        rest = torch.where(some, rest, 1)
        log_sampled = self._log_prob(found, sampled, shape) - rest.log().unsqueeze(-1)
        of_samples = rest.unsqueeze(-1) / drawn.sum(-1, keepdim=True).clamp(min=1)
        weights = torch.cat([of_best, of_samples.expand(drawn.shape)], 1)
        weights = weights + _score_function(weights.detach(), log_sampled, drawn)
        kept = torch.cat([exists, drawn], 1)
        return Posterior(
            structure,
            torch.cat([listed, sampled], 1)[kept],
            weights[kept].to(scores.dtype),
            kept.sum(-1).reshape(batch),
            shape,
            found.lengths,
        )

    def _draw(
        self,
        found: StructureDistribution,
        listed: Tensor,
        wanted: Tensor,
        generator: torch.Generator | None,
    ) -> tuple[Tensor, Tensor]:
        """Samples (B, S, *event) that are not `listed` (B, k, *event), and their mask (B, S).

        Only for the instances in `wanted` (B,). Entries outside the mask repeat a listed one.
        """
        sampled = listed[:, :1].repeat_interleave(self.samples, 1)
        count = torch.zeros_like(wanted, dtype=torch.int64)
        for draws in _ROUNDS:
            lacking = (wanted & (count < self.samples)).nonzero()[:, 0]
            if len(lacking) == 0:
                break
            new = found.samples_of(draws * self.samples, lacking, generator).transpose(0, 1)
            outside = ~_is_among(new, listed[lacking])
            place = count[lacking].unsqueeze(-1) + outside.cumsum(-1) - 1
            row, column = (outside & (place < self.samples)).nonzero().unbind(-1)
            sampled[lacking[row], place[row, column]] = new[row, column]
            count[lacking] = (place[:, -1] + 1).clamp(max=self.samples)
        return sampled, torch.arange(self.samples, device=count.device) < count.unsqueeze(-1)

    @staticmethod
    def _log_prob(
        found: StructureDistribution, structures: Tensor, shape: tuple[int, ...]
    ) -> Tensor:
        """(B, n, *event) -> (B, n)"""
        parts = found.structure.indicator(structures.flatten(0, 1), shape)
        return found.log_prob_of_parts(parts.unflatten(0, structures.shape[:2]))


def _score_function(weights: Tensor, log_prob: Tensor, drawn: Tensor) -> Tensor:
    """Zeros (B, k + S) to add to the weights, which carry the score-function gradient.

    Args:
        weights: (B, k + S), weights of the k best and of samples.
        log_prob: (B, S), log-probability of each sample among the rest.
        drawn: (B, S) bool, which samples exist.
    """
    k = weights.shape[1] - drawn.shape[1]
    best = weights[:, :k] / weights[:, :k].sum(-1, keepdim=True)
    alone = drawn.sum(-1, keepdim=True) == 1

    def rule(losses: Tensor) -> Tensor:
        of_best, of_samples = losses[:, :k], losses[:, k:]
        baseline = torch.where(
            alone, (best * of_best).sum(-1, keepdim=True), mean_of_others(of_samples, drawn)
        )
        slope = weights[:, k:] * drawn * (of_samples - baseline)
        return pad(slope, (k, 0))

    carrier = pad(log_prob, (k, 0))
    return carried(torch.zeros_like(carrier), carrier, rule)


def _is_among(structures: Tensor, listed: Tensor) -> Tensor:
    """Which of (b, n, *event) are among the `k` structures (b, k, *event): (b, n) bool."""
    found = torch.zeros(structures.shape[:2], dtype=torch.bool, device=structures.device)
    for one in listed.unbind(1):  # all at once would take k times the memory
        found |= (structures == one.unsqueeze(1)).unsqueeze(-1).flatten(2).all(-1)
    return found
