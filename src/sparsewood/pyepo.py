"""Structures for PyEPO: predict-then-optimise with trees, matchings and alignments.

PyEPO (Tang & Khalil 2024, "PyEPO: a PyTorch-based end-to-end predict-then-optimize library for
linear and integer programming") trains predictions of costs on the decisions that they lead to.
Needs the extra `pyepo`; no other module of the library imports this one.
"""

from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sparsewood._internal.extras import how_to_install
from sparsewood._internal.numbers import check_whole
from sparsewood.inference._check import check_structure
from sparsewood.inference.map import map
from sparsewood.structures.base import Structure

try:
    from pyepo import EPO
    from pyepo.model.opt import optModel
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "pyepo":
        raise
    raise ModuleNotFoundError(
        f"sparsewood.pyepo needs pyepo (extra [pyepo]): {how_to_install('pyepo')}", name="pyepo"
    ) from None

Costs = NDArray[np.floating] | Tensor | Sequence[float]


class StructureModel(optModel):
    """A PyEPO problem: the best structure of a family, found by the MAP oracle.

        min_h <c, m(h)>,     or max_h with `sense=EPO.MAXIMIZE`

    over the structures `h` of one size, with their 0/1 parts `m(h)`. Costs and solutions are
    vectors, the flattened parts of an instance. Parts that no structure uses have a cost, which is
    never read, and are 0 in every solution. An infinite cost (-inf when maximising) forbids a part.

    Args:
        structure: the family of structures.
        shape: the shape of the parts of an instance, such as (n, n + 1) for trees of n words.
        lengths: the size of the instances: a number, or one per side. Default: full size.
        sense: EPO.MINIMIZE, the default of PyEPO, or EPO.MAXIMIZE.

    Example:
        >>> from sparsewood.pyepo import StructureModel
        >>> model = StructureModel(sp.Matching(), (2, 2))
        >>> model.setObj([3.0, 1.0, 2.0, 2.5])
        >>> solution, cost = model.solve()
        >>> solution.tolist(), cost
        ([0.0, 1.0, 1.0, 0.0], 3.0)
    """

    def __init__(
        self,
        structure: Structure,
        shape: Sequence[int],
        lengths: int | Sequence[int] | None = None,
        sense: EPO.ModelSense = EPO.MINIMIZE,
    ) -> None:
        check_structure(structure)
        if sense not in (EPO.MINIMIZE, EPO.MAXIMIZE):
            raise ValueError(f"sense must be EPO.MINIMIZE or EPO.MAXIMIZE, got {sense!r}")
        self.structure, self.modelSense = structure, EPO.ModelSense(sense)
        self.shape = tuple(check_whole("shape", size) for size in shape)
        self.lengths = None if lengths is None else torch.as_tensor(lengths)[None]
        structure.validate(torch.zeros(1, *self.shape), self.lengths)
        super().__init__()

    def _getModel(self) -> tuple[Structure, list[tuple[int, ...]]]:  # noqa: N802, PyEPO's name
        """The family, and its variables: the index of each part."""
        return self.structure, list(np.ndindex(self.shape))

    def setObj(self, c: Costs) -> None:  # noqa: N802
        """Set the costs (P,) of the next problem."""
        costs = torch.as_tensor(c, dtype=torch.float64).detach().cpu()
        if costs.shape != (prod(self.shape),):
            raise ValueError(
                f"costs: expected ({prod(self.shape)},), one per part of shape {self.shape}, "
                f"got shape {tuple(costs.shape)}"
            )
        scores = -costs if self.modelSense == EPO.MINIMIZE else costs
        self.scores = scores.reshape(1, *self.shape)

    def solve(self) -> tuple[NDArray[np.float64], float]:
        """The parts (P,) 0/1 of the best structure, and its cost."""
        best = map(self.scores, self.structure, lengths=self.lengths)
        parts = self.structure.indicator(best.structures, self.shape)
        score = float(best.scores)
        return parts.flatten().numpy(), -score if self.modelSense == EPO.MINIMIZE else score

    def __repr__(self) -> str:
        return f"StructureModel({self.structure}, {self.shape})"
