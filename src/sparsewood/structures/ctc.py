"""Scores of the alignments of connectionist temporal classification."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from sparsewood._internal.batch import given_shape
from sparsewood._internal.host import host_copy
from sparsewood._internal.numbers import check_dense, check_whole


class CTCScores(NamedTuple):
    """The input of `Alignment(steps="ctc")`."""

    scores: Tensor  # (*batch, rows, T)
    lengths: Tensor  # (*batch, 2) int64: rows and frames


def ctc_scores(
    log_probs: Tensor,
    targets: Tensor,
    *,
    blank: int = 0,
    frames: Tensor | None = None,
    labels: Tensor | None = None,
) -> CTCScores:
    r"""The scores of the alignments of labels with frames, for `Alignment(steps="ctc")`.

    Row 2 k + 1 is label k, rows 0, 2, 4, ... are blanks (Graves et al. 2006, section 4.1). Two
    equal labels in succession need a blank between them: it takes a row of its own like a label,
    and the blanks around it are forbidden. An instance of L labels of which R equal the label
    before them has 2 (L + R) + 1 rows, and needs at least L + R frames.

    The log-partition function is the logarithm of the probability of the labels, so that
    `-sp.marginals(...).log_partition` is the loss of `torch.nn.functional.ctc_loss` with
    `reduction="none"`. Labels that need more frames than there are raise ValueError; there is no
    `zero_infinity`.

    Args:
        log_probs: (*batch, T, C), the score of each symbol in each frame: `log_softmax` of the
            logits. The batch comes first, other than in `ctc_loss`.
        targets: (*batch, L) integers, the labels without blanks; padding may hold any number.
        blank: the index of the blank among the C symbols.
        frames: (*batch,) integers, the number of frames of each instance. Default: T.
        labels: (*batch,) integers, the number of labels of each instance. Default: L.

    Returns:
        Scores (*batch, rows, T) with the dtype and device of `log_probs`, differentiable with
        respect to it, and lengths (*batch, 2).

    Raises:
        ValueError: shapes or dtypes that do not fit; a label that is not one of the C symbols or is
            the blank; a number of frames or labels out of range.

    Example:
        >>> log_probs = torch.randn(1, 6, 4).log_softmax(-1)
        >>> scores, lengths = sp.ctc_scores(log_probs, torch.tensor([[1, 2, 2]]))
        >>> tuple(scores.shape), lengths.tolist()
        ((1, 9, 6), [[9, 6]])
        >>> loss = -sp.marginals(scores, sp.Alignment(steps="ctc"), lengths=lengths).log_partition
    """
    batch, symbols = _check(log_probs, targets, blank)
    table = log_probs.reshape(-1, *log_probs.shape[-2:])
    given = targets.reshape(len(table), targets.shape[-1]).to(log_probs.device, torch.int64)
    frames = _sizes("frames", frames, table, batch, 1, table.shape[1])
    labels = _sizes("labels", labels, table, batch, 0, given.shape[1])
    held = torch.arange(given.shape[1], device=given.device) < labels[:, None]
    _check_labels(given, held, blank, symbols, batch)
    again = pad(held[:, 1:] & (given[:, 1:] == given[:, :-1]), (1, 0))[:, : given.shape[1]]
    place = torch.arange(given.shape[1], device=given.device) + again.cumsum(-1)
    rows = 2 * (labels + again.sum(-1)) + 1
    height = int(host_copy(rows).max()) if len(rows) else 1
    # Places of labels that are not held, and of blanks that are not forbidden, are cut off.
    symbol = torch.full((len(table), height + 1), blank, device=given.device)
    symbol = symbol.scatter(1, torch.where(held, 2 * place + 1, height), given)[:, :-1]
    banned = torch.zeros(len(table), height + 1, dtype=torch.bool, device=given.device)
    for offset in (-2, 0):
        banned = banned.scatter(1, torch.where(again, 2 * place + offset, height), True)
    columns = symbol.unsqueeze(1).expand(-1, table.shape[1], -1)
    scores = table.gather(2, columns).mT
    scores = torch.where(banned[:, :-1].unsqueeze(-1), -torch.inf, scores)
    lengths = torch.stack([rows, frames], -1)
    return CTCScores(scores.reshape(*batch, *scores.shape[1:]), lengths.reshape(*batch, 2))


def _check(log_probs: Tensor, targets: Tensor, blank: int) -> tuple[torch.Size, int]:
    """The batch shape and the number of symbols, after checks of shapes and dtypes."""
    check_dense("log_probs", log_probs)
    check_dense("targets", targets)
    if not log_probs.is_floating_point() or log_probs.ndim < 2 or 0 in log_probs.shape[-2:]:
        raise ValueError(
            "log_probs: expected (*batch, T, C) of a floating dtype, got "
            f"{log_probs.dtype} of shape {given_shape(log_probs.shape)}"
        )
    batch = log_probs.shape[:-2]
    if targets.is_floating_point() or targets.is_complex() or targets.dtype == torch.bool:
        raise ValueError(f"targets: expected an integer dtype, got {targets.dtype}")
    if targets.ndim != log_probs.ndim - 1 or targets.shape[:-1] != batch:
        raise ValueError(
            f"targets: expected (*batch, L) for log_probs of shape {given_shape(log_probs.shape)}, "
            f"got shape {given_shape(targets.shape)}"
        )
    check_whole("blank", blank, 0, log_probs.shape[-1] - 1)
    return batch, log_probs.shape[-1]


def _sizes(
    name: str, given: Tensor | None, table: Tensor, batch: torch.Size, least: int, most: int
) -> Tensor:
    """(B,) int64 on the device of `table`, `most` each if None; from `least` to `most`."""
    if given is None:
        return torch.full((len(table),), most, device=table.device)
    check_dense(name, given)
    if given.is_floating_point() or given.is_complex() or given.dtype == torch.bool:
        raise ValueError(f"{name}: expected an integer dtype, got {given.dtype}")
    if given.shape != batch:
        raise ValueError(
            f"{name}: expected shape {given_shape(batch)}, one number per instance, got "
            f"{given_shape(given.shape)}"
        )
    sizes = given.reshape(-1).to(torch.int64)
    bad = ((sizes < least) | (sizes > most)).nonzero()
    if len(bad):
        at = tuple(((given < least) | (given > most)).nonzero()[0].tolist())
        raise ValueError(f"{name}{list(at)} is {int(given[at])}: expected {least} to {most}")
    return sizes.to(table.device)


def _check_labels(given: Tensor, held: Tensor, blank: int, symbols: int, batch: torch.Size) -> None:
    bad = held & ((given < 0) | (given >= symbols) | (given == blank))
    if bad.any():
        at = tuple(bad.reshape(*batch, -1).nonzero()[0].tolist())
        label = int(given[tuple(bad.nonzero()[0].tolist())])
        what = "the blank" if label == blank else f"not one of {symbols} symbols"
        raise ValueError(f"targets{list(at)} is {label}, {what}")
