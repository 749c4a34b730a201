"""`sparsewood data`: write generated data to files."""

from dataclasses import dataclass
from pathlib import Path

from sparsewood.lab.cli import unknown
from sparsewood.lab.cli._options import Group, parse_options
from sparsewood.lab.cli._runs import writable_folder
from sparsewood.lab.data.listops import write_listops
from sparsewood.lab.data.listops_generator import generate_splits
from sparsewood.lab.data.listops_parameters import SPLITS, ListOpsParameters

EXAMPLE = "sparsewood data listops --out listops --train 5000 --max-depth 5"
_FILES = {"train": "train.tsv", "validation": "dev.tsv"}  # other splits keep their names


@dataclass(frozen=True)
class DataOptions:
    """Where to write the files.

    Attributes:
        out: folder for train.tsv, dev.tsv, test.tsv and one file per further test.
    """

    out: Path


def main(args: list[str]) -> None:
    """Write the files and print their names."""
    if not args or args[0] in ("-h", "--help", "--help-all"):
        print(
            "usage: sparsewood data listops [OPTIONS]\n\n"
            "Write generated list operations in the published format.\n\n"
            f"Example: {EXAMPLE}\n\nsparsewood data listops --help lists the options."
        )
        return
    if args[0] != "listops":
        raise ValueError(unknown("kind of data", args[0], ["listops"]))
    options, parameters = parse_options(
        "sparsewood data listops",
        args[1:],
        [Group("files", DataOptions), Group("expressions", ListOpsParameters)],
        "Write generated list operations in the published format: value, tab, expression.",
        EXAMPLE,
    )
    folder = writable_folder(options.out)
    splits = (*SPLITS, *parameters.bins)
    paths = {split: folder / _FILES.get(split, f"{split}.tsv") for split in splits}
    if there := [path for path in paths.values() if path.exists()]:
        raise ValueError(f"{there[0]}: exists already; choose another folder")
    for split, examples in generate_splits(parameters).items():
        path = paths[split]
        write_listops(examples, path)
        print(f"{path}: {len(examples):,} expressions")
