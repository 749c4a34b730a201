"""The conformance kit: subclass `StructureConformance` under pytest to check your structure.

    class TestMyStructure(StructureConformance):
        structure = MyStructure()
        shape = staticmethod(lambda n: (n, n))  # shape of the parts of an instance of size n

`MarginalsConformance`, used the same way, checks the sums over a structure with `log_partition`.
`EstimatorConformance` checks an estimator:

    class TestMyEstimator(EstimatorConformance):
        estimator = MyEstimator()

`exact_gradient` computes, by enumeration, the gradient that estimators estimate.

The structure must define `enumerate`, which is the ground truth: results are compared with sums
over all structures of small instances. Needs hypothesis and pytest; the rest of `sparsewood` never
imports this package.
"""

from sparsewood.testing.conformance import StructureConformance
from sparsewood.testing.estimators import EstimatorConformance
from sparsewood.testing.exact_gradient import Exact, exact_gradient
from sparsewood.testing.marginals import MarginalsConformance
from sparsewood.testing.reference import project
from sparsewood.testing.scores import KINDS, draw_scores

__all__ = [
    "KINDS",
    "EstimatorConformance",
    "Exact",
    "MarginalsConformance",
    "StructureConformance",
    "draw_scores",
    "exact_gradient",
    "project",
]
