"""SparseMAP, its derivatives and the k best by kernels, compared with the CPU."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import sparsewood as sp
from sparsewood._internal import cuda
from sparsewood.inference import _kernels
from sparsewood.inference.kbest import KBest
from sparsewood.structures import _kernels as families
from sparsewood.testing import draw_scores
from tests.families import FAMILIES, Family, batch_of
from tests.full import some_quick

KBEST = ("trees", "segments", "subset")  # also compiled for the CPU
TREES = FAMILIES["trees"]


def on_host(call: Callable[[], Any]) -> Any:
    """The result of a call without kernels."""

    def nothing(program: cuda.Program) -> Any:
        return None

    with cuda.emulate(nothing):
        return call()


def pick(name: str, device: torch.device, emulated: bool) -> Family:
    if device.type == "cpu" and not emulated:
        pytest.skip("compiled on GPUs alone")
    return FAMILIES[name]


def same_error(device: torch.device, call: Callable[[torch.device], object]) -> str:
    """The error message of a call on the device, checked to equal that on the host."""
    with pytest.raises(ValueError, match=r"instance|temperature") as expected:
        on_host(lambda: call(torch.device("cpu")))
    with pytest.raises(ValueError, match=re.escape(str(expected.value))):
        call(device)
    return str(expected.value)


def assert_same(
    found: sp.SparsePosterior, expected: sp.SparsePosterior, unique: slice, scores: Tensor
) -> None:
    """Equal results, with equal structures in instances whose support is unique."""
    close = {"rtol": 0, "atol": 1e-12}
    penalised = expected.structure.penalised(scores)
    u, v = found.marginals.cpu(), expected.marginals
    if penalised is not None:
        u, v = u * penalised, v * penalised
    large = scores.nan_to_num(0, 0, 0).abs().flatten(1).amax(1).clamp(min=1)
    torch.testing.assert_close(u, v, **close)
    gaps = found.gap.cpu() / large, expected.gap / large
    torch.testing.assert_close(*gaps, **close)
    assert torch.equal(found.status.cpu(), expected.status)
    assert torch.equal(found.sizes.cpu()[unique], expected.sizes[unique])
    (ours, weights), (theirs, others) = (in_order(post, unique) for post in (found, expected))
    assert torch.equal(ours, theirs)
    torch.testing.assert_close(weights, others, **close)


def in_order(post: sp.SparsePosterior, unique: slice) -> tuple[Tensor, Tensor]:
    """The structures of some instances, (T, 1 + *), and their weights, in a fixed order.

    The host starts from other structures if it has a closed form.
    """
    count = int(post.sizes[unique].sum())
    rows = torch.cat([post.instance[:, None], post.structures.reshape(len(post.weights), -1)], 1)
    rows, order = torch.unique(rows[:count].cpu(), dim=0, return_inverse=True)
    weights = torch.zeros(len(rows), dtype=post.weights.dtype)
    return rows, weights.index_copy_(0, order, post.weights[:count].cpu())


@pytest.mark.parametrize("name", some_quick(FAMILIES, "trees", "chain"))
def test_solves_what_the_host_solves(name: str, device: torch.device) -> None:
    family = pick(name, device, FAMILIES[name].emulated)
    scores, lengths = batch_of(family)
    temperature = torch.linspace(0.5, 2, len(scores), dtype=torch.float64)

    def call(device: torch.device) -> sp.SparsePosterior:
        given = scores.to(device), family.structure
        return sp.sparsemap(*given, lengths=lengths.to(device), temperature=temperature.to(device))

    expected = on_host(lambda: call(torch.device("cpu")))
    # Sets of items have many supports, and the host starts from another one.
    unique = slice(0 if name in ("subset", "hypercube") else 4)
    assert_same(call(device), expected, unique, scores)


@pytest.mark.parametrize("limits", [(3, None), (8, None), (None, 4)])
def test_limits(limits: tuple[int | None, int | None], device: torch.device) -> None:
    scores = torch.randn(4, 7, 8, generator=torch.Generator().manual_seed(1))

    def call(device: torch.device) -> sp.SparsePosterior:
        return sp.sparsemap(
            scores.to(device), TREES.structure, max_active=limits[0], max_iter=limits[1]
        )

    found, expected = call(device), on_host(lambda: call(torch.device("cpu")))
    assert found.weights.dtype == torch.float32
    assert torch.equal(found.structures.cpu(), expected.structures)
    assert torch.equal(found.status.cpu(), expected.status)
    assert torch.equal(found.calls.cpu(), expected.calls)
    torch.testing.assert_close(found.marginals.cpu(), expected.marginals)


def test_the_same_bits_in_any_batch_and_padding(device: torch.device) -> None:
    scores, lengths = batch_of(TREES)
    scores, lengths = scores.to(device), lengths.to(device)
    whole = sp.sparsemap(scores, TREES.structure, lengths=lengths)
    wider = torch.nn.functional.pad(scores, (0, 2, 0, 2), value=torch.nan)
    for b, weights in enumerate(whole.weights.split(whole.sizes.tolist())):
        alone = sp.sparsemap(wider[b : b + 1], TREES.structure, lengths=lengths[b : b + 1])
        assert torch.equal(alone.weights, weights)
        assert torch.equal(alone.marginals[0, :5, :6], whole.marginals[b])


class SmallRooms(dict[Any, int]):
    """An initial capacity so small that few instances are solved with it."""

    def get(self, key: Any, default: Any = None) -> Any:
        return super().get(key, 4)


@pytest.mark.parametrize("memory", [families.MEMORY, 1])
def test_instances_that_need_more_room_go_on(
    memory: int, device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, lengths = batch_of(TREES)
    expected = on_host(lambda: sp.sparsemap(scores, TREES.structure, lengths=lengths))
    monkeypatch.setattr(_kernels, "_rooms", SmallRooms())
    monkeypatch.setattr(families, "MEMORY", memory)  # little memory: one after the other
    found = sp.sparsemap(scores.to(device), TREES.structure, lengths=lengths.to(device))
    assert_same(found, expected, slice(4), scores)
    assert max(_kernels._rooms.values()) > 8


@pytest.mark.parametrize("name", ["trees", "chain"])
def test_derivatives(name: str, device: torch.device) -> None:
    family = FAMILIES[name]
    scores = batch_of(family)[0][:1].nan_to_num(0).to(device).requires_grad_()
    temperature = torch.tensor([1.3], dtype=torch.float64, device=device, requires_grad=True)

    def call(scores: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor]:
        post = sp.sparsemap(scores, family.structure, temperature=temperature)
        return post.weights, post.marginals

    assert torch.autograd.gradcheck(call, (scores, temperature), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, (scores, temperature))


@pytest.mark.parametrize("field", ["weights", "marginals"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_gradients_of_a_batch(field: str, dtype: torch.dtype, device: torch.device) -> None:
    scores, lengths = (table[:4] for table in batch_of(TREES))
    scores = scores.to(dtype)

    def call(device: torch.device) -> Tensor:
        given = scores.to(device).requires_grad_()
        temperature = {"lengths": lengths.to(device), "temperature": 0.8}
        found = getattr(sp.sparsemap(given, TREES.structure, **temperature), field)
        toward = torch.linspace(-1, 1, found.numel(), dtype=dtype).reshape(found.shape)
        return torch.autograd.grad((found * toward.to(device)).sum(), given)[0].cpu()

    found, expected = call(device), on_host(lambda: call(torch.device("cpu")))
    assert found.dtype == dtype
    atol = 1e-12 if dtype == torch.float64 else 4 * torch.finfo(dtype).eps
    torch.testing.assert_close(found, expected, rtol=0, atol=atol)


def test_a_posterior_and_a_gradient_of_another(device: torch.device) -> None:
    post = sp.sparsemap(torch.zeros(2, 3, 4, dtype=torch.float64, device=device), TREES.structure)
    used = torch.zeros(len(post.weights), 3, dtype=torch.int64, device=device)
    factor = torch.ones(9, dtype=torch.float64, device=device)
    with pytest.raises(ValueError, match="the gradient does not match the posterior"):
        _kernels.jacobian(used, post.sizes, factor, post.weights[1:], post.marginals.flatten(1))


@pytest.mark.parametrize("name", some_quick(FAMILIES, "trees"))
def test_the_k_best(name: str, device: torch.device) -> None:
    family = pick(name, device, name in KBEST)
    scores, lengths = batch_of(family)

    def call(device: torch.device) -> KBest:
        return sp.kbest(scores.to(device), family.structure, 9, lengths=lengths.to(device))

    found, expected = call(device), on_host(lambda: call(torch.device("cpu")))
    torch.testing.assert_close(found.scores.cpu(), expected.scores, rtol=1e-14, atol=1e-12)
    unique = slice(0, 4)  # ties have another order
    assert torch.equal(found.structures.cpu()[unique], expected.structures[unique])
    assert torch.equal(found.structures.cpu()[:, 0], expected.structures[:, 0])


def test_the_k_best_split_at_each_slot_after_the_change(device: torch.device) -> None:
    """Pieces are distinguished by their first slots; the rest are split for the next one."""
    scores = draw_scores("normal", 6, (4, 5), seed=0).to(device)
    best = sp.kbest(scores, TREES.structure, 4).structures.cpu()
    same = best[:, :, None] == best[:, None]  # (B, k, k, words)
    shared = same.cumprod(-1).sum(-1).tril(-1).amax(-1)
    with sp.count_calls() as calls:
        sp.kbest(scores, TREES.structure, 4)
    assert calls.map == int((1 + (4 - shared[:, :-1]).sum(-1)).sum())


BAD = {
    "NaN": torch.nan,
    "infinite": torch.inf,
    "too large": 1e250,
    "no structure": -torch.inf,
}


@pytest.mark.parametrize("what", BAD)
def test_errors_name_the_first_instance_that_is_wrong(what: str, device: torch.device) -> None:
    scores = torch.zeros(6, 5, 6, dtype=torch.float64)
    scores[3, 2], scores[5, 0] = BAD[what], torch.nan
    for call in (
        lambda device: sp.sparsemap(scores.to(device), TREES.structure),
        lambda device: sp.sparsemap(scores.to(device).unflatten(0, (2, 3)), TREES.structure),
        lambda device: sp.kbest(scores.to(device), TREES.structure, 2),
    ):
        message = same_error(device, call)
        assert "3" in message or "(1, 0)" in message


def test_a_temperature_that_is_wrong(device: torch.device) -> None:
    temperature = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64)
    scores = torch.full((3, 5, 6), torch.nan)

    def call(device: torch.device) -> object:
        return sp.sparsemap(scores.to(device), TREES.structure, temperature=temperature.to(device))

    assert same_error(device, call).startswith("temperature[1] must be positive")


needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


@needs_gpu
def test_one_synchronisation() -> None:
    scores = torch.randn(16, 8, 9, device="cuda")
    for call in (
        lambda: sp.sparsemap(scores, TREES.structure, max_active=5),
        lambda: sp.map(scores, TREES.structure),
        lambda: sp.kbest(scores, TREES.structure, 3),
    ):
        call()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")  # including warnings about the mode itself
            torch.cuda.set_sync_debug_mode("warn")
            try:
                call()
            finally:
                torch.cuda.set_sync_debug_mode("default")
        assert len([w for w in seen if "called a synchroniz" in str(w.message)]) == 1


@needs_gpu
def test_a_graph_that_is_captured_says_why_not() -> None:
    scores = torch.randn(2, 4, 5, device="cuda")
    sp.sparsemap(scores, TREES.structure)
    graph = torch.cuda.graph(torch.cuda.CUDAGraph())
    with (
        pytest.raises(
            RuntimeError, match=r"sparsemap cannot be captured.*call it outside the capture"
        ),
        graph,
    ):
        sp.sparsemap(scores, TREES.structure)
