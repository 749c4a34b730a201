"""The Gibbs distribution over all structures of a family."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sparsewood._internal.batch import BatchShape
from sparsewood._internal.lazy import CopiedWithGraph, lazy
from sparsewood._internal.numbers import check_whole, within_reach
from sparsewood._internal.transforms import is_transformed, outside_inference_mode
from sparsewood.calls import count
from sparsewood.posterior import Posterior
from sparsewood.structures._members import check_events, parts_of_members
from sparsewood.structures.base import Structure
from sparsewood.structures.recursions.shifted import or_zero
from sparsewood.structures.recursions.totals import is_empty

_SAMPLED_PARTS = 2**24  # scores held at once, to bound the memory


class PartSums(NamedTuple):
    """Sums found from the scores of parts."""

    theta: Tensor  # (B, *parts) float64: scores / temperature
    log_partition: Tensor  # (B,) float64
    marginals: Tensor  # (B, *parts) float64


class StepSums(NamedTuple):
    """Sums found from the scores of steps."""

    steps: Tensor  # (B, *steps) float64, minus `shared`: see `recursions.Shifted`
    shared: Tensor  # (B,) float64
    log_partition: Tensor  # (B,) float64, without `shared`, with its graph down to `steps`
    marginals: Tensor | None  # (B, *steps) float64, likewise, if computed with it


def sums_by_steps(
    structure: Structure, theta: Tensor, lengths: Tensor | None, has_graph: bool
) -> StepSums:
    """The sums over all structures for scores `theta`, which may be overwritten."""
    with torch.set_grad_enabled(has_graph and torch.is_grad_enabled()):
        shifted = structure.shift(theta, lengths)
    steps = shifted.scores if has_graph else shifted.scores.detach().requires_grad_()
    with torch.set_grad_enabled(not has_graph or torch.is_grad_enabled()):
        log_sums, marginals = structure.sums(steps, lengths)
    return StepSums(steps, shifted.shared, log_sums, marginals)


@dataclass(frozen=True, eq=False, repr=False)
class StructureDistribution(CopiedWithGraph):
    """The Gibbs distribution over all structures of each instance of a batch.

    With `theta = scores / temperature` and the parts `m(h)` of a structure,

        p(h) = exp(<theta, m(h)> - log Z),      log Z = log sum_h exp <theta, m(h)>

    Returned by `sparsewood.marginals`. `len(dist)` is the number of instances. All results except
    samples and the mode are twice differentiable with respect to the scores and the temperature.
    They have the dtype of the scores; computations are in float64.

    Attributes:
        structure: the family of structures.
        scores: (*batch, *parts), as given.
        lengths: the size of each instance, (*batch,) or (*batch, d) int64; None: full size.
        has_graph: whether results carry a gradient to the scores or the temperature.
    """

    structure: Structure
    scores: Tensor
    lengths: Tensor | None
    _batch: BatchShape  # the batch shape; the fields below are flat
    _found: PartSums | StepSums
    has_graph: bool  # whether sums are part of a graph

    @property
    def batch_shape(self) -> torch.Size:
        """The batch shape, () for a single instance."""
        return self._batch.shape

    @property
    def log_partition(self) -> Tensor:
        """(*batch,) log Z."""
        if isinstance(self._found, PartSums):
            return self._result(self._found.log_partition)
        return self._result(self._log_z + self._sums.shared)

    @lazy
    def marginals(self) -> Tensor:
        """(*batch, *parts) probability of each part, `sum_h p(h) m(h)`: the gradient of log Z.

        The expected parts, if parts are numbers.
        """
        if isinstance(self._found, PartSums):
            return self._result(self._found.marginals)
        return self._result(self.structure.parts_of(self._mu))

    @lazy
    def mode(self) -> Tensor:
        """(*batch, *event) the most probable structure of each instance."""
        scores, lengths = self._flat
        count("map", len(scores))
        with torch.no_grad(), self._batch:
            # Parts that are not read may be so large that all others would be scaled to nothing.
            read = scores.masked_fill(~self.structure.reads(scores, lengths), 0)
            return self._batch.restore(self.structure.argmax(within_reach(read), lengths))

    def entropy(self) -> Tensor:
        """(*batch,) Shannon entropy `log Z - <theta, marginals>`, in nats."""
        entropy = self._log_z - _inner(self._theta, self._mu)
        return self._result(entropy.clamp(min=0))  # rounding, if one structure has all probability

    def log_prob(self, structures: Tensor) -> Tensor:
        """The log-probability of one structure per instance: (*batch, *event) -> (*batch,).

        -inf if it uses a forbidden part or is not a member of the family.
        """
        what = "log_prob: structures"
        structures = self._batch.flatten(what, structures)
        scores, lengths = self._flat
        with self._batch:
            structures = check_events(what, structures, self.structure, scores)
            parts, member = parts_of_members(structures, self.structure, scores, lengths)
        log_prob = self.log_prob_of_parts(parts.unsqueeze(1)).squeeze(1)
        return self._result(log_prob.masked_fill(~member, -torch.inf))

    def log_prob_of_parts(self, parts: Tensor) -> Tensor:
        """`log_prob` in float64 for `k` members per instance, given by their parts.

        (B, k, *parts) -> (B, k), for the instances of the flattened batch.
        """
        steps = self.structure.steps_of(parts.flatten(0, 1)).unflatten(0, parts.shape[:2])
        steps = steps.flatten(2).to(self._theta.dtype)
        theta = self._theta.flatten(1).unsqueeze(-1)
        forbidden = (steps.abs() @ is_empty(theta).to(steps.dtype)).squeeze(-1) > 0
        log_prob = (steps @ or_zero(theta)).squeeze(-1) - self._log_z.unsqueeze(-1)
        return log_prob.masked_fill(forbidden, -torch.inf)

    def sample(self, n: int = 1, *, generator: torch.Generator | None = None) -> Tensor:
        """`n` independent exact samples per instance: (n, *batch, *event)."""
        check_whole("sample: n", n)
        return self._batch.restore(self.samples_of(n, None, generator), 1)

    def samples_of(
        self, n: int, instances: Tensor | None, generator: torch.Generator | None
    ) -> Tensor:
        """`n` samples for some instances of the flattened batch, (b,) int64: (n, b, *event).

        None: for all instances.
        """
        if len(self) == 0:
            none = self._batch.flatten("mode", self.mode)
            return none.expand(n, *none.shape)
        theta, lengths = self._sums.steps.detach(), self._flat[1]
        if instances is not None:
            theta = theta[instances]
            lengths = None if lengths is None else lengths[instances]
        at_once = max(1, _SAMPLED_PARTS // max(1, theta.numel()))
        counts = [min(at_once, n - done) for done in range(0, n, at_once)]
        return torch.cat([self._sample(count, theta, lengths, generator) for count in counts])

    @outside_inference_mode
    def _sample(
        self, n: int, theta: Tensor, lengths: Tensor | None, generator: torch.Generator | None
    ) -> Tensor:
        """(n, b, *event), given the scores of steps (b, *steps)."""
        count("samples", n * len(theta))
        with torch.no_grad():
            return self.structure.samples(theta, lengths, n, generator)

    def posterior(self, n: int, *, generator: torch.Generator | None = None) -> Posterior:
        """A posterior of `n` independent exact samples per instance, with weights 1 / n.

        Without gradient: use the estimator `ScoreFunction` for samples with a gradient.
        """
        n = check_whole("posterior: n", n)
        samples = self.samples_of(n, None, generator).transpose(0, 1).flatten(0, 1)
        shape = tuple(self.scores.shape[len(self.batch_shape) :])
        return Posterior.uniform(
            self.structure, samples, self.batch_shape, shape, self.lengths, self.scores.dtype
        )

    def kl(self, other: "StructureDistribution") -> Tensor:
        """(*batch,) Kullback-Leibler divergence `sum_h p(h) log(p(h) / q(h))` from `other`, q.

        inf if `other` forbids a part that this distribution uses. The families must be equal.
        """
        if (
            not isinstance(other, StructureDistribution)
            or self.structure != other.structure
            or self.scores.shape != other.scores.shape
        ):
            raise ValueError(
                f"kl: expected two distributions over the same structures, got {self!r} "
                f"and {other!r}"
            )
        impossible = ((self._mu > 0) & is_empty(other._theta)).flatten(1).any(-1)
        kl = other._log_z - self._log_z + _inner(self._theta, self._mu)
        kl = (kl - _inner(other._theta, self._mu)).clamp(min=0)
        return self._result(kl.masked_fill(impossible, torch.inf))

    @lazy
    @outside_inference_mode
    def _sums(self) -> StepSums:
        """By steps, which entropy, log-probabilities and samples need."""
        if isinstance(self._found, StepSums):
            return self._found
        with torch.set_grad_enabled(self.has_graph):
            theta = self._found.theta
            return sums_by_steps(self.structure, theta, self._flat[1], self.has_graph)

    @property
    def _log_z(self) -> Tensor:
        found = self._sums.log_partition
        return found if self.has_graph else found.detach()

    @property
    def _theta(self) -> Tensor:
        return self._sums.steps if self.has_graph else self._sums.steps.detach()

    @lazy
    @outside_inference_mode
    def _mu(self) -> Tensor:
        """The marginals of steps. Frees the graph if nothing needs a gradient."""
        steps, found = self._sums.steps, self._sums.marginals
        if found is not None:
            return found if self.has_graph else found.detach()
        if is_transformed(steps):
            lengths = self._flat[1]

            def log_z_of(steps: Tensor) -> Tensor:
                return self.structure.sums(steps, lengths)[0].sum()

            return torch.func.grad(log_z_of)(steps)
        with torch.enable_grad():
            log_z = self._sums.log_partition
            (mu,) = torch.autograd.grad(
                log_z, steps, torch.ones_like(log_z), create_graph=self.has_graph
            )
            if self.has_graph and not mu.requires_grad:  # with a single structure log Z is linear
                mu = mu + 0.0 * steps
        return mu

    @property
    def _flat(self) -> tuple[Tensor, Tensor | None]:
        """Scores (B, *parts) and lengths (B,) or (B, d)."""
        scores = self._batch.flatten("scores", self.scores)
        if self.lengths is None:
            return scores, None
        return scores, self._batch.flatten("lengths", self.lengths)

    def _result(self, value: Tensor) -> Tensor:
        """(B, ...) with the batch shape and dtype of the scores."""
        return self._batch.restore(value.to(self.scores.dtype))

    def __deepcopy__(self, memo: dict[int, Any]) -> "StructureDistribution":
        _ = self._mu  # compute first: without gradients the graph is used only once
        return super().__deepcopy__(memo)

    def __len__(self) -> int:
        return len(self._found.log_partition)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.structure}, scores of shape {tuple(self.scores.shape)})"
        )


def _inner(theta: Tensor, steps: Tensor) -> Tensor:
    """`<theta, steps>` of each instance, (B,); forbidden steps count 0."""
    return (or_zero(theta) * steps).flatten(1).sum(-1)
