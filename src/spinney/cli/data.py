"""`spinney data`: generated data as files."""

from dataclasses import dataclass
from pathlib import Path

from spinney.cli import unknown
from spinney.cli._options import Group, parse
from spinney.data.listops import ListOpsParameters, generate_splits, write_listops

EXAMPLE = "spinney data listops --out listops --train 5000 --max-depth 5"
_FILES = {"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}


@dataclass(frozen=True)
class DataOptions:
    """Where the files go.

    Attributes:
        out: the folder of train.tsv, dev.tsv and test.tsv.
    """

    out: Path


def main(args: list[str]) -> None:
    """Writes the files and says which."""
    if not args or args[0] in ("-h", "--help", "--help-all"):
        print(
            "usage: spinney data listops [OPTIONS]\n\n"
            "Write generated list operations in the published format.\n\n"
            f"Example: {EXAMPLE}\n\nspinney data listops --help lists the options."
        )
        return
    if args[0] != "listops":
        raise ValueError(unknown("kind of data", args[0], ["listops"]))
    options, parameters = parse(
        "spinney data listops",
        args[1:],
        [Group("files", DataOptions), Group("expressions", ListOpsParameters)],
        "Write generated list operations in the published format: value, tab, expression.",
        EXAMPLE,
    )
    splits = generate_splits(parameters)
    options.out.mkdir(parents=True, exist_ok=True)
    for split, examples in splits.items():
        path = options.out / _FILES[split]
        write_listops(examples, path)
        print(f"{path}: {len(examples):,} expressions")
