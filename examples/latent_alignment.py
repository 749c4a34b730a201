"""
Two sentences, word by word
===========================

Does the first sentence entail the second? The answer is computed from pairs of words, and which
words belong together is latent: a matching. Means of word vectors use no pairs and confuse who does
what; attention takes less time and is not far behind.

On the real sentences of SICK this small network, which learns its word vectors from 4,500 pairs,
does better with attention or means. With pretrained vectors, an encoder and flat trees
(`--attention matching`) the latent matching is better than softmax attention there.
"""

import os
import random
import time
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

import sparsewood as sp
from sparsewood.draw import show

SEEDS, EPOCHS, SIZE = 3, 8, 16

# %%
# Pairs of SICK if they are in `data/sick`, otherwise made-up ones. `$SPARSEWOOD_DATA` names another
# folder than `data`. Made-up pairs describe someone, with words in any order. The second sentence
# repeats or generalises the first, but one word may be replaced by its contrary or by another one.

SICK = Path(os.environ.get("SPARSEWOOD_DATA", "data"), "sick")
KINDS = {  # general words and special ones
    "dog": ["poodle", "terrier"],
    "instrument": ["violin", "drum"],
    "tree": ["oak", "birch"],
    "food": ["soup", "bread"],
    "moving": ["running", "jumping"],
}
CONTRARY = [("indoors", "outdoors"), ("alone", "together"), ("quietly", "loudly")]
Pair = tuple[list[str], list[str], str]  # premise, hypothesis, label


def pair_by(draw: random.Random) -> Pair:
    label = draw.choice(["entailment", "neutral", "contradiction"])
    kinds = draw.sample(sorted(KINDS), 3)
    special = [draw.sample(KINDS[kind], 2) for kind in kinds]
    ways = [draw.sample(way, 2) for way in draw.sample(CONTRARY, 2)]
    first = [word for word, _ in special + ways]
    second = [draw.choice(both) for both in zip(first, kinds, strict=False)] + first[3:]
    if label == "neutral":
        second[0] = special[0][1]
    elif label == "contradiction":
        second[3] = ways[0][1]
    draw.shuffle(first)
    draw.shuffle(second)
    return first, second, label


def pairs() -> dict[str, list[Pair]]:
    print(f"pairs of {SICK}" if SICK.is_dir() else "made-up pairs")
    if not SICK.is_dir():
        draw, sizes = random.Random(0), {"train": 400, "validation": 100, "test": 200}
        return {name: [pair_by(draw) for _ in range(many)] for name, many in sizes.items()}
    from sparsewood.lab.data import Sick

    splits = Sick(SICK).load().splits
    words = {
        name: [[[w.lower() for w in s.words] for s in e.sentences] for e in split]
        for name, split in splits.items()
    }
    return {
        name: [(a, b, e.label) for (a, b), e in zip(words[name], split, strict=True)]
        for name, split in splits.items()
    }


# %%
# Words as numbers: 0 is padding and unknown words.

data = pairs()
labels = sorted({label for _, _, label in data["train"]})
known = {w: i for i, w in enumerate(sorted({w for a, b, _ in data["train"] for w in a + b}), 1)}


def encode(sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
    rows = [torch.tensor([known.get(word, 0) for word in words]) for words in sentences]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True), torch.tensor([len(r) for r in rows])


def batch(split: str, rows: list[int]) -> tuple[Tensor, ...]:
    first, second, label = zip(*(data[split][i] for i in rows), strict=True)
    return *encode(first), *encode(second), torch.tensor([*map(labels.index, label)])


# %%
# A small network reads pairs of words and sums the results, or reads only the means.


class Reader(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.vectors = how, nn.Embedding(len(known) + 1, SIZE)
        self.pair = nn.Sequential(nn.Linear(4 * SIZE, 32), nn.ReLU())
        self.answer = nn.Linear(32, len(labels))

    def matching(self, a: Tensor, n: Tensor, b: Tensor, m: Tensor) -> sp.SparsePosterior:
        scores = self.vectors(a) @ self.vectors(b).mT / SIZE**0.5
        return sp.sparsemap(scores, sp.Matching(), lengths=torch.stack([n, m], -1), max_active=20)

    def forward(self, a: Tensor, n: Tensor, b: Tensor, m: Tensor) -> Tensor:
        x, y = self.vectors(a)[:, :, None], self.vectors(b)[:, None]
        inside = (torch.arange(a.shape[1]) < n[:, None])[..., None]
        within = (torch.arange(b.shape[1]) < m[:, None])[:, None]
        if self.how == "means":
            x = (x * inside[..., None]).sum(1, keepdim=True) / n.view(-1, 1, 1, 1)
            y = (y * within[..., None]).sum(2, keepdim=True) / m.view(-1, 1, 1, 1)
            weights = torch.ones(len(a), 1, 1)
        elif self.how == "attention":  # each word of the second sentence attends to the first
            scores = (x.squeeze(2) @ y.squeeze(1).mT) / SIZE**0.5
            weights = torch.where(inside, scores, -torch.inf).softmax(1) * within
        else:
            weights = self.matching(a, n, b, m).marginals
        x, y = torch.broadcast_tensors(x, y)
        looks = self.pair(torch.cat([x, y, (x - y).abs(), x * y], -1))
        return self.answer((weights[..., None] * looks).sum((1, 2)))


def train(how: str, seed: int) -> Reader:
    torch.manual_seed(seed)
    optimizer = torch.optim.Adam((reader := Reader(how)).parameters(), lr=0.005)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(data["train"])).split(32):
            *texts, gold = batch("train", rows.tolist())
            optimizer.zero_grad()
            nn.functional.cross_entropy(reader(*texts), gold).backward()
            optimizer.step()
    return reader


# %%
# The share of test pairs with the correct answer.

tests = [batch("test", rows.tolist()) for rows in torch.arange(len(data["test"])).split(100)]
readers: list[Reader] = []
for how in ("means", "attention", "matching"):
    for seed in range(SEEDS):
        begin = time.process_time()
        readers.append(train(how, seed).eval())
        found = [readers[-1](*texts).argmax(-1).detach() == gold for *texts, gold in tests]
        right = torch.cat(found).float().mean()
        print(f"{how:9} seed {seed}: {right:.1%} in {time.process_time() - begin:.1f} s")

first, second = "oak alone running".split(), "moving alone birch".split()
show(readers[-1].matching(*encode([first]), *encode([second])), first, other=second)
