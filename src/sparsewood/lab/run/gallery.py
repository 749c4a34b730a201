"""Examples with their trees: chosen for a gallery, as data and as pictures."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch

from sparsewood.draw._sheet import Sheet
from sparsewood.draw._trees import checked, checked_brackets
from sparsewood.draw.arcs import Heads
from sparsewood.draw.links import Attention, attention
from sparsewood.lab.data.batches import Split
from sparsewood.lab.data.examples import Example, Sentence
from sparsewood.lab.run.evaluate import Guard, outputs
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.tasks.solved import solved_for
from sparsewood.lab.tasks.task import Model
from sparsewood.posterior import Posterior
from sparsewood.sparse_posterior import certificate_of
from sparsewood.status import Status
from sparsewood.structures.binary_trees import BinaryTrees
from sparsewood.structures.simplex import Simplex

_WORDS = range(6, 17)  # preferred number of words of sentences
_SUPPORT = range(2, 7)  # preferred number of trees
_LOOKED_AT = 400  # number of examples to choose from
_SHOWN = 5  # labels listed per example
_LINKED = 0.05  # minimum attention to list


def gallery(
    model: Model,
    split: Split,
    k: int = 12,
    *,
    device: torch.device | str = "cpu",
    guard: Guard = nullcontext,
) -> list[dict[str, Any]]:
    """Up to `k` examples with the model's answer and its trees, most probable first.

    Sentences of 6 to 16 words with 2 to 6 trees are preferred. The choice depends only on the split
    and the model. Each batch runs in the context `guard`, which may raise to stop.
    """
    handy = [
        row
        for row, example in enumerate(split.examples)
        if all(len(sentence.words) in _WORDS for sentence in example.sentences)
    ]
    rows = handy[:: max(1, len(handy) // _LOOKED_AT)]
    others = set() if len(handy) >= k else set(range(len(split.examples))).difference(handy)
    rows = (rows + sorted(others))[:_LOOKED_AT]
    batches = (split.batch(rows[start : start + 32]) for start in range(0, len(rows), 32))
    found: list[tuple[bool, int, dict[str, Any]]] = []
    for output, batch in outputs(model, batches, device, guard=guard):
        with torch.no_grad():
            problems = model.problems(batch)
        for i, row in enumerate(batch.rows.tolist()):
            sizes = [int(p.sizes[i]) for p in output.posteriors]
            plain = row in others or not all(size in _SUPPORT for size in sizes)
            solved = solved_for(model, problems, i)
            found.append((plain, row, _entry(model, split.examples[row], output, i, solved)))
    chosen = sorted(found, key=lambda entry: entry[0])[:k]
    return [entry for *_, entry in sorted(chosen, key=lambda entry: entry[1])]


def _entry(
    model: Model, example: Example, output: Output, i: int, solved: list[dict[str, Any]]
) -> dict[str, Any]:
    sides = sides_of(example.sentences, output, i, solved)
    return {
        "label": example.label if example.labels is None else list(example.labels),
        "prediction": model.answers(output, i, _SHOWN),
        "sides": [
            {**side, "given": None if sentence.compared is None else list(sentence.compared)}
            for sentence, side in zip(example.sentences, sides, strict=True)
        ],
        **attention_of(example.sentences, output, i),
    }


def attention_of(sentences: Sequence[Sentence], output: Output, i: int) -> dict[str, Any]:
    """The entry `attention` of example `i`, if its two sentences attend to each other.

    It is a list of [word of the first, word of the second, weight], words counted from 0.
    """
    if output.attention is None:
        return {}
    n, m = (len(sentence.words) for sentence in sentences)
    weights = output.attention[i, :n, :m]
    index = (weights >= _LINKED).nonzero().tolist()
    return {"attention": [[*pair, round(float(weights[tuple(pair)]), 3)] for pair in index]}


def sides_of(
    sentences: Sequence[Sentence],
    output: Output,
    i: int,
    solved: Sequence[Mapping[str, Any]] = (),
) -> list[dict[str, Any]]:
    """The sentences of example `i`: words, trees, certificate.

    Each has `words`; `trees`, most probable first, with `heads`, or `spans` for binary trees; and
    if they were solved for, `gap`, the duality gap, and `status`: "solved" if the gap certifies the
    posterior, otherwise "capped" or "stalled". The entries of `solved_for`, if any, are added.
    """
    return [
        {
            "words": list(sentence.words),
            "trees": trees_of(posterior[i], len(sentence.words)),
            **_certificate(posterior, i),
            **more,
        }
        for sentence, posterior, more in zip(
            sentences, output.posteriors, solved or [{}] * len(sentences), strict=True
        )
    ]


def _certificate(posterior: Posterior, i: int) -> dict[str, Any]:
    found = certificate_of(posterior)
    if found is None:
        return {}
    return {"gap": float(found.gap[i]), "status": str(Status(int(found.status[i])))}


def trees_of(posterior: Posterior, length: int) -> list[dict[str, Any]]:
    """The trees of a posterior over one sentence, most probable first; empty without trees."""
    if isinstance(posterior.structure, Simplex):  # of a model without trees
        return []
    best = posterior.topk(int(posterior.sizes[0]))
    found = zip(best.weights[0].float().tolist(), best.structures[0], strict=True)
    if isinstance(posterior.structure, BinaryTrees):
        return [{"spans": tree.nonzero().tolist(), "weight": weight} for weight, tree in found]
    return [{"heads": heads[:length].tolist(), "weight": weight} for weight, heads in found]


def side_sheet(
    side: Mapping[str, Any],
    given: Heads | None = None,
    *,
    most: int | None = None,
    ended: bool = False,
) -> Sheet:
    """The pictures of one side returned by `sides_of`.

    Args:
        side: `words`, and `trees` by decreasing weight, each with `heads` or `spans`.
        given: heads to compare dependency trees with.
        most: maximum number of trees.
        ended: include the status of the solve.
    """
    words, trees = [str(word) for word in side["words"]], side["trees"][:most]
    weights = [tree["weight"] for tree in trees]
    if trees and "spans" in trees[0]:
        return checked_brackets(words, [tree["spans"] for tree in trees], weights)
    status = Status(side["status"]) if ended and "status" in side else None
    return checked(words, [tree["heads"] for tree in trees], weights, given, status)


def attention_picture(example: Mapping[str, Any]) -> Attention | None:
    """A picture of the attention between two sentences; None without attention.

    Args:
        example: with `sides` that have `words`, and `attention` as `attention_of` has it.
    """
    if "attention" not in example:
        return None
    rows, columns = ([str(word) for word in side["words"]] for side in example["sides"])
    return attention(rows, columns, example["attention"])
