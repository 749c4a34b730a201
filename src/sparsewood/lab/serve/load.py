"""The runs that a server answers with, read before it starts."""

from collections.abc import Sequence
from pathlib import Path

from sparsewood.lab.serve.answer import Served
from sparsewood.lab.tasks import load_model
from sparsewood.lab.tasks.build import model_folder
from sparsewood.lab.train.run import Run

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
    names = [place.name for place in places]
    runs = [
        Served(name if names.count(name) == 1 else str(folder), load_model(model_folder(folder)))
        for folder, name in zip(folders, names, strict=True)
    ]
    if len({run.model.task for run in runs}) > 1:
        told = ", ".join(f"{run.name} ({run.model.task})" for run in runs)
        raise ValueError(f"serve: expected runs of the same task, got {told}")
    return runs


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
