"""Checks that every SparseMAP posterior must pass."""

from typing import Any, Literal

import torch
from torch import Tensor

from sparsewood.sparse_posterior import SparsePosterior
from sparsewood.testing.devices import sparsemap
from sparsewood.testing.instances import Case, Instances
from sparsewood.testing.reference import affine_rank, members, score_range, totals

Solver = Literal["native", "generic"]


class Solutions(Instances):
    """SparseMAP over the structure by each of its solvers, and checks of the results."""

    @property
    def solvers(self) -> tuple[Solver, ...]:
        return ("native", "generic") if self.structure.has_native_solver else ("generic",)

    def check_posterior(self, post: SparsePosterior, case: Case) -> None:
        """The certificate is correct; weights, marginals and structures are consistent."""
        u = post.marginals.flatten(1)
        slope = case.theta - case.penalised(u)
        scores = totals(slope, case.columns)
        here = totals(slope, u[:, None])[:, 0]
        spread = score_range(case.theta, case.reads)
        scale = spread.clamp(min=1)
        # It may be unconverged if 1e-9 times the range is below the rounding of scores.
        size = torch.where(case.reads & case.theta.isfinite(), case.theta.abs(), 0.0).sum(-1)
        unit = torch.where(spread > 0, spread, 1.0)
        clear = ((spread <= 0) | (spread > 1e-4)) & (4e-15 * size <= 1e-9 * unit)
        assert post.converged[clear].all()
        assert (post.gap <= 1e-9 * scale).all()
        assert ((scores.amax(-1) - here - post.gap).abs() <= 1e-9 * scale).all()

        assert (post.weights > 0).all()
        parts = self.structure.indicator(post.structures, case.shape)
        torch.testing.assert_close(post.expect(parts), post.marginals, rtol=0, atol=1e-12)
        one = torch.ones(len(post), dtype=torch.float64)
        torch.testing.assert_close(post.expect(post.weights.new_ones(len(parts))), one)
        assert (post.sizes <= u.shape[1] + 1).all()
        assert members(post.structures, case.everything).all()
        for one_post in post:
            assert len(one_post.structures.unique(dim=0)) == len(one_post.structures)

    def check_derivatives(self, scores: Tensor, name: str, solver: Solver, **options: Any) -> None:
        """First and second derivatives of an attribute of the posterior, by finite differences."""
        temperature = torch.ones(len(scores), dtype=torch.float64, requires_grad=True)
        inputs = scores.clone().requires_grad_(), temperature

        def infer(scores: Tensor, temperature: Tensor) -> Tensor:
            post = sparsemap(
                scores, self.structure, temperature=temperature, solver=solver, **options
            )
            return getattr(post, name)

        # All entries for hand-written Jacobians; random products for those of autograd.
        assert torch.autograd.gradcheck(infer, inputs, fast_mode=solver == "generic")
        assert torch.autograd.gradgradcheck(infer, inputs, fast_mode=True)

    def smooth(self, post: SparsePosterior, case: Case) -> tuple[Tensor, Tensor]:
        """Where marginals are differentiable, and where weights are: two (B,) masks.

        The marginals are differentiable inside a face of the polytope, away from its boundary and
        from points where a larger face becomes optimal. If all vertices of the face are in the
        support, the weights are unique and differentiable as well.
        """
        stays, unique = [], []
        for theta, one in zip(case.theta, post, strict=True):
            potential = totals(
                theta[None] - case.penalised(one.marginals.flatten(1)), case.columns
            )[0]
            slack = potential.max() - potential
            face = case.columns[slack < 1e-9]
            support = self.structure.indicator(one.structures, case.shape).flatten(1)
            away = bool((one.weights > 1e-3).all() and (slack[slack >= 1e-9] > 1e-3).all())
            stays.append(away and affine_rank(face) == affine_rank(support))
            unique.append(away and len(face) == len(support))
        return torch.tensor(stays), torch.tensor(unique)
