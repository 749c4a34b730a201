"""What is latent: one file per family of structures, with its parts, oracle and indicator."""

from spinney.structures.alignment import Alignment
from spinney.structures.base import Native, NativeStructure, Structure
from spinney.structures.binary_trees import BinaryTrees
from spinney.structures.branching_trees import BranchingTrees
from spinney.structures.custom import Custom
from spinney.structures.dependency import DependencyTrees
from spinney.structures.factor_graph import FactorGraph
from spinney.structures.hypercube import Hypercube
from spinney.structures.labelled_dependency import LabelledDependencyTrees
from spinney.structures.linear_chain import ChainParts, LinearChain
from spinney.structures.logic import (
    AtMostOne,
    Budget,
    Implies,
    LogicFactor,
    Or,
    Pairwise,
    Xor,
)
from spinney.structures.matching import Matching
from spinney.structures.oracle_error import OracleError, OracleValueError
from spinney.structures.semi_markov import SegmentParts, SemiMarkov
from spinney.structures.simplex import Simplex
from spinney.structures.subset import Subset

__all__ = [
    "Alignment",
    "AtMostOne",
    "BinaryTrees",
    "BranchingTrees",
    "Budget",
    "ChainParts",
    "Custom",
    "DependencyTrees",
    "FactorGraph",
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
    "SegmentParts",
    "SemiMarkov",
    "Simplex",
    "Structure",
    "Subset",
    "Xor",
]
