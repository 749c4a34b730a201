"""What is latent: one file per family of structures, with its parts, oracle and indicator."""

from spinney.structures.base import Structure
from spinney.structures.dependency import DependencyTrees

__all__ = ["DependencyTrees", "Structure"]
