"""
A tagger, dense and sparse
==========================

Noun or verb? Most of these words can be either, and the tags around them decide. A CRF learns from
the sum over all taggings of a sentence, SparseMAP from the few that matter.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

import sparsewood as sp

torch.manual_seed(0)

# %%
# Made-up sentences of 3 to 6 words: tags from a Markov chain, each word sampled given its tag.

tags, words = ["det", "noun", "verb"], ["the", "dog", "saw", "watch", "duck", "fish"]
steps = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.3, 0.7], [0.6, 0.3, 0.1]])
by_tag = torch.tensor([[1.0, 0, 0, 0, 0, 0], [0, 2, 1, 1, 1, 1], [0, 0, 2, 2, 1, 1]])
columns = [torch.multinomial(torch.tensor([0.6, 0.3, 0.1]), 400, replacement=True)]
while len(columns) < 6:
    columns.append(torch.multinomial(steps[columns[-1]], 1)[:, 0])
gold, lengths = torch.stack(columns, 1), torch.randint(3, 7, (400,))
text = torch.multinomial(by_tag[gold.flatten()], 1).view(400, 6)
gold[torch.arange(6) >= lengths[:, None]] = -1  # padding
train, test = slice(200), slice(200, 400)

# %%
# The model scores each word with each tag, and each pair of neighbouring tags.

chain = sp.LinearChain()
sentence = "the dog saw fish watch".split()
given = torch.tensor([[words.index(word) for word in sentence]])
_, panels = plt.subplots(1, 2, figsize=(7, 2.2), sharey=True)

losses = {"CRF": sp.nn.CRFLoss(chain), "SparseMAP": sp.nn.SparseMAPLoss(chain)}
for (name, loss), panel in zip(losses.items(), panels, strict=True):
    unary, pairs = nn.Embedding(6, 3), nn.Parameter(torch.zeros(3, 3))
    optimizer = torch.optim.Adam([*unary.parameters(), pairs], lr=0.1)
    for _ in range(60):
        optimizer.zero_grad()
        loss(chain.pack(unary(text[train]), pairs), gold[train], lengths[train]).backward()
        optimizer.step()

    # The share of correct tags in other sentences; the tags and likely readings of one sentence.
    found = sp.map(chain.pack(unary(text[test]), pairs), chain, lengths=lengths[test]).structures
    right = (found == gold[test])[gold[test] >= 0].float().mean()
    scores = chain.pack(unary(given), pairs)
    if name == "CRF":  # all 243 taggings have a probability
        post, best = sp.marginals(scores, chain), sp.kbest(scores, chain, 4)
    else:
        post = sp.sparsemap(scores, chain)
        best = post.topk(len(post.weights))
    print(f"{name}: {right:.1%} of words right\n{'':7}" + "".join(f"{w:>7}" for w in sentence))
    rows = chain.unpack(post.marginals).unary[0].T.detach().numpy()
    panel.imshow(rows, "Blues", vmin=0, vmax=1)
    panel.set_title(name)
    panel.set_xticks(range(5), sentence)
    panel.set_yticks(range(3), tags)
    for tag, row in zip(tags, rows.tolist(), strict=True):
        print(f"  {tag:5}" + "".join(f"{p:7.3f}" if p > 0 else "      ." for p in row))
    for states in best.structures.unbind(1):
        reading = " ".join(tags[k] for k in states[0].tolist())
        print(f"  {post.log_prob(states).exp().item():6.1%}  {reading}")
