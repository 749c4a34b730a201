"""Loads the models of a server before it starts."""

import os
from collections.abc import Sequence
from pathlib import Path

from sparsewood.lab.run.folder import Run
from sparsewood.lab.serve.answer import Served
from sparsewood.lab.tasks import load_model
from sparsewood.lab.tasks.build import model_folder

_OFFERED = 4  # number of example questions on the page
_SHORT = 60  # maximum characters of an example question


def load_runs(folders: Sequence[Path]) -> list[Served]:
    """The models of runs or in folders of models, all of one task.

    Raises:
        ValueError: if there is no folder, a folder is named twice, or the tasks differ.
    """
    places = [folder.resolve() for folder in folders]
    if not places:
        raise ValueError("serve: expected the folder of one or several runs")
    if twice := [f for i, f in enumerate(folders) if places[i] in places[:i]]:
        raise ValueError(f"{twice[0]}: named twice")
    runs = [
        Served(name, load_model(model_folder(folder)))
        for folder, name in zip(folders, _names(places), strict=True)
    ]
    kinds = [_kind(run) for run in runs]
    if len(set(kinds)) > 1:
        told = ", ".join(f"{run.name} ({kind})" for run, kind in zip(runs, kinds, strict=True))
        raise ValueError(f"serve: expected runs of the same task, got {told}")
    return runs


def _names(places: Sequence[Path]) -> list[str]:
    """The last part of each path, or the parts that tell it apart if several end alike."""
    last = [place.name for place in places]
    names = []
    for place, name in zip(places, last, strict=True):
        alike = [other for other in places if other.name == name]
        if len(alike) > 1:
            shared = Path(os.path.commonpath([other.parent for other in alike]))
            below = [other.relative_to(shared).parts for other in alike]
            own = place.relative_to(shared).parts
            if len({len(parts) for parts in below}) == 1:  # leave out what they share
                differ = [len(set(level)) > 1 for level in zip(*below, strict=True)]
                own = [part for part, differs in zip(own, differ, strict=True) if differs]
            name = "/".join(own)
        names.append(name)
    return names


def _kind(run: Served) -> str:
    """The kind of input of a run: its task, with list operations apart from sentences."""
    operations = " of list operations" if run.model.reads_operations else ""
    return f"{run.model.task}{operations}"


def example_questions(folders: Sequence[Path]) -> list[tuple[str, ...]]:
    """A few short sentences or pairs from the gallery of the first run that has one."""
    for folder in folders:
        if not (folder / "gallery.json").is_file():
            continue
        found = [
            tuple(" ".join(map(str, side.get("words", ()))) for side in example["sides"])
            for example in Run(folder).gallery
        ]
        short = sorted(dict.fromkeys(found), key=lambda sides: sum(map(len, sides)) > _SHORT)
        return [sides for sides in short[:_OFFERED] if all(sides)]
    return []
