"""Generated list operations."""

from dataclasses import dataclass, replace
from pathlib import Path

from sparsewood.lab.data.examples import Corpus
from sparsewood.lab.data.listops import OPERATORS, read_listops
from sparsewood.lab.data.listops_generator import generate_splits
from sparsewood.lab.data.listops_parameters import ListOpsParameters
from sparsewood.lab.data.sources.base import Source


@dataclass(frozen=True)
class ListOps(ListOpsParameters, Source):
    """Generated nested list operations, with gold trees.

    Attributes:
        files: files in the published format. A file train* or dev* replaces that generated split;
            others are additional tests, named after the file.
    """

    name = "listops"
    task = "classify"
    has_heads = True
    operator_words = frozenset(OPERATORS)
    example = "--max-depth 5 --hidden 64"
    asked = "Compute the value of nested list operations: [MAX 2 9 [MIN 4 7 ] 0 ] is 9."

    files: tuple[Path, ...] = ()

    @property
    def length_bins(self) -> tuple[int, ...]:
        return (self.max_length, *self.test_lengths) if self.test_lengths else ()

    def read(self) -> Corpus:
        given = {_split_of(path): read_listops(path) for path in self.files}
        replaced = dict.fromkeys(given.keys() & {"train", "validation", "test"}, 0)
        return Corpus("classify", generate_splits(replace(self, **replaced)) | given)


def _split_of(path: Path) -> str:
    """The name of the split in a published file."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file of list operations")
    if path.stem.startswith("train"):
        return "train"
    return "validation" if path.stem.startswith(("dev", "valid")) else path.stem
