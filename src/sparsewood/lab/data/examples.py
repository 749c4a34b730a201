"""Sentences, examples and corpora, as returned by all readers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

TargetKind = Literal["class", "number", "labels"]  # what a model predicts of an example


def task_name(task: str, target: TargetKind) -> str:
    """The name of a task with this target, "classify" or "classify-number"; see `target_kind`."""
    return task if target == "class" else f"{task}-{target}"


def target_kind(task: str) -> str:
    """The kind of target in the name of a task that `task_name` made."""
    return task.partition("-")[2] or "class"


@dataclass(frozen=True, slots=True)
class Sentence:
    """The words of a sentence and, if known, its heads.

    Attributes:
        words: at least one.
        heads: `heads[i]` is the head of word i + 1: 0 for the root, j for word j.
        scored: the words with a meaningful head, over which trees are also measured separately;
            None: all words.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...] | None = None
    scored: tuple[bool, ...] | None = None

    @property
    def compared(self) -> tuple[int, ...] | None:
        """The heads to compare trees with: -1 for meaningless ones, None without heads."""
        if self.heads is None or self.scored is None:
            return self.heads
        pairs = zip(self.heads, self.scored, strict=True)
        return tuple(head if means else -1 for head, means in pairs)


@dataclass(frozen=True, slots=True)
class Example:
    """One sentence, or a premise and a hypothesis, and the label.

    Attributes:
        sentences: one or two.
        label: the name of a class, or a number in digits; in a reverse dictionary the defined word.
            Empty if unknown.
        labels: the labels of an example with any number of labels, each once; None if unknown, or
            if examples have one label.
    """

    sentences: tuple[Sentence, ...]
    label: str = ""
    labels: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All labels of the example; empty if unknown."""
        if self.labels is not None:
            return self.labels
        return (self.label,) if self.label else ()


@dataclass(frozen=True)
class Corpus:
    """The examples of a task by split.

    Attributes:
        task: name of the task.
        splits: "train" and "validation"; all others are tests, usually one named "test".
        candidates: the candidates of a reverse dictionary; empty in other tasks.
        left_out: number of dropped training examples, too long or without heads.
    """

    task: str
    splits: dict[str, list[Example]]
    candidates: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def labels(self) -> list[str]:
        """The labels of the training split, sorted."""
        return sorted({name for example in self.splits["train"] for name in example.names})

    @property
    def tests(self) -> list[str]:
        """The names of the splits that are neither training nor validation."""
        return [name for name in self.splits if name not in ("train", "validation")]

    def sentences(self) -> Iterator[Sentence]:
        """The sentences of all splits."""
        for examples in self.splits.values():
            for example in examples:
                yield from example.sentences

    def with_sentences(self, changed: Callable[[Sentence], Sentence]) -> "Corpus":
        """The corpus with `changed(sentence)` for each sentence."""
        splits = {
            name: [replace(e, sentences=tuple(map(changed, e.sentences))) for e in examples]
            for name, examples in self.splits.items()
        }
        return replace(self, splits=splits)
