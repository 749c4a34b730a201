"""`sparsewood bench`: how fast this machine is, on made-up sentences as long as those of SST."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

import sparsewood as sp
from sparsewood.lab.cli._options import Group, parse
from sparsewood.lab.cli._runs import at_least
from sparsewood.lab.data.batches import Batch, Padded
from sparsewood.lab.tasks import ModelConfig, SentenceClassifier, TreeModel
from sparsewood.lab.train.distributed import choose_device
from sparsewood.lab.train.paper_figures import BASELINE, LATENT, ROWS
from sparsewood.lab.train.rows import short

_LENGTHS = (19.0, 9.0, 2, 52)  # mean, deviation, least and most words of an SST sentence
_VOCABULARY = 2000
_SUPPORT = 4.0  # trees that a sentence keeps on average, at most


@dataclass(frozen=True)
class BenchOptions:
    """What is timed.

    Attributes:
        batch: sentences in a step.
        hidden: size of the word and tree vectors.
        repeats: rounds that the best is taken of.
        device: "auto" takes a GPU where there is one.
        threads: on the CPU; as many as PyTorch likes by default.
    """

    batch: int = 16
    hidden: int = 300
    repeats: int = 3
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int | None = None


def main(args: list[str]) -> None:
    """Prints the speed of the solver and of training steps."""
    (options,) = parse(
        "sparsewood bench",
        args,
        [Group("options", BenchOptions)],
        "Time the solver and training steps on made-up sentences as long as those of SST. "
        "Takes about twenty seconds.",
        "sparsewood bench --batch 64",
    )
    at_least(1, batch=options.batch, repeats=options.repeats, threads=options.threads)
    console = Console(highlight=False)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    device = choose_device(options.device)
    with console.status("timing"):
        solver = _time_solver(options)
        steps = _time_steps(options, device)
    table = Table("", "sentences\nper second", "time\nover flat", box=SIMPLE_HEAD)
    for column in table.columns[1:]:
        column.justify = "right"
    table.add_row("SparseMAP with gradient, alone", f"{solver:,.0f}", "")
    for name, seconds in steps.items():
        speed, ratio = options.batch / seconds, seconds / steps[BASELINE]
        table.add_row(f"training step, {short(name)}", f"{speed:,.0f}", f"{ratio:.2f}")
    console.print(table)
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    console.print(
        f"{where}, {torch.get_num_threads()} threads; batch {options.batch}, "
        f"hidden size {options.hidden}."
    )
    console.print(
        f"{short(LATENT)} / {BASELINE} = {steps[LATENT] / steps[BASELINE]:.2f} (the paper's "
        "implementation: 6)"
    )


def _batches(options: BenchOptions, count: int) -> list[Batch]:
    """Random words, labels and trees; lengths distributed like those of SST."""
    generator = torch.Generator().manual_seed(0)
    mean, deviation, least, most = _LENGTHS
    drawn = torch.randn(count * options.batch, generator=generator) * deviation + mean
    batches = []
    for lengths in drawn.round().clamp(least, most).long().split(options.batch):
        n = int(lengths.max())
        inside = torch.arange(n) < lengths[:, None]
        words = torch.randint(1, _VOCABULARY, (len(lengths), n), generator=generator)
        scores = torch.randn(len(lengths), n, n + 1, generator=generator)
        heads = sp.DependencyTrees(single_root=True).argmax(scores, lengths)
        targets = torch.randint(2, (len(lengths),), generator=generator)
        side = Padded(words.where(inside, torch.tensor(0)), lengths, heads)
        batches.append(Batch((side,), targets, torch.arange(len(lengths))))
    return batches


def _time_solver(options: BenchOptions, count: int = 512) -> float:
    """Sentences per second of SparseMAP with gradient on random arc scores."""
    generator = torch.Generator().manual_seed(0)
    mean, deviation, least, most = _LENGTHS
    lengths = (torch.randn(count, generator=generator) * deviation + mean).round()
    lengths = lengths.clamp(least, most).long()
    scores = torch.randn(count, most, most + 1, generator=generator).requires_grad_()

    def solve() -> None:
        post = sp.sparsemap(scores, sp.DependencyTrees(), lengths=lengths)
        torch.autograd.grad((post.weights**2).sum(), scores)

    return count / _best({"solve": solve}, options.repeats)["solve"]


def _time_steps(options: BenchOptions, device: torch.device) -> dict[str, float]:
    """Seconds of a training step with each estimator of the paper."""
    batches = [batch.to(device) for batch in _batches(options, 4)]
    words = ["<unk>", *map(str, range(1, _VOCABULARY))]
    rounds: dict[str, Callable[[], None]] = {}
    for estimator in ROWS:
        torch.manual_seed(0)
        config = ModelConfig(
            estimator, hidden=options.hidden, embedding=options.hidden, dropout=0.0
        )
        model = SentenceClassifier(config, words, ["0", "1"])
        model.set_vectors(torch.randn(_VOCABULARY, options.hidden) * 0.4)
        model.to(device)
        if estimator == LATENT:
            _sharpen(model, batches)
        rounds[estimator] = _stepper(model, batches, device)
    best = _best(rounds, options.repeats)
    return {name: seconds / len(batches) for name, seconds in best.items()}


def _sharpen(model: TreeModel, batches: list[Batch]) -> None:
    """Lower the temperature until a sentence keeps as few trees as with trained models."""
    temperature = 2.0**-7
    model.temperature = temperature
    while _support(model, batches) > _SUPPORT:
        temperature /= 2
        model.temperature = temperature


def _support(model: TreeModel, batches: list[Batch]) -> float:
    with torch.inference_mode():
        sizes = torch.cat([model.read(batch.sides[0])[0].sizes for batch in batches])
    return float(sizes.double().mean())


def _stepper(model: TreeModel, batches: list[Batch], device: torch.device) -> Callable[[], None]:
    """A round of steps over all batches. The rate is 0: the same trees every time."""
    learning: list[nn.Parameter] = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(learning, lr=0.0)

    def steps() -> None:
        for batch in batches:
            optimizer.zero_grad()
            loss: Tensor | None = model(batch).loss
            assert loss is not None
            loss.mean().backward()
            optimizer.step()
        if device.type == "cuda":
            torch.cuda.synchronize()

    return steps


def _best(calls: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """The shortest of `repeats` times of each call, after one to warm up.

    The calls take turns, so that a busy machine treats them alike.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats + 1):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: min(taken[1:]) for name, taken in times.items()}
