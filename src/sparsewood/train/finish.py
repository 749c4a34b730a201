"""The end of a run: the best weights, the temperature, the tests, and what is left behind."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sparsewood._files import new_folder, write_json
from sparsewood.data.batches import EncodedSplit
from sparsewood.train import checkpoint
from sparsewood.train.evaluate import gallery, temperature_search
from sparsewood.train.state import TrainingState


def finish(
    folder: Path,
    state: TrainingState,
    splits: Mapping[str, EncodedSplit],
    evaluation: Callable[[str], dict[str, Any]],
    *,
    temperatures: bool,
) -> dict[str, Any]:
    """Evaluate the best weights and write the rest of the run.

    Args:
        folder: of the run.
        state: after the last epoch; its model ends up with the best weights and temperature.
        splits: validation and the tests.
        evaluation: from the name of a split to the metrics of the model as it is when called.
        temperatures: choose that of a latent model on validation.

    Returns:
        The result, as in `result.json`, which is written last: with it, all the rest is there.
    """
    model = state.model
    best = state.schedule.best_epoch
    checkpoint.load_weights(folder / "checkpoints" / checkpoint.name_of(best), model)
    curve: dict[float, float] = {}
    if temperatures and model.options.trees == "latent":
        model.temperature, curve = temperature_search(model, lambda: evaluation("validation"))
    result = {
        "best_epoch": best,
        "epochs": state.epoch,
        "criterion": model.criterion,
        "temperature": model.temperature,
        "temperature_curve": {str(t): value for t, value in curve.items()},
        "validation": evaluation("validation"),
        "tests": {name: evaluation(name) for name in splits if name != "validation"},
        "seconds": sum(record["seconds"] for record in state.history),
    }
    shown = gallery(model, splits["validation"], device=state.group.device)
    write_json(folder / "gallery.json", shown)
    with new_folder(folder / "model") as partial:
        model.save_pretrained(partial)
    write_json(folder / "result.json", result)
    return result
