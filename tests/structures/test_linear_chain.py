"""Linear chains: packing, the oracle, both penalties, and pivots without full penalty."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.testing import MarginalsConformance, StructureConformance, draw_scores
from tests.fuzz.family import Family

FUZZED = [
    Family(
        name,
        structure,
        ((1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (3, 3), (4, 2)),
        lambda steps, states: (steps, states, 1 + states),
    )
    for name, structure in (("chain", sp.LinearChain()), ("chain-both", sp.LinearChain("both")))
]


def shape(n: int, states: int = 3) -> tuple[int, ...]:
    return (n, states, 1 + states)


class ChainConformance(StructureConformance, MarginalsConformance):
    has_lengths = True
    shape = staticmethod(shape)
    size = staticmethod(lambda n: (n, 3))


@pytest.mark.full
class TestUnaryPenalty(ChainConformance):
    structure = sp.LinearChain()


class TestBothPenalised(ChainConformance):
    structure = sp.LinearChain(penalty="both")
    sizes = (1, 3)


@pytest.mark.full
class TestTwoStates(ChainConformance):
    structure = sp.LinearChain()
    shape = staticmethod(lambda n: shape(n, 2))
    size = staticmethod(lambda n: (n, 2))
    sizes = (1, 6)


class TestOneState(ChainConformance):
    structure = sp.LinearChain(penalty="both")
    shape = staticmethod(lambda n: shape(n, 1))
    size = staticmethod(lambda n: (n, 1))


def viterbi(unary: Tensor, transition: Tensor) -> list[int]:
    """The best states of one chain, (T, K) and (T - 1, K, K), by plain dynamic programming."""
    best, back = unary[0], []
    for t in range(1, len(unary)):
        table = best[:, None] + transition[t - 1]
        back.append(table.argmax(0))
        best = table.amax(0) + unary[t]
    states = [int(best.argmax())]
    for pointer in reversed(back):
        states.append(int(pointer[states[-1]]))
    return states[::-1]


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_oracle_is_viterbi(steps: int, states: int, seed: int) -> None:
    unary = draw_scores("normal", 3, (steps, states), seed)
    transition = draw_scores("normal", 3, (steps - 1, states, states), seed + 1)
    chain = sp.LinearChain()
    found = chain.argmax(chain.pack(unary, transition))
    assert found.tolist() == [viterbi(u, t) for u, t in zip(unary, transition, strict=True)]


def test_pack_puts_each_score_where_its_part_is() -> None:
    chain, lengths = sp.LinearChain(), torch.tensor([3, 2])
    unary = draw_scores("normal", 2, (3, 2), seed=0)
    transition = draw_scores("normal", 1, (2, 2), seed=1)[0]
    start, end = draw_scores("normal", 2, (2,), seed=2)
    scores = chain.pack(unary, transition, start=start, end=end, lengths=lengths)
    for b, n in enumerate(lengths.tolist()):
        for states in itertools.product(range(2), repeat=n):
            padded = torch.tensor([[*states, *[-1] * (3 - n)]])
            score = (chain.indicator(padded, (3, 2, 3)) * scores[b]).sum()
            expected = unary[b, range(n), states].sum() + start[states[0]] + end[states[-1]]
            expected += sum(transition[j, k] for j, k in itertools.pairwise(states))
            torch.testing.assert_close(score, expected)
    unpacked = chain.unpack(scores)
    torch.testing.assert_close(unpacked.unary[0, 1], unary[0, 1])
    torch.testing.assert_close(unpacked.transition, transition.expand(2, 2, 2, 2))


def test_pack_takes_any_batch_dimensions() -> None:
    chain, lengths = sp.LinearChain(), torch.tensor([[3, 2, 1], [1, 3, 3]])
    unary, moves = torch.randn(2, 3, 3, 2), torch.randn(2, 3, 2, 2, 2)
    start, end = torch.randn(2, 3, 2), torch.randn(2)
    scores = chain.pack(unary, moves, start=start, end=end, lengths=lengths)
    flat = chain.pack(
        unary.flatten(0, 1),
        moves.flatten(0, 1),
        start=start.flatten(0, 1),
        end=end,
        lengths=lengths.flatten(),
    )
    assert torch.equal(scores, flat.reshape(2, 3, 3, 2, 3))
    one = chain.pack(unary[1, 0], moves[1, 0], start=start[1, 0], end=end, lengths=lengths[1, 0])
    assert torch.equal(one, scores[1, 0])
    assert torch.equal(chain.unpack(scores).transition, moves)
    with pytest.raises(ValueError, match=r"lengths: expected shape \(2, 3\), got \(6,\)"):
        chain.pack(unary, end=end, lengths=lengths.flatten())


def test_pack_without_transitions_is_independent_sparsemax() -> None:
    unary = draw_scores("normal", 2, (5, 4), seed=3)
    chain = sp.LinearChain()
    post = sp.sparsemap(chain.pack(unary), chain)
    for t in range(5):
        alone = sp.sparsemap(unary[:, t], sp.Simplex())
        torch.testing.assert_close(chain.unpack(post.marginals).unary[:, t], alone.marginals)


def test_pack_names_what_does_not_fit() -> None:
    chain, unary = sp.LinearChain(), torch.zeros(2, 3, 4)
    with pytest.raises(ValueError, match=r"unary: expected floating \(\*batch, T, K\)"):
        chain.pack(unary[0, 0])
    with pytest.raises(ValueError, match=r"transition: expected \(4, 4\) or \(2, 2, 4, 4\)"):
        chain.pack(unary, torch.zeros(3, 3))
    with pytest.raises(ValueError, match=r"end: expected \(4,\) or \(2, 4\)"):
        chain.pack(unary, end=torch.zeros(3))
    with pytest.raises(ValueError, match='penalty must be "unary" or "both"'):
        sp.LinearChain(penalty="none")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"LinearChain.pack"):
        sp.sparsemap(unary[..., :3], chain)


@pytest.mark.parametrize("solver", ["native", "generic"])
def test_transitions_decide_between_chains_of_the_same_states(solver) -> None:
    """u is the centre of a square of chains: 00 and 11, or 01 and 10, equal in their states.

    The first two structures explain `u` exactly; what enters after is affinely dependent on them.
    """
    chain = sp.LinearChain()
    for agree in (0.1, -0.1):
        transition = torch.tensor([[agree, 0.0], [0.0, agree]], dtype=torch.float64)
        scores = chain.pack(torch.zeros(1, 2, 2, dtype=torch.float64), transition)
        post = sp.sparsemap(scores, chain, solver=solver)
        assert post.converged.all()
        torch.testing.assert_close(post.weights, torch.full((2,), 0.5, dtype=torch.float64))
        same = post.structures[:, 0] == post.structures[:, 1]
        assert same.all() if agree > 0 else not same.any()


@pytest.mark.parametrize("solver", ["native", "generic"])
@pytest.mark.parametrize("scale", [0.1, 0.3, 1.0, 3.0])
def test_long_chains_converge(solver, scale: float) -> None:
    """Weak unaries and strong transitions: many pivots."""
    chain = sp.LinearChain()
    unary = scale * draw_scores("normal", 4, (12, 3), seed=5)
    transition = 3 * scale * draw_scores("normal", 4, (11, 3, 3), seed=6)
    scores = chain.pack(unary, transition)
    post = sp.sparsemap(scores, chain, solver=solver)
    assert post.converged.all()
    mask = chain.penalised(scores)
    assert mask is not None
    slope = torch.where(chain.reads(scores), scores, 0) - post.marginals * mask
    best = chain.indicator(chain.argmax(slope), tuple(scores.shape[1:]))
    gap = (slope * (best - post.marginals)).flatten(1).sum(1)
    assert (gap <= 1e-9).all()
    assert (post.sizes <= 12 * 3 + 1).all()


def test_too_many_states_are_named() -> None:
    with pytest.raises(ValueError, match="at most 181 states, got shape"):
        sp.sparsemap(torch.zeros(1, 2, 200, 201), sp.LinearChain())


def test_more_steps_than_16_bits_count() -> None:
    """Without transitions every step is an independent sparsemax."""
    steps = 70_000
    unary = torch.zeros(1, steps, 2, dtype=torch.float64)
    unary[..., 0] = 10
    unary[0, 5] = torch.tensor([0.3, 0.0])
    unary[0, steps - 7] = torch.tensor([0.0, 0.4])
    chain = sp.LinearChain()
    post = sp.sparsemap(chain.pack(unary), chain)
    assert post.converged.all()
    states = post.marginals[0, :, :, 0]
    torch.testing.assert_close(states[5], torch.tensor([0.65, 0.35], dtype=torch.float64))
    torch.testing.assert_close(states[steps - 7], torch.tensor([0.3, 0.7], dtype=torch.float64))
    assert int((states[:, 0] == 1).sum()) == steps - 2
