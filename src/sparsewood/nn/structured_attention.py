"""Attention whose weights are the marginals of a distribution over structures."""

import torch
from torch import Tensor, nn

from sparsewood.estimators.base import Estimator, check_estimator
from sparsewood.estimators.gibbs import Gibbs
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

        structure                        A             A[b, ..., j] is the probability that
        `Simplex`, `Subset`, `Hypercube` (B, n)        value j is chosen
        `Matching`, `Alignment`          (B, n, m)     row i goes with value j
        `DependencyTrees`, labelled too  (B, n, n+1)   value j is the head of word i + 1; value 0
                                                       belongs to the root (see `TreeAttention`)
        `LinearChain`                    (B, T)        position j has the state `state`
        `SemiMarkov`                     (B, T)        position j is in a segment labelled `state`
        any other                        (B, *parts)   the last dimension of parts is over values

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
        """The attention `A`: scores (B, *parts) -> (B, ..., m), zero in the padding.

        Differentiable with respect to `scores`, and of their dtype and device.
        """
        parts = self.estimator(scores, self.structure, lengths, generator=generator).marginals
        if isinstance(self.structure, LabelledDependencyTrees):
            return parts.sum(-1)
        if self.state is None:
            return parts
        states = scores.shape[2]
        if not 0 <= self.state < states:
            raise ValueError(
                f"state: expected 0 to {states - 1} for scores of shape {tuple(scores.shape)}, "
                f"got {self.state}"
            )
        if isinstance(self.structure, SemiMarkov):
            return _covered(parts[:, :, self.state, : self.structure.max_length])
        return parts[:, :, self.state, 0]

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
            scores: (B, *parts), as for `sparsewood.marginals`.
            values: (B, m, d). Those in the padding may be anything.
            lengths: the size of each instance. Default: all have full size.
            generator: of the estimator's random numbers.

        Returns:
            `A values`, (B, d) or (B, n, d), in the dtype of the values.
        """
        return attend(self.weights(scores, lengths, generator=generator), values)

    def extra_repr(self) -> str:
        state = "" if self.state is None else f", state={self.state}"
        return f"{self.structure}, {self.estimator}{state}"


class TreeAttention(StructuredAttention):
    """Each word attends to its possible heads, and maybe to its possible children (Kim et al. 2017,
    section 3.2; Liu & Lapata 2018, "Learning structured text representations", section 3.2):

        heads[i] = p(root -> i) v_root + sum_j p(j -> i) v_j
        children[i] = sum_j p(i -> j) v_j

    with a learned vector `v_root`. The weights of a word's heads sum to one.

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

    def forward(
        self,
        scores: Tensor,
        values: Tensor,
        lengths: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """The context of each word.

        Args:
            scores: (B, n, n + 1) arc scores, or (B, n, n + 1, L) for labelled trees.
            values: (B, n, d), those of the words. Those in the padding may be anything.
            lengths: (B,) words of each sentence. Default: all have n.
            generator: of the estimator's random numbers.

        Returns:
            (B, n, d), zero in the padding; with `children` (B, n, 2 d), the heads' context first.
        """
        _check_floating(values)
        root = self.root.to(values.dtype)
        if values.ndim != 3 or values.shape[-1] != len(root):
            raise ValueError(f"values: expected (B, n, {len(root)}), got {tuple(values.shape)}")
        arcs = self.weights(scores, lengths, generator=generator)
        heads = attend(arcs, torch.cat([root.expand(len(values), 1, -1), values], 1))
        if not self.with_children:
            return heads
        return torch.cat([heads, attend(arcs[..., 1:].mT, values)], -1)

    def extra_repr(self) -> str:
        return f"{len(self.root)}, {super().extra_repr()}" + ", children" * self.with_children


def attend(weights: Tensor, values: Tensor) -> Tensor:
    """`weights` (B, ..., m) times `values` (B, m, d): (B, ..., d).

    A value that has no weight anywhere is not looked at: in the padding there may be NaN.
    """
    _check_floating(values)
    if values.ndim != 3 or values.shape[:2] != (len(weights), weights.shape[-1]):
        raise ValueError(
            f"values: expected ({len(weights)}, {weights.shape[-1]}, d) for attention of shape "
            f"{tuple(weights.shape)}, got {tuple(values.shape)}"
        )
    rows = weights[:, None] if weights.ndim == 2 else weights.flatten(1, -2)
    seen = (rows.detach() != 0).any(1)
    context = rows.to(values.dtype) @ torch.where(seen[..., None], values, 0)
    return context.reshape(*weights.shape[:-1], values.shape[-1])


def _check_floating(values: Tensor) -> None:
    if not isinstance(values, Tensor) or not values.is_floating_point():
        kind = values.dtype if isinstance(values, Tensor) else type(values).__name__
        raise ValueError(f"values: expected a tensor of a floating dtype, got {kind}")


def _covered(segments: Tensor) -> Tensor:
    """How likely each position is within a segment: (B, T, D), by start and length, -> (B, T)."""
    steps, longest = segments.shape[1:]
    # A segment that covers the position r after its start has a length of more than r.
    beyond = segments.flip(-1).cumsum(-1).flip(-1)
    shifted = (
        nn.functional.pad(beyond[:, : steps - r, r], (r, 0)) for r in range(min(longest, steps))
    )
    return torch.stack(list(shifted)).sum(0)
