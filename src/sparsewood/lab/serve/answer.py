"""The answer of a model to an input, as JSON."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from sparsewood.draw import Drawing
from sparsewood.draw.svg import picture_file
from sparsewood.estimators import Estimator, SparseMAP
from sparsewood.lab.data.examples import Example, Sentence
from sparsewood.lab.run.gallery import attention_of, attention_picture, side_sheet, sides_of
from sparsewood.lab.tasks import TASKS, Model, TreeModel
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.tasks.solved import live_side, solved_for

TREES = 10  # trees to list per sentence by default
_ANSWERS = 10  # number of labels or words
_HOT = 256  # maximum number of trees at a requested temperature: a high one would keep thousands


@dataclass(frozen=True)
class Served:
    """A model that answers.

    Attributes:
        name: name of the run.
        model: the model, in evaluation mode.
    """

    name: str
    model: Model

    @property
    def variant(self) -> str:
        """What distinguishes it from other runs: "estimator flat"."""
        return TASKS[self.model.task].variant(self.model.options)


def answer(
    served: Served,
    sentences: Sequence[Sentence],
    *,
    temperature: float | None = None,
    most: int = TREES,
) -> dict[str, Any]:
    """The answer of a model to an example.

    Args:
        served: the model; it must not be in use elsewhere.
        sentences: one per side of the task.
        temperature: temperature to use instead of the model's; ignored by a model without one.
            SparseMAP without a cap then keeps at most 256 trees; the status is "capped" where that
            is too few.
        most: maximum number of trees to list per sentence.

    Returns:
        `name`, `variant`, `temperature` (None without one); `prediction` {label: number}, best
        first, {"number": number} for a regression, empty for a parser; `sides`, each with `words`,
        `trees` [{"heads", "weight"}], or [{"spans", "weight"}] for binary trees, the most probable
        first, `kept`, the number of trees, `unknown` words, `status` and `gap` of trees that were
        solved for, and the data of a live `figure`, or a `picture` (SVG) of trees that a figure
        cannot solve for; `attention`, a picture (SVG) of the attention between two sentences, or
        None; `notes`, the warnings.

    Raises:
        ValueError: if the model reads given trees and the sentences have none.
    """
    model = served.model
    if model.reads_heads and any(sentence.heads is None for sentence in sentences):
        raise ValueError(f"{served.name} reads given trees, but a typed sentence has none")
    with _notes() as notes, torch.no_grad(), _at(model, temperature):
        batch = model.encode([Example(tuple(sentences))]).batch([0])
        batch = batch.to(next(model.parameters()).device)
        output = model(batch)
        solved = solved_for(model, model.problems(batch), 0)
        told = sides_of(sentences, output, 0, solved)
        return {
            "name": served.name,
            "variant": served.variant,
            "temperature": model.temperature,
            "prediction": model.answers(output, 0, _ANSWERS),
            "sides": [
                _side(model, sentence, side, most)
                for sentence, side in zip(sentences, told, strict=True)
            ],
            "attention": _attention(sentences, output),
            "notes": notes,
        }


def _side(model: Model, sentence: Sentence, side: dict[str, Any], most: int) -> dict[str, Any]:
    given = None if model.reads_heads else sentence.compared
    figure = live_side(side, given)
    data = None if figure is None or figure.problem.too_large else figure.data
    return {
        "words": side["words"],
        "trees": side["trees"][:most],
        "kept": len(side["trees"]),
        "unknown": list(dict.fromkeys(model.unknown(side["words"]))),
        "status": side.get("status"),
        "gap": side.get("gap"),
        "figure": data,
        "picture": _picture(side, given, most) if data is None else None,
    }


def _attention(sentences: Sequence[Sentence], output: Output) -> str | None:
    sides = [{"words": sentence.words} for sentence in sentences]
    picture = attention_picture({"sides": sides, **attention_of(sentences, output, 0)})
    return None if picture is None else picture_file(picture)


def _picture(side: dict[str, Any], given: Sequence[int] | None, most: int) -> str | None:
    if not side["trees"]:
        return None
    return Drawing(side_sheet(side, given, most=most, ended=True)).to("svg")


@contextmanager
def _notes() -> Iterator[list[str]]:
    """Collect warnings in a list instead of showing them."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield notes
        notes += [" ".join(str(warning.message).split()) for warning in caught]


@contextmanager
def _at(model: Model, temperature: float | None) -> Iterator[None]:
    """Set another temperature of the model's trees, if it has one."""
    if temperature is None or model.temperature is None or not isinstance(model, TreeModel):
        yield
        return
    trees, own, before = model.trees, model.estimator, model.temperature
    model.temperature = temperature
    try:
        if trees is not None:
            trees.estimator = _capped(trees.estimator)
        yield
    finally:
        if trees is None or own is None:
            model.temperature = before
        else:
            trees.estimator = own


def _capped(estimator: Estimator) -> Estimator:
    if not isinstance(estimator, SparseMAP):
        return estimator
    capped = estimator.max_active is not None or estimator.max_support is not None
    return estimator if capped else replace(estimator, max_active=_HOT)
