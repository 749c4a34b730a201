"""The scorer of words between two words, against its definition, one pair at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

import sparsewood as sp
from sparsewood.nn import _pairs

SIZE = 3


def definition(scorer: sp.nn.BetweenArcScorer, x: Tensor) -> Tensor:
    """The formula of the docstring for one sentence (n, d), by loops."""
    sums = [torch.zeros_like(scorer.step.weight[:, 0])]  # of the words up to each
    for word in x:
        g = torch.tanh(scorer.step.weight @ word)
        sums.append(sums[-1] + (g + (scorer.rounding * (g.round() - g)).detach()))
    rows = []
    for d in range(1, len(x) + 1):
        for h, head in enumerate([scorer.root, *x]):
            low = min(h, d)
            way = torch.stack(sums[low : max(h, d, low + 1)])  # where the sums between end
            # Ties go to the first.
            least = [channel[channel.tolist().index(min(channel.tolist()))] for channel in way.mT]
            most = [channel[channel.tolist().index(max(channel.tolist()))] for channel in way.mT]
            stats = torch.stack([way[-1], torch.stack(least), torch.stack(most)]) - sums[low]
            right, apart = int(h >= d), int(abs(h - d) > 1)
            hidden = scorer.head(head) + scorer.dependent(x[d - 1])
            hidden = hidden + scorer.between[right] @ stats.flatten().tanh()
            rows.append(scorer.score((hidden + scorer.place[right, apart]).tanh()))
    return torch.stack(rows).view(len(x), len(x) + 1)


def ties_are_exact(scorer: sp.nn.BetweenArcScorer, x: Tensor) -> bool:
    """Whether no prefix sums are nearly equal, which would make the minimum ambiguous."""
    sums = scorer._round(torch.tanh(scorer.step(x))).double().cumsum(0)
    sums = torch.cat([torch.zeros_like(sums[:1]), sums])
    distances = (sums - sums[:, None]).abs()
    return not ((distances > 0) & (distances < 1e-5)).any()


def make(hidden: int = 4, channels: int = 2, rounding: float = 0.0) -> sp.nn.BetweenArcScorer:
    torch.manual_seed(0)
    scorer = sp.nn.BetweenArcScorer(SIZE, hidden, channels).double()
    torch.nn.init.normal_(scorer.step.weight, std=2.0)  # so that rounding gives -1, 0 and 1
    scorer.rounding = rounding
    return scorer


def words(*shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*shape, dtype=torch.float64, generator=generator)


def gradients(scores: Tensor, scorer: sp.nn.BetweenArcScorer, x: Tensor) -> list[Tensor]:
    """Gradients of a function of about half of the scores."""
    weights = torch.sin(1 + torch.arange(scores.numel(), dtype=torch.float64)).relu()
    loss = (weights.view_as(scores).to(scores) * scores).sum()
    leaves = [x, *scorer.parameters()]  # nothing is between the words of a short sentence
    found = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
    return [g.double() for g in found]


@contextmanager
def chunks_of(limit: int) -> Iterator[None]:
    before, _pairs._CHUNK = _pairs._CHUNK, limit
    try:
        yield
    finally:
        _pairs._CHUNK = before


# Few distinct words: steps cancel, and several prefix sums are minimal.
vectors = st.lists(st.integers(-2, 2), min_size=SIZE, max_size=SIZE)
sentences = st.lists(vectors, min_size=1, max_size=9)


@settings(max_examples=60)
@given(
    sentence=sentences,
    rounding=st.sampled_from([0.0, 0.3, 1.0]),
    hidden=st.sampled_from([1, 5, 16, 37]),
    channels=st.sampled_from([1, 2, 4, 6]),
    limit=st.sampled_from([1, 100, 1 << 22]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_every_arc_has_the_score_of_the_definition(
    sentence: list[list[int]],
    rounding: float,
    hidden: int,
    channels: int,
    limit: int,
    dtype: torch.dtype,
) -> None:
    """In float32 by native code, in float64 by PyTorch in chunks."""
    scorer = make(hidden, channels, rounding)
    x = torch.tensor(sentence, dtype=torch.float64).requires_grad_()
    assume(ties_are_exact(scorer, x))
    wanted = definition(scorer, x)
    expected = [wanted, *gradients(wanted, scorer, x)]
    scorer, x = scorer.to(dtype), x.detach().to(dtype).requires_grad_()
    with chunks_of(limit):
        scores = scorer(x)
        found = [scores.double(), *gradients(scores, scorer, x)]
    close = 1e-9 if dtype == torch.float64 else 1e-4
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=close, atol=close)


@pytest.mark.parametrize("rounding", [0.0, 1.0])
@pytest.mark.parametrize("channels", [1, 4, 8])
def test_native_code_agrees_on_long_sentences(rounding: float, channels: int) -> None:
    """Blocks of pairs fill up, and the words between are many."""
    scorer, x = make(37, channels, rounding), words(3, 90, SIZE)
    found = []
    for dtype in (torch.float64, torch.float32):
        scorer, x = scorer.to(dtype), x.detach().to(dtype).requires_grad_()
        scores = scorer(x)
        found.append([scores.double(), *gradients(scores, scorer, x)])
    for expected, ours in zip(*found, strict=True):
        scale = expected.abs().max().item()
        torch.testing.assert_close(ours, expected, rtol=0, atol=5e-5 * scale)


def test_gradients_of_words_and_parameters() -> None:
    scorer, x = make(), words(2, 5, SIZE).requires_grad_()
    names, values = zip(*scorer.named_parameters(), strict=True)

    def call(x: Tensor, *parameters: Tensor) -> Tensor:
        given = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(scorer, given, (x,))

    assert {"root", "step.weight", "between", "place"} <= set(names)
    assert torch.autograd.gradcheck(call, (x, *values))


@pytest.mark.parametrize("limit", [1, 50, 1 << 22])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("padding", [float("nan"), float("inf"), 1e30])
def test_padding_changes_nothing(limit: int, dtype: torch.dtype, padding: float) -> None:
    scorer = make(rounding=0.5).to(dtype)
    x = words(2, 6, SIZE).to(dtype)
    x[1, 4:] = padding
    x.requires_grad_()
    trees = sp.DependencyTrees()

    def run(x: Tensor, lengths: Tensor | None) -> list[Tensor]:
        post = sp.sparsemap(scorer(x), trees, lengths=lengths)
        return [
            post.marginals,
            *torch.autograd.grad(post.marginals.square().sum(), [x, *scorer.parameters()]),
        ]

    with chunks_of(limit):
        found = run(x, torch.tensor([6, 4]))
        first, second = run(x[:1], None), run(x[1:, :4].detach().requires_grad_(), None)
    torch.testing.assert_close(found[0][1, :4, :5], second[0][0])
    assert not found[1][1, 4:].any()
    for ours, one, other in zip(found[2:], first[2:], second[2:], strict=True):
        torch.testing.assert_close(ours, one + other)


def test_a_word_that_is_not_finite_spoils_what_passes_it() -> None:
    x = words(5, SIZE)
    x[2, 1] = torch.nan
    spoilt = make()(x).isnan()
    for d in range(1, 6):
        for h in range(6):
            assert spoilt[d - 1, h] == (min(d, h) <= 3 <= max(d, h))


def test_rounded_sums_tell_which_brackets_match_at_a_thousand_words() -> None:
    """A closing bracket whose score is positive only with its opening bracket."""
    scorer = sp.nn.BetweenArcScorer(SIZE, 1, 1)
    with torch.no_grad():
        for parameter in scorer.parameters():
            parameter.zero_()
        scorer.step.weight[:] = torch.tensor([1.0, -2.0, 0.0])  # tanh 0.76 and -0.96
        scorer.head.weight[:] = torch.tensor([0.0, -60.0, -60.0])
        scorer.dependent.weight[:] = torch.tensor([-60.0, 0.0, -60.0])
        # 8 if sum and minimum are 0, below -7 if the minimum is negative or the sum positive.
        scorer.dependent.bias.fill_(8.0)
        scorer.between[0, 0] = torch.tensor([-20.0, 40.0, 0.0])
        scorer.place[1] = scorer.head.weight.new_full((2, 1), -60.0)
        scorer.root[1] = 1.0
        scorer.score.weight.fill_(1.0)
    generator = torch.Generator().manual_seed(0)
    kinds = torch.randint(3, (1000,), generator=generator)
    expected, opened = torch.zeros(1000, 1001, dtype=torch.bool), []
    for i, kind in enumerate(kinds.tolist()):
        if kind == 0:
            opened.append(i)
        elif kind == 1 and opened:
            expected[i, 1 + opened.pop()] = True
    x = torch.eye(SIZE)[kinds]
    assert not torch.equal(scorer(x) > 0, expected)
    scorer.rounding = 1.0
    assert torch.equal(scorer(x) > 0, expected)
    assert expected.sum() > 250


@pytest.mark.parametrize("batch", [(), (2, 3), (2, 0)])
def test_any_batch_dimensions(batch: tuple[int, ...]) -> None:
    scorer, x = make(), words(*batch, 4, SIZE).requires_grad_()
    flat = x.detach().reshape(-1, 4, SIZE).requires_grad_()
    scores, expected = scorer(x), scorer(flat)
    assert scores.shape == (*batch, 4, 5)
    torch.testing.assert_close(scores, expected.reshape(scores.shape), rtol=0, atol=1e-12)
    for ours, wanted in zip(
        gradients(scores, scorer, x), gradients(expected, scorer, flat), strict=True
    ):
        torch.testing.assert_close(ours, wanted.reshape(ours.shape), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(SIZE,), (2, 3, 5), (2, 0, SIZE)])
def test_a_wrong_shape_is_named(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\(\*batch, n, 3\)") as error:
        make()(torch.zeros(shape))
    assert str(shape) in str(error.value)


def test_rounding_is_checked_and_saved() -> None:
    scorer, other = make(rounding=0.25), make()
    other.load_state_dict(scorer.state_dict())
    assert other.rounding == 0.25
    assert "rounding 0.25" in repr(other)
    for value in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"rounding: expected a number from 0 to 1"):
            scorer.rounding = value


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_backward_pass_can_be_repeated_and_not_differentiated(dtype: torch.dtype) -> None:
    scorer, x = make().to(dtype), words(2, 3, SIZE).to(dtype).requires_grad_()
    scores = scorer(x).sum()
    first, second = (torch.autograd.grad(scores, x, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(first, second)
    with pytest.raises(RuntimeError, match="BetweenArcScorer is differentiable once"):
        torch.autograd.grad(scores, x, create_graph=True)


def test_a_large_hidden_layer_is_not_kept() -> None:
    """Tensors saved by autograd have the size of the input or of the scores."""
    scorer, x = make(100), words(1, 40, SIZE)
    held: list[int] = []
    pack = lambda tensor: held.append(tensor.numel()) or tensor  # noqa: E731
    with chunks_of(40 * 41 * 4 - 1), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        scorer(x)
    assert max(held) <= 41 * 100


def test_autocast_and_an_empty_batch() -> None:
    scorer = make().float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = scorer(words(2, 3, SIZE).float())
    assert scores.dtype == torch.bfloat16
    scores.sum().backward()
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in scorer.parameters())
    assert scorer(torch.zeros(0, 3, SIZE)).shape == (0, 3, 4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_of_half_precision_do_not_drift(dtype: torch.dtype) -> None:
    scorer, x = make(rounding=1.0), words(700, SIZE).to(dtype)
    half = scorer.to(dtype)(x)
    assert half.dtype == dtype
    torch.testing.assert_close(half.double(), scorer.double()(x.double()), rtol=0, atol=0.05)


@pytest.mark.full
# Raised by PyTorch about its own code.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_it_compiles_into_one_graph() -> None:
    scorer, x = make(rounding=0.5), words(2, 5, SIZE).requires_grad_()
    torch._dynamo.reset()
    compiled = torch.compile(scorer, fullgraph=True, backend="aot_eager")
    ours, expected = compiled(x), scorer(x)
    torch.testing.assert_close(ours, expected)
    torch.testing.assert_close(gradients(ours, scorer, x), gradients(expected, scorer, x))


def test_a_latent_tree_encoder_takes_it() -> None:
    torch.manual_seed(0)
    encoder = sp.nn.LatentTreeEncoder(make(), sp.nn.ChildSumTreeLSTM(SIZE, 4)).double()
    posterior, vectors = encoder(words(2, 5, SIZE), torch.tensor([5, 3]))
    posterior.expect(vectors).sum().backward()
    assert all(p.grad is not None for p in encoder.parameters())
