"""
Latent trees in four lines
==========================

Scores, SparseMAP, a TreeLSTM along each selected tree, and the expectation make a sentence encoder
with a latent parse that is trained only by the task.
"""

import torch
from torch import nn

import sparsewood as sp
from sparsewood.draw import show

torch.manual_seed(0)

# %%
# The task: is something negated? The label is 1 if "not" stands directly before "good" or "bad". No
# tree is ever given.

words = ["it", "is", "so", "not", "good", "bad", "and"]
tokens = torch.randint(len(words), (64, 8))
lengths = torch.randint(4, 9, (64,))
padding = torch.arange(8) >= lengths[:, None]
negated = (tokens[:, :-1] == 3) & ((tokens[:, 1:] == 4) | (tokens[:, 1:] == 5)) & ~padding[:, 1:]
labels = negated.any(-1).long()

# %%
# The modules: word vectors in context, a score for each arc, and a network that is built along a
# tree.

encoder = sp.nn.SentenceEncoder(len(words), 16, 32)
scorer = sp.nn.MLPArcScorer(32)
tree_lstm = sp.nn.ChildSumTreeLSTM(32, 32)
output = nn.Linear(32, 2)
parts = nn.ModuleList([encoder, scorer, tree_lstm, output])
optimizer = torch.optim.Adam(parts.parameters(), lr=0.01)

# %%
# The four lines. `roots` has one row per tree that SparseMAP keeps, over all sentences; the
# expectation is over the trees of each sentence.


def predict(x: torch.Tensor) -> tuple[torch.Tensor, sp.SparsePosterior]:
    scores = scorer(x)
    post = sp.sparsemap(scores, sp.DependencyTrees(), lengths=lengths)
    roots = tree_lstm(x, post.forest())
    return post.expect(output(roots).softmax(-1)), post


# %%
# A training loop around them.

for step in range(31):
    p, post = predict(encoder(tokens, lengths))
    loss = nn.functional.nll_loss(p.log(), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        right, kept = (p.argmax(-1) == labels).double().mean(), post.sizes.double().mean()
        print(f"step {step:2}: loss {loss.item():.3f}, right {right:.0%}, {kept:.1f} trees each")

# %%
# Trees of one sentence share most of their subtrees, and each distinct subtree is computed once.

x = encoder(tokens, lengths)
_, post = predict(x)
print(post.forest())

# %%
# The trees that the model has learnt for one of the negated sentences.

chosen = int(labels.argmax())
show(post, [words[w] for w in tokens[chosen, : lengths[chosen]]], chosen)

# %%
# `LatentTreeEncoder` contains the same lines, and the baselines: chains, flat trees, given trees.

trees = sp.nn.LatentTreeEncoder(scorer, tree_lstm)
post, roots = trees(x, lengths)
flat = sp.nn.LatentTreeEncoder(None, tree_lstm, estimator=sp.Fixed("flat"))
one_each, flat_roots = flat(x, lengths)
print(f"latent: {len(roots)} trees for {len(post)} sentences")
print(f"flat:   {len(flat_roots)} trees for {len(one_each)} sentences")
