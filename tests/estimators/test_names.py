"""Names of estimators, parsed and written."""

import pytest
import torch

import sparsewood as sp
from sparsewood.estimators import name_of, parse

NAMES: dict[str, sp.Estimator] = {
    "sparsemap": sp.SparseMAP(),
    "sparsemap:temperature=0.5,max_active=10": sp.SparseMAP(max_active=10, temperature=0.5),
    "sparsemap:tol=1e-06,solver=generic": sp.SparseMAP(tol=1e-6, solver="generic"),
    "sparsemap:on_unconverged=warn": sp.SparseMAP(on_unconverged="warn"),
    "top-k:k=5": sp.TopK(5),
    "top-k:k=2,weights=sparsemax": sp.TopK(2, "sparsemax"),
    "sum-and-sample:k=2": sp.SumAndSample(2),
    "sum-and-sample:k=2,samples=3": sp.SumAndSample(2, 3),
    "score-function": sp.ScoreFunction(),
    "score-function:samples=1,baseline=self-critic": sp.ScoreFunction(1, "self-critic"),
    "score-function:baseline=moving,decay=0.9": sp.ScoreFunction(baseline="moving", decay=0.9),
    "straight-through": sp.StraightThrough(),
    "straight-through:backward=marginals": sp.StraightThrough("marginals"),
    "spigot": sp.Spigot(),
    "spigot:eta=0.5,backward=ce": sp.Spigot(0.5, "ce"),
    "imle": sp.IMLE(),
    "imle:lambda_=20.0,tau=0.5,noise=gumbel,samples=4": sp.IMLE(20.0, 0.5, "gumbel", 4),
    "perturbed": sp.Perturbed(),
    "perturbed:samples=2,sigma=0.5,noise=gumbel": sp.Perturbed(2, 0.5, "gumbel"),
    "relaxed": sp.Relaxed(),
    "relaxed:temperature=0.5,gumbel=false": sp.Relaxed(0.5, gumbel=False),
    "aimle": sp.AIMLE(),
    "aimle:target=2.0,samples=4,symmetric=true": sp.AIMLE(target=2.0, samples=4, symmetric=True),
    "blackbox": sp.Blackbox(),
    "blackbox:lambda_=20.0": sp.Blackbox(20.0),
    "map": sp.MAP(),
    "gibbs": sp.Gibbs(),
    "gibbs:temperature=0.1": sp.Gibbs(temperature=0.1),
    "flat": sp.Fixed("flat"),
    "left-to-right": sp.Fixed("left_to_right"),
    "right-to-left": sp.Fixed("right_to_left"),
    "given": sp.Given(),
}


@pytest.mark.parametrize("name", NAMES)
def test_there_and_back(name: str) -> None:
    assert parse(name) == NAMES[name]
    assert name_of(NAMES[name]) == name


def test_hyphens_may_be_spelled_otherwise() -> None:
    assert parse("topk:k=2") == parse("top_k:k=2") == sp.TopK(2)
    assert parse("straight_through") == sp.StraightThrough()
    assert parse("left_to_right") == parse("lefttoright") == sp.Fixed("left_to_right")


def test_defaults_may_be_spelled() -> None:
    assert parse("sparsemap:max_active=none,temperature=1") == sp.SparseMAP()
    assert name_of(sp.SparseMAP(temperature=1)) == "sparsemap"
    assert name_of(sp.Given(torch.zeros(2, 3))) == "given"  # a name holds no tensors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("latent", "expected one of sparsemap, top-k, .*, flat, .*, given; got 'latent'"),
        ("", "expected one of sparsemap"),
        (None, "expected a name, got None"),
        ("sparsemap:warmth=2", "estimator sparsemap: the options are temperature, tol, max_active"),
        ("sparsemap:", "the options are temperature"),
        ("sparsemap:tol", "the options are .*; got 'tol'"),
        ("sparsemap:tol=1,tol=2", "the options are .*; got 'tol=2'"),
        ("sparsemap:max_active=few", "max_active: expected a whole number or none, got 'few'"),
        ("sparsemap:max_active=0", "estimator sparsemap: max_active must be at least 1, got 0"),
        ("sparsemap:temperature=none", "temperature: expected a number, got 'none'"),
        ("relaxed:gumbel=1", "gumbel: expected true or false, got '1'"),
        ("topk", "estimator top-k: needs k"),
        ("topk:k=2,weights=max", 'weights: expected "softmax" or "sparsemax", got \'max\''),
        ("flat:kind=left_to_right", "estimator flat: it has no options; got"),
        ("given:structures=1", "estimator given: it has no options; got"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_an_estimator_without_a_name() -> None:
    class Mine(sp.SparseMAP):
        pass

    with pytest.raises(ValueError, match=r"Mine\(\) has no name; known are sparsemap"):
        name_of(Mine())
    with pytest.raises(ValueError, match="'flat' has no name"):
        name_of("flat")  # pyright: ignore[reportArgumentType]
