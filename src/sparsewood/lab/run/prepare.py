"""What a run starts from: its corpus, its model with initial weights, and its splits."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sparsewood.lab.data.batches import Split
from sparsewood.lab.data.examples import Corpus
from sparsewood.lab.data.heads_file import count_missing
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.reproducibility import seed_everything
from sparsewood.lab.tasks.build import TASKS, build_model
from sparsewood.lab.tasks.parsing import load_corpus
from sparsewood.lab.tasks.task import Model

_SPARED = 100  # one in this many training examples may lack heads


def prepare(
    config: RunConfig, note: Callable[[str], None] = lambda _: None
) -> tuple[Corpus, Model, dict[str, Split]]:
    """The corpus, the model with the seed's initial weights, and the splits as integers.

    Seeds the global generators. `note` is called with a text about dropped training examples.
    """
    source = config.source
    loaded = load_corpus(source)
    if loaded.left_out:
        total = loaded.left_out + len(loaded.splits["train"])
        why = " or ".join(
            [f"longer than {source.max_length} words"] * (source.max_length is not None)
            + ["without heads"] * source.skip_unparsed
        )
        note(f"{loaded.left_out:,} of {total:,} training examples are {why}: left out")
    corpus = check(loaded, config.model, note)
    words = {w.lower() if source.lowercase else w for s in corpus.sentences() for w in s.words}
    vectors = source.load_vectors(sorted(words.union(corpus.candidates)))
    seed_everything(config.training.seed)
    model = build_model(
        corpus, config.model, vectors, lowercase=source.lowercase, min_count=source.min_count
    )
    return corpus, model, {name: _encode(model, corpus, name) for name in corpus.splits}


def _encode(model: Model, corpus: Corpus, name: str) -> Split:
    try:
        return model.encode(corpus.splits[name])
    except ValueError as error:
        raise ValueError(f"the split {name!r}: {error}") from error


def check(corpus: Corpus, options: Any, note: Callable[[str], None]) -> Corpus:
    """The corpus for training a model with these options.

    If the model needs heads, the training examples without heads are dropped if they are few.

    Raises:
        ValueError: if a split is missing or empty, or lacks the heads it needs.
    """
    for name in ("train", "validation", *corpus.tests):
        if not corpus.splits.get(name):
            raise ValueError(f"the split {name!r} has no examples")
    task = TASKS[corpus.task]
    task.model.check(corpus)
    if not options.needs_heads:
        return corpus
    for name, examples in corpus.splits.items():
        missing = [row for row, example in enumerate(examples) if count_missing([example])]
        few = name == "train" and len(missing) * _SPARED <= len(examples)
        if missing and not few:
            raise ValueError(
                f"the {task.variant(options)} needs heads for every sentence: {len(missing)} of "
                f"the {len(examples)} examples of the split {name!r} have none, example "
                f"{missing[0]} (counted from 0) being the first; give files of heads or a parser"
            )
        if missing:
            note(f"{len(missing)} of {len(examples)} training examples have no heads: left out")
    train = [example for example in corpus.splits["train"] if not count_missing([example])]
    return replace(corpus, splits={**corpus.splits, "train": train})
