"""Setting up a run: its lock, signals, data, model and state."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from sparsewood.lab._files import sole_writer
from sparsewood.lab.data.batches import Batches, Split
from sparsewood.lab.data.examples import Corpus
from sparsewood.lab.data.heads_file import count_missing
from sparsewood.lab.run.bars import automatic
from sparsewood.lab.run.by_length import Bins
from sparsewood.lab.run.checkpoint import restore
from sparsewood.lab.run.config import RunConfig
from sparsewood.lab.run.distributed import World, world
from sparsewood.lab.run.evaluate import Evaluator, autocast
from sparsewood.lab.run.folder import check_folder
from sparsewood.lab.run.interrupt import Abandoned, StopWish, TrainingInterrupted, listen
from sparsewood.lab.run.loop import Trainer
from sparsewood.lab.run.machine import avoid_refused_amx
from sparsewood.lab.run.progress import Progress
from sparsewood.lab.run.reproducibility import seed_everything
from sparsewood.lab.run.schedule import check_stages
from sparsewood.lab.run.state import TrainingState
from sparsewood.lab.tasks.build import TASKS, build_model
from sparsewood.lab.tasks.frozen import keep_outputs
from sparsewood.lab.tasks.parsing import load_corpus
from sparsewood.lab.tasks.task import Model

_SPARED = 100  # one in this many training examples may lack heads


def train(
    config: RunConfig,
    folder: Path | str,
    *,
    resume: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a model with the configuration `config`, and save the run in `folder`.

    Under `torchrun`, processes share each batch. The global random generators are seeded.

    Args:
        config: source, model and training.
        folder: folder of the run; it must not hold a run unless `resume`.
        resume: resume the run in `folder`, if there is one. On a CPU, the result equals that of an
            uninterrupted run, bit for bit. Only `max_epochs` and `max_seconds` may be raised.
        progress: shows the progress. Default: bars on a terminal, lines elsewhere.

    Returns:
        The result, as in `result.json`.

    Raises:
        ValueError: on invalid input, if the folder is in use, or if its run has another
            configuration.
        NonFiniteLoss: if training diverges; the last good checkpoint is kept.
        TrainingInterrupted: on Ctrl-C or SIGTERM, after the state is saved.
    """
    folder, t = Path(folder), config.training
    with _threads(t.threads), world(t.device) as group:
        if t.precision == "float16" and group.device.type == "cpu":
            raise ValueError("precision: float16 needs a GPU; bfloat16 works on the CPU too")
        progress = (progress or automatic()) if group.first else Progress()
        half = "bfloat16" in (t.precision, config.model.encoder_precision)
        if half and group.device.type == "cpu":
            avoid_refused_amx(progress.note)
        with ExitStack() as held:
            held.callback(progress.close)
            group.on_first(lambda: held.enter_context(sole_writer(folder)))
            result = group.on_first(lambda: check_folder(config, folder, resume=resume))
            if result is None:
                stop = held.enter_context(listen())
                return _unless_stopped(config, folder, group, progress, stop).run()
            progress.finish(folder, result, already=True)
            return result


def _unless_stopped(
    config: RunConfig, folder: Path, group: World, progress: Progress, stop: StopWish
) -> Trainer:
    """The run from `set_up`; a signal while data and vectors are read stops it immediately."""
    try:
        with stop.abandonable(grace=0):
            return set_up(config, folder, group, progress, stop)
    except Abandoned:
        raise TrainingInterrupted(
            f"stopped while the data were read; {folder} is unchanged"
        ) from None


def set_up(
    config: RunConfig, folder: Path, group: World, progress: Progress, stop: StopWish
) -> Trainer:
    """The run in `folder` at its start or at its last checkpoint."""
    t = config.training
    corpus, model, splits = prepare(config, progress.note)
    if model.encoder_parameters():
        progress.note(
            f"fine-tuning {config.model.encoder}, encoder_lr {t.encoder_lr}, warm_up {t.warm_up}"
        )
    model = model.to(group.device)
    with autocast(group.device, t.precision):
        watch = partial(_watched, progress)
        keep_outputs(model, splits, t.encoder_cache, progress.note, watch)
    train = splits["train"]
    batches = Batches(train, t.batch, words=t.batch_words, shuffle=t.shuffle, seed=t.seed)
    check_stages(t, train.lengths)
    names = ("validation", *corpus.tests)
    evaluated = {name: Batches(splits[name], t.eval_batch) for name in names}
    state = TrainingState(folder, t, model, splits, group)
    evaluator = Evaluator(
        state.evaluated,
        evaluated,
        t,
        group.device,
        stop,
        lambda: state.stopped,
        progress,
        Bins.of(config.source, corpus),
    )
    trainer = Trainer(config, state, batches, evaluator, progress, stop)
    seed_everything(t.seed + group.rank)  # dropout differs between processes
    if restore(state, progress.note):
        progress.note(f"{folder}: resuming {state.position}")
    return trainer


def _watched(progress: Progress, batches: Sequence[list[int]]) -> Iterator[list[int]]:
    """Yield the batches of a pretrained encoder and show the progress."""
    progress.start_work("encoder", len(batches))
    for done, batch in enumerate(batches):
        yield batch
        progress.work(done + 1)


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    """Run PyTorch and the solver on `number` threads."""
    before = torch.get_num_threads()
    if number is not None:
        torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
