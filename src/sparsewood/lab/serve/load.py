"""The runs that a server answers with, read before it starts."""

import os
from collections.abc import Sequence
from pathlib import Path

from sparsewood.lab.run.folder import Run
from sparsewood.lab.serve.answer import Served
from sparsewood.lab.tasks import load_model
from sparsewood.lab.tasks.build import model_folder

_OFFERED = 4  # questions that a page has buttons for
_SHORT = 60  # characters of one


def load_runs(folders: Sequence[Path]) -> list[Served]:
    """The models of runs or in folders of models, all of the same task.

    Raises:
        ValueError: where there is none, one stands twice, or they are of several tasks.
    """
    places = [folder.resolve() for folder in folders]
    if not places:
        raise ValueError("serve: which run? Name the folder of one, or of several")
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
    """The last part of each path; all that tells them apart, where several end alike."""
    last = [place.name for place in places]
    shared = os.path.commonpath([place.parent for place in places])
    return [
        name if last.count(name) == 1 else place.relative_to(shared).as_posix()
        for place, name in zip(places, last, strict=True)
    ]


def _kind(run: Served) -> str:
    """What is asked of a run: its task, and list operations apart from sentences."""
    operations = " of list operations" if run.model.reads_operations else ""
    return f"{run.model.task}{operations}"


def example_questions(folders: Sequence[Path]) -> list[tuple[str, ...]]:
    """A few short sentences, or pairs, of the first run that has kept examples of its data."""
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
