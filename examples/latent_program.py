"""
A latent program
================

Questions in an unknown language, such as `zug mip lal`, are given with their answers. Each word
stands for an input or an operation and each question for a program, and only programs that run are
structures. The alternative, a small untuned network from words and numbers to answers, is seldom
right.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import sparsewood as sp

SEEDS, STEPS, QUESTIONS = 3, 32, 12
WORDS, TOKENS = "zug mip tor lal pek sno ber".split(), ["x", "y", "z", "+", "-", "*", "max"]
OPERATIONS = [torch.add, torch.sub, torch.mul, torch.maximum]

# %%
# Programs use a stack: `x y + z *` is (x + y) z. Every operation needs two values on the stack, and
# one value remains at the end. The oracle keeps the best prefix for each height of the stack.


class Programs(sp.Custom, arrays="numpy", parts_ndim=2):
    def best(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:  # (n, 7) -> (n,)
        found: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
        for row in scores:
            moves = [(int(row[:3].argmax()), 1), (3 + int(row[3:].argmax()), -1)]
            new = [(s + row[t], h + d, [*p, t]) for h, (s, p) in found.items() for t, d in moves]
            found = {h: (s, p) for s, h, p in sorted(new) if h > 0}  # the best of each h is last
        return np.array(found[1][1])

    def parts(self, structure: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.eye(7, dtype=np.int64)[structure]

    def check(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2 or shape[0] % 2 == 0 or shape[1] != 7:
            raise ValueError(f"expected scores (n, 7) of an odd number of words, got {shape}")


def run(program: list[int], inputs: Tensor) -> Tensor:
    stack: list[Tensor] = []
    for token in program:
        new = [inputs[:, token]] if token < 3 else [OPERATIONS[token - 3](*stack[-2:])]
        stack = stack + new if token < 3 else stack[:-2] + new
    return stack[0]


# %%
# Random programs are the best ones for random scores. Each comes with four inputs and their
# answers. A table scores tokens for words; the loss is minus the log-probability of correct
# answers. The network gets as many questions, all of three words, and its answers may be off by
# 0.5.


def ask(n: int, largest: int, many: int = QUESTIONS) -> tuple[Tensor, Tensor, Tensor]:
    questions = sp.map(torch.randn(many, n, 7), Programs()).structures
    inputs = torch.randint(1, largest + 1, (many, 4, 3)).float()
    return questions, inputs, torch.stack(list(map(run, questions.tolist(), inputs)))


def off(network: nn.Module, questions: Tensor, inputs: Tensor, answers: Tensor) -> Tensor:
    words = nn.functional.one_hot(questions, 7).flatten(1)[:, None].expand(-1, 4, -1)
    return (network(torch.cat([words, inputs / 9], -1)).squeeze(-1) - answers).abs()


fig, axes = plt.subplots(1, SEEDS, figsize=(7, 2.6), sharey=True, layout="constrained")
for seed, ax in enumerate(axes):
    torch.manual_seed(seed)
    table, kept = nn.Parameter(0.1 * torch.randn(7, 7)), 0
    optimizer = torch.optim.Adam([table], lr=0.2)
    for step in range(STEPS):
        questions, inputs, answers = ask(3 if 2 * step < STEPS else 5, largest=9)
        post = sp.sparsemap(table[questions], Programs(), temperature=3.0, max_active=10)
        said = torch.stack(list(map(run, post.structures.tolist(), inputs[post.instance])))
        right = (said == answers[post.instance]).all(-1).float()
        optimizer.zero_grad()
        (post.expect(right) + 0.01).log().mean().neg().backward()
        optimizer.step()
        kept += len(post.weights)
    print(f"seed {seed}: {kept / STEPS / QUESTIONS:.1f} programs run for a question")
    for n, largest in ((3, 9), (9, 99)):
        questions, inputs, answers = ask(n, largest)
        best = sp.map(table[questions], Programs()).structures
        right = torch.stack(list(map(run, best.tolist(), inputs))) == answers
        print(f"  {n} words, numbers up to {largest:2}: {right.float().mean():4.0%} right")
    network = nn.Sequential(nn.Linear(24, 99), nn.ReLU(), nn.Linear(99, 1))
    optimizer, asked = torch.optim.Adam(network.parameters(), lr=0.01), ask(3, 9, STEPS * QUESTIONS)
    for _ in range(150):
        optimizer.zero_grad()
        off(network, *asked).mean().backward()
        optimizer.step()
    near = [f"{(off(network, *ask(3, n)) < 0.5).float().mean():.0%}" for n in (9, 99)]
    print(f"  network, 3 words: {near[0]} right, with numbers up to 99 {near[1]}")
    ax.imshow(table.detach().softmax(-1).numpy(), cmap="Blues", vmin=0, vmax=1)
    ax.set_xticks(range(7), TOKENS)
    ax.set_yticks(range(7), WORDS)
