"""The list of tasks; models built from corpora and loaded from folders."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from sparsewood.lab.data.examples import Corpus
from sparsewood.lab.data.vectors import WordVectors
from sparsewood.lab.tasks import classify, nli, parse, revdict
from sparsewood.lab.tasks.measures import TREES, Measure
from sparsewood.lab.tasks.task import Model, Task

TASKS: dict[str, Task] = {
    task.name: task for task in (*classify.TASKS, *nli.TASKS, revdict.TASK, parse.TASK)
}
# By name; tasks that share a measure share its name.
_OWN = [m for task in TASKS.values() for m in task.metrics.measures if m not in TREES]
MEASURES: dict[str, Measure] = {measure.name: measure for measure in (*_OWN, *TREES)}


def build_model(
    corpus: Corpus,
    options: Any,
    vectors: WordVectors | None = None,
    *,
    lowercase: bool = True,
    min_count: int = 1,
) -> Model:
    """A model for the task of a corpus, initialised from the global random state.

    The arguments are those of `Model.build`.
    """
    task = TASKS[corpus.task]
    options = task.completed(options)
    return task.model.build(corpus, options, vectors, lowercase=lowercase, min_count=min_count)


def load_model(folder: Path | str, *, vectors: Path | str | None = None) -> Model:
    """The model that `save_pretrained` wrote to `folder`.

    Args:
        folder: folder of the model.
        vectors: new path of the file of its word vectors, if it has moved.

    Raises:
        ValueError: if there is none or it cannot be read.
    """
    folder = Path(folder)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        if vectors is not None and config.get("vectors") is not None:
            config["vectors"] |= {"name": str(vectors)}
        model = TASKS[config["task"]].model.from_config(config)
        model.load_state_dict(load_file(folder / "model.safetensors"))
    except (
        *(OSError, ValueError, AttributeError, KeyError, TypeError, RuntimeError),
        SafetensorError,
    ) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"{folder}: not a readable model of sparsewood ({reason})") from error
    return model.eval()


def model_folder(path: Path) -> Path:
    """The folder of the model at `path`, which is a model or a finished run.

    Raises:
        ValueError: if there is none.
    """
    if not path.is_dir():
        raise ValueError(f"{path}: no such folder of a run or a model")
    if (path / "model.safetensors").exists():
        return path
    if (path / "model").is_dir():
        return path / "model"
    if (path / "checkpoints").is_dir():
        raise ValueError(f"{path}: the run is not finished: sparsewood train --resume {path}")
    raise ValueError(f"{path}: neither a run nor a model (no model.safetensors)")


def load_parser(path: Path | str) -> parse.DependencyParser:
    """The parser of a run, or the one that `save_pretrained` wrote to a folder.

    Raises:
        ValueError: if there is none or it cannot be read.
    """
    model = load_model(model_folder(Path(path)))
    if not isinstance(model, parse.DependencyParser):
        raise ValueError(f"{path}: is a model for {model.task}, not a parser")
    return model
