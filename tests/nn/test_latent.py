"""Latent and fixed trees through one interface."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace

import pytest
import torch

import sparsewood as sp
from sparsewood.estimators import Problem

LENGTHS = torch.tensor([4, 1, 3])
TREES = sp.DependencyTrees(single_root=True)


def make(
    estimator: sp.Estimator,
    structure: sp.Structure | None = TREES,
    composer: Callable[[int, int], torch.nn.Module] = sp.nn.ChildSumTreeLSTM,
) -> sp.nn.LatentTreeEncoder:
    torch.manual_seed(0)
    scorer, reader = sp.nn.MLPArcScorer(5, 4), composer(5, 6)
    return sp.nn.LatentTreeEncoder(scorer, reader, structure, estimator=estimator).double()


class Count(torch.nn.Module):
    """The number of calls."""

    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))


@dataclass(frozen=True, repr=False)
class Sampler(sp.Estimator):
    """Random trees in training, the best tree in evaluation; counts its calls."""

    memory: Count = field(default_factory=Count, compare=False, repr=False)
    slope: float = 1.0

    def estimate(self, problem: Problem) -> sp.Posterior:
        self.memory.calls += 1
        scores, structure, lengths, generator = problem
        return sp.marginals(scores, structure, lengths=lengths).posterior(2, generator=generator)

    def at_test(self) -> sp.Estimator:
        return sp.MAP()


class Plain(torch.nn.Module):
    """A user's composer without `read`."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.net = sp.nn.TreeGRU(input_size, hidden_size)

    def forward(self, x: torch.Tensor, forest: sp.Forest) -> torch.Tensor:
        return self.net(x, forest)


def words() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(3, 4, 5, dtype=torch.float64, generator=generator)


def test_fixed_trees() -> None:
    encoder, x = make(sp.Fixed("left_to_right")), words()
    post, vectors = encoder(x, LENGTHS)
    heads = torch.tensor([[2, 3, 4, 0], [0, -1, -1, -1], [2, 3, 0, -1]])
    assert torch.equal(post.structures, heads)
    assert post.weights.dtype == x.dtype
    assert torch.equal(post.marginals, sp.DependencyTrees().indicator(post.structures))
    forest = sp.Forest.from_heads(heads, LENGTHS, torch.arange(3))
    assert torch.equal(vectors, encoder.composer(x, forest))
    assert torch.equal(post.expect(vectors), vectors)
    assert encoder.scorer is None
    # The same trees from the caller, with arbitrary padding.
    given = make(sp.Given(), None)
    again, same = given(x, LENGTHS, heads.masked_fill(heads < 0, 99))
    assert torch.equal(again.structures, post.structures)
    assert torch.equal(same, vectors)
    assert given.scorer is None
    by_value = make(sp.Given(heads), None)(x, LENGTHS)[1]
    assert torch.equal(by_value, vectors)


def test_latent_is_the_four_lines() -> None:
    encoder, x = make(sp.SparseMAP(temperature=2.0, max_active=3)), words()
    post, vectors = encoder(x, LENGTHS)
    assert encoder.scorer is not None
    scores = encoder.scorer(x)
    same = sp.sparsemap(scores, TREES, lengths=LENGTHS, temperature=2.0, max_active=3)
    assert torch.equal(post.structures, same.structures)
    assert torch.equal(post.weights, same.weights)
    assert torch.equal(vectors, encoder.composer(x, same.forest()))
    assert vectors.shape == (len(post.structures), 6)
    assert int(post.sizes.max()) == 3


def test_out_of_training_it_asks_the_estimator_for_tests() -> None:
    encoder, x = make(Sampler()), words()
    post, vectors = encoder(x, LENGTHS)
    assert post.sizes.tolist() == [2, 2, 2]
    post, vectors = encoder.eval()(x, LENGTHS)
    assert encoder.scorer is not None
    best = sp.MAP()(encoder.scorer(x), TREES, LENGTHS)
    assert torch.equal(post.structures, best.structures)
    assert torch.equal(vectors, encoder.composer(x, best.forest()))


def test_what_the_estimator_remembers_is_a_part_of_the_module() -> None:
    encoder, x = make(Sampler()), words()
    encoder(x, LENGTHS)
    encoder.estimator = replace(encoder.estimator, slope=2.0)  # pyright: ignore[reportArgumentType]
    encoder(x, LENGTHS)
    state = encoder.state_dict()
    assert state["memory.calls"] == 2
    other = deepcopy(make(Sampler()))
    other.load_state_dict(state)
    other(x, LENGTHS)
    assert other.state_dict()["memory.calls"] == 3
    other.estimator = sp.SparseMAP()
    assert "memory.calls" not in other.state_dict()


def test_a_composer_without_read_gets_the_forest() -> None:
    encoder, x = make(sp.SparseMAP(), composer=Plain), words()
    post, vectors = encoder(x, LENGTHS)
    assert torch.equal(vectors, encoder.composer(x, post.forest()))


@pytest.mark.parametrize("composer", [sp.nn.ChildSumTreeLSTM, sp.nn.TreeGRU])
def test_the_gradient_goes_by_the_parts(composer: Callable[[int, int], torch.nn.Module]) -> None:
    encoder, x = make(sp.StraightThrough(), composer=composer), words()
    post, vectors = encoder(x, LENGTHS)
    assert post.carries_parts
    post.expect(vectors).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in encoder.parameters())


@pytest.mark.parametrize(
    ("estimator", "composer", "message"),
    [
        (sp.Gibbs(), sp.nn.ChildSumTreeLSTM, r"Gibbs\(\) gives soft parts.*ChildSumTreeLSTM"),
        (sp.Gibbs(), Plain, "soft parts instead of trees, which Plain cannot read"),
        (sp.StraightThrough(), sp.nn.OrderedComposer, "through the parts.*OrderedComposer is not"),
        (sp.StraightThrough(), Plain, "through the parts.*in which Plain is not differentiable"),
    ],
)
def test_a_composer_that_cannot_pass_the_gradient_on_is_refused(
    estimator: sp.Estimator, composer: Callable[[int, int], torch.nn.Module], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make(estimator, composer=composer)
    encoder = make(sp.SparseMAP(), composer=composer)
    encoder.estimator = estimator
    with pytest.raises(ValueError, match=message):
        encoder(words(), LENGTHS)


@pytest.mark.parametrize("estimator", [sp.SparseMAP(), sp.TopK(3)], ids=repr)
def test_the_gradient_reaches_every_parameter(estimator: sp.Estimator) -> None:
    encoder, x = make(estimator), words().requires_grad_()
    post, vectors = encoder(x, LENGTHS)
    assert int(post.sizes.max()) > 1
    (gradient,) = torch.autograd.grad(post.expect(vectors).sum(), x, retain_graph=True)
    assert gradient[0].any()
    assert not gradient[2, 3:].any()  # padding
    post.expect(vectors).sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in encoder.parameters())


def test_noise_is_between_scorer_and_estimator() -> None:
    encoder, x = make(sp.SparseMAP()), words()
    clean = encoder(x, LENGTHS)[0]
    encoder.noise = sp.nn.GumbelNoise(2.0)
    torch.manual_seed(3)
    noisy = encoder(x, LENGTHS)[0]
    torch.manual_seed(3)
    assert encoder.scorer is not None
    same = sp.sparsemap(encoder.noise(encoder.scorer(x)), TREES, lengths=LENGTHS)
    assert torch.equal(noisy.marginals, same.marginals)
    assert not torch.equal(noisy.marginals, clean.marginals)
    assert torch.equal(encoder.eval()(x, LENGTHS)[0].marginals, clean.marginals)
    flat = make(sp.Fixed("flat"))
    flat.noise = encoder.noise.train()
    before = torch.get_rng_state()
    flat(x, LENGTHS)  # there are no scores
    assert torch.equal(torch.get_rng_state(), before)


def test_the_composer_may_read_words_of_its_own() -> None:
    encoder, x = make(sp.SparseMAP()), words()
    encoder.composer = sp.nn.ChildSumTreeLSTM(2, 6).double()
    own = torch.randn(3, 4, 2, dtype=torch.float64)
    post, vectors = encoder(x, LENGTHS, words=own)
    assert torch.equal(post.weights, make(sp.SparseMAP())(x, LENGTHS)[0].weights)
    assert torch.equal(vectors, encoder.composer(own, post.forest()))


@pytest.mark.parametrize("estimator", [sp.SparseMAP(), sp.Fixed("flat")], ids=repr)
def test_full_length_is_the_default(estimator: sp.Estimator) -> None:
    encoder, x = make(estimator), words()
    (_, default), (_, full) = encoder(x), encoder(x, torch.tensor([4, 4, 4]))
    assert torch.equal(default, full)


@pytest.mark.parametrize("estimator", [sp.SparseMAP(), sp.Fixed("flat")], ids=repr)
def test_it_compiles_into_one_graph(estimator: sp.Estimator) -> None:
    scorer, composer = sp.nn.BilinearArcScorer(5), sp.nn.ChildSumTreeLSTM(5, 6)
    encoder = sp.nn.LatentTreeEncoder(scorer, composer, TREES, estimator=estimator).double()
    x = words()
    torch._dynamo.reset()
    compiled = torch.compile(encoder, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, LENGTHS)[1], encoder(x, LENGTHS)[1])


def test_bad_options() -> None:
    with pytest.raises(ValueError, match=r"the estimator SparseMAP\(\) needs a scorer"):
        sp.nn.LatentTreeEncoder(None, sp.nn.ChildSumTreeLSTM(5, 6))


def test_bad_input() -> None:
    heads = torch.zeros(3, 4, dtype=torch.int64)
    flat, given = make(sp.Fixed("flat")), make(sp.Given(), None)
    with pytest.raises(ValueError, match="heads: expected None for the estimator Fixed"):
        flat(words(), LENGTHS, heads)
    with pytest.raises(ValueError, match=r"heads: expected trees for the estimator Given"):
        given(words(), LENGTHS)
    with pytest.raises(ValueError, match=r"heads: expected int64 of shape \(3, 4\).*\(3, 3\)"):
        given(words(), LENGTHS, heads[:, 1:])
    with pytest.raises(ValueError, match=r"lengths\[1\] is 5"):
        flat(words(), torch.tensor([4, 5, 3]))
    with pytest.raises(ValueError, match=r"given\[2\] is not one of"):  # words 1 and 2 in a cycle
        given(words(), LENGTHS, torch.tensor([[0] * 4, [0] * 4, [2, 1, 0, 0]]))


def test_repr_and_pickle() -> None:
    encoder = make(sp.SparseMAP(temperature=0.5, max_active=4))
    head = repr(encoder).splitlines()[1].strip()
    assert head == f"{TREES}, SparseMAP(temperature=0.5, max_active=4)"
    _, vectors = pickle.loads(pickle.dumps(encoder))(words(), LENGTHS)
    assert torch.equal(vectors, encoder(words(), LENGTHS)[1])
