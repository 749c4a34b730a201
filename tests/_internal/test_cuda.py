"""On a GPU: no needless synchronisation, streams, graphs, half precision, two processes."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import pytest
import torch
from torch import Tensor, distributed, nn
from torch.multiprocessing.spawn import spawn
from torch.profiler import ProfilerActivity, profile

import sparsewood as sp
from sparsewood._internal.host import move
from sparsewood.lab.data.batches import Batch, PaddedSentences
from sparsewood.lab.tasks.metrics import Accuracy, Output, TreeStatistics

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
    pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype"),
    pytest.mark.filterwarnings("ignore:.*Profiler clears events"),
]

TREES = sp.DependencyTrees()
SIZE, WORDS = 16, 50


class Classifier(nn.Module):
    """Two labels from latent trees over small vectors."""

    def __init__(self, max_active: int | None = None) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = sp.nn.SentenceEncoder(WORDS, SIZE, SIZE)
        composer = sp.nn.ChildSumTreeLSTM(SIZE, SIZE)
        self.trees = sp.nn.LatentTreeEncoder(
            sp.nn.MLPArcScorer(SIZE), composer, estimator=sp.SparseMAP(max_active=max_active)
        )
        self.output = nn.Linear(SIZE, 2)

    def forward(self, tokens: Tensor, lengths: Tensor, labels: Tensor) -> Tensor:
        posterior, roots = self.trees(self.encoder(tokens, lengths), lengths)
        p = posterior.expect(self.output(roots).float().softmax(-1))
        return nn.functional.nll_loss(p.log(), labels)


def draw(batch: int = 8, n: int = 9, seed: int = 0) -> list[Tensor]:
    """Tokens, lengths, and labels: whether the first token is in the first half of all."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(2, n + 1, (batch,), generator=generator)
    lengths[0] = n
    tokens = torch.randint(WORDS, (batch, n), generator=generator)
    return [tokens, lengths, (tokens[:, 0] < WORDS // 2).long()]


def random_scores(batch: int = 8, n: int = 9) -> Tensor:
    generator = torch.Generator().manual_seed(n)
    return torch.randn(batch, n, n + 1, dtype=torch.float64, generator=generator).cuda()


@contextmanager
def without_waiting() -> Iterator[None]:
    """Within the block, the host must not synchronise with the device."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def copies(call: Callable[[], object]) -> list[str]:
    """The copies between host and device in a call, which should be warmed up."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        call()
        torch.cuda.synchronize()
    names = [event.name for event in profiler.events() or ()]
    return [name for name in names if name.startswith(("Memcpy HtoD", "Memcpy DtoH"))]


def test_an_encoder_and_a_scorer_wait_for_nothing() -> None:
    model = Classifier().cuda()
    scorer = model.trees.scorer
    assert scorer is not None
    model.encoder(*move(draw()[:2], "cuda"))  # warm-up
    with without_waiting():
        tokens, lengths, _ = move(draw(), "cuda")
        scorer(model.encoder(tokens, lengths)).sum().backward()


def test_a_latent_step_makes_three_copies() -> None:
    model, batch = Classifier().cuda(), draw()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        model(*move(batch, "cuda")).backward()
        optimizer.step()

    for _ in range(3):
        step()
    found = copies(step)
    assert len(found) <= 3, found


def test_metrics_wait_until_they_are_asked() -> None:
    (tokens, lengths, labels), n = draw(), 9
    heads = torch.where(torch.arange(n) < lengths[:, None], 0, -1)
    batch = Batch((PaddedSentences(tokens, lengths, heads),), labels, torch.arange(len(labels)))
    answers, metrics = [], [Accuracy(), TreeStatistics()]
    for device in ("cpu", "cuda"):
        here = batch.to(device)
        scores = random_scores().to(device)
        post = sp.sparsemap(scores, TREES, lengths=here.sides[0].lengths)
        p = scores[:, 0, :2].softmax(-1)
        output = Output(p.log()[:, 0], p, (post,))
        metrics = [Accuracy(), TreeStatistics()]
        for metric in metrics:
            metric.add(output, here)  # warm-up
        if device == "cuda":
            with without_waiting():
                for metric in metrics:
                    metric.add(output, here)
        else:
            for metric in metrics:
                metric.add(output, here)
        answers.append([metric.values() for metric in metrics])
    for ours, expected in zip(answers[1], answers[0], strict=True):
        assert ours == pytest.approx(expected)


def test_answers_are_the_same_each_time_and_in_any_padding() -> None:
    scores = random_scores(32, 12)
    first, again = (sp.sparsemap(scores, TREES) for _ in range(2))
    padded = scores.new_full((33, 15, 16), torch.nan)
    padded[1:, :12, :13] = scores
    padded[0] = random_scores(1, 15)
    lengths = torch.tensor([15, *[12] * 32], device="cuda")
    wide = sp.sparsemap(padded, TREES, lengths=lengths)
    for other in (again, sp.sparsemap(scores.flip(0), TREES)[31]):
        kept = slice(None) if len(other) == 32 else slice(int(first.sizes[0]))
        assert torch.equal(first.weights[kept], other.weights)
        assert torch.equal(first.structures[kept], other.structures)
    skipped = int(wide.sizes[0])
    assert torch.equal(first.weights, wide.weights[skipped:])
    assert torch.equal(first.structures, wide.structures[skipped:, :12])
    assert torch.equal(first.marginals, wide.marginals[1:, :12, :13])
    assert torch.equal(first.gap, wide.gap[1:])


@pytest.mark.parametrize(
    "options",
    [{"weights": "canonical"}, {"max_support": 4}, {"max_support": 4, "weights": "canonical"}],
)
def test_canonical_weights_and_few_structures_are_those_of_the_cpu(options: dict[str, Any]) -> None:
    """The CPU finds them."""
    scores, value = random_scores(), torch.arange(9.0, dtype=torch.float64)
    found = []
    for device in ("cpu", "cuda"):
        x = scores.to(device).requires_grad_()
        post = sp.sparsemap(x, TREES, **options)
        assert post.weights.device.type == post.temperature.device.type == device
        assert post.canonical.all() or "weights" not in options
        post.expect(post.structures.double() @ value.to(device).square()).sum().backward()
        found.append([post.structures, post.weights, post.temperature, x.grad])
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(theirs.cpu(), mine, rtol=1e-12, atol=1e-12)


def test_calls_keep_to_the_current_stream() -> None:
    scores = random_scores(16, 10)
    leaf = scores.clone().requires_grad_()
    expected = sp.sparsemap(leaf, TREES)
    slope = torch.autograd.grad(expected.marginals.square().sum(), leaf)[0]
    late, stream = torch.full_like(scores, torch.nan), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)  # milliseconds during which the other stream would read NaN
        late.copy_(scores)
        leaf = late.requires_grad_()
        post = sp.sparsemap(leaf, TREES)
        forest = post.forest()
        gradient = torch.autograd.grad(post.marginals.square().sum(), leaf)[0]
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(post.marginals, expected.marginals)
    assert torch.equal(gradient, slope)
    assert forest.num_nodes == expected.forest().num_nodes


def test_an_encoder_can_be_captured_and_sparsemap_says_why_not() -> None:
    model = Classifier().cuda().eval()
    tokens, lengths, _ = move(draw(), "cuda")
    scorer = model.trees.scorer
    assert scorer is not None
    with torch.no_grad():
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            expected = scorer(model.encoder(tokens, lengths))
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            scores = scorer(model.encoder(tokens, lengths))
        graph.replay()
        torch.testing.assert_close(scores, expected)
        with (
            pytest.raises(RuntimeError, match="sparsemap.*captured"),
            torch.cuda.graph(torch.cuda.CUDAGraph()),
        ):
            sp.sparsemap(scores, TREES)
    assert sp.sparsemap(scores, TREES).converged.all()  # the device still works


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_learns(dtype: torch.dtype) -> None:
    model = Classifier(max_active=5).cuda()
    optimizer = torch.optim.Adam(model.parameters(), 0.02, fused=True)
    scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)
    batch, losses = move(draw(32), "cuda"), []
    for _ in range(40):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype):
            loss = model(*batch)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    assert losses[0].isfinite()
    assert losses[-1] < 0.5 * losses[0]
    post, _ = model.trees(model.encoder(*batch[:2]).to(dtype).float(), batch[1])
    assert post.weights.dtype == torch.float32


def _join(rank: int, port: int, found: Any) -> None:
    """One of two processes that share a GPU: the gradients of half of the batch, averaged."""
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.cuda.set_device(0)
    try:
        distributed.init_process_group("nccl", rank=rank, world_size=2)
        model = nn.parallel.DistributedDataParallel(Classifier().cuda(), device_ids=[0])
        model(*move([x[rank::2].contiguous() for x in draw()], "cuda")).backward()
        slopes = [p.grad.cpu() for p in model.parameters() if p.grad is not None]
        if rank == 0:
            found["slopes"] = slopes
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {error}"
    finally:
        if distributed.is_initialized():
            distributed.destroy_process_group()


def test_two_processes_share_a_gpu_where_nccl_lets_them() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with get_context("spawn").Manager() as manager:
        found = manager.dict()
        spawn(_join, (port, found), nprocs=2)
        error, slopes = found.get("error"), found.get("slopes")
    if error is not None and "Duplicate GPU" in error:
        pytest.skip("NCCL refuses two processes on one GPU (duplicate GPU detected)")
    assert error is None
    model = Classifier().cuda()
    model(*move(draw(), "cuda")).backward()
    assert slopes is not None
    expected = [p.grad.cpu() for p in model.parameters() if p.grad is not None]
    torch.testing.assert_close(slopes, expected, rtol=1e-3, atol=1e-5)
