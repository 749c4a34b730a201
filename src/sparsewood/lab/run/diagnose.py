"""Warnings about training: collapsed tree posteriors, stages that ended early."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparsewood.estimators import Estimator
from sparsewood.lab.run.config import TrainingConfig
from sparsewood.lab.run.schedule import stage_after
from sparsewood.lab.tasks.targets.classes import ACCURACY

_SETTLED = 2  # epochs before the shape of the trees is judged
_NEARLY_ALL = 99.0  # percent
_CHAIN = 95.0  # percent; in natural and formal languages few heads are all adjacent


def diagnose(
    history: Sequence[Mapping[str, Any]], config: TrainingConfig, estimator: Estimator | None
) -> list[str]:
    """Warnings about the last epoch, one line each.

    Args:
        history: the lines of metrics of all epochs.
        config: options of training.
        estimator: estimator of the last epoch; None without latent trees.
    """
    found = [given_up(history, config), None if estimator is None else collapse(history, estimator)]
    return [told for told in found if told is not None]


def given_up(history: Sequence[Mapping[str, Any]], config: TrainingConfig) -> str | None:
    """A warning if the last epoch ended a stage below its accuracy; None otherwise."""
    last = history[-1]
    words = last.get("stage")
    if words in (None, stage_after(history, config)):
        return None
    reached = last["train"][ACCURACY.name]
    if reached >= config.stage_accuracy:
        return None
    return (
        f"after epoch {last['epoch']}, the stage of sentences of at most {words} words ended at "
        f"{ACCURACY.text(reached)} % in training, below {config.stage_accuracy:g} %: "
        f"{config.stage_epochs} epochs are over"
    )


def collapse(history: Sequence[Mapping[str, Any]], estimator: Estimator) -> str | None:
    """A warning if the latent trees have collapsed; None otherwise.

    It is given once, after the first epoch with one of three symptoms on validation: nearly all
    sentences have one tree after the first epoch, where the parser gets no gradient (later, that is
    a parser that has learned); nearly all arcs of the most probable trees go to the next word, or
    to the previous one; nearly all probability is on the flat tree. The latter two are checked
    after two epochs. Epochs of stages are not checked.

    Args:
        history: the lines of metrics of all epochs.
        estimator: estimator of the last epoch.
    """
    if not estimator.reads_scores:
        return None
    *before, last = (_trap(record, estimator) for record in history)
    return None if last is None or any(before) else last


def _trap(record: Mapping[str, Any], estimator: Estimator) -> str | None:
    if "stage" in record:
        return None
    epoch, seen = record["epoch"], record["validation"]
    can_hesitate = estimator.at_test().gradient_through == "weights" and 1 not in (
        getattr(estimator, name, None) for name in ("max_active", "max_support", "k")
    )
    if epoch == 1 and seen["single"] >= _NEARLY_ALL and can_hesitate:
        what = f"{seen['single']:.0f} % of the sentences have one tree: the parser has collapsed"
        advice = "--noise 1, a lower --parser-lr or a higher temperature"
    elif epoch >= _SETTLED and seen["flat"] >= _NEARLY_ALL:
        what = f"{seen['flat']:.0f} % of the probability is on flat trees"
        advice = "--noise 1, --single-root or --composer-input words"
    elif epoch >= _SETTLED and seen.get("chain", 0.0) >= _CHAIN:
        what = f"{seen['chain']:.0f} % of the arcs are those of a chain"
        advice = "--noise 1, --composer-input words or a lower --parser-lr"
    else:
        return None
    return f"after epoch {epoch}, {what}; try {advice}"
