"""One structure per struct of native/families, and batches of each for kernels."""

from typing import NamedTuple

import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.structures.base import NativeStructure


class Family(NamedTuple):
    """A structure, and the shape of scores that fill it."""

    structure: NativeStructure
    shape: tuple[int, ...]
    emulated: bool = False  # compiled for the CPU as well: one of each file


def trees(projective: bool, single_root: bool) -> sp.DependencyTrees:
    return sp.DependencyTrees(projective=projective, single_root=single_root)


def labelled(projective: bool, single_root: bool) -> sp.LabelledDependencyTrees:
    return sp.LabelledDependencyTrees(projective=projective, single_root=single_root)


FAMILIES = {
    "trees": Family(trees(False, False), (5, 6), True),
    "single-root": Family(trees(False, True), (5, 6)),
    "projective": Family(trees(True, False), (5, 6)),
    "projective-single-root": Family(trees(True, True), (5, 6)),
    "bounded": Family(sp.DependencyTrees(projective=True, max_children=1), (5, 6), True),
    "bounded-single-root": Family(
        sp.DependencyTrees(projective=True, single_root=True, max_children=2), (5, 6)
    ),
    "labelled": Family(labelled(False, False), (4, 5, 2)),
    "labelled-single-root": Family(labelled(False, True), (4, 5, 2), True),
    "labelled-projective": Family(labelled(True, False), (4, 5, 2)),
    "labelled-projective-single-root": Family(labelled(True, True), (4, 5, 2)),
    "chain": Family(sp.LinearChain(), (5, 3, 4), True),
    "penalised-chain": Family(sp.LinearChain(penalty="both"), (5, 3, 4)),
    "segments": Family(sp.SemiMarkov(3), (6, 2, 5), True),
    "matching": Family(sp.Matching(), (5, 4), True),
    "partial-matching": Family(sp.Matching(partial=True), (4, 5)),
    "transport": Family(sp.Transport(2, 5, column_least=0), (5, 4), True),
    "bounded-transport": Family(sp.Transport(3, 2, row_least=0, column_least=1), (4, 5)),
    "warping": Family(sp.Alignment(), (4, 5), True),
    "alignment": Family(sp.Alignment(gaps=True), (4, 5)),
    "speech": Family(sp.Alignment(steps="speech"), (4, 5), True),
    "steps": Family(sp.Alignment(steps=[(0, 1), (1, 0), (1, 2)]), (4, 5)),
    "spanning": Family(sp.SpanningTrees(), (5, 5), True),
    "binary": Family(sp.BinaryTrees(), (5, 5), True),
    "labelled-binary": Family(sp.BinaryTrees(labelled=True), (4, 4, 2)),
    "subset": Family(sp.Subset(3), (7,), True),
    "hypercube": Family(sp.Hypercube(), (6,)),
    "simplex": Family(sp.Simplex(), (8,), True),
}


def batch_of(family: Family, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Scores of several kinds (8, *shape), NaN where nothing reads, and their lengths.

    The first four are normal numbers, one with forbidden parts; then come ties, equal scores, small
    and large ones.
    """
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(8, *family.shape, dtype=torch.float64, generator=generator)
    best = sp.map(scores[3:4], family.structure).structures
    banned = torch.rand(family.shape, generator=generator) < 0.3
    banned &= family.structure.indicator(best, family.shape)[0] == 0
    scores[3] = scores[3].masked_fill(banned, -torch.inf)
    scores[4] = scores[4].round()
    scores[5] = 0.1
    scores[6] *= 1e-4
    scores[7] = scores[7] * 1e6 + 1e8
    full = torch.tensor(family.structure.full_size(family.shape))
    lengths = full.repeat(8, 1)
    lengths[1] -= 1
    lengths[2] -= torch.arange(len(full)) + 1
    lengths = lengths.squeeze(1)
    return scores.masked_fill(~family.structure.reads(scores, lengths), torch.nan), lengths
