"""Drawings of a posterior: one instance, or the first instances of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sparsewood.draw._markup import element
from sparsewood.draw._names import Given
from sparsewood.draw.drawing import Drawing, Format, show
from sparsewood.draw.html import trees_html
from sparsewood.draw.text import sheet_text
from sparsewood.posterior import Posterior
from sparsewood.soft_posterior import SoftPosterior

Words = Sequence[str] | Sequence[Sequence[str]]

_INSTANCES, _EACH = 4, 3  # instances of a batch to show, and structures per instance
_FEW = 2  # instances, and structures per instance, printed with the summary
_PARTS = 400  # maximum size of a structure to print


@dataclass(frozen=True, repr=False)
class Drawings:
    """Drawings of the instances of a batch, displayed as text, or as HTML in notebooks.

    `drawings[i]` draws instance `i` with all of its structures.
    """

    post: Posterior
    words: Sequence[Sequence[str]] | None = None
    other: Sequence[str] | None = None
    labels: Sequence[str] | None = None

    def __len__(self) -> int:
        return len(self.post)

    def __getitem__(self, i: int) -> Drawing:
        i = range(len(self))[i]
        words = None if self.words is None else self.words[i]
        return show(self.post, words, i, other=self.other, labels=self.labels)

    def to(self, format: Format) -> str:  # noqa: A002
        """All structures of all instances as "text", "tikz" or, for trees, "conllu".

        A picture ("svg") or page ("html") holds one instance: `drawings[i].to(format)`.
        """
        if format in ("svg", "html"):
            raise ValueError(
                f"Drawings.to: format {format!r} holds one instance, got {len(self)}: write one "
                f"with drawings[i].to({format!r})"
            )
        return "\n\n".join(self[i].to(format) for i in range(len(self)))

    def __repr__(self) -> str:
        shown = range(min(len(self), _INSTANCES))
        blocks = [f"instance {i}\n\n{sheet_text(self[i].sheet, _EACH)}" for i in shown]
        return "\n\n".join([*blocks, *self._rest()])

    def _repr_html_(self) -> str:
        shown = range(min(len(self), _INSTANCES))
        blocks = [
            element("p", element("strong", f"instance {i}")) + trees_html(self[i].sheet, _EACH, 0)
            for i in shown
        ]
        return element("div", "".join([*blocks, *(element("p", one) for one in self._rest())]))

    def _rest(self) -> list[str]:
        """A line about the instances that are not shown."""
        left = len(self) - _INSTANCES
        if left <= 0:
            return [] if len(self) else ["no instances"]
        return [f"and {left:,} more instance{'s' * (left != 1)}: post.show(instance={_INSTANCES})"]


def drawn(
    post: Posterior,
    words: Words | None = None,
    instance: int | None = None,
    given: Given | None = None,
    *,
    other: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
) -> Drawing | Drawings:
    """Draw the structures of a posterior over any family: the function behind `sp.draw(post)`.

    Args:
        post: the posterior.
        words: names for one instance, as for `show`, or a list of names per instance.
        instance: index into the batch. Default: the only instance; the first one if `words` or
            `given` are for one instance; otherwise the whole batch.
        given, other, labels: as for `show`.
    """
    if not isinstance(post, Posterior):
        raise TypeError(
            f"draw: expected a Posterior, got {type(post).__name__}; to draw trees without one, "
            "call sp.draw.draw(words, trees, weights)"
        )
    if words is not None and all(isinstance(word, str) for word in words):
        own = cast("Sequence[str]", words)  # of one instance
        return show(post, own, instance or 0, given, other=other, labels=labels)
    each = cast("Sequence[Sequence[str]] | None", words)
    if each is not None and len(each) != len(post):
        raise ValueError(
            f"draw: words: expected {len(post)} lists, one per instance, got {len(each)}"
        )
    if instance is None and given is None and len(post) != 1:
        return Drawings(post, each, other, labels)
    names = None if each is None else each[instance or 0]
    return show(post, names, instance or 0, given, other=other, labels=labels)


def posterior_summary(post: Posterior) -> str:
    """The text of `print(post)`: a summary, and the top structures of the first instances.

    Only the summary if there is nothing to draw, or if drawings would fill the screen.
    """
    if isinstance(post, SoftPosterior) or len(post) == 0:
        return repr(post)
    if post.mode.numel() > _PARTS * len(post):
        return repr(post)
    head = repr(post).partition("\n")[0]
    if len(post) == 1:
        return f"{head}\n\n{_printed(post, 0)}"
    shown = min(len(post), _FEW)
    blocks = [f"instance {i}\n\n{_printed(post, i)}" for i in range(shown)]
    left = len(post) - shown
    rest = [f"and {left:,} more instance{'s' * (left != 1)}: post[{shown}], ..."] if left else []
    return "\n\n".join([head, *blocks, *rest])


def _printed(post: Posterior, i: int) -> str:
    return sheet_text(show(post, instance=i).sheet, _FEW)
