"""The chart TreeLSTM against a recursion over spans, and its distribution over trees."""

import weakref
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import sparsewood as sp
from sparsewood.nn import ChartTreeLSTM, chart
from sparsewood.nn.chart import Choice

CHOICES = ("soft", "straight-through", "gumbel")


def made(choice: Choice = "soft", temperature: float = 0.3, seed: int = 0) -> ChartTreeLSTM:
    torch.manual_seed(seed)
    return ChartTreeLSTM(3, 4, choice=choice, temperature=temperature).double()


def words(batch: int, n: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, n, 3, generator=generator, dtype=torch.float64)


def cell(model: ChartTreeLSTM, left: Any = None, right: Any = None, x: Any = None) -> Any:
    """The binary TreeLSTM over two states, or a word, gate by gate."""
    if x is None:
        gates = model.parts.weight.view(2, 20, 4)[0] @ left[0]
        gates = gates + model.parts.weight.view(2, 20, 4)[1] @ right[0] + model.input.bias
    else:
        gates = model.input.weight @ x + model.input.bias
    i, o, u, f_left, f_right = gates.split(4)
    c = i.sigmoid() * u.tanh()
    if x is None:
        c = c + (f_left + 1).sigmoid() * left[1] + (f_right + 1).sigmoid() * right[1]
    return o.sigmoid() * c.tanh(), c


def by_recursion(model: ChartTreeLSTM, x: Tensor, first: int, last: int) -> Any:
    """The state of the words `first` to `last`, by the formulas of the paper."""
    if first == last:
        return cell(model, x=x[first])
    candidates = [
        cell(model, by_recursion(model, x, first, k), by_recursion(model, x, k + 1, last))
        for k in range(first, last)
    ]
    w = model.direction
    cosines = torch.stack([h @ w / (h.norm() * w.norm()) for h, _ in candidates])
    s = (cosines / model.temperature).softmax(0)
    if model.choice != "soft":
        s = torch.nn.functional.one_hot(cosines.argmax(), len(s)).to(s)
    return tuple(
        sum(weight * one[part] for weight, one in zip(s, candidates, strict=True))
        for part in (0, 1)
    )


def by_tree(model: ChartTreeLSTM, x: Tensor, tree: Tensor, first: int, last: int) -> Any:
    """The state of a span of one binary tree (n, n)."""
    if first == last:
        return cell(model, x=x[first])
    (k,) = [k for k in range(first, last) if tree[first, k] and tree[k + 1, last]]
    left, right = by_tree(model, x, tree, first, k), by_tree(model, x, tree, k + 1, last)
    return cell(model, left, right)


def all_log_probs(posterior: sp.nn.ChartPosterior, b: int) -> tuple[Tensor, Tensor]:
    """Every tree of instance b, and its log-probability as a product of splits."""
    assert posterior.lengths is not None
    n = int(posterior.lengths[b])
    trees = sp.BinaryTrees().enumerate(n)

    def log_p(tree: Tensor, first: int, last: int) -> Tensor:
        if first == last:
            return torch.zeros((), dtype=torch.float64)
        (k,) = [k for k in range(first, last) if tree[first, k] and tree[k + 1, last]]
        here = posterior.splits[last - first - 1][b, k - first, first]
        return here + log_p(tree, first, k) + log_p(tree, k + 1, last)

    return trees, torch.stack([log_p(tree, 0, n - 1) for tree in trees])


@pytest.mark.parametrize("choice", CHOICES)
def test_vectors_are_those_of_the_recursion(choice):
    model = made(choice).eval()
    x, lengths = words(4, 6), torch.tensor([6, 1, 4, 2])
    vectors, _ = model(x, lengths)
    for b, n in enumerate(lengths.tolist()):
        torch.testing.assert_close(vectors[b], by_recursion(model, x[b], 0, n - 1)[0])


@pytest.mark.parametrize("choice", CHOICES)
def test_padding_changes_nothing(choice):
    model = made(choice).eval()
    x, lengths = words(3, 5), torch.tensor([5, 3, 1])
    together, posterior = model(x, lengths)
    noisy = x.clone()
    noisy[1, 3:] = noisy[2, 1:] = torch.nan
    torch.testing.assert_close(model(noisy, lengths)[0], together, rtol=0, atol=0)
    for b, n in enumerate(lengths.tolist()):
        alone, found = model(x[b : b + 1, :n])
        torch.testing.assert_close(alone[0], together[b])
        assert torch.equal(found.mode[0], posterior.mode[b, :n, :n])
        assert posterior.mode[b].sum() == 2 * n - 1


def test_gradients_agree_with_finite_differences():
    model, lengths = made(), torch.tensor([4, 2])
    names = [name for name, _ in model.named_parameters()]

    def run(x: Tensor, *values: Tensor) -> Tensor:
        given = dict(zip(names, values, strict=True))
        vectors, posterior = torch.func.functional_call(model, given, (x, lengths))
        return torch.cat([vectors.flatten(), posterior.entropy()])

    inputs = [words(2, 4), *(p.detach().clone() for p in model.parameters())]
    assert torch.autograd.gradcheck(run, [x.requires_grad_() for x in inputs], fast_mode=True)


@pytest.mark.parametrize("choice", CHOICES)
def test_what_is_read_in_groups_and_again_has_the_same_gradient(choice, monkeypatch):
    model, x, lengths = made(choice), words(6, 7), torch.tensor([5, 3, 7, 1, 2, 7])
    found = []
    for room in (2**29, 3000, 0):
        monkeypatch.setattr(chart, "_ROOM", room)
        torch.manual_seed(3)
        model.zero_grad()
        vectors, posterior = model(x, lengths)
        entropy = posterior.entropy()
        loss = vectors.square().sum() + (entropy.sum() if choice == "soft" else 0)
        loss.backward()
        grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
        assert len(grads) == 4
        assert all(grad.abs().sum() > 0 for grad in grads)
        found.append([vectors, entropy, posterior.mode, *grads])
    for kept, *again in zip(*found, strict=True):
        for other in again:
            torch.testing.assert_close(other, kept, rtol=0, atol=1e-12)


class Peak(TorchDispatchMode):
    """Measures the peak size of tensors created within the block."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self.alive = set[int]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, (tuple, list)) else [made]:
            if isinstance(tensor, Tensor):
                self._count(tensor.untyped_storage(), tensor.element_size())
        return made

    def _count(self, storage: torch.UntypedStorage, size: int) -> None:
        if storage._cdata not in self.alive:
            self.alive.add(storage._cdata)
            self._add(storage.nbytes() // size)
            weakref.finalize(storage, self._forget, storage._cdata, storage.nbytes() // size)

    def _add(self, count: int) -> None:
        self.now += count
        self.most = max(self.most, self.now)

    def _forget(self, storage: int, count: int) -> None:
        self.alive.discard(storage)
        self.now -= count


def test_a_step_holds_no_more_than_there_is_room_for(monkeypatch):
    model, n, room = ChartTreeLSTM(3, 16), 12, 500_000
    weights = sum(p.numel() for p in model.parameters())

    def most(batch: int) -> int:
        x, lengths = torch.randn(batch, n, 3), torch.arange(batch) % n + 1
        with Peak() as peak:
            model(x, lengths)[0].sum().backward()
        model.zero_grad()
        return peak.most

    everything = most(64)
    monkeypatch.setattr(chart, "_ROOM", room)
    small, large = most(16), most(64)
    assert everything > 7 * room
    assert small < room + 4 * weights
    # Besides the limit, h and c of all spans and the weights of splits are kept.
    assert large - small < 48 * (2 * 16 * n * (n + 1) // 2 + n**3)


@pytest.mark.parametrize(("choice", "temperature"), [("soft", 1e-5), ("straight-through", 0.3)])
def test_one_split_for_each_span_reads_one_tree(choice, temperature):
    model = made(choice, temperature)
    x, lengths = words(5, 6), torch.tensor([6, 5, 4, 3, 1])
    vectors, posterior = model(x, lengths)
    trees = posterior.likeliest()
    torch.testing.assert_close(trees.weights, torch.ones(5, dtype=torch.float64))
    for b, n in enumerate(lengths.tolist()):
        read, _ = by_tree(model, x[b], trees.structures[b], 0, n - 1)
        torch.testing.assert_close(vectors[b], read)


def test_probabilities_of_trees_are_products_of_splits():
    x, lengths = words(4, 6), torch.tensor([6, 4, 2, 1])
    _, posterior = made()(x, lengths)
    assert sp.BinaryTrees().contains(posterior.mode, (6, 6), lengths).all()
    for b, n in enumerate(lengths.tolist()):
        trees, log_p = all_log_probs(posterior, b)
        torch.testing.assert_close(log_p.exp().sum(), torch.ones(()).double())
        torch.testing.assert_close(posterior.entropy()[b], -(log_p.exp() @ log_p))
        best = int(log_p.argmax())
        assert torch.equal(posterior.mode[b, :n, :n], trees[best])
        torch.testing.assert_close(posterior.likeliest().weights[b], log_p[best].exp())
        one = posterior[b]
        for tree, log_probability in zip(trees, log_p, strict=True):
            table = torch.zeros(1, 6, 6, dtype=torch.int64)
            table[0, :n, :n] = tree
            torch.testing.assert_close(one.log_prob(table)[0], log_probability)


def test_gumbel_draws_trees_with_their_probabilities():
    """A z-test of the share of left-branching trees of three words."""
    model, draws = made("gumbel", 1.0).train(), 4000
    x = words(1, 3).expand(draws, 3, 3)
    torch.manual_seed(5)
    hard = model(x)[1].splits[1].exp()[:, 1, 0].mean()
    model.choice = "soft"
    share = model(x[:1])[1].splits[1].exp()[0, 1, 0]
    assert abs(hard - share) < 4 * (share * (1 - share) / draws).sqrt()


def test_the_posterior_mixes_with_others_and_shows_its_likeliest_tree():
    x = words(2, 3)
    vectors, posterior = made()(x)
    torch.testing.assert_close(posterior.expect(vectors), vectors)
    assert len(posterior.product(posterior)) == 2
    assert "╭" in repr(sp.draw.show(posterior.likeliest(), "a small wood".split()))
    assert repr(posterior) == (
        "ChartPosterior(BinaryTrees(labelled=False), 2 instances, parts of shape (3, 3))"
    )
    with pytest.raises(TypeError, match="not a list of trees"):
        posterior.sample()


@pytest.mark.parametrize("room", [2**29, 0])
def test_half_precision_keeps_states_in_float32(room, monkeypatch):
    monkeypatch.setattr(chart, "_ROOM", room)
    model = made().float()
    with torch.autocast("cpu", torch.bfloat16):
        vectors, posterior = model(words(2, 4).float())
        (half,) = torch.autograd.grad(vectors.sum(), model.direction)
    assert vectors.dtype == torch.float32
    torch.testing.assert_close(vectors, model(words(2, 4).float())[0], rtol=0.1, atol=0.05)
    assert posterior.mode.shape == (2, 4, 4)
    (full,) = torch.autograd.grad(model(words(2, 4).float())[0].sum(), model.direction)
    torch.testing.assert_close(half, full, rtol=0.1, atol=0.05)


def test_bad_input_is_refused():
    model = made()
    with pytest.raises(ValueError, match=r"floating \(\*batch, n, 3\)"):
        model(torch.zeros(2, 4, 5))
    with pytest.raises(ValueError, match=r"\(B, n, 3\), got shape \(4, 3\)"):
        model(torch.zeros(4, 3).double())
    with pytest.raises(ValueError, match="lengths"):
        model(words(2, 4), torch.tensor([5, 1]))
    with pytest.raises(ValueError, match="choice: expected one of soft"):
        ChartTreeLSTM(3, 4, choice="hard")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="temperature must be positive"):
        ChartTreeLSTM(3, 4, temperature=0)
    with pytest.raises(ValueError, match=r"log_prob: expected \(2, 4, 4\)"):
        model(words(2, 4))[1].log_prob(torch.zeros(2, 3, 3, dtype=torch.int64))
