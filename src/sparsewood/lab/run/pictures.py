"""What answers and galleries have of sentences, made into pictures: trees, attention."""

from collections.abc import Mapping
from typing import Any

from sparsewood.draw._sheet import Sheet
from sparsewood.draw._trees import checked, checked_brackets
from sparsewood.draw.arcs import Heads
from sparsewood.draw.links import Attention, attention
from sparsewood.status import Status


def side_sheet(
    side: Mapping[str, Any],
    given: Heads | None = None,
    *,
    most: int | None = None,
    ended: bool = False,
) -> Sheet:
    """The pictures of what `sides_of` has of one sentence.

    Args:
        side: `words`, and `trees` by falling weight, of which each has `heads` or `spans`.
        given: heads to compare dependency trees with.
        most: only so many.
        ended: tell how the solve ended that the weights are of.
    """
    words, trees = [str(word) for word in side["words"]], side["trees"][:most]
    weights = [tree["weight"] for tree in trees]
    if trees and "spans" in trees[0]:
        return checked_brackets(words, [tree["spans"] for tree in trees], weights)
    status = Status(side["status"]) if ended and "status" in side else None
    return checked(words, [tree["heads"] for tree in trees], weights, given, status)


def attention_picture(example: Mapping[str, Any]) -> Attention | None:
    """How the two sentences of an example attend to each other; None where they do not.

    Args:
        example: with `sides` that have `words`, and `attention` as `attention_of` has it.
    """
    if "attention" not in example:
        return None
    rows, columns = ([str(word) for word in side["words"]] for side in example["sides"])
    return attention(rows, columns, example["attention"])
