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
    """Attention to values that a latent structure chooses (Kim et al. 2017, "Structured attention
    networks", section 3):

        context = E_h [sum of the values that h chooses] = A values,     A from the marginals

    What `A` is depends on the structure. A plain choice (`Simplex`) gives the attention that
    everybody knows: softmax with `Gibbs()`, sparsemax with `SparseMAP()`.

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
        structure: the family of structures; not `BinaryTrees`, whose parts choose no single value.
        estimator: of the marginals: `Gibbs()`, dense, the exact sum over all structures; sparse
            ones by `SparseMAP()`; or any other. May be set to another value at any time.
        state: which state or label of a `LinearChain` or `SemiMarkov` means "attend".
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
            raise ValueError(f"{structure}: a span chooses no single value to attend to")
        if (state is None) == isinstance(structure, LinearChain | SemiMarkov):
            need = "needs the state" if state is None else "has no states"
            raise ValueError(f"{structure}: {need} that means to attend; got state={state}")
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

        Differentiable with respect to `scores`, and of their dtype and device.
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
            values: (*batch, m, d); without the last batch dimensions where they share values, as
                the queries of ordinary attention do. Those in the padding may be anything.
            lengths: the size of each instance. Default: all have full size.
            generator: of the estimator's random numbers.

        Returns:
            `A values`, (*batch, d) or (*batch, n, d), in the dtype of the values.
        """
        self._check_values(values)
        post = self.estimator(scores, self.structure, lengths, generator=generator)
        return self._context(self._weights(post), values, post.sizes.shape)

    def _check_values(self, values: Tensor) -> None:
        """ValueError for what no scores make legal."""
        if not isinstance(values, Tensor) or not values.is_floating_point():
            kind = values.dtype if isinstance(values, Tensor) else type(values).__name__
            raise ValueError(f"values: expected a tensor of a floating dtype, got {kind}")

    def _context(self, weights: Tensor, values: Tensor, batch: Size) -> Tensor:
        return attend(weights, values, batch)

    def extra_repr(self) -> str:
        state = "" if self.state is None else f", state={self.state}"
        return f"{self.structure}, {self.estimator}{state}"


class TreeAttention(StructuredAttention):
    """Each word attends to its possible heads, and maybe to its possible children (Kim et al. 2017,
    section 3.2; Liu & Lapata 2018, "Learning structured text representations", section 3.2):

        heads[i] = p(root -> i) v_root + sum_j p(j -> i) v_j
        children[i] = sum_j p(i -> j) v_j

    with a learned vector `v_root`. The weights of a word's heads sum to one. Scores are (*batch, n,
    n + 1), of arcs, or (*batch, n, n + 1, L) for labelled trees, values (*batch, n, d), those of
    the words; the context is (*batch, n, d), zero in the padding, or with `children` (*batch, n,
    2 d), that of the heads first.

    Args:
        size: d, of a word's value.
        structure: any dependency trees. Default: non-projective with a single root, as Liu &
            Lapata; Kim et al. have projective ones.
        children: return the context of the children too.
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

    Values that lack the last batch dimensions are shared along them. A value that has no weight
    anywhere is not looked at: in the padding there may be NaN.
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
    """How likely each position is in a segment: (..., T, D), by start and length, -> (..., T)."""
    steps, longest = segments.shape[-2:]
    # A segment that covers the position r after its start has a length of more than r.
    beyond = segments.flip(-1).cumsum(-1).flip(-1)
    shifted = (
        nn.functional.pad(beyond[..., : steps - r, r], (r, 0)) for r in range(min(longest, steps))
    )
    return torch.stack(list(shifted)).sum(0)
