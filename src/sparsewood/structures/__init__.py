"""Families of structures, one file each: their parts, oracle and indicator."""

from sparsewood.structures.alignment import Alignment
from sparsewood.structures.base import Native, NativeStructure, Structure
from sparsewood.structures.binary_trees import BinaryTrees
from sparsewood.structures.ctc import CTCScores, ctc_scores
from sparsewood.structures.custom import Custom
from sparsewood.structures.dependency import DependencyTrees
from sparsewood.structures.factor_graph import FactorGraph
from sparsewood.structures.grid_paths import GridPaths
from sparsewood.structures.hypercube import Hypercube
from sparsewood.structures.labelled_dependency import LabelledDependencyTrees
from sparsewood.structures.linear_chain import ChainParts, LinearChain
from sparsewood.structures.logic import (
    AtMostOne,
    Budget,
    Implies,
    LogicFactor,
    Or,
    Pairwise,
    Xor,
)
from sparsewood.structures.matching import Matching
from sparsewood.structures.oracle_error import OracleError, OracleValueError
from sparsewood.structures.paths import Paths
from sparsewood.structures.rankings import Rankings
from sparsewood.structures.semi_markov import SegmentParts, SemiMarkov
from sparsewood.structures.simplex import Simplex
from sparsewood.structures.spanning_trees import SpanningTrees
from sparsewood.structures.subset import Subset
from sparsewood.structures.transport import Transport

__all__ = [
    "Alignment",
    "AtMostOne",
    "BinaryTrees",
    "Budget",
    "CTCScores",
    "ChainParts",
    "Custom",
    "DependencyTrees",
    "FactorGraph",
    "GridPaths",
    "Hypercube",
    "Implies",
    "LabelledDependencyTrees",
    "LinearChain",
    "LogicFactor",
    "Matching",
    "Native",
    "NativeStructure",
    "Or",
    "OracleError",
    "OracleValueError",
    "Pairwise",
    "Paths",
    "Rankings",
    "SegmentParts",
    "SemiMarkov",
    "Simplex",
    "SpanningTrees",
    "Structure",
    "Subset",
    "Transport",
    "Xor",
    "ctc_scores",
]
