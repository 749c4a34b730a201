"""Generated list operations."""

import sys
from dataclasses import dataclass, field, fields
from pathlib import Path

from spinney.data.examples import Corpus
from spinney.data.listops import ListOpsParameters, generate_splits, read_listops
from spinney.data.sources.base import Source


@dataclass(frozen=True)
class ListOps(Source):
    """Nested list operations, generated, with their gold trees.

    Attributes:
        files: files in the published format. One named train* or dev* takes the place of that
            generated split; others are further tests by their names.
        train: expressions of the training split.
        validation: of the validation split.
        test: of the test split.
        max_depth: levels of an expression; those at the last are digits.
        min_arguments: the fewest arguments of an operator.
        max_arguments: the most arguments of an operator.
        operator_probability: that an argument is an operator and not a digit.
        min_length: the fewest tokens of an expression.
        max_length: the most tokens of an expression.
        split_seed: of all draws.
    """

    name = "listops"
    task = "classify"

    files: tuple[Path, ...] = ()
    train: int = 20_000
    validation: int = 2_000
    test: int = 2_000
    max_depth: int = 20
    min_arguments: int = 2
    max_arguments: int = 5
    operator_probability: float = 0.25
    min_length: int = 1
    max_length: int | None = field(default=100, kw_only=True)
    split_seed: int = 0

    def read(self) -> Corpus:
        given = {_split_of(path): read_listops(path) for path in self.files}
        options = {f.name: getattr(self, f.name) for f in fields(ListOpsParameters)}
        options["max_length"] = sys.maxsize if self.max_length is None else self.max_length
        replaced = dict.fromkeys(options.keys() & given.keys(), 0)
        generated = generate_splits(ListOpsParameters(**options | replaced))
        return Corpus("classify", generated | given)


def _split_of(path: Path) -> str:
    """The name of the split that a published file holds."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file of list operations")
    if path.stem.startswith("train"):
        return "train"
    return "validation" if path.stem.startswith(("dev", "valid")) else path.stem
