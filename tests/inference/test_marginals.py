"""Sums over all structures: closed forms, refusals, and another library.

The tests of each family run `MarginalsConformance` on it.
"""

import math
import warnings
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.testing import assert_close

import sparsewood as sp
from sparsewood.testing import draw_scores
from tests.choice import Choice
from tests.full import some_quick


def test_closed_forms() -> None:
    scores = draw_scores("normal", 3, (5,), seed=0)
    simplex = sp.marginals(scores, sp.Simplex(), temperature=0.5)
    assert_close(simplex.marginals, (scores / 0.5).softmax(-1))
    cube = sp.marginals(scores, sp.Hypercube())
    assert_close(cube.marginals, scores.sigmoid())


@pytest.mark.parametrize(
    ("structure", "shape", "count"),
    [
        (sp.DependencyTrees(), (20, 21), sp.DependencyTrees().count(20)),
        (sp.DependencyTrees(single_root=True), (20, 21), 20**19),
        (sp.DependencyTrees(projective=True), (12, 13), math.comb(36, 12) // 25),
        (sp.LinearChain(), (9, 4, 5), 4**9),
        (sp.Alignment(), (4, 6), 129 + 102),
        (sp.Alignment(gaps=True), (8, 9), math.comb(17, 8)),
        (sp.BinaryTrees(), (10, 10), 4862),
        (sp.Subset(7), (19,), math.comb(19, 7)),
    ],
    ids=str,
)
def test_counts_of_larger_instances(
    structure: sp.Structure, shape: tuple[int, ...], count: int
) -> None:
    log_partition = sp.marginals(torch.zeros(1, *shape).double(), structure).log_partition
    assert log_partition.item() == pytest.approx(math.log(count), rel=1e-12)


def test_structures_that_cannot_be_summed_over() -> None:
    for matching in (sp.Matching(), sp.Matching(partial=True)):
        with pytest.raises(ValueError, match=r"#P-hard.*sample_matchings"):
            sp.marginals(torch.zeros(1, 2, 2), matching)

    with pytest.raises(ValueError, match="no recursion.*log_partition"):
        sp.marginals(torch.zeros(1, 3), Choice())


def test_structures_that_do_not_fit() -> None:
    scores = torch.zeros(2, 3, 4)
    dist = sp.marginals(scores, sp.DependencyTrees())
    assert len(dist) == 2
    assert "DependencyTrees" in repr(dist)
    assert "(2, 3, 4)" in repr(dist)
    assert dist.log_prob(torch.tensor([[0, 1, 2], [2, 1, 0]])).tolist()[1] == -math.inf
    with pytest.raises(ValueError, match="expected 2 structures"):
        dist.log_prob(torch.tensor([[0, 1, 2]]))
    with pytest.raises(ValueError, match="does not fit"):
        dist.log_prob(torch.tensor([[0, 1], [0, 1]]))
    other = sp.marginals(torch.zeros(2, 3, 4), sp.DependencyTrees(single_root=True))
    for misfit in (other, scores):
        with pytest.raises(ValueError, match="same structures"):
            dist.kl(misfit)  # pyright: ignore[reportArgumentType]


def test_divergence_from_what_is_forbidden_elsewhere() -> None:
    scores = torch.zeros(1, 2, 3)
    forbidden = scores.clone()
    forbidden[0, 0, 0] = -torch.inf
    p, q = (sp.marginals(x, sp.DependencyTrees()) for x in (scores, forbidden))
    assert p.kl(q).item() == math.inf
    assert q.kl(p).item() == pytest.approx(math.log(3))


def test_temperature_of_zero_is_named() -> None:
    with pytest.raises(ValueError, match=r"temperature\[1\]"):
        sp.marginals(torch.zeros(2, 3), sp.Simplex(), temperature=torch.tensor([1.0, 0.0]))


@pytest.mark.parametrize("single_root", some_quick([False, True]))
@pytest.mark.parametrize("projective", some_quick([False, True]))
def test_compiles(projective: bool, single_root: bool) -> None:
    trees = sp.DependencyTrees(projective=projective, single_root=single_root)
    scores = draw_scores("normal", 2, (3, 4), seed=0).requires_grad_()
    lengths = torch.tensor([3, 2])

    def log_partition(scores: Tensor) -> Tensor:
        return sp.marginals(scores, trees, lengths=lengths).log_partition

    compiled = torch.compile(log_partition, fullgraph=True, backend="aot_eager")
    assert_close(compiled(scores), log_partition(scores))
    (gradient,) = torch.autograd.grad(compiled(scores).sum(), scores)
    expected = sp.marginals(scores, trees, lengths=lengths).marginals
    assert_close(gradient, expected)


@pytest.mark.full
def test_marginals_and_entropy_compile() -> None:
    scores = draw_scores("normal", 2, (3, 2, 3), seed=0).requires_grad_()

    def infer(scores: Tensor) -> tuple[Tensor, Tensor]:
        dist = sp.marginals(scores, sp.LinearChain(), temperature=0.7)
        return dist.marginals, dist.entropy()

    compiled = torch.compile(infer, fullgraph=True, backend="aot_eager")
    found, expected = compiled(scores), infer(scores)
    assert_close(found, expected)
    losses = [parts.square().sum() + entropy.sum() for parts, entropy in (found, expected)]
    assert_close(*(torch.autograd.grad(loss, scores) for loss in losses))


def test_sentences_without_a_single_rooted_tree() -> None:
    """Both words can only have the root as head, which must have one child."""
    scores = torch.tensor([[[0.0, 0.0, -math.inf], [0.0, -math.inf, 0.0]]])
    for projective in (False, True):
        for structure, table in (
            (sp.DependencyTrees(projective, single_root=True), scores),
            (sp.LabelledDependencyTrees(projective, single_root=True), scores[..., None]),
        ):
            for infer in (sp.marginals, sp.map):
                with pytest.raises(ValueError, match="instance 0 has no structure left"):
                    infer(table, structure)


@pytest.mark.parametrize("value", [1e8, 1e17, -1e17, 1e199])
def test_equal_scores_are_uniform_whatever_their_size(value: float) -> None:
    for structure, shape, count in (
        (sp.Simplex(), (4,), 4),
        (sp.DependencyTrees(projective=True), (3, 4), 12),
        (sp.DependencyTrees(), (3, 4), 16),
        (sp.Subset(2), (4,), 6),
    ):
        dist = sp.marginals(torch.full((1, *shape), value, dtype=torch.float64), structure)
        assert dist.entropy().item() == pytest.approx(math.log(count), rel=1e-13)
        assert dist.kl(dist).item() == 0.0
        assert dist.log_prob(dist.mode).item() == pytest.approx(-math.log(count), rel=1e-13)
        assert structure.contains(dist.sample(20)[:, 0], shape).all()


@pytest.mark.parametrize(
    ("structure", "shape"),
    [
        (sp.DependencyTrees(), (3, 4)),
        (sp.DependencyTrees(single_root=True), (3, 4)),
        (sp.DependencyTrees(projective=True), (3, 4)),
        (sp.LinearChain(), (3, 2, 3)),
        (sp.Alignment(), (2, 3)),
        (sp.Subset(at_most=2), (4,)),
    ],
    ids=str,
)
def test_transforms_of_torch_func(structure: sp.Structure, shape: tuple[int, ...]) -> None:
    scores, direction = draw_scores("normal", 4, shape, seed=0).chunk(2)
    exact = sp.marginals(scores, structure).marginals

    def log_partition(scores: Tensor) -> Tensor:
        return sp.marginals(scores, structure).log_partition

    def infer(scores: Tensor) -> Tensor:
        return sp.marginals(scores, structure).marginals

    jacobian = torch.autograd.functional.jacobian(infer, scores)
    along = (jacobian * direction).flatten(scores.ndim).sum(-1)
    rise = (exact * direction).flatten(1).sum(-1)
    assert_close(torch.func.jvp(log_partition, (scores,), (direction,))[1], rise)
    assert_close(torch.func.jvp(infer, (scores,), (direction,))[1], along)
    assert_close(torch.func.grad(lambda x: log_partition(x).sum())(scores), exact)
    assert_close(torch.func.jacrev(infer)(scores), jacobian)
    assert_close(torch.func.jacfwd(infer)(scores), jacobian)
    assert_close(torch.func.hessian(lambda x: log_partition(x).sum())(scores), jacobian)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(scores, direction)
        assert_close(forward_ad.unpack_dual(log_partition(dual)).tangent, rise)
        assert_close(forward_ad.unpack_dual(infer(dual)).tangent, along)
    with pytest.raises(ValueError, match="scores cannot be mapped over by torch.vmap"):
        torch.func.vmap(log_partition)(scores[None])


@pytest.mark.full
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("structure", "shape"),
    [
        (sp.DependencyTrees(), (3, 4)),
        (sp.DependencyTrees(single_root=True), (3, 4)),
        (sp.LinearChain(), (3, 2, 3)),
        (sp.SemiMarkov(2), (3, 2, 4)),
    ],
    ids=str,
)
def test_kernels_show_bad_scores(
    device: torch.device, structure: sp.Structure, shape: tuple[int, ...], value: float
) -> None:
    """In float32 scores are not checked before they are summed."""
    scores = draw_scores("normal", 3, shape, seed=0).float().to(device)
    message = "no structure left" if value == -math.inf else f"is {value}"
    for part in structure.reads(scores)[1].nonzero() if value != -math.inf else [()]:
        bad = scores.clone()
        bad[(1, *part)] = value
        with pytest.raises(ValueError, match=r"instance 1\b") as raised:
            sp.marginals(bad, structure)
        assert message in str(raised.value)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(
    ("structure", "shape"),
    [
        (sp.DependencyTrees(), (5, 6)),
        (sp.DependencyTrees(single_root=True), (5, 6)),
        (sp.DependencyTrees(projective=True, single_root=True), (5, 6)),
        (sp.LinearChain(), (5, 3, 4)),
        (sp.SemiMarkov(2), (5, 3, 5)),
        (sp.Alignment(), (4, 5)),
        (sp.Alignment(gaps=True), (4, 5)),
        (sp.BinaryTrees(labelled=True), (5, 5, 2)),
        (sp.Subset(2), (5,)),
    ],
    ids=str,
)
def test_on_a_gpu(structure: sp.Structure, shape: tuple[int, ...]) -> None:
    scores = draw_scores("normal", 4, shape, seed=0)
    dist = sp.marginals(scores, structure)
    there = sp.marginals(scores.cuda(), structure)
    assert_close(there.log_partition.cpu(), dist.log_partition)
    assert_close(there.marginals.cpu(), dist.marginals)
    assert_close(there.entropy().cpu(), dist.entropy())
    drawn = there.sample(3, generator=torch.Generator("cuda").manual_seed(0))
    assert drawn.is_cuda
    assert structure.contains(drawn.cpu().flatten(0, 1), shape).all()


# torch-struct (Rush 2020) has most of these; its layouts are converted to ours.

Peer = Callable[[Tensor], tuple[Tensor, Tensor]]


def _peer(name: str, potentials: Tensor, **options: object) -> tuple[Tensor, Tensor]:
    torch_struct = pytest.importorskip("torch_struct", reason="torch-struct is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it does not define arg_constraints
        # Its trees modify potentials that need no gradient in place.
        dist = getattr(torch_struct, name)(potentials.clone().requires_grad_(), **options)
    return dist.partition.detach(), dist.marginals.detach()


def _chain(scores: Tensor) -> tuple[Tensor, Tensor]:
    edges = scores[:, 1:, :, 1:] + scores[:, 1:, :, :1]  # [t, state, state before]
    edges = torch.cat([edges[:, :1] + scores[:, 0, None, None, :, 0], edges[:, 1:]], 1)
    log_partition, moves = _peer("LinearChainCRF", edges)
    states = torch.cat([moves[:, :1].sum(2), moves.sum(3)], 1)
    first = torch.zeros_like(moves[:, :1])
    return log_partition, torch.cat([states.unsqueeze(-1), torch.cat([first, moves], 1)], -1)


def _trees(name: str, single_root: bool, scores: Tensor) -> tuple[Tensor, Tensor]:
    arcs = scores[..., 1:].mT.clone()  # [head, dependent], the root on the diagonal
    arcs.diagonal(dim1=1, dim2=2).copy_(scores[..., 0])
    log_partition, found = _peer(name, arcs, multiroot=not single_root)
    words = found.mT.clone()
    words.diagonal(dim1=1, dim2=2).zero_()
    root = found.diagonal(dim1=1, dim2=2).unsqueeze(-1)
    return log_partition, torch.cat([root, words], -1)


def _segments(scores: Tensor) -> tuple[Tensor, Tensor]:
    labels = scores.shape[2]
    longest = scores.shape[3] - labels
    moves = scores[..., longest:].clone()
    moves[:, 0] = -math.log(labels)  # the first segment follows any label
    edges = scores[..., :longest].transpose(2, 3).unsqueeze(-1) + moves.unsqueeze(2)
    edges = torch.cat([torch.full_like(edges[:, :, :1], -1e9), edges], 2)
    log_partition, found = _peer("SemiMarkovCRF", edges)
    moves = found.sum(2)
    moves[:, 0] = 0.0
    return log_partition, torch.cat([found[:, :, 1:].sum(-1).transpose(2, 3), moves], -1)


PEERS: dict[str, tuple[sp.Structure, tuple[int, ...], Peer]] = {
    "chain": (sp.LinearChain(), (5, 3, 4), _chain),
    "segments": (sp.SemiMarkov(3), (5, 2, 5), _segments),
    "binary": (sp.BinaryTrees(labelled=True), (5, 5, 2), lambda x: _peer("TreeCRF", x)),
    "projective": (
        sp.DependencyTrees(projective=True),
        (5, 6),
        lambda x: _trees("DependencyCRF", False, x),
    ),
    "projective, one root": (
        sp.DependencyTrees(projective=True, single_root=True),
        (5, 6),
        lambda x: _trees("DependencyCRF", True, x),
    ),
    "non-projective": (
        sp.DependencyTrees(),
        (5, 6),
        lambda x: _trees("NonProjectiveDependencyCRF", False, x),
    ),
    "non-projective, one root": (
        sp.DependencyTrees(single_root=True),
        (5, 6),
        lambda x: _trees("NonProjectiveDependencyCRF", True, x),
    ),
}


@pytest.mark.parametrize("name", PEERS)
def test_agrees_with_torch_struct(name: str) -> None:
    structure, shape, peer = PEERS[name]
    scores = draw_scores("normal", 4, shape, seed=0)
    dist = sp.marginals(scores, structure)
    log_partition, found = peer(scores)
    # torch-struct adds 1e-5 to the weight of every non-projective arc.
    close = partial(assert_close, rtol=0, atol=1e-3 if name.startswith("non") else 1e-9)
    close(dist.log_partition, log_partition.flatten())
    close(dist.marginals, found.reshape(scores.shape))
