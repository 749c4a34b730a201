import pytest
import torch

import sparsewood as sp
from sparsewood.lab.data import Corpus, Example, Sentence
from sparsewood.lab.run.gallery import sides_of
from sparsewood.lab.tasks import Model, ModelConfig, build_model
from sparsewood.lab.tasks.solved import solved_for


def _model(**options: object) -> Model:
    torch.manual_seed(0)
    examples = [
        Example((Sentence(tuple(text.split())),), label)
        for text, label in (("a small wood of oaks", "one"), ("far from here", "two"))
    ]
    corpus = Corpus("classify", {"train": examples})
    config = ModelConfig(hidden=6, embedding=4, **options)  # pyright: ignore[reportArgumentType]
    return build_model(corpus, config).eval()


@pytest.mark.parametrize(
    ("estimator", "more"),
    [
        ("sparsemap:max_active=3", {}),
        ("sparsemap:temperature=0.01", {"projective": True, "leaves": ("of",)}),
        ("sparsemap:max_support=2", {"single_root": True}),
        ("perturbed", {}),
    ],
)
def test_solving_it_again_gives_the_same_trees(estimator: str, more: dict[str, object]) -> None:
    model = _model(estimator=estimator, **more)
    sentences = [Sentence(tuple(t.split())) for t in ("a wood of oaks here", "far from oaks")]
    batch = model.encode([Example((s,)) for s in sentences]).batch([0, 1])
    with torch.no_grad():
        output, problems = model(batch), model.problems(batch)
    for i, sentence in enumerate(sentences):
        (side,) = sides_of([sentence], output, i, solved_for(model, problems, i))
        n = len(sentence.words)
        scores = torch.tensor([-torch.inf if s is None else s for s in side["scores"]])
        post = sp.sparsemap(
            scores.reshape(n, n + 1),
            sp.DependencyTrees(**side["structure"]),
            temperature=side["temperature"],
            max_active=side["max_active"],
            max_support=side["max_support"],
        )
        best = post.topk(int(post.sizes))
        assert [tree["heads"] for tree in side["trees"]] == best.structures.tolist()
        assert [tree["weight"] for tree in side["trees"]] == best.weights.tolist()


@pytest.mark.parametrize(
    "estimator", ["flat", "top-k:k=3", "sparsemap:max_iter=2", "sparsemap:weights=canonical"]
)
def test_what_a_figure_cannot_solve_again_is_left_out(estimator: str) -> None:
    model = _model(estimator=estimator)
    batch = model.encode([Example((Sentence(("far", "from")),))]).batch([0])
    assert solved_for(model, model.problems(batch), 0) == []
