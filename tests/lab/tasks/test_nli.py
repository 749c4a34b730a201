"""Natural language inference against loops over all pairs of trees."""

import pytest
import torch


@pytest.mark.parametrize("loss", ["marginal", "expected"])
def test_loss_is_the_sum_over_pairs_of_trees(make, tree_vectors, estimator, loss):
    model, batch = make("nli", estimator=estimator, loss=loss)
    output = model(batch)
    left, right = output.posteriors
    for b, target in enumerate(batch.targets.tolist()):
        p = torch.zeros(3, dtype=torch.float64)
        expected = 0.0
        for weight, u in tree_vectors(model, batch.sides[0], left, b):
            for other, v in tree_vectors(model, batch.sides[1], right, b):
                features = torch.cat([u, v, u - v, u * v])
                hidden = torch.tanh(model.compare.weight @ features + model.compare.bias)
                logits = model.output.weight @ hidden + model.output.bias
                of_pair = logits.exp() / logits.exp().sum()
                p += weight * other * of_pair
                expected -= weight * other * of_pair[target].log()
        torch.testing.assert_close(output.prediction[b], p)
        wanted = -p[target].log() if loss == "marginal" else expected
        torch.testing.assert_close(output.loss[b], wanted)


def test_some_sentences_have_several_trees_on_both_sides(make):
    """So that the sum above is over pairs indeed."""
    model, batch = make("nli")
    left, right = model(batch).posteriors
    assert ((left.sizes > 1) & (right.sizes > 1)).any()
