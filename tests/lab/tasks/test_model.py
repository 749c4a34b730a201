"""What holds for the models of all tasks."""

import pytest
import torch
from torch import Tensor

from sparsewood import DependencyTrees, Forest, sparsemap
from sparsewood.estimators import parse
from sparsewood.lab.data.batches import Batch
from sparsewood.lab.data.examples import Sentence
from sparsewood.lab.tasks import ModelConfig, SentenceModel, TreeModel
from sparsewood.lab.tasks.model_config import COMPOSERS
from sparsewood.nn import ChildSumTreeLSTM
from tests.full import some_quick


@pytest.mark.parametrize("loss", ["marginal", "expected"])
def test_every_estimator_learns(make, check_learns, task, estimator, loss):
    model, batch = make(task, estimator=estimator, loss=loss)
    output = model(batch)
    assert output.loss.shape == (8,)
    assert len(output.posteriors) == len(batch.sides)
    check_learns(model, batch)


def test_fixed_estimators_give_each_sentence_one_tree(make, task, estimator):
    model, batch = make(task, estimator=estimator)
    sizes = torch.cat([posterior.sizes for posterior in model(batch).posteriors])
    assert (sizes > 1).any() if parse(estimator).reads_scores else (sizes == 1).all()


def test_given_trees_are_those_of_the_examples(make, task):
    model, batch = make(task, estimator="given")
    for posterior, side in zip(model(batch).posteriors, batch.sides, strict=True):
        assert torch.equal(posterior.structures, side.heads)


@pytest.mark.parametrize("loss", ["marginal", "expected"])
def test_gradients_agree_with_finite_differences(make, corpus, task, loss):
    model, _ = make(task, loss=loss)
    batch = model.encode(corpus(task).splits["train"]).batch([0, 1, 2])

    def total() -> tuple[Tensor, list[list[list[int]]]]:
        output = model(batch)
        support = [posterior.structures.tolist() for posterior in output.posteriors]
        return output.loss @ torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), support

    parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
    gradients = torch.autograd.grad(total()[0], list(parameters.values()))
    smooth = 0
    for (name, parameter), gradient in zip(parameters.items(), gradients, strict=True):
        flat = parameter.detach().view(-1)
        entries = 3 if name.startswith("trees.scorer") else 1
        for i in range(0, len(flat), -(-len(flat) // entries)):
            value, step = float(flat[i]), 1e-6
            flat[i] = value + step
            above, support = total()
            flat[i] = value - step
            below, other_support = total()
            flat[i] = value
            if support == other_support:  # else the step crosses a kink
                smooth += 1
                slope = (above - below).detach() / (2 * step)
                torch.testing.assert_close(slope, gradient.view(-1)[i], atol=1e-7, rtol=1e-5)
    assert smooth > 0.8 * len(parameters)


def test_the_scorer_gets_a_gradient(make, task):
    model, batch = make(task)
    model(batch).loss.sum().backward()
    assert any(float(p.grad.abs().max()) > 1e-8 for p in model.trees.scorer.parameters())


def test_padding_changes_nothing(make, corpus, task, estimator):
    model, batch = make(task, estimator=estimator)
    together = model(batch)
    assert len(set(batch.sides[0].lengths.tolist())) > 1
    split = model.encode(corpus(task).splits["train"])
    for b in range(8):
        alone = model(split.batch([b]))
        torch.testing.assert_close(alone.prediction[0], together.prediction[b])
        torch.testing.assert_close(alone.loss[0], together.loss[b])


def test_unknown_targets_give_predictions_without_loss(make, task):
    model, batch = make(task)
    known = model(batch)
    batch.targets[3] = torch.nan if batch.targets.is_floating_point() else -1
    output = model(batch)
    assert output.loss is None
    torch.testing.assert_close(output.prediction, known.prediction)


def test_temperature_can_be_set(make, task):
    model, batch = make(task, estimator="sparsemap:temperature=2")
    assert model.temperature == 2.0
    many = model(batch).posteriors[0].sizes.sum()
    model.temperature = 1e-4
    assert model(batch).posteriors[0].sizes.sum() < many


def leaves(model: TreeModel, batch: Batch, row: int) -> Tensor:
    """(n, hidden) what the composer makes of each word of a sentence as a leaf."""
    assert model.trees is not None
    side = batch.sides[0]
    read: list[Tensor] = []
    hook = model.trees.composer.register_forward_pre_hook(
        lambda _, arguments: read.append(arguments[0])
    )
    model(batch)
    hook.remove()
    n = int(side.lengths[row])
    flat = Forest.from_heads(
        torch.zeros(1, n, dtype=torch.int64), torch.tensor([n]), torch.tensor([0])
    )
    return model.trees.composer(read[0][row : row + 1, :n], flat, True)[1][:n]


@pytest.mark.parametrize("composer", COMPOSERS)
def test_every_composer_learns_and_comes_back_from_a_config(make, task, composer):
    model, batch = make(task, composer=composer)
    model(batch).loss.mean().backward()
    assert all(p.grad is not None for p in model.trees.composer.parameters())
    again = type(model).from_config(model.config())
    assert type(again.trees.composer) is COMPOSERS[composer]


PARTS = [
    ("spigot", "tree_lstm"),
    ("straight-through", "tree_lstm"),
    ("straight-through", "tree_gru"),
    ("straight-through", "messages"),
    ("gibbs", "messages"),
]
DRAWN = [
    ("perturbed", "tree_lstm"),
    ("imle", "tree_gru"),
    ("aimle", "messages"),
    ("relaxed", "messages"),
    ("score-function", "tree_lstm"),
    ("score-function:baseline=self-critic", "ordered"),
    ("score-function:baseline=moving", "messages"),
]


@pytest.mark.parametrize(("estimator", "composer"), PARTS)
@pytest.mark.parametrize("words", ["context", "words"])
def test_gradients_that_go_by_the_parts_reach_the_parser(make, task, estimator, composer, words):
    model, batch = make(task, estimator=estimator, composer=composer, composer_input=words)
    output = model(batch)
    assert all(posterior.carries_parts for posterior in output.posteriors)
    output.loss.sum().backward()
    assert all(parameter.grad.any() for parameter in model.parser_parameters())


@pytest.mark.parametrize(("estimator", "composer"), DRAWN)
@pytest.mark.parametrize("loss", some_quick(["marginal", "expected"]))
def test_what_is_drawn_reaches_the_parser(make, task, estimator, composer, loss):
    model, batch = make(task, estimator=estimator, composer=composer, loss=loss)
    assert not torch.equal(model(batch).loss, model(batch).loss)
    for _ in range(5):  # a draw may happen to give no gradient
        model(batch).loss.sum().backward()
    for parameter in model.parser_parameters():
        assert parameter.grad.isfinite().all()
        assert parameter.grad.any()
    model.eval()
    assert torch.equal(model(batch).loss, model(batch).loss)


@pytest.mark.parametrize(("estimator", "composer"), PARTS + DRAWN)
def test_every_model_is_told_of_by_trees(make, task, estimator, composer):
    model, batch = make(task, estimator=estimator, composer=composer, entropy=0.1)
    for metric in model.new_metrics(training=True):
        metric.add(model(batch), batch)
    model.eval()
    output = model(batch)
    metrics = model.new_metrics()
    for metric in metrics:
        metric.add(output, batch)
    told = model.measured(metrics)
    assert told["support"] == 1.0
    assert told["agreement"] == told["attachment"]
    assert sum(told["histogram"].values()) == 8 * len(batch.sides)
    for posterior in output.posteriors:
        assert posterior.structures.shape == (8, posterior.shape[0])
    assert model.posterior([Sentence(("oak", "elm"))]).structures.shape == (1, 2)
    again = type(model).from_config(model.config()).double()
    again.load_state_dict(model.state_dict())
    assert torch.equal(again.eval()(batch).loss, output.loss)


@pytest.mark.parametrize(("estimator", "composer"), PARTS)
def test_padding_changes_nothing_where_gradients_go_by_parts(
    make, corpus, task, estimator, composer
):
    model, batch = make(task, estimator=estimator, composer=composer)
    together, split = model(batch), model.encode(corpus(task).splits["train"])
    for b in range(8):
        torch.testing.assert_close(model(split.batch([b])).loss[0], together.loss[b])


def test_only_an_estimator_that_has_one_at_test_has_a_temperature(make):
    soft, _ = make("classify", estimator="gibbs:temperature=2.0", composer="messages")
    assert soft.temperature == 2.0
    relaxed, _ = make("classify", estimator="relaxed:temperature=2.0", composer="messages")
    assert relaxed.temperature is None
    relaxed.set_latent("temperature", 0.5)
    assert relaxed.config()["options"]["estimator"] == "relaxed:temperature=0.5"


def test_a_config_from_before_composers_could_be_chosen_loads(make, task):
    model, _ = make(task)
    config = model.config()
    del config["options"]["composer"]
    assert isinstance(type(model).from_config(config).trees.composer, ChildSumTreeLSTM)


@pytest.mark.parametrize("estimator", ["sparsemap:max_active=10", "flat"])
@pytest.mark.parametrize("own", [None, False, True])
def test_a_composer_of_words_sees_no_context(make, task, estimator, own):
    words = {} if own is None else {"composer_input": "words", "own_embeddings": own}
    model, batch = make(task, estimator=estimator, **words)
    side = batch.sides[0]
    row = int(side.lengths.argmax())
    before = leaves(model, batch, row)
    side.tokens[row, 0] = (side.tokens[row, 0] + 1) % len(model.vocabulary)
    after = leaves(model, batch, row)
    assert not torch.equal(after[0], before[0])
    assert torch.equal(after[1:], before[1:]) == (own is not None)


@pytest.mark.parametrize("own", [False, True])
def test_a_composer_of_words_learns(make, task, estimator, own):
    model, batch = make(
        task, estimator=estimator, composer_input="words", own_embeddings=own, tune_vectors=True
    )
    # Only a parser has use for context, and for embeddings that differ from the composer's.
    latent = parse(estimator).reads_scores
    assert (model.encoder.lstm is not None) == latent
    assert (model.second is not None) == (latent and own)
    model(batch).loss.sum().backward()
    for name, parameter in model.named_parameters():
        assert not parameter.requires_grad or parameter.grad.any(), name


def test_own_embeddings_start_from_the_same_vectors(make):
    for tune in (False, True):
        model, _ = make("classify", tune_vectors=tune, composer_input="words", own_embeddings=True)
        table = torch.randn(len(model.vocabulary), 4).double()
        model.set_vectors(table)
        for encoder in (model.encoder, model.second):
            assert torch.equal(encoder.embedding.weight, table)
            assert encoder.embedding.weight.requires_grad == tune


def test_noise_is_on_the_scores_in_training_alone(make, task):
    model, batch = make(task, noise=1.0)
    plain, _ = make(task)
    plain.load_state_dict(model.state_dict())
    assert not torch.equal(model(batch).loss, plain(batch).loss)
    assert torch.equal(model.eval()(batch).loss, plain.eval()(batch).loss)


@pytest.mark.parametrize("projective", [False, True])
def test_the_root_may_be_known(make, task, projective):
    model, batch = make(task, known_root=1, projective=projective)
    for posterior in model(batch).posteriors:
        assert (posterior.structures[:, 0] == 0).all()
        assert (posterior.structures[:, 1:] != 0).all()
    flat, _ = make(task, known_root=1, estimator="flat")  # only latent trees are told
    assert (flat(batch).posteriors[0].structures <= 0).all()


def test_the_bonus_for_entropy(make, task):
    model, batch = make(task, entropy=0.25)
    plain, _ = make(task)
    plain.load_state_dict(model.state_dict())
    output = plain(batch)
    bonus = 0.25 * torch.stack([p.entropy() for p in output.posteriors]).sum(0)
    assert (bonus > 0).any()
    torch.testing.assert_close(model(batch).loss, output.loss - bonus)
    assert torch.equal(model.eval()(batch).loss, output.loss)
    batch.targets[0] = torch.nan if batch.targets.is_floating_point() else -1
    assert model.train()(batch).loss is None


def test_the_entropy_is_differentiable_to_the_scores():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 3, 4, dtype=torch.float64, generator=generator).requires_grad_()
    trees = DependencyTrees(single_root=True)
    assert (sparsemap(scores, trees).sizes > 1).all()
    assert torch.autograd.gradcheck(lambda x: sparsemap(x, trees).entropy(), scores)


def test_half_precision_keeps_the_digits_of_the_loss(make, task):
    model, batch = make(task)
    model.float()
    exact = model(batch)
    with torch.autocast("cpu", torch.bfloat16):
        output = model(batch)
    assert output.posteriors[0].weights.dtype == torch.bfloat16
    assert output.loss.dtype == torch.float32
    assert output.prediction.dtype.itemsize >= 4
    torch.testing.assert_close(output.loss, exact.loss, rtol=0.1, atol=0.1)
    output.loss.sum().backward()


def test_vectors_are_fixed_unless_tuned(make):
    for tune in (False, True):
        model, _ = make("classify", tune_vectors=tune)
        table = torch.randn(len(model.vocabulary), 4)
        model.set_vectors(table)
        weight = model.encoder.embedding.weight
        torch.testing.assert_close(weight.detach(), table.double())
        assert weight.requires_grad == tune


def test_vectors_of_another_shape_are_refused():
    model = SentenceModel(ModelConfig(hidden=4, embedding=3), ["<unk>", "oak"], ["x"])
    with pytest.raises(ValueError, match=r"expected \(2, 3\) for 2 words of size 3, got \(2, 4\)"):
        model.set_vectors(torch.zeros(2, 4))


LEAVES = ("oak", "elm", "ash", "yew", "fir", "nowhere")


def _headed(model: TreeModel, batch: Batch) -> list[set[str]]:
    """The words that another hangs from, of each tree."""
    words, found = model.vocabulary.words, []
    for posterior, side in zip(model(batch).posteriors, batch.sides, strict=True):
        for heads, b in zip(posterior.structures, posterior.instance, strict=True):
            found.append({words[side.tokens[b, head - 1]] for head in heads if head > 0})
    return found


def test_words_may_be_told_to_be_leaves(make, task):
    model, batch = make(task, leaves=LEAVES)
    assert not any(headed & set(LEAVES) for headed in _headed(model, batch))
    plain, _ = make(task)
    assert any(headed & set(LEAVES) for headed in _headed(plain, batch))


@pytest.mark.parametrize("options", [{"single_root": True}, {"known_root": 1}], ids=str)
def test_leaves_that_leave_no_tree_are_no_leaves(make, options):
    every = tuple(make("classify")[0].vocabulary.words)
    (model, batch), (plain, _) = (
        make("classify", leaves=every, **options),
        make("classify", **options),
    )
    assert torch.equal(model(batch).posteriors[0].weights, plain(batch).posteriors[0].weights)
