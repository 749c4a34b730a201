"""
Text without spaces
===================

Where are the words of `thedogseesacat`? The segmentation is latent, and the words are learned from
whole sentences: strings that occur repeatedly explain the text with fewer words. The alternative,
cutting where a letter is surprising, needs no structure and finds far fewer words.
"""

import os
import random
import time
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import sparsewood as sp
from sparsewood.draw import show

SEEDS, SENTENCES, ROUNDS, SPACED = 3, 150, 8, 20

# %%
# Sentences of SICK if they are in `data/sick`, otherwise made-up ones. `$SPARSEWOOD_DATA` names
# another folder than `data`.

SICK = Path(os.environ.get("SPARSEWOOD_DATA", "data"), "sick")
print(f"sentences of {SICK}" if SICK.is_dir() else "made-up sentences")


def sentences(seed: int) -> list[tuple[str, ...]]:
    draw = random.Random(seed)
    if not SICK.is_dir():
        parts = (
            "the a this,old young happy quiet little tall,man woman dog cat child teacher singer"
        )
        parts += " river garden house,sees follows paints likes finds hears helps,near behind with"
        det, adj, noun, verb, prep = (part.split() for part in parts.split(","))
        kinds = [det, adj, noun, verb, det, noun, prep, det, adj, noun]
        return [tuple(map(draw.choice, kinds[draw.choice([0, 3]) :])) for _ in range(SENTENCES)]
    from sparsewood.lab.data import Sick

    examples = Sick(SICK).load().splits["train"]
    found = {tuple(w.lower() for w in s.words) for e in examples for s in e.sentences}
    return draw.sample(sorted(found), SENTENCES)


# %%
# A segment is a string of at most ten letters. Its score is the logarithm of its probability as a
# word, minus a price for its length (Liang & Klein 2009); without the price each sentence would be
# one word. The strings used by the segmentations are the words of the next round.

family = sp.SemiMarkov(max_length=10)


def strings(texts: list[str]) -> Tensor:
    """(B, T, 10, 1): a number for each string, by start and length; 0 beyond the end."""
    number, table = {"": 0}, torch.zeros(len(texts), max(map(len, texts)), 10, 1).long()
    for b, t in enumerate(texts):
        for i, j in combinations(range(len(t) + 1), 2):
            if j - i <= 10:
                table[b, i, j - i - 1] = number.setdefault(t[i:j], len(number))
    return table


def learn(table: Tensor, price: float, most: int) -> Any:
    """Learn with at most `most` segmentations per sentence; 0: with the sum over all of them."""
    lengths, uses, post = (table[:, :, 0, 0] > 0).sum(1), (table > 0).float(), None
    for _ in range(ROUNDS):
        counts = torch.bincount(table.flatten(), uses.flatten())
        words = ((counts + 1e-4) / counts.sum()).log()[table]
        scores = family.pack(words - torch.arange(1, 11.0)[:, None] ** price)
        if most:
            post = sp.sparsemap(scores, family, lengths=lengths, max_active=most)
        else:
            post = sp.marginals(scores, family, lengths=lengths)
        uses = family.unpack(post.marginals).segments
    return post


# %%
# The alternative: a cut before each letter that is rare after the previous two.


def surprises(texts: list[str], share: float) -> Tensor:
    after = {n: Counter(t[i : i + n] for t in texts for i in range(len(t) - 2)) for n in (2, 3)}
    cuts = torch.zeros(len(texts), max(map(len, texts)), dtype=torch.bool)
    for b, t in enumerate(texts):
        for i in range(2, len(t)):
            cuts[b, i] = after[3][t[i - 2 : i + 1]] < share * after[2][t[i - 2 : i]]
    return cuts


# %%
# Twenty sentences with spaces select price and share; the others measure the F1 of the cuts. Ten
# segmentations cost a fraction of the sum over all, and lose a few points of its F1 on real text.


def f1(cuts: Tensor, gold: Tensor) -> float:
    return float(2 * (cuts & gold)[:, 1:].sum() / (cuts[:, 1:].sum() + gold[:, 1:].sum()))


texts, text = [""], "manhearsatallcat"
for seed, spaced in enumerate(map(sentences, range(SEEDS))):
    texts = ["".join(words) for words in spaced]
    table = strings(texts)
    gold = torch.zeros(table.shape[:2], dtype=torch.bool)
    for b, words in enumerate(spaced):
        gold[b, [len("".join(words[:i])) for i in range(len(words))]] = True
    for name, most in {"surprise": -1, "the best": 1, "ten": 10, "all": 0}.items():
        begin = time.perf_counter()
        if most < 0:
            tried = [surprises(texts, share) for share in (0.1, 0.2, 0.3, 0.4)]
        else:
            tried = [learn(table, p, most).mode[..., 0] > 0 for p in (1.4, 1.5, 1.6, 1.7)]
        best = max(tried, key=lambda cuts: f1(cuts[:SPACED], gold[:SPACED]))
        seconds, right = time.perf_counter() - begin, f1(best[SPACED:], gold[SPACED:])
        print(f"seed {seed}, {name:8} {right:6.1%} in {seconds:.2f} s")

# %%
# The segmentations kept for one sentence, learned together with the others.

show(learn(strings([text, *texts]), 1.5, 10), list(text), labels=["word"])
