"""The picture of each family of structures."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sparsewood.draw._names import Names
from sparsewood.draw._sheet import Picture, Sheet, sheet
from sparsewood.draw.arcs import labelled_trees, trees
from sparsewood.draw.brackets import binary_trees
from sparsewood.draw.edges import spanning_trees
from sparsewood.draw.items import item_sets, rankings
from sparsewood.draw.links import alignments, matchings, transports
from sparsewood.draw.listing import listings
from sparsewood.draw.routes import grid_routes, routes
from sparsewood.draw.segments import segmentations
from sparsewood.draw.tags import taggings
from sparsewood.posterior import Posterior
from sparsewood.sparse_posterior import certificate_of
from sparsewood.status import Status
from sparsewood.structures.alignment import Alignment
from sparsewood.structures.base import Structure
from sparsewood.structures.binary_trees import BinaryTrees
from sparsewood.structures.dependency import DependencyTrees
from sparsewood.structures.grid_paths import GridPaths
from sparsewood.structures.hypercube import Hypercube
from sparsewood.structures.labelled_dependency import LabelledDependencyTrees
from sparsewood.structures.linear_chain import LinearChain
from sparsewood.structures.matching import Matching
from sparsewood.structures.paths import Paths
from sparsewood.structures.rankings import Rankings
from sparsewood.structures.semi_markov import SemiMarkov
from sparsewood.structures.simplex import Simplex
from sparsewood.structures.spanning_trees import SpanningTrees
from sparsewood.structures.subset import Subset
from sparsewood.structures.transport import Transport


class FamilyPictures(NamedTuple):
    """How a family is drawn.

    Attributes:
        noun: the name of one structure.
        pictures: makes the pictures of a posterior over one instance.
        taken: the fields of `Names` that the pictures support.
    """

    noun: str
    pictures: Callable[[Posterior, Names], Sequence[Picture]]
    taken: tuple[str, ...]


FAMILIES: dict[type, FamilyPictures] = {
    DependencyTrees: FamilyPictures("tree", trees, ("words", "given")),
    LabelledDependencyTrees: FamilyPictures("tree", labelled_trees, ("words", "labels", "given")),
    LinearChain: FamilyPictures("tagging", taggings, ("words", "labels", "given")),
    SemiMarkov: FamilyPictures("segmentation", segmentations, ("words", "labels")),
    BinaryTrees: FamilyPictures("tree", binary_trees, ("words", "labels")),
    SpanningTrees: FamilyPictures("tree", spanning_trees, ("words",)),
    Matching: FamilyPictures("matching", matchings, ("words", "other")),
    Transport: FamilyPictures("transport", transports, ("words", "other")),
    Alignment: FamilyPictures("alignment", alignments, ("words", "other")),
    Paths: FamilyPictures("path", routes, ()),
    GridPaths: FamilyPictures("path", grid_routes, ()),
    Simplex: FamilyPictures("choice", item_sets, ("words",)),
    Subset: FamilyPictures("set", item_sets, ("words",)),
    Hypercube: FamilyPictures("set", item_sets, ("words",)),
    Rankings: FamilyPictures("ranking", rankings, ("words",)),
    Structure: FamilyPictures("structure", listings, ()),  # logic factors, `Custom` and others
}


def family_of(structure: Structure, names: Names, call: str) -> FamilyPictures:
    """How a structure is drawn. Raises ValueError for names that its pictures do not support."""
    family = next(FAMILIES[kind] for kind in type(structure).__mro__ if kind in FAMILIES)
    for name in ("words", "other", "labels", "given"):
        if getattr(names, name) is not None and name not in family.taken:
            taken = " and ".join(family.taken) or "numbers"
            raise ValueError(f"{call}: {name}: expected None: {structure} is drawn with {taken}")
    return family


def posterior_sheet(post: Posterior, instance: int, names: Names) -> Sheet:
    """The pictures of the structures of one instance of a posterior."""
    if not isinstance(post, Posterior):
        raise TypeError(f"show: expected a Posterior, got {type(post).__name__}")
    one = post[instance]
    solved = certificate_of(one)
    family = family_of(one.structure, names, "show")
    return sheet(
        family.noun,
        str(one.structure) if names.words is None else " ".join(names.words),
        family.pictures(one, names),
        one.weights.tolist(),
        None if solved is None else Status(int(solved.status)),
        None if solved is None else float(solved.gap),
    )
