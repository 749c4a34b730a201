"""Attention whose weights are the marginals of a distribution over structures."""

import torch
from torch import Size, Tensor, nn

from sparsewood.estimators.base import Estimator, check_estimator
from sparsewood.estimators.gibbs import Gibbs
from sparsewood.posterior import Posterior
from sparsewood.structures.base import Structure
from sparsewood.structures.binary_trees import BinaryTrees
from sparsewood.structures.dependency import DependencyTrees
from sparsewood.structures.labelled_dependency import LabelledDependencyTrees
from sparsewood.structures.linear_chain import LinearChain
from sparsewood.structures.semi_markov import SemiMarkov


class StructuredAttention(nn.Module):
    """Attention to the values that a latent structure selects (Kim et al. 2017, "Structured
    attention networks", section 3):

        context = E_h [sum of the values that h selects] = A values,     A from the marginals

    `A` depends on the structure. A choice of one item (`Simplex`) gives ordinary attention: softmax
    with `Gibbs()`, sparsemax with `SparseMAP()`.

        structure                        A          A[..., j] is the probability that
        `Simplex`, `Subset`, `Hypercube` (n,)       value j is chosen
        `Matching`, `Alignment`          (n, m)     row i goes with value j
        `DependencyTrees`, labelled too  (n, n+1)   value j is the head of word i + 1; value 0
                                                    belongs to the root (see `TreeAttention`)
        `LinearChain`                    (T,)       position j has the state `state`
        `SemiMarkov`                     (T,)       position j is in a segment labelled `state`
        any other                        (*parts)   the last dimension of parts is over values

    Scores (*batch, *parts) may have any number of batch dimensions, such as (B, heads). Ordinary
    attention of n queries to m values is a batch of choices, (B, heads, n) of them:

        attention = StructuredAttention(Simplex())
        scores = queries @ keys.mT / d**0.5  # (B, heads, n, m)
        context = attention(scores, values)  # values (B, heads, m, d) -> (B, heads, n, d)

    Args:
        structure: the family of structures; not `BinaryTrees`, whose parts are not single values.
        estimator: estimator of the marginals: `Gibbs()` (dense, an exact sum over all structures),
            `SparseMAP()` (sparse) or any other. May be changed at any time.
        state: the state or label of a `LinearChain` or `SemiMarkov` that means "attend".
    """

    def __init__(
        self,
        structure: Structure,
        *,
        estimator: Estimator = Gibbs(),
        state: int | None = None,
    ) -> None:
        super().__init__()
        check_estimator(estimator)
        if isinstance(structure, BinaryTrees):
            raise ValueError(f"{structure}: expected a family whose parts select single values")
        if (state is None) == isinstance(structure, LinearChain | SemiMarkov):
            need = "the state that means attend" if state is None else "None, as it has no states"
            raise ValueError(f"{structure}: state: expected {need}; got {state}")
        self.structure = structure
        self.estimator = estimator
        self.state = state

    def weights(
        self,
        scores: Tensor,
        lengths: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """The attention `A`: scores (*batch, *parts) -> (*batch, ..., m), zero in the padding.

        Differentiable with respect to `scores`; has their dtype and device.
        """
        return self._weights(self.estimator(scores, self.structure, lengths, generator=generator))

    def _weights(self, post: Posterior) -> Tensor:
        parts = post.marginals
        if isinstance(self.structure, LabelledDependencyTrees):
            return parts.sum(-1)
        if self.state is None:
            return parts
        states = parts.shape[-2]
        if not 0 <= self.state < states:
            raise ValueError(
                f"state: expected 0 to {states - 1} for scores of shape {tuple(parts.shape)}, "
                f"got {self.state}"
            )
        if isinstance(self.structure, SemiMarkov):
            return _covered(parts[..., self.state, : self.structure.max_length])
        return parts[..., self.state, 0]

    def forward(
        self,
        scores: Tensor,
        values: Tensor,
        lengths: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """The context of each query.

        Args:
            scores: (*batch, *parts), as for `sparsewood.marginals`.
            values: (*batch, m, d); the last batch dimensions may be omitted if values are shared
                along them, as by the queries of ordinary attention. Any values in the padding.
            lengths: the size of each instance. Default: all have full size.
            generator: random number generator for the estimator.

        Returns:
            `A values`, (*batch, d) or (*batch, n, d), in the dtype of the values.
        """
        self._check_values(values)
        post = self.estimator(scores, self.structure, lengths, generator=generator)
        return self._context(self._weights(post), values, post.sizes.shape)

    def _check_values(self, values: Tensor) -> None:
        """Checks that do not depend on the scores."""
        if not isinstance(values, Tensor) or not values.is_floating_point():
            kind = values.dtype if isinstance(values, Tensor) else type(values).__name__
            raise ValueError(f"values: expected a tensor of a floating dtype, got {kind}")

    def _context(self, weights: Tensor, values: Tensor, batch: Size) -> Tensor:
        return attend(weights, values, batch)

    def extra_repr(self) -> str:
        state = "" if self.state is None else f", state={self.state}"
        return f"{self.structure}, {self.estimator}{state}"


class TreeAttention(StructuredAttention):
    """Each word attends to its possible heads and, optionally, children (Kim et al. 2017, section
    3.2; Liu & Lapata 2018, "Learning structured text representations", section 3.2):

        heads[i] = p(root -> i) v_root + sum_j p(j -> i) v_j
        children[i] = sum_j p(i -> j) v_j

    with a learned vector `v_root`. The weights of a word's heads sum to one. Scores are arc scores
    (*batch, n, n + 1), or (*batch, n, n + 1, L) for labelled trees; values are (*batch, n, d), one
    per word. The context is (*batch, n, d), zero in the padding; with `children`, (*batch, n, 2 d),
    heads first.

    Args:
        size: d, the size of a word's value.
        structure: any dependency trees. Default: non-projective with a single root, as in Liu &
            Lapata; Kim et al. use projective trees.
        children: whether to also return the context of the children.
        estimator: as for `StructuredAttention`.
    """

    def __init__(
        self,
        size: int,
        structure: DependencyTrees | LabelledDependencyTrees | None = None,
        *,
        children: bool = False,
        estimator: Estimator = Gibbs(),
    ) -> None:
        trees = DependencyTrees(single_root=True) if structure is None else structure
        super().__init__(trees, estimator=estimator)
        if not isinstance(trees, DependencyTrees | LabelledDependencyTrees):
            raise ValueError(f"structure: expected dependency trees, got {trees}")
        self.with_children = children  # `children` is a method of modules
        self.root = nn.Parameter(torch.empty(size))
        nn.init.uniform_(self.root, -(size**-0.5), size**-0.5)

    def _check_values(self, values: Tensor) -> None:
        super()._check_values(values)
        if values.ndim < 2 or values.shape[-1] != len(self.root):
            raise ValueError(
                f"values: expected (*batch, n, {len(self.root)}), got {tuple(values.shape)}"
            )

    def _context(self, weights: Tensor, values: Tensor, batch: Size) -> Tensor:
        root = self.root.to(values.dtype).expand(*values.shape[:-2], 1, -1)
        heads = attend(weights, torch.cat([root, values], -2), batch)
        if not self.with_children:
            return heads
        return torch.cat([heads, attend(weights[..., 1:].mT, values, batch)], -1)

    def extra_repr(self) -> str:
        return f"{len(self.root)}, {super().extra_repr()}" + ", children" * self.with_children


def attend(weights: Tensor, values: Tensor, batch: Size) -> Tensor:
    """`weights` (*batch, ..., m) times `values` (*batch, m, d): (*batch, ..., d).

    Values without the last batch dimensions are shared along them. A value with weight 0 everywhere
    is not read, so padding may hold NaN.
    """
    count, own = weights.shape[-1], values.shape[:-2]
    if values.ndim < 2 or values.shape[-2] != count or own != batch[: len(own)]:
        shapes = [(*batch[:k], count) for k in range(len(batch), -1, -1)]
        fitting = " or ".join(f"({', '.join(map(str, shape))}, d)" for shape in shapes)
        raise ValueError(
            f"values: expected {fitting} for attention of shape {tuple(weights.shape)}, "
            f"got {tuple(values.shape)}"
        )
    rows = weights.unsqueeze(-2)
    if weights.ndim > len(own) + 1:
        rows = weights.flatten(len(own), -2)
    seen = (rows.detach() != 0).any(-2)
    context = rows.to(values.dtype) @ torch.where(seen[..., None], values, 0)
    return context.reshape(*weights.shape[:-1], values.shape[-1])


def _covered(segments: Tensor) -> Tensor:
    """The probability that a position is in a segment: (..., T, D) by start, length -> (..., T)."""
    steps, longest = segments.shape[-2:]
    # A segment covers the position r after its start if its length exceeds r.
    beyond = segments.flip(-1).cumsum(-1).flip(-1)
    shifted = (
        nn.functional.pad(beyond[..., : steps - r, r], (r, 0)) for r in range(min(longest, steps))
    )
    return torch.stack(list(shifted)).sum(0)
