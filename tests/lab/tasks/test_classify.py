"""Sentence classification against a sum over the trees one by one."""

import pytest
import torch


@pytest.mark.parametrize("loss", ["marginal", "expected"])
def test_loss_is_the_sum_over_trees(make, tree_vectors, estimator, loss):
    model, batch = make("classify", estimator=estimator, loss=loss)
    output = model(batch)
    (posterior,) = output.posteriors
    for b, target in enumerate(batch.targets.tolist()):
        p = torch.zeros(3, dtype=torch.float64)
        expected = 0.0
        for weight, vector in tree_vectors(model, batch.sides[0], posterior, b):
            logits = model.output.weight @ vector + model.output.bias
            of_tree = logits.exp() / logits.exp().sum()
            p += weight * of_tree
            expected -= weight * of_tree[target].log()
        torch.testing.assert_close(output.prediction[b], p)
        wanted = -p[target].log() if loss == "marginal" else expected
        torch.testing.assert_close(output.loss[b], wanted)
