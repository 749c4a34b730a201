"""What goes wrong in training, in a line each: collapsed tree posteriors, stages given up."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparsewood.estimators import Estimator
from sparsewood.lab.run.config import TrainingConfig
from sparsewood.lab.run.schedule import stage_after
from sparsewood.lab.tasks.targets.classes import ACCURACY

_SETTLED = 2  # epochs after which the shape of the trees says something
_NEARLY_ALL = 99.0  # percent
_CHAIN = 95.0  # percent: few sentences of people or machines have all heads next door


def diagnose(
    history: Sequence[Mapping[str, Any]], config: TrainingConfig, estimator: Estimator | None
) -> list[str]:
    """What the last epoch shows to have gone wrong, in a line each.

    Args:
        history: the lines of metrics of all epochs.
        config: of training.
        estimator: of the last epoch; None where there are no latent trees.
    """
    found = [given_up(history, config), None if estimator is None else collapse(history, estimator)]
    return [told for told in found if told is not None]


def given_up(history: Sequence[Mapping[str, Any]], config: TrainingConfig) -> str | None:
    """In a line, that the last epoch ended a stage for want of time; None where it did not."""
    last = history[-1]
    words = last.get("stage")
    if words in (None, stage_after(history, config)):
        return None
    reached = last["train"][ACCURACY.name]
    if reached >= config.stage_accuracy:
        return None
    return (
        f"after epoch {last['epoch']}, sentences of at most {words} words are left behind at "
        f"{ACCURACY.text(reached)} % in training, below {config.stage_accuracy:g} %: "
        f"{config.stage_epochs} epochs are over"
    )


def collapse(history: Sequence[Mapping[str, Any]], estimator: Estimator) -> str | None:
    """What has become of the latent trees in the last epoch, in a line; None where all is well.

    Told once, after the first epoch that shows one of three things on validation: nearly all
    sentences have one tree after the first epoch, from where the parser gets no gradient (trees
    that narrow down later are a parser that has learnt); nearly all arcs of the likeliest trees go
    to the next word, or to the one before; nearly all probability is on the flat tree. The latter
    two count once two epochs are over. Epochs of stages on short sentences tell nothing.

    Args:
        history: the lines of metrics of all epochs.
        estimator: of the last one.
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
