"""What was solved for the trees of a sentence, as JSON holds it, and as a figure to play with."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import torch
from torch import Tensor

from sparsewood.draw import Live, live
from sparsewood.estimators import MAP, Estimator, Problem, SparseMAP
from sparsewood.lab._json import decode, encode
from sparsewood.lab.tasks.task import Model
from sparsewood.structures.dependency import DependencyTrees

# Options of SparseMAP that a figure has too, or that do not change the answer.
_PLAYED = {"temperature", "max_active", "max_support", "temperature_gradient", "on_unconverged"}


def solved_for(model: Model, problems: Sequence[Problem], i: int) -> list[dict[str, Any]]:
    """What was solved for the trees of each side of example `i`, where a figure can solve it again.

    Each has `scores`, the n (n + 1) arc scores row by row in the digits that tell float32 numbers
    apart, None for -inf; `structure`, the options of `DependencyTrees`; `temperature`, `max_active`
    and `max_support`, those of `sparsemap`. One tree of a model that takes the best is what a
    support of one keeps.

    Args:
        model: out of training.
        problems: `model.problems` of the batch that the example is in.
        i: the number of the example in the batch.

    Returns:
        As many as problems; none where the model solves for something else.
    """
    settings = _settings(None if model.estimator is None else model.estimator.at_test())
    if settings is None:
        return []
    return [
        {"scores": _flat(scores[i], int(lengths[i])), "structure": encode(structure), **settings}
        for scores, structure, lengths, _ in problems
        if isinstance(structure, DependencyTrees) and lengths is not None
    ]


def live_side(
    side: Mapping[str, Any], given: Sequence[int] | None = None, title: str | None = None
) -> Live | None:
    """The figure of a side that has what `solved_for` gives; None for one that has not.

    Args:
        side: with the `words` of the sentence.
        given: heads to compare with.
        title: of the figure.

    Raises:
        ValueError: where the entries do not fit each other.
    """
    if "scores" not in side:
        return None
    n = len(side["words"])
    if len(side["scores"]) != n * (n + 1):
        raise ValueError(f"scores: expected {n} * {n + 1} for {n} words, got {len(side['scores'])}")
    scores = torch.tensor([-inf if score is None else score for score in side["scores"]])
    return live(
        scores.reshape(n, n + 1),
        decode(DependencyTrees, side["structure"], "structure"),
        side["words"],
        given=given,
        temperature=side["temperature"],
        max_active=side["max_active"],
        max_support=side["max_support"],
        title=title,
    )


def _settings(estimator: Estimator | None) -> dict[str, Any] | None:
    """The options of `sparsemap` that give the trees of the estimator; None where none do."""
    if estimator is None or isinstance(estimator, MAP):
        return {"temperature": 1.0, "max_active": None, "max_support": 1}
    if not isinstance(estimator, SparseMAP) or not estimator.options().keys() <= _PLAYED:
        return None
    names = ("temperature", "max_active", "max_support")
    return {name: getattr(estimator, name) for name in names}


def _flat(scores: Tensor, n: int) -> list[float | None]:
    """The scores (n, n + 1) of a sentence in a padded table, in as few digits as float32 needs."""
    table = scores[:n, : n + 1].detach().float().cpu().numpy()
    return [None if score == -inf else float(str(score)) for score in table.ravel()]
