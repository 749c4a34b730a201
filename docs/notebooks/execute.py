"""Run the notebooks and save their outputs: `python docs/notebooks/execute.py`.

Each code cell is marked with a hash of the text that ran, so that a test detects outputs that no
longer belong to their cells. Metadata that differs from run to run without a reason is removed.
"""

import argparse
import os
from hashlib import blake2b
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

FOLDER = Path(__file__).parent
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def mark(source: str) -> str:
    """The hash of a cell's text."""
    return blake2b(source.encode(), digest_size=8).hexdigest()


def execute(path: Path) -> NotebookNode:
    """The notebook with the outputs of a run in a fresh kernel; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    os.environ.pop("MPLBACKEND", None)  # the kernel's own backend shows figures
    # The output of a cell arrives in a varying number of pieces: join them.
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", coalesce_streams=True)
    client.execute(cwd=FOLDER)
    notebook.metadata = nbformat.from_dict(_METADATA)
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i}"
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.metadata["ran"] = mark(cell.source)
    return notebook


def main() -> None:
    parser = argparse.ArgumentParser(description="Run notebooks and save their outputs.")
    parser.add_argument("notebooks", nargs="*", type=Path, default=sorted(FOLDER.glob("*.ipynb")))
    parser.add_argument("--out", type=Path, help="output folder (default: in place)")
    asked = parser.parse_args()
    for path in asked.notebooks:
        notebook = execute(path)
        nbformat.write(notebook, (asked.out or path.parent) / path.name)
        print(path.name)


if __name__ == "__main__":
    main()
