"""Train a dependency parser on a treebank, with one of four losses, and save it for `--parser`.

    python examples/parser.py --data ud_ewt --glove glove.6B.300d.txt --loss crf --out parser
    sparsewood train sst --data sst --parser parser --trees off-line

The folder of `--data` holds three files of CoNLL-U, whose names end in train.conllu, dev.conllu and
test.conllu. After each epoch the state is kept in OUT/checkpoints, and the parser in OUT if it is
the best so far on the second file. Ctrl-C stops at the next step; `--resume` goes on from the last
epoch that is complete.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import nn

from sparsewood.lab._files import sole_writer, write_json
from sparsewood.lab.data.conllu import read_treebank
from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.data.vectors import WordVectors, load_vectors
from sparsewood.lab.tasks._parser_input import length_batches
from sparsewood.lab.tasks.attachment import Attachment
from sparsewood.lab.tasks.parse import (
    LOSSES,
    DependencyParser,
    ParserConfig,
    build_parser,
    load_parser,
)
from sparsewood.lab.train import checkpoint
from sparsewood.lab.train.interrupt import StopWish, TrainingInterrupted, listen

WARM_UP = 100  # steps until the learning rate is reached
CLIP = 5.0  # the largest norm of a gradient
console = Console(stderr=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    options = read_options(arguments)
    try:
        with sole_writer(options.out), listen() as stop:
            result = Training(options, stop).run()
    except (ValueError, TrainingInterrupted) as error:
        say(f"parser: {error}")
        return 130 if isinstance(error, TrainingInterrupted) else 1
    print(json.dumps(result, indent=2))
    return 0


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train a dependency parser on a treebank.")
    add = parser.add_argument
    add("--data", type=Path, required=True, help="the folder of the treebank")
    add("--glove", help="a file of word vectors; without it all that is known of words is learned")
    add("--out", type=Path, required=True, help="the folder of the parser")
    add("--loss", choices=LOSSES, default="crf")
    add("--epochs", type=int, default=30)
    add("--lr", type=float, default=2e-3, help="at its height; it falls to 0 in the last step")
    add("--batch", type=int, default=1000, help="the most words of a batch, padding included")
    add("--seed", type=int, default=0)
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    add("--limit", type=int, help="sentences of each split, for a quick try")
    add("--keep-vectors", type=int, default=50_000, help="first words of --glove that are kept too")
    add("--hidden", type=int, default=400, help="of each direction of a layer")
    add("--layers", type=int, default=3)
    add("--resume", action="store_true", help="go on where a run in OUT stopped")
    return parser.parse_args(arguments)


class Training:
    """A run: its data, its parser and how far it has come."""

    def __init__(self, options: argparse.Namespace, stop: StopWish) -> None:
        self.options, self.stop = options, stop
        self.checkpoints = options.out / "checkpoints"
        known = checkpoint.latest(self.checkpoints)
        if known is not None and not options.resume:
            raise ValueError(f"{options.out}: holds a run; pass --resume, or take another folder")
        self.splits = {name: read_split(options, name) for name in ("train", "dev", "test")}
        checkpoint.seed_everything(options.seed)
        vectors = read_vectors(options, self.splits)
        shape = ParserConfig(hidden=options.hidden, layers=options.layers)
        self.parser = build_parser(self.splits["train"], vectors, shape).to(options.device)
        learned = [p for p in self.parser.parameters() if p.requires_grad]
        self.optimizer = torch.optim.Adam(learned, options.lr, betas=(0.9, 0.9))
        self.epoch, self.seconds, self.best, self.history = 0, 0.0, 0.0, []
        if known is not None:
            self.restore(known)

    def run(self) -> dict[str, Any]:
        """Train to the end; the figures of the best epoch's parser."""
        options = self.options
        while self.epoch < options.epochs:
            start = time.perf_counter()
            loss = self.train_epoch()
            self.seconds += time.perf_counter() - start
            dev = attachment(self.parser, self.splits["dev"])
            self.epoch += 1
            better = dev["uas"] > self.best
            if better:
                self.best = dev["uas"]
                save(self.parser, options.out)
            line = {"epoch": self.epoch, "loss": loss, **dev, "seconds": self.seconds}
            self.history.append(line)
            self.keep()
            say(
                f"epoch {self.epoch}: loss {loss:.4f}, dev UAS {dev['uas']:.2f} (without "
                f"punctuation {dev['uas_without_punctuation']:.2f}), {self.seconds:.0f} s"
                + (" *" if better else "")
            )
        best = load_parser(options.out).to(options.device)
        start = time.perf_counter()
        result = {
            "loss": options.loss,
            "epochs": self.epoch,
            "training_seconds": round(self.seconds, 1),
            "sentences": {name: len(split) for name, split in self.splits.items()},
            "dev": attachment(best, self.splits["dev"]),
            "test": attachment(best, self.splits["test"]),
            "parsing_seconds": round(time.perf_counter() - start, 1),
            "history": self.history,
        }
        write_json(options.out / "result.json", result)
        return result

    def train_epoch(self) -> float:
        """All batches once, in an order that seed and epoch fix; the mean loss of a word."""
        options, sentences = self.options, self.splits["train"]
        generator = torch.Generator().manual_seed(options.seed * 1_000_003 + self.epoch)
        lengths = [len(s.words) for s in sentences]
        batches = length_batches(lengths, options.batch, generator)
        self.parser.train()
        summed = words = 0.0
        with bar(self.epoch + 1) as progress:
            for step, rows in enumerate(progress.track(batches)):
                batch = self.parser.input.batch([sentences[row] for row in rows])
                loss = self.step(batch, step, len(batches))
                size = int(batch.lengths.sum())
                summed, words = summed + loss * size, words + size
                if self.stop.raised:
                    raise TrainingInterrupted(
                        f"stopped; {self.epoch} epochs are saved in {options.out}"
                        + ("; --resume goes on" if self.epoch else "")
                    )
        return summed / words

    def step(self, batch: Any, step: int, steps: int) -> float:
        """One step of the optimiser; the loss of the batch."""
        options = self.options
        done = self.epoch * steps + step  # epochs differ by a few batches at most
        left = max(0.0, 1 - done / (options.epochs * steps))
        for group in self.optimizer.param_groups:
            group["lr"] = options.lr * min(left, (done + 1) / WARM_UP)
        self.optimizer.zero_grad()
        loss = self.parser.loss(batch.to(options.device), options.loss)
        loss.backward()
        nn.utils.clip_grad_norm_(self.parser.parameters(), CLIP)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise ValueError(f"epoch {self.epoch + 1}, step {step + 1}: the loss is {value}")
        self.optimizer.step()
        return value

    def keep(self) -> None:
        """Write the checkpoint of this epoch, and remove those before it."""
        state = {
            "epoch": self.epoch,
            "seconds": self.seconds,
            "best": self.best,
            "history": self.history,
            "setting": self.setting(),
            "optimizer": self.optimizer.state_dict(),
            "random": checkpoint.random_state(torch.device(self.options.device)),
        }
        name = checkpoint.name_of(self.epoch)
        checkpoint.save(self.checkpoints / name, self.parser, state)
        checkpoint.prune(self.checkpoints, [name])

    def restore(self, path: Path) -> None:
        """Go on after the epoch of the checkpoint `path`."""
        state = checkpoint.load(path)
        before, now = state["setting"], self.setting()
        if changed := [f"{k} was {v}" for k, v in before.items() if now[k] != v]:
            raise ValueError(f"{path}: the run has other options: {', '.join(changed)}")
        checkpoint.load_weights(path, self.parser)
        self.optimizer.load_state_dict(state["optimizer"])
        checkpoint.set_random_state(state["random"], torch.device(self.options.device))
        self.epoch, self.seconds = state["epoch"], state["seconds"]
        self.best, self.history = state["best"], state["history"]
        say(f"going on after epoch {self.epoch}")

    def setting(self) -> dict[str, Any]:
        """The options that must be the same when a run goes on."""
        names = ("loss", "epochs", "lr", "batch", "seed", "limit", "hidden", "layers")
        return {name: getattr(self.options, name) for name in names}


def read_split(options: argparse.Namespace, name: str) -> list[Sentence]:
    found = sorted(options.data.glob(f"*{name}.conllu"))
    if len(found) != 1:
        raise ValueError(
            f"{options.data}: expected one file *{name}.conllu, found "
            f"{', '.join(path.name for path in found) or 'none'}"
        )
    return read_treebank(found[0])[: options.limit]


def read_vectors(
    options: argparse.Namespace, splits: dict[str, list[Sentence]]
) -> WordVectors | None:
    """Those of the words of the treebank, and of the first words of the file."""
    if options.glove is None:
        return None
    vectors = load_vectors(options.glove, None, progress=True)
    seen = {word.lower() for split in splits.values() for s in split for word in s.words}
    words = [w for i, w in enumerate(vectors.words) if i < options.keep_vectors or w in seen]
    return WordVectors(vectors.size, words, vectors.lookup(words))


def attachment(parser: DependencyParser, sentences: Sequence[Sentence]) -> dict[str, float]:
    """Unlabelled attachment in percent."""
    score = Attachment()
    for sentence, heads in zip(sentences, parser.parse([s.words for s in sentences]), strict=True):
        score.add(sentence, heads)
    return score.values()


def save(parser: DependencyParser, folder: Path) -> None:
    """Write the parser to `folder`, each file in full or not at all."""
    with TemporaryDirectory(dir=folder, prefix=".parser-") as draft:
        parser.save_pretrained(draft)
        for file in Path(draft).iterdir():
            file.replace(folder / file.name)


def say(text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def bar(epoch: int) -> Progress:
    return Progress(
        TextColumn(f"epoch {epoch}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


if __name__ == "__main__":
    sys.exit(main())
