"""
Which words decide
==================

A rationale is the few words of a review that determine its predicted sentiment; only the sentiment
is given. Attention weights words too, but its answer depends on all of them. Here the classifier
never sees more than four words. On SST that costs two points, as does restricting attention to four
words.
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

SEEDS, EPOCHS, WORDS = 3, 16, 4

# %%
# Reviews of SST if they are in `data/sst`, otherwise made-up ones: up to five words of praise or
# blame, most of them on the side of the label, among neutral words. `$SPARSEWOOD_DATA` names
# another folder than `data`.

SST = Path(os.environ.get("SPARSEWOOD_DATA", "data"), "sst")
PRAISE = "gripping funny tender superb moving clever charming witty".split()
BLAME = "dull tedious clumsy bland hollow lazy awkward stale".split()
FILLER = (
    "the a film movie story plot its and but with of in an actor scene camera director set music "
    "about from city family war night two years this that is was has very long often made"
).split()
Review = tuple[list[str], int]  # words, and whether it is positive


def review_by(draw: random.Random) -> Review:
    label, most = draw.randrange(2), draw.choice([1, 2, 3])
    right, wrong = (PRAISE, BLAME) if label else (BLAME, PRAISE)
    words = [*draw.choices(right, k=most), *draw.choices(wrong, k=draw.randrange(most))]
    words += draw.choices(FILLER, k=draw.randint(6, 14))
    draw.shuffle(words)
    return words, label


def reviews() -> dict[str, list[Review]]:
    print(f"reviews of {SST}" if SST.is_dir() else "made-up reviews")
    if not SST.is_dir():
        draw, sizes = random.Random(0), {"train": 400, "validation": 100, "test": 200}
        return {name: [review_by(draw) for _ in range(many)] for name, many in sizes.items()}
    from sparsewood.lab.data import Sst

    return {
        name: [([w.lower() for w in e.sentences[0].words], int(e.label == "positive")) for e in s]
        for name, s in Sst(SST).load().splits.items()
    }


# %%
# Words as numbers: 0 is padding and unknown words.

data = reviews()
known = {word: i + 1 for i, word in enumerate(sorted({w for ws, _ in data["train"] for w in ws}))}


def encode(texts: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
    rows = [torch.tensor([known.get(w, 0) for w in ws]) for ws in texts]
    lengths = torch.tensor([max(WORDS, len(row)) for row in rows])
    return nn.utils.rnn.pad_sequence(rows, batch_first=True), lengths


# %%
# All three models classify a weighted mean of word vectors. The latent model does so for each set
# of words that SparseMAP keeps, and its answer is the expectation. `few` computes the answer from
# only four words: the most probable set, or the words with the most attention.


class Reader(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.vectors, self.score = how, nn.Embedding(len(known) + 1, 16), nn.Linear(16, 1)
        nn.init.normal_(self.vectors.weight, std=0.1)
        self.classify = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))

    def sets(self, text: Tensor, lengths: Tensor) -> sp.SparsePosterior:
        scores = self.score(self.vectors(text)).squeeze(-1)
        return sp.sparsemap(scores, sp.Subset(WORDS), lengths=lengths, max_active=20)

    def forward(self, text: Tensor, lengths: Tensor, few: bool = False) -> Tensor:
        x = self.vectors(text)
        if self.how == "sets":
            post = self.sets(text, lengths)
            chosen = post.mode if few else post.structures
            seen = x if few else x[post.instance]
            p = self.classify((chosen[:, None].to(x) @ seen).squeeze(1) / WORDS).softmax(-1)
            return p if few else post.expect(p)
        scores = self.score(x).squeeze(-1) if self.how == "attention" else torch.zeros(text.shape)
        scores = torch.where(torch.arange(text.shape[1]) < lengths[:, None], scores, -torch.inf)
        if few:
            scores[scores < scores.topk(WORDS).values[:, -1:]] = -torch.inf
        return self.classify((scores.softmax(-1)[:, None] @ x).squeeze(1)).softmax(-1)


def train(how: str, seed: int) -> Reader:
    torch.manual_seed(seed)
    reader, labels = Reader(how), torch.tensor([label for _, label in data["train"]])
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(labels)).split(64):
            p = reader(*encode([data["train"][i][0] for i in rows.tolist()]))
            optimizer.zero_grad()
            nn.functional.nll_loss((p + 1e-6).log(), labels[rows]).backward()
            optimizer.step()
    return reader


# %%
# The share of test reviews with the correct answer, from all words and from four of them.

held, labels = encode([ws for ws, _ in data["test"]]), torch.tensor([y for _, y in data["test"]])
readers: list[Reader] = []
for how in ("mean", "attention", "sets"):
    for seed in range(SEEDS):
        begin = time.process_time()
        readers.append(train(how, seed).eval())
        seconds, answers = time.process_time() - begin, [readers[-1](*held)]
        if how != "mean":
            answers.append(readers[-1](*held, few=True))
        right = [f"{(p.argmax(-1) == labels).float().mean():6.1%}" for p in answers]
        print(f"{how:9} seed {seed}, {seconds:.1f} s: {', by four words '.join(right)}")

# %%
# The sets of words that are kept for one review.

review = "a long but gripping and witty film with a dull plot".split()
show(readers[-1].sets(*encode([review])), review)
