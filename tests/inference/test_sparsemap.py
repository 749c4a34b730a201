"""The public function: accuracy, limits, extreme input, and use from threads and processes."""

import threading

import pytest
import torch
from torch.utils.data import DataLoader, Dataset

import sparsewood as sp
from sparsewood.testing import draw_scores
from tests.trees import FAMILIES, family


def gap_of(scores: torch.Tensor, post: sp.SparsePosterior) -> torch.Tensor:
    """The duality gap of float64 `scores` at the marginals, from one more MAP call.

    Adding a number to all heads of a word shifts all trees equally; removing it reduces rounding.
    """
    scores = scores - scores.amax(-1, keepdim=True)
    u = post.marginals
    shape = tuple(scores.shape[1:])
    best = post.structure.indicator(post.structure.argmax(scores - u), shape)
    residual = torch.where(best + u > 0, scores - u, 0)
    return (residual * (best - u)).flatten(1).sum(-1)


def check(scores: torch.Tensor, post: sp.SparsePosterior, scale: float) -> None:
    assert post.converged.all()
    assert post.weights.isfinite().all()
    assert (post.weights > 0).all()
    assert (post.gap <= 1e-9 * scale).all()
    assert (gap_of(scores, post) <= 1e-9 * scale).all()


@family
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_certified_at_twenty_words(trees: sp.DependencyTrees, scale: float) -> None:
    scores = scale * draw_scores("normal", 8, (20, 21), seed=0)
    check(scores, sp.sparsemap(scores, trees), 1.0)


@family
def test_one_word(trees: sp.DependencyTrees) -> None:
    scores = torch.tensor([[[-3.0, torch.nan]], [[5.0, torch.inf]]], requires_grad=True)
    post = sp.sparsemap(scores, trees)
    assert post.structures.tolist() == [[0], [0]]
    assert post.weights.tolist() == [1.0, 1.0]
    assert post.marginals.tolist() == [[[1.0, 0.0]], [[1.0, 0.0]]]
    (gradient,) = torch.autograd.grad(post.weights.sum(), scores)
    assert (gradient == 0).all()


@pytest.mark.parametrize("trees", FAMILIES[:2], ids=str)
def test_three_hundred_words(trees: sp.DependencyTrees) -> None:
    scores = 6 * draw_scores("normal", 1, (300, 301), seed=0)
    check(scores, sp.sparsemap(scores, trees), 1.0)


@family
@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_extreme_scales(trees: sp.DependencyTrees, scale: float) -> None:
    scores = scale * draw_scores("normal", 4, (8, 9), seed=0)
    check(scores, sp.sparsemap(scores, trees), max(1.0, 6 * scale))


@family
def test_a_large_constant_changes_nothing(trees: sp.DependencyTrees) -> None:
    """Every tree has n arcs, so shifting all scores shifts all trees equally."""
    scores = (draw_scores("normal", 4, (8, 9), seed=0) * 2**10).round() / 2**10  # sums stay exact
    post, shifted = sp.sparsemap(scores, trees), sp.sparsemap(scores + 2.0**20, trees)
    assert shifted.converged.all()
    torch.testing.assert_close(post.marginals, shifted.marginals, rtol=0, atol=1e-9)


@family
@pytest.mark.parametrize("value", [0.0, 0.1, -1e6])
def test_all_equal(trees: sp.DependencyTrees, value: float) -> None:
    scores = torch.full((2, 12, 13), value, dtype=torch.float64)
    post = sp.sparsemap(scores, trees)
    check(scores, post, 1.0)
    assert torch.equal(post.marginals[0], post.marginals[1])


@family
def test_thousands_of_duplicates(trees: sp.DependencyTrees) -> None:
    one = draw_scores("normal", 1, (6, 7), seed=0)
    post = sp.sparsemap(one.expand(2000, 6, 7), trees)
    alone = sp.sparsemap(one, trees)
    assert torch.equal(post.weights, alone.weights.repeat(2000))
    assert torch.equal(post.structures, alone.structures.repeat(2000, 1))


@family
def test_forbidden_arcs_that_leave_one_tree(trees: sp.DependencyTrees) -> None:
    scores = torch.full((1, 4, 5), -torch.inf, dtype=torch.float64)
    scores[0, range(4), range(4)] = -5.0  # the chain 0 -> 1 -> 2 -> 3 -> 4
    scores.requires_grad_()
    post = sp.sparsemap(scores, trees)
    assert post.structures.tolist() == [[0, 1, 2, 3]]
    assert post.weights.tolist() == [1.0]
    (gradient,) = torch.autograd.grad(post.marginals.square().sum(), scores)
    assert (gradient == 0).all()


@family
@pytest.mark.parametrize("solver", ["native", "generic"])
def test_max_active(trees: sp.DependencyTrees, solver) -> None:
    scores = draw_scores("normal", 6, (8, 9), seed=0).requires_grad_()
    full = sp.sparsemap(scores, trees, solver=solver)
    post = sp.sparsemap(scores, trees, max_active=4, solver=solver)
    assert post.sizes.max() <= 4
    assert (post.weights > 0).all()
    assert torch.equal(post.converged, post.gap <= 1e-9 * 8)
    assert post.converged[full.sizes <= 3].all()
    assert not post.converged[full.sizes > 16].any()
    torch.testing.assert_close(
        post.expect(trees.indicator(post.structures)), post.marginals, rtol=0, atol=1e-12
    )
    # Optimal on the trees kept: all have equal scores on the residual.
    potential = (scores - post.marginals)[post.instance] * trees.indicator(post.structures)
    potential = potential.flatten(1).sum(-1)
    mean = post.expect(potential)[post.instance]
    torch.testing.assert_close(potential, mean, rtol=0, atol=1e-9)
    (gradient,) = torch.autograd.grad(post.expect(potential.detach()).sum(), scores)
    assert gradient.isfinite().all()


@family
@pytest.mark.parametrize("solver", ["native", "generic"])
def test_max_iter(trees: sp.DependencyTrees, solver) -> None:
    scores = 0.3 * draw_scores("normal", 4, (8, 9), seed=0)
    first = sp.sparsemap(scores, trees, max_iter=1, solver=solver)
    assert torch.equal(first.structures, trees.argmax(scores))
    assert first.sizes.tolist() == [1] * 4
    assert not first.converged.any()
    for max_iter in (2, 5, 10):
        post = sp.sparsemap(scores, trees, max_iter=max_iter, solver=solver)
        assert post.sizes.max() <= max_iter
        assert (post.weights > 0).all()
        assert (post.status == sp.Status.CAPPED).all()


@family
@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_a_cap_that_is_large_enough_changes_nothing(
    trees: sp.DependencyTrees, scale: float
) -> None:
    scores = scale * draw_scores("normal", 8, (12, 13), seed=5)
    full = sp.sparsemap(scores, trees)
    for cap in (2 * int(full.sizes.max()), 12 * 12 + 1, 10**6):
        post = sp.sparsemap(scores, trees, max_active=cap)
        assert post.converged.all()
        torch.testing.assert_close(post.marginals, full.marginals, rtol=0, atol=1e-9)


def test_max_iter_bounds_the_oracle_calls() -> None:
    scores = 0.3 * draw_scores("normal", 4, (20, 21), seed=6)
    full, capped = (
        sp.sparsemap(scores, sp.DependencyTrees(), max_iter=most) for most in (None, 10)
    )
    assert (capped.status == sp.Status.CAPPED).all()
    assert (capped.calls <= 12).all()  # the start, one per solve, and one to certify
    assert (full.calls > capped.calls).all()


@pytest.mark.parametrize("solver", ["native", "generic"])
def test_status(solver) -> None:
    scores, trees = draw_scores("normal", 3, (6, 7), seed=0), sp.DependencyTrees()
    post = sp.sparsemap(scores, trees, solver=solver)
    assert post.status.dtype == post.calls.dtype == torch.int64
    assert post.status.tolist() == [sp.Status.SOLVED] * 3
    assert (post.calls >= 2).all()
    one = sp.sparsemap(scores, trees, max_active=1, solver=solver)
    assert one.status.tolist() == [sp.Status.CAPPED] * 3
    tiny = sp.sparsemap(1e-12 * scores, trees, solver=solver)
    assert tiny.status.tolist() == [sp.Status.STALLED] * 3
    for found in (post, one, tiny):
        assert torch.equal(found.converged, found.status == sp.Status.SOLVED)


@pytest.mark.parametrize("solver", ["native", "generic"])
def test_on_unconverged(solver) -> None:
    scores, trees = draw_scores("normal", 3, (6, 7), seed=0), sp.DependencyTrees()
    scores[0] = 60 * trees.indicator(torch.tensor([[0, 1, 2, 3, 4, 5]]))
    said = "1 solved, 2 capped; the first that is not solved is instance 1, capped at a gap of "
    with pytest.warns(RuntimeWarning, match=said) as seen:
        warned = sp.sparsemap(scores, trees, max_active=2, solver=solver, on_unconverged="warn")
    assert seen[0].filename == __file__
    assert warned.sizes.tolist() == [1, 2, 2]
    with pytest.raises(sp.UnconvergedError, match=said):
        sp.sparsemap(scores, trees, max_active=2, solver=solver, on_unconverged="raise")
    for choice in ("warn", "raise"):  # nothing to tell
        assert sp.sparsemap(scores, trees, solver=solver, on_unconverged=choice).converged.all()
    with pytest.raises(ValueError, match='on_unconverged must be "return", "warn" or "raise"'):
        sp.sparsemap(scores, trees, on_unconverged="ignore")  # pyright: ignore[reportArgumentType]


def test_a_compiled_graph_only_returns() -> None:
    def solve(scores: torch.Tensor) -> torch.Tensor:
        return sp.sparsemap(scores, sp.DependencyTrees(), on_unconverged="raise").marginals

    torch._dynamo.reset()
    with pytest.raises(Exception, match='a compiled graph supports only "return"'):
        torch.compile(solve, fullgraph=True, backend="eager")(torch.zeros(1, 2, 3))


def test_temperature() -> None:
    scores, trees = draw_scores("normal", 3, (6, 7), seed=0), sp.DependencyTrees()
    cold = sp.sparsemap(scores, trees, temperature=1e-4)
    assert cold.sizes.tolist() == [1, 1, 1]
    assert torch.equal(cold.mode, trees.argmax(scores))
    each = torch.tensor([0.5, 1.0, 2.0])
    together = sp.sparsemap(scores, trees, temperature=each)
    for i, temperature in enumerate(each.tolist()):
        alone = sp.sparsemap(scores[i : i + 1], trees, temperature=temperature)
        assert torch.equal(together[i].weights, alone.weights)


def test_no_grad_and_autocast() -> None:
    scores, trees = draw_scores("normal", 2, (6, 7), seed=0).float(), sp.DependencyTrees()
    plain = sp.sparsemap(scores, trees)
    with torch.no_grad():
        post = sp.sparsemap(scores.requires_grad_(), trees)
    assert post.weights.grad_fn is None
    assert post.marginals.grad_fn is None
    with torch.autocast("cpu", dtype=torch.bfloat16):
        post = sp.sparsemap(scores, trees)
    assert torch.equal(post.marginals, plain.marginals)


def test_concurrent_calls() -> None:
    batches = [draw_scores("normal", 8, (12, 13), seed=seed) for seed in range(8)]
    expected = [sp.sparsemap(scores, sp.DependencyTrees()) for scores in batches]
    found: dict[int, sp.SparsePosterior] = {}

    def work(i: int) -> None:
        found[i] = sp.sparsemap(batches[i], sp.DependencyTrees())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, post in enumerate(expected):
        assert torch.equal(found[i].weights, post.weights)
        assert torch.equal(found[i].structures, post.structures)


class Solved(Dataset):
    """Each item is the marginals of one sentence, computed in the worker."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, i: int) -> torch.Tensor:
        scores = draw_scores("normal", 4, (10, 11), seed=i)
        return sp.sparsemap(scores, sp.DependencyTrees()).marginals


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_forked_workers() -> None:
    here = [Solved()[i] for i in range(6)]  # so that the parent has used threads before it forks
    loader = DataLoader(Solved(), batch_size=None, num_workers=2, multiprocessing_context="fork")
    for found, expected in zip(loader, here, strict=True):
        assert torch.equal(found, expected)


def test_no_instances_have_a_gradient_too() -> None:
    scores = torch.zeros(0, 2, 3, requires_grad=True)
    post = sp.sparsemap(scores, sp.DependencyTrees())
    (gradient,) = torch.autograd.grad(post.marginals.sum() + post.weights.sum(), scores)
    assert gradient.shape == scores.shape
