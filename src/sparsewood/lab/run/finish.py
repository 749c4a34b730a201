"""The end of a run: the best weights, the temperature, the tests and the files of results."""

from collections.abc import Callable
from typing import Any

from sparsewood.lab._files import new_folder, write_json
from sparsewood.lab.run.by_length import ByLength
from sparsewood.lab.run.checkpoint import close, load_best
from sparsewood.lab.run.evaluate import Evaluator
from sparsewood.lab.run.gallery import gallery
from sparsewood.lab.run.outcomes import Gathered, Outcomes, write_outcomes
from sparsewood.lab.run.state import TrainingState
from sparsewood.lab.tasks.build import TASKS


def finish(
    state: TrainingState, evaluator: Evaluator, note: Callable[[str], None]
) -> dict[str, Any]:
    """Evaluate the best weights and write the results of the run.

    Args:
        state: state after the last epoch; the evaluated model gets the best weights and
            temperature.
        evaluator: evaluator of that model.
        note: called with a text about the temperature.

    Returns:
        The result, as in `result.json`, which is written last: if it exists, the run is complete.
    """
    model, folder = state.evaluated, state.folder
    best = state.schedule.best_epoch
    load_best(state)
    found = evaluator.search()
    if found is not None:
        model.temperature = found.chosen
        note(str(found))
    gathered = {split: Gathered(model) for split in evaluator.batches}
    by_length = ByLength(model, evaluator.bins)
    values = {
        split: evaluator.evaluate(split, into, None if split == "validation" else by_length)
        for split, into in gathered.items()
    }
    result = {
        "best_epoch": best,
        "epochs": state.epoch,
        "criterion": TASKS[model.task].metrics.criterion.name,
        "temperature": model.temperature,
        "temperature_curve": {} if found is None else {str(t): v for t, v in found.curve.items()},
        "temperature_search": None if found is None else found.to_json(),
        "validation": values.pop("validation"),
        "tests": values,
        "by_length": by_length.to_json(),
        "seconds": sum(record["seconds"] for record in state.history),
    }
    outcomes = {s: Outcomes.of(evaluator.batches[s].split, into) for s, into in gathered.items()}
    if kept := {s: found for s, found in outcomes.items() if found is not None}:
        write_outcomes(folder, kept)
    split, guard = evaluator.batches["validation"].split, evaluator.guard
    shown = gallery(model, split, device=evaluator.device, guard=guard)
    write_json(folder / "gallery.json", shown)
    with new_folder(folder / "model") as partial:
        model.save_pretrained(partial)
    close(state)
    write_json(folder / "result.json", result)
    return result
