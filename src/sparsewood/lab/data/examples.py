"""What every reader returns: sentences, examples and the splits of a corpus."""

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
    """The words of a sentence and, where a treebank or a parser gave them, its heads.

    Attributes:
        words: at least one.
        heads: `heads[i]` is the head of word i + 1: 0 for the root, j for word j.
        scored: which words have a head that means something, so that trees are also measured by
            these words alone; None: all have.
    """

    words: tuple[str, ...]
    heads: tuple[int, ...] | None = None
    scored: tuple[bool, ...] | None = None

    @property
    def compared(self) -> tuple[int, ...] | None:
        """The heads that trees are compared with: -1 where they mean nothing, None without any."""
        if self.heads is None or self.scored is None:
            return self.heads
        pairs = zip(self.heads, self.scored, strict=True)
        return tuple(head if means else -1 for head, means in pairs)


@dataclass(frozen=True, slots=True)
class Example:
    """One sentence, or a premise and a hypothesis, and the label.

    Attributes:
        sentences: one or two.
        label: the name of a class, or a number in digits; in a reverse dictionary the word that is
            defined. Empty where it is unknown.
        labels: of an example that may have several or none, each once; None where they are unknown,
            or an example has one label.
    """

    sentences: tuple[Sentence, ...]
    label: str = ""
    labels: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The labels, however many there may be; none where they are unknown."""
        if self.labels is not None:
            return self.labels
        return (self.label,) if self.label else ()


@dataclass(frozen=True)
class Corpus:
    """The examples of a task by split.

    Attributes:
        task: which model the examples are for.
        splits: "train" and "validation"; all others are tests, usually one named "test".
        candidates: the words a reverse dictionary may answer with; empty in other tasks.
        left_out: training examples that are too long, or have no heads, and are not in the splits.
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
        """The same with `changed(sentence)` for each sentence."""
        splits = {
            name: [replace(e, sentences=tuple(map(changed, e.sentences))) for e in examples]
            for name, examples in self.splits.items()
        }
        return replace(self, splits=splits)
