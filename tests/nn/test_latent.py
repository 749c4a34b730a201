"""Latent and fixed trees through one interface."""

import pickle

import pytest
import torch

import sparsewood as sp
from sparsewood.nn.latent import Strategy

LENGTHS = torch.tensor([4, 1, 3])
TREES = sp.DependencyTrees(single_root=True)


def make(strategy: Strategy, **options: float) -> sp.nn.LatentTreeEncoder:
    torch.manual_seed(0)
    scorer, composer = sp.nn.MLPArcScorer(5, 4), sp.nn.ChildSumTreeLSTM(5, 6)
    encoder = sp.nn.LatentTreeEncoder(
        scorer,
        composer,
        TREES,
        strategy=strategy,
        **options,  # pyright: ignore[reportArgumentType]
    )
    return encoder.double()


def words() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(3, 4, 5, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("left_to_right", [[2, 3, 4, 0], [0, -1, -1, -1], [2, 3, 0, -1]]),
        ("right_to_left", [[0, 1, 2, 3], [0, -1, -1, -1], [0, 1, 2, -1]]),
        ("flat", [[0, 0, 0, 0], [0, -1, -1, -1], [0, 0, 0, -1]]),
    ],
)
def test_fixed_strategies(strategy: Strategy, expected: list[list[int]]) -> None:
    encoder, x = make(strategy), words()
    post, vectors = encoder(x, LENGTHS)
    assert post.structures.tolist() == expected
    assert post.weights.tolist() == [1.0] * 3
    assert post.weights.dtype == x.dtype
    assert torch.equal(post.instance, torch.arange(3))
    assert torch.equal(post.marginals, sp.DependencyTrees().indicator(post.structures))
    assert bool(post.converged.all())
    assert not post.gap.any()
    forest = sp.Forest.from_heads(torch.tensor(expected), LENGTHS, torch.arange(3))
    assert torch.equal(vectors, encoder.composer(x, forest))
    assert torch.equal(post.expect(vectors), vectors)
    assert encoder.scorer is None
    # The same trees from the caller; what pads them does not count.
    given = torch.tensor(expected).masked_fill(torch.tensor(expected) < 0, 99)
    again, same = make("given")(x, LENGTHS, given)
    assert torch.equal(again.structures, post.structures)
    assert torch.equal(same, vectors)


def test_latent_is_the_four_lines() -> None:
    encoder, x = make("latent", temperature=2.0, max_active=3), words()
    post, vectors = encoder(x, LENGTHS)
    assert encoder.scorer is not None
    scores = encoder.scorer(x)
    same = sp.sparsemap(scores, TREES, lengths=LENGTHS, temperature=2.0, max_active=3)
    assert torch.equal(post.structures, same.structures)
    assert torch.equal(post.weights, same.weights)
    assert torch.equal(vectors, encoder.composer(x, same.forest()))
    assert vectors.shape == (len(post.structures), 6)
    assert int(post.sizes.max()) == 3


def test_the_gradient_reaches_every_parameter() -> None:
    encoder, x = make("latent"), words().requires_grad_()
    post, vectors = encoder(x, LENGTHS)
    assert int(post.sizes.max()) > 1
    (gradient,) = torch.autograd.grad(post.expect(vectors).sum(), x, retain_graph=True)
    assert gradient[0].any()
    assert not gradient[2, 3:].any()  # padding
    post.expect(vectors).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in encoder.parameters())


@pytest.mark.parametrize("strategy", ["latent", "flat"])
def test_full_length_is_the_default(strategy: Strategy) -> None:
    encoder, x = make(strategy), words()
    (_, default), (_, full) = encoder(x), encoder(x, torch.tensor([4, 4, 4]))
    assert torch.equal(default, full)


def test_bad_options() -> None:
    composer = sp.nn.ChildSumTreeLSTM(5, 6)
    with pytest.raises(ValueError, match="'latent' needs a scorer"):
        sp.nn.LatentTreeEncoder(None, composer)
    with pytest.raises(ValueError, match="expected one of latent, left_to_right.*got 'rightmost'"):
        sp.nn.LatentTreeEncoder(None, composer, strategy="rightmost")  # pyright: ignore[reportArgumentType]


def test_bad_input() -> None:
    heads = torch.zeros(3, 4, dtype=torch.int64)
    with pytest.raises(ValueError, match="'flat' takes no heads"):
        make("flat")(words(), LENGTHS, heads)
    with pytest.raises(ValueError, match="'given' needs heads"):
        make("given")(words(), LENGTHS)
    with pytest.raises(ValueError, match=r"heads: expected int64 of shape \(3, 4\).*\(3, 3\)"):
        make("given")(words(), LENGTHS, heads[:, 1:])
    with pytest.raises(ValueError, match=r"lengths\[1\] is 5"):
        make("flat")(words(), torch.tensor([4, 5, 3]))
    with pytest.raises(ValueError, match="tree 2"):  # the first two words of it in a cycle
        make("given")(words(), LENGTHS, torch.tensor([[0] * 4, [0] * 4, [2, 1, 0, 0]]))


def test_repr_and_pickle() -> None:
    encoder = make("latent", temperature=0.5, max_active=4)
    head = repr(encoder).splitlines()[1].strip()
    assert head == f"{TREES}, temperature=0.5, max_active=4"
    assert "strategy='flat'" in repr(make("flat"))
    _, vectors = pickle.loads(pickle.dumps(encoder))(words(), LENGTHS)
    assert torch.equal(vectors, encoder(words(), LENGTHS)[1])
