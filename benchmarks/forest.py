"""Cost of a training step over latent trees, compared with one tree, without sharing, and a peer.

    python benchmarks/forest.py [--data FOLDER] [--device cuda --batches 16 64 256] [--quick]

Every time is the best of the repeats on each batch, averaged over the batches. The run fails if
timed results are wrong, never because of a time.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import peer_treelstm
import sentences
import torch
from rich.console import Console
from rich.table import Table
from sentences import Batch
from step import HIDDEN, Classifier, Item, Trainer, best_seconds, train_parser
from timing import target
from torch import Tensor
from torch.nn import Module

import sparsewood as sp
from sparsewood.estimators import parse

ESTIMATORS = ("left-to-right", "flat", "given", "sparsemap")
SUPPORTS = (2, 5, 10, 20)
TARGET_FLAT = {5: 2.5}  # latent over flat, by mean support
TARGET_SHARING = {10: 1.8}  # without sharing over with, by mean support
TARGET_OVERHEAD = 0.25  # SparseMAP and the forest, of a step
TARGET_SENTENCE = 1.5  # milliseconds per sentence at most five trees
TARGET_PEER = 4.0
DYNET: dict[str, float] = {
    "left-to-right": 4.4,
    "flat": 2.7,
    "sparsemap": 11.0,
}  # ms, the paper's code
MAX_ACTIVE = 5
PEER_TREES, PEER_NODES = 80, 20
TOL = 1e-4  # float32, sums in another order


class Run:
    """Settings shared by all tables: sentences, device and repeats; and the failures found."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.corpus = sentences.load(options.data)
        self.device = torch.device(options.device)
        self.supports: list[int] = options.supports
        self.repeats: int = options.repeats
        self.count: int = options.count
        self.console = Console(width=None if sys.stdout.isatty() else 150)
        self.wrong: list[str] = []
        parser = Classifier(self.corpus.vectors, sp.SparseMAP())
        train_parser(parser, self.corpus.batches(16, options.parser_steps))
        self.parser = parser.state_dict()

    def trainer(self, name: str) -> Trainer:
        """A trainer of a new classifier, whose scorer, if any, is pretrained on parses."""
        model = Classifier(self.corpus.vectors, parse(name))
        if model.trees.scorer is not None:
            model.load_state_dict(self.parser)
        return Trainer(model, self.device)

    def batches(self, size: int) -> list[Batch]:
        return self.corpus.batches(size, self.count)

    def check(self, what: str, ours: Iterable[Tensor], expected: Iterable[Tensor]) -> None:
        pairs = zip(ours, expected, strict=True)
        if not all((a - b).abs().max() <= TOL * b.abs().max().clamp(min=1) for a, b in pairs):
            self.wrong.append(what)

    def time(
        self, calls: Mapping[str, Callable[[Item], object]], items: list[Item]
    ) -> dict[str, float]:
        """Milliseconds of each call."""
        found = best_seconds(calls, items, self.repeats, self.device)
        return {name: 1e3 * seconds for name, seconds in found.items()}


def mean_length(batches: list[Batch]) -> float:
    return float(torch.cat([batch.lengths for batch in batches]).double().mean())


def mean_support(found: list[sp.Posterior]) -> float:
    return float(torch.cat([posterior.sizes for posterior in found]).double().mean())


@torch.no_grad()
def posteriors(trainer: Trainer, batches: list[Batch]) -> list[sp.Posterior]:
    """The classifier's posterior for each batch."""
    model, found = trainer.model, []
    assert model.trees.scorer is not None
    for batch in (batch.to(trainer.device) for batch in batches):
        x = model.encoder(batch.tokens, batch.lengths)
        found.append(
            model.trees.estimator(model.trees.scorer(x), model.trees.structure, batch.lengths)
        )
    return found


def find_temperature(trainer: Trainer, batches: list[Batch], support: float) -> float:
    """Find the temperature with about this mean support, by bisection of its logarithm."""
    low, high, temperature = math.log(1e-4), math.log(1e2), 1.0
    for _ in range(20):
        temperature = math.exp((low + high) / 2)
        trainer.model.trees.estimator = sp.SparseMAP(temperature=temperature)
        found = mean_support(posteriors(trainer, batches))
        if abs(found - support) < 0.02 * support:
            break
        low, high = (
            (math.log(temperature), high) if found < support else (low, math.log(temperature))
        )
    return temperature


def steps(run: Run, size: int) -> dict[int, float]:
    """Training steps with each estimator; returns the temperature that gives each support."""
    batches = run.batches(size)
    trainers = {name: run.trainer(name) for name in ESTIMATORS}
    latent = trainers["sparsemap"]
    table = Table(
        "support", "temperature", "sharing", *(f"{name} ms" for name in trainers), "latent / flat",
        "TreeLSTM ms", "unshared ms", "unshared / shared", "ordered ms",
        title=f"A training step on {run.device}, batch {size}: {run.corpus.source}, "
        f"mean length {mean_length(batches):.1f}",
        caption="TreeLSTM: the forest, forward and backward; unshared: a node for each word of "
        "each tree; ordered: the forest by the OrderedComposer",
    )  # fmt: skip
    temperatures, reader = {}, sp.nn.OrderedComposer(HIDDEN, HIDDEN).to(run.device)
    for support in run.supports:
        temperatures[support] = find_temperature(latent, batches, support)
        found = posteriors(latent, batches)
        forests = [posterior.forest() for posterior in found]
        sharing = sum(f.num_tree_nodes for f in forests) / sum(f.num_nodes for f in forests)
        times = run.time({name: t.step for name, t in trainers.items()}, batches)
        ratio, goal = times["sparsemap"] / times["flat"], TARGET_FLAT.get(support)
        shared, unshared = without_sharing(run, latent.model.trees.composer, found)
        ordered, _ = without_sharing(run, reader, found)
        gain, gain_goal = unshared / shared, TARGET_SHARING.get(support)
        table.add_row(
            f"{mean_support(found):.1f}", f"{temperatures[support]:.3g}", f"{sharing:.2f}",
            *(f"{milliseconds:.1f}" for milliseconds in times.values()),
            target(ratio, goal, goal is not None and ratio <= goal),
            f"{shared:.1f}", f"{unshared:.1f}",
            target(gain, gain_goal, gain_goal is not None and gain >= gain_goal), f"{ordered:.1f}",
        )  # fmt: skip
    run.console.print(table)
    return temperatures


def without_sharing(run: Run, composer: Module, found: list[sp.Posterior]) -> tuple[float, float]:
    """Milliseconds of a composer over these trees, with and without shared subtrees.

    Without sharing, each tree is its own sentence; levels are still batched.
    """

    def whole(posterior: sp.Posterior, shared: bool) -> tuple[Tensor, Tensor]:
        assert posterior.lengths is not None
        batch, n = len(posterior), posterior.structures.shape[1]
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(batch, n, HIDDEN, generator=generator).to(run.device).requires_grad_()
        if shared:
            roots = composer(x, posterior.forest())
        else:
            own = torch.arange(len(posterior.structures), device=run.device)
            lengths = posterior.lengths[posterior.instance]
            forest = sp.Forest.from_heads(posterior.structures, lengths, own)
            roots = composer(x[posterior.instance], forest)
        roots.backward(torch.ones_like(roots))
        assert x.grad is not None
        return roots.detach(), x.grad

    for posterior in found:
        run.check("shared against unshared", whole(posterior, True), whole(posterior, False))
    calls = {"shared": partial(whole, shared=True), "unshared": partial(whole, shared=False)}
    times = run.time(calls, found)
    return times["shared"], times["unshared"]


def profile(run: Run, size: int, temperature: float) -> None:
    """The time of each stage of a latent step."""
    batches = run.batches(size)
    trainer = run.trainer("sparsemap")
    trainer.model.trees.estimator = sp.SparseMAP(temperature=temperature)
    trainer.step(batches[0])
    whole = trainer.gradients()
    trainer.stages(batches[0])
    run.check("a step in stages", trainer.gradients(), whole)

    best: dict[str, float] = {}
    for batch in batches:
        turns = [trainer.stages(batch) for _ in range(run.repeats)]
        for stage in turns[0]:
            best[stage] = best.get(stage, 0.0) + min(turn[stage] for turn in turns) / len(batches)
    total = sum(best.values())
    support = mean_support(posteriors(trainer, batches))
    table = Table(
        "stage", "forward ms", "backward ms", "share",
        title=f"Profile of a latent step on {run.device}, batch {size}, mean support {support:.1f}",
    )  # fmt: skip
    stages = [stage for stage in best if not stage.endswith(" backward")]
    for stage in stages:
        forward, backward = best[stage], best.get(f"{stage} backward", 0.0)
        table.add_row(
            stage, f"{1e3 * forward:.2f}", f"{1e3 * backward:.2f}" if backward else "",
            f"{(forward + backward) / total:.0%}",
        )  # fmt: skip
    overhead = sum(best[s] for s in ("SparseMAP", "SparseMAP backward", "forest")) / total
    shown = target(100 * overhead, 100 * TARGET_OVERHEAD, overhead < TARGET_OVERHEAD, "%")
    table.caption = f"{1e3 * total:.1f} ms in total; SparseMAP (both passes) and forest: {shown}"
    run.console.print(table)


def per_sentence(run: Run, size: int, temperature: float) -> None:
    """Milliseconds per training sentence with at most five trees, against the DyNet code."""
    batches = run.batches(size)
    trainers = {name: run.trainer(name) for name in DYNET}
    capped = sp.SparseMAP(temperature=temperature, max_active=MAX_ACTIVE)
    trainers["sparsemap"].model.trees.estimator = capped
    support = mean_support(posteriors(trainers["sparsemap"], batches))
    times = run.time({name: t.step for name, t in trainers.items()}, batches)
    table = Table(
        "estimator", "ms per sentence", "DyNet ms", "ratio",
        title=f"Per training sentence on {run.device}, batch {size}, "
        f"mean length {mean_length(batches):.1f}, latent: at most {MAX_ACTIVE} trees, "
        f"mean {support:.1f}",
    )  # fmt: skip
    for name, original in DYNET.items():
        each = times[name] / size
        goal = TARGET_SENTENCE if name == "sparsemap" else None
        shown = target(each, goal, each < TARGET_SENTENCE, "")
        table.add_row(name, shown, f"{original:g}", f"{original / each:.1f}x")
    run.console.print(table)


def against_peer(run: Run) -> None:
    """Ours, including the forest, against `pytorch-tree-lstm` with precomputed orders."""
    if not peer_treelstm.available():
        run.console.print("pytorch-tree-lstm not found: no comparison (see benchmarks/README.md)")
        return
    case = peer_treelstm.Case(PEER_TREES, PEER_NODES, HIDDEN, run.device)
    run.check("ours against pytorch-tree-lstm", case.ours(), case.peer())
    calls = {"ours": lambda _: case.ours(), "peer": lambda _: case.peer()}
    times = run.time(calls, [None])
    ratio = times["peer"] / times["ours"]
    table = Table(
        "ours ms", "pytorch-tree-lstm ms", "ratio",
        title=f"{PEER_TREES} trees of {PEER_NODES} nodes, {HIDDEN} dimensions, forward and "
        f"backward on {run.device}",
    )  # fmt: skip
    shown = target(ratio, TARGET_PEER, ratio >= TARGET_PEER)
    table.add_row(f"{times['ours']:.1f}", f"{times['peer']:.1f}", shown)
    run.console.print(table)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    sentences.add_option(parser)
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--batches", type=int, nargs="+", default=[16], help="batch sizes")
    parser.add_argument("--supports", type=int, nargs="+", default=SUPPORTS, help="mean trees")
    parser.add_argument("--count", type=int, default=8, help="batches timed")
    parser.add_argument("--repeats", type=int, default=5, help="timed runs of each batch")
    parser.add_argument(
        "--parser-steps", type=int, default=100, help="steps that teach the scorer to parse"
    )
    parser.add_argument("--threads", type=int, help="of torch and the solver (default: torch's)")
    parser.add_argument("--quick", action="store_true", help="two batches, one run, two supports")
    options = parser.parse_args()
    if options.quick:
        options.count, options.repeats, options.supports = 2, 1, [2, 5]
        options.parser_steps = min(options.parser_steps, 50)
    return options


def main() -> int:
    options = arguments()
    if options.threads:
        torch.set_num_threads(options.threads)
    run = Run(options)
    for size in options.batches:
        temperatures = steps(run, size)
        middle = min(run.supports, key=lambda support: abs(support - MAX_ACTIVE))
        profile(run, size, temperatures[middle])
        per_sentence(run, size, temperatures[max(run.supports)])
    against_peer(run)
    for what in dict.fromkeys(run.wrong):
        print(f"wrong: {what}", file=sys.stderr)
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
