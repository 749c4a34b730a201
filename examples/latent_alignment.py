"""
Two sentences, word by word
===========================

Does the first sentence entail the second? It is read off pairs of words, and which words belong
together is latent: a matching. Means of word vectors do without and confuse who is what; attention
costs less time and is not far behind. On SICK, with real sentences, it is the matching that is.
"""

import time
from collections.abc import Sequence

import torch
from corpora import pairs
from torch import Tensor, nn

import sparsewood as sp
from sparsewood.draw import show

SEEDS, EPOCHS, SIZE = 3, 8, 16

# %%
# Pairs of SICK if `$SPARSEWOOD_DATA` has it, otherwise made up. 0 is padding and unknown words.

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
# A small network looks at pairs of words and sums what it sees, or looks at the means alone.


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
        elif self.how == "attention":  # of each word of the second sentence to those of the first
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
# How many test pairs are answered right.

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
