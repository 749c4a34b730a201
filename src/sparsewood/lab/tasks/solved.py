"""The inference problems of the trees of a sentence, as JSON and as live figures."""

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

# Options of SparseMAP that figures support, or that do not change the result.
_PLAYED = {"temperature", "max_active", "max_support", "temperature_gradient", "on_unconverged"}


def solved_for(model: Model, problems: Sequence[Problem], i: int) -> list[dict[str, Any]]:
    """The problems of each side of example `i`, if a figure can solve them again.

    Each has `scores`, the n (n + 1) arc scores row by row with the digits of float32, None for
    -inf; `structure`, the options of `DependencyTrees`; and `temperature`, `max_active` and
    `max_support` of `sparsemap`. For a model that uses the best tree, `max_support` is 1.

    Args:
        model: a model in evaluation mode.
        problems: `model.problems` of the batch.
        i: index of the example in the batch.

    Returns:
        One per problem; empty if a figure cannot solve them.
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
    """The live figure of a side with the entries of `solved_for`; None without them.

    Args:
        side: with the `words` of the sentence.
        given: heads to compare with.
        title: title of the figure.

    Raises:
        ValueError: if the entries are inconsistent.
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
    """The options of `sparsemap` that return the trees of the estimator; None if there are none."""
    if estimator is None or isinstance(estimator, MAP):
        return {"temperature": 1.0, "max_active": None, "max_support": 1}
    if not isinstance(estimator, SparseMAP) or not estimator.options().keys() <= _PLAYED:
        return None
    names = ("temperature", "max_active", "max_support")
    return {name: getattr(estimator, name) for name in names}


def _flat(scores: Tensor, n: int) -> list[float | None]:
    """The scores (n, n + 1) of a sentence from a padded table, with the digits of float32."""
    table = scores[:n, : n + 1].detach().float().cpu().numpy()
    return [None if score == -inf else float(str(score)) for score in table.ravel()]
