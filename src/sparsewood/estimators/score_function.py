"""The score-function estimator (REINFORCE)."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood._internal.numbers import check_choice, check_real, check_whole
from sparsewood.estimators._baselines import MovingMean, mean_of_others
from sparsewood.estimators._carried import carried
from sparsewood.estimators.base import Estimator, Primitive, Problem
from sparsewood.estimators.map import MAP
from sparsewood.inference.marginals import marginals
from sparsewood.posterior import Posterior

Baseline = Literal["loo", "self-critic", "moving"]


@dataclass(frozen=True, repr=False)
class ScoreFunction(Estimator):
    """Exact samples of the Gibbs distribution `q`, with REINFORCE as the gradient of their weights.

    Each of the `K` samples `h_k` of `q(h)`, proportional to `exp(<scores, m(h)> / temperature)`,
    has the weight 1/K. For `posterior.expect(losses)`, the gradient of a weight is the loss `L_k`
    of its structure, and the gradient of the scores is

        1/K sum_k (L_k - b_k) d log q(h_k),       d log q(h) = (m(h) - mu) / temperature

    with the marginals `mu` (Williams 1992, "Simple statistical gradient-following algorithms for
    connectionist reinforcement learning", section 4). It is unbiased, as a baseline `b_k` does not
    depend on the sample `h_k`:

        loo          the mean loss of the other samples (Kool, van Hoof & Welling 2019, "Buy 4
                     REINFORCE samples, get a baseline for free!")
        self-critic  the loss of the MAP structure (Rennie et al. 2017, "Self-critical sequence
                     training for image captioning"). It is the last structure of each instance and
                     has weight 0: it does not affect expectations, but its loss is computed.
        moving       a mean of the losses of earlier steps, kept in `memory` (Williams 1992,
                     section 4). If the loss is a mean over the batch, the stored losses are divided
                     by the batch size.

    If the weights enter the loss nonlinearly, the derivative of the loss with respect to each
    weight takes the place of `L_k`: for example `-p_k / sum_j w_j p_j` for `-log sum_k w_k p_k`.
    This estimates the gradient of `-log E[p]` with a bias of order 1/K.

    Equal samples are kept separately, each with its own weight. `posterior.mode` is the first
    sample, as all have the same weight. In evaluation, `MAP` replaces this estimator.

    Args:
        samples: `K`; at least 2 for "loo".
        baseline: which baseline to subtract from the losses.
        temperature: scores are divided by it; lower is sharper.
        decay: weight of a step of the moving mean relative to the next step, less than 1.
        memory: the moving mean, updated in the backward pass. Register it as a submodule of a model
            to save it.
    """

    samples: int = 4
    baseline: Baseline = "loo"
    temperature: float = 1.0
    decay: float = 0.95
    memory: MovingMean = field(default_factory=MovingMean, compare=False, repr=False)

    is_random: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("samples", self.samples)
        check_real("temperature", self.temperature, positive=True)
        check_choice("baseline", self.baseline, Baseline)
        if self.baseline == "loo" and self.samples == 1:
            raise ValueError('samples must be at least 2 for the baseline "loo", got 1')
        if check_real("decay", self.decay) >= 1:
            raise ValueError(f"decay must be less than 1, got {self.decay!r}")

    def needs(self) -> tuple[Primitive, ...]:
        return ("sums",)

    def at_test(self) -> Estimator:
        return MAP()

    def estimate(self, problem: Problem) -> Posterior:
        scores, structure, lengths, generator = problem
        found = marginals(scores, structure, lengths=lengths, temperature=self.temperature)
        post = found.posterior(self.samples, generator=generator)
        rows = len(post), self.samples
        if self.baseline == "self-critic":
            post, rows = _with_last(post, rows, found.mode), (len(post), self.samples + 1)
        if not found.has_graph:
            return post
        parts = structure.indicator(post.structures, post.shape).unflatten(0, rows)
        log_prob = found.log_prob_of_parts(parts).flatten()
        weights = carried(post.weights, log_prob, lambda g: self._rule(g.reshape(rows)).flatten())
        return replace(post, weights=weights.to(scores.dtype))

    def _rule(self, losses: Tensor) -> Tensor:
        """Map losses (B, K), or (B, K + 1) with the self-critic last, to d loss / d log q."""
        if self.baseline == "loo":
            centred = losses - mean_of_others(losses)
        elif self.baseline == "moving":
            centred = losses - self.memory.mean().to(losses.device)
            self.memory.update(losses, self.decay)
        else:
            centred = losses - losses[:, -1:]  # 0 for the critic itself
        return centred / self.samples


def _with_last(post: Posterior, rows: tuple[int, int], structures: Tensor) -> Posterior:
    """Append one structure (*batch, *event) of weight 0 to each instance."""
    event = post.structures.shape[1:]
    all_of_them = [post.structures.reshape(*rows, *event), structures.reshape(-1, 1, *event)]
    weights = pad(post.weights.reshape(rows), (0, 1))
    return replace(
        post,
        structures=torch.cat(all_of_them, 1).flatten(0, 1),
        weights=weights.flatten(),
        sizes=post.sizes + 1,
    )
