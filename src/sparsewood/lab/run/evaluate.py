"""What a trained model is worth: metrics, and a gallery of trees."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from sparsewood.lab._memory import of_sentences, told_if_out_of_memory
from sparsewood.lab.data.batches import Batches, Split
from sparsewood.lab.data.examples import Example, Sentence
from sparsewood.lab.run.outcomes import Gathered
from sparsewood.lab.tasks.metrics import Output
from sparsewood.lab.tasks.solved import solved_for
from sparsewood.lab.tasks.task import Model
from sparsewood.posterior import Posterior
from sparsewood.sparse_posterior import certificate_of
from sparsewood.status import Status
from sparsewood.structures.binary_trees import BinaryTrees
from sparsewood.structures.simplex import Simplex

Guard = Callable[[], AbstractContextManager[None]]

_WORDS = range(6, 17)  # how long sentences of a gallery should be
_SUPPORT = range(2, 7)  # and how many trees they should have
_LOOKED_AT = 400  # examples that a gallery is chosen from
_SHOWN = 5  # labels listed with each example
_LINKED = 0.05  # attention that is less is not told of


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """The context in which forward passes run in `precision`."""
    dtype = getattr(torch, precision)
    enabled = precision != "float32"
    return torch.autocast(device.type, dtype if enabled else None, enabled=enabled)


def outputs(
    model: Model,
    batches: Iterable[Any],
    device: torch.device | str = "cpu",
    precision: str = "float32",
    *,
    guard: Guard = nullcontext,
) -> Iterator[tuple[Output, Any]]:
    """What the model says of each batch, out of training and with its current temperature.

    Args:
        model: on `device`.
        batches: of a split, with or without known targets.
        device, precision: of the forward pass.
        guard: the context of each batch; may raise to stop.
    """
    device = torch.device(device)
    was_training = model.training
    model.eval()
    try:
        for batch in batches:
            with guard(), torch.no_grad():
                batch = batch.to(device)
                with (
                    told_if_out_of_memory(lambda batch=batch: _told_of(batch)),
                    autocast(device, precision),
                ):
                    output = model(batch)
            yield output, batch
    finally:
        model.train(was_training)


def _told_of(batch: Any) -> str:
    """A batch that is too large."""
    lengths = [side.lengths for side in getattr(batch, "sides", ())] or [batch.lengths]
    longest = max(int(n.max()) for n in lengths)
    told = of_sentences(len(batch), longest)
    return f"evaluating {told}; a smaller --eval-batch needs less"


def evaluate(
    model: Model,
    batches: Batches,
    device: torch.device | str = "cpu",
    precision: str = "float32",
    *,
    gathered: Gathered | None = None,
    guard: Guard = nullcontext,
) -> dict[str, Any]:
    """What is measured of the task, by name.

    Models of trees have "histogram", {trees kept: sentences}, classifiers "confusion", {right
    label: {predicted label: examples}}. `unknown` is the share of words that the model knows
    nothing of, in percent. `gathered` takes the outcomes of the examples; the other arguments are
    those of `outputs`, with known targets.
    """
    metrics = model.new_metrics()
    for output, batch in outputs(model, batches.epoch(), device, precision, guard=guard):
        for metric in metrics:
            metric.add(output, batch)
        if gathered is not None:
            gathered.add(output, batch)
    words = [w for e in batches.split.examples for s in e.sentences for w in s.words]
    unknown = 100.0 * len(model.unknown(words)) / len(words)
    return {**model.measured(metrics), "unknown": unknown}


def gallery(
    model: Model,
    split: Split,
    k: int = 12,
    *,
    device: torch.device | str = "cpu",
    guard: Guard = nullcontext,
) -> list[dict[str, Any]]:
    """Up to `k` examples with the model's answer and its trees, heaviest first.

    Sentences of 6 to 16 words with 2 to 6 trees come before others. The choice depends on the
    split and the model alone. Each batch runs in the context `guard`, which may raise to stop.
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
    """`attention` of example `i`, where its two sentences attend to each other.

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
    """What is known of the sentences of example `i`: words, trees, certificate.

    Each has `words`; `trees`, heaviest first, with `heads` or, where they are binary, `spans`; and
    where they were solved for, `gap`, the duality gap, and `status`, "solved" if it certifies the
    posterior, else "capped" or "stalled". What `solved_for` gives of each sentence, if anything,
    is added.
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
    """The trees of a posterior over one sentence, heaviest first; none where there are none."""
    if isinstance(posterior.structure, Simplex):  # of a model that reads without trees
        return []
    best = posterior.topk(int(posterior.sizes[0]))
    found = zip(best.weights[0].float().tolist(), best.structures[0], strict=True)
    if isinstance(posterior.structure, BinaryTrees):
        return [{"spans": tree.nonzero().tolist(), "weight": weight} for weight, tree in found]
    return [{"heads": heads[:length].tolist(), "weight": weight} for weight, heads in found]
