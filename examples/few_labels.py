"""
Tags with few labels
====================

One word in five has its tag; the other tags are latent. A tagger of single words learns only from
labelled words, a chain learns from whole sentences. The chain helps if tags depend on each other,
as in the made-up text here; on EWT it does not. The sum over all taggings, a CRF, learns a little
more and takes longer.
"""

import os
import random
import time
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

import sparsewood as sp

SEEDS, STEPS, SENTENCES, SHARES = 3, 50, 200, (0.05, 0.2, 1.0)

# %%
# Sentences of EWT if they are in `data/ud_ewt`; otherwise made-up sentences from a grammar in which
# most words can have several parts of speech. 300 of them are for testing. `$SPARSEWOOD_DATA` names
# another folder than `data`.

EWT = Path(os.environ.get("SPARSEWOOD_DATA", "data"), "ud_ewt")
Tagged = list[tuple[str, str]]  # words with tags
LEXICON = {
    "DET": "the a that her".split(),
    "ADJ": "light cold fast round that".split(),
    "NOUN": "duck watch light round saw cold park fish".split(),
    "VERB": "saw watch duck light park fish".split(),
    "ADP": "by round past in".split(),
    "PRON": "her that she they".split(),
}
NEXT = {
    "": "DET PRON",
    "DET": "NOUN NOUN ADJ",
    "ADJ": "NOUN",
    "NOUN": "VERB VERB ADP",
    "VERB": "DET PRON ADP",
    "ADP": "DET",
    "PRON": "VERB ADP",
}


def sentence_by(draw: random.Random) -> Tagged:
    tags = [""]
    for _ in range(draw.randint(5, 10)):
        tags.append(draw.choice(NEXT[tags[-1]].split()))
    return [(draw.choice(LEXICON[tag]), tag) for tag in tags[1:]]


def conllu(path: Path) -> list[Tagged]:
    """Lower-case words with their parts of speech, for sentences of at most 25 words."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    tables = [[line.split("\t") for line in b.split("\n") if line[0] != "#"] for b in blocks]
    found = [[(row[1].lower(), row[3]) for row in table if row[0].isdigit()] for table in tables]
    return [sentence for sentence in found if len(sentence) <= 25]


draw = random.Random(0)
print(f"sentences of {EWT}" if EWT.is_dir() else "made-up sentences")
if EWT.is_dir():
    learned, tested = (conllu(next(EWT.glob(f"*{name}.conllu"))) for name in ("train", "dev"))
    sentences = draw.sample(learned, SENTENCES) + draw.sample(tested, 300)
else:
    sentences = [sentence_by(draw) for _ in range(SENTENCES + 300)]
tags = sorted({tag for sentence in sentences for _, tag in sentence})
train, test = torch.arange(SENTENCES), torch.arange(SENTENCES, len(sentences))


def table(rows: list[list[str]]) -> Tensor:
    known = {x: i for i, x in enumerate(sorted({x for row in rows[:SENTENCES] for x in row}), 1)}
    numbers = [torch.tensor([known.get(x, 0) for x in row]) for row in rows]
    return nn.utils.rnn.pad_sequence(numbers, batch_first=True)


words, ends = (table([[w[-n:] for w, _ in s] for s in sentences]) for n in (99, 2))
lengths = torch.tensor([len(s) for s in sentences])
gold = torch.full(words.shape, -1)
for b, s in enumerate(sentences):
    gold[b, : len(s)] = torch.tensor([tags.index(tag) for _, tag in s])

# %%
# The chain scores words with tags, and tags with the next tag; single words see their neighbours.

family, K = sp.LinearChain(), len(tags)


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        sizes = [int(x.max()) + 1 for x in (words, ends, words, words)]
        self.tables = nn.ModuleList([nn.Embedding(size, K) for size in sizes])
        for weights in self.tables.parameters():
            nn.init.normal_(weights, std=0.1)
        self.next = nn.Parameter(torch.zeros(K, K))

    def forward(self, how: str, rows: Tensor) -> Tensor:
        around = [words.roll(1, 1), words.roll(-1, 1)] if how == "single words" else []
        seen = zip(self.tables, [words, ends, *around], strict=False)
        unary = torch.stack([embedding(x[rows]) for embedding, x in seen]).sum(0)
        return family.pack(unary, 0 * self.next if how == "single words" else self.next)


def loss(how: str, scores: Tensor, labels: Tensor, lengths: Tensor) -> Tensor:
    """The score of all taggings minus that of taggings that agree with the labels; -1: no label."""
    if how == "single words":
        return nn.functional.cross_entropy(scores[..., 0].mT, labels, ignore_index=-1)
    wrong = (labels >= 0)[..., None] & (torch.arange(K) != labels[..., None])
    both = scores, torch.where(wrong[..., None], -torch.inf, scores)
    if how == "CRF":
        free, bound = (sp.marginals(x, family, lengths=lengths).log_partition for x in both)
        return (free - bound).mean()
    kept = [sp.sparsemap(x.detach(), family, lengths=lengths, max_active=20) for x in both]
    return ((kept[0].marginals - kept[1].marginals) * scores).sum() / len(scores)  # its gradient


# %%
# The share of words of new sentences with the correct tag, by the share of words with labels.

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for how in ("SparseMAP", "CRF", "single words"):
    means, begin = [], time.process_time()
    for share in SHARES:
        found: list[float] = []
        for seed in range(SEEDS):
            torch.manual_seed(seed)
            labels, tagger = torch.where(torch.rand(gold.shape) < share, gold, -1), Tagger()
            optimizer = torch.optim.Adam(tagger.parameters(), lr=0.1)
            for rows in (torch.randperm(SENTENCES)[:50] for _ in range(STEPS)):
                optimizer.zero_grad()
                loss(how, tagger(how, rows), labels[rows], lengths[rows]).backward()
                optimizer.step()
            best = sp.map(tagger(how, test), family, lengths=lengths[test]).structures
            found.append(float((best == gold[test])[gold[test] >= 0].float().mean()))
        means.append(sum(found) / SEEDS)
        print(f"{how:12} {share:4.0%} labelled: {', '.join(f'{x:.1%}' for x in found)} right")
    ax.plot(SHARES, means, "o-", label=f"{how}, {time.process_time() - begin:.1f} s")
ax.set(xscale="log", xlabel="words with a label", ylabel="words right")
ax.set_xticks(SHARES, [f"{share:.0%}" for share in SHARES])
ax.legend(frameon=False)
