"""`sp.draw(post)`, `post.show()` and `print(post)` draw."""

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

import sparsewood as sp
from sparsewood.draw import Drawing, Drawings
from tests.families import FAMILIES
from tests.seats import Seats

WORDS = ["She", "saw", "the", "man"]


def trees(*batch: int) -> sp.SparsePosterior:
    scores = torch.randn(*batch, 4, 5, generator=torch.Generator().manual_seed(0))
    return sp.sparsemap(scores, sp.DependencyTrees())


def call(post: Any, *args: Any, **named: Any) -> Drawing | Drawings:
    return sp.draw(post, *args, **named)


def method(post: Any, *args: Any, **named: Any) -> Drawing | Drawings:
    return post.show(*args, **named)


ways = pytest.mark.parametrize("draw", [call, method])
Draw = Callable[..., Drawing | Drawings]


@ways
@pytest.mark.parametrize("batch", [(), (1,), (2,), (2, 3), (0,)])
@pytest.mark.parametrize("family", [*FAMILIES, "seats"])
def test_any_family_and_any_batch(draw: Draw, family: str, batch: tuple[int, ...]) -> None:
    structure, shape = FAMILIES[family][:2] if family in FAMILIES else (Seats(), (4,))
    scores = torch.randn(*batch, *shape)
    if structure.parts_ndim is None and len(batch) != 1:
        pytest.skip("parts of any number of dimensions")
    post = sp.sparsemap(scores, structure)
    drawn = draw(post)
    assert isinstance(drawn, Drawing if len(post) == 1 else Drawings)
    assert ("%" in repr(drawn)) == (len(post) > 0)
    ElementTree.fromstring(drawn._repr_html_())


@ways
def test_one_instance_is_drawn_whole(draw: Draw) -> None:
    post = trees(3)
    assert repr(draw(post[1])) == repr(sp.draw.show(post, instance=1))
    assert repr(draw(post, instance=1)) == repr(sp.draw.show(post, instance=1))
    assert repr(draw(post, WORDS)) == repr(sp.draw.show(post, WORDS))
    assert repr(draw(post, given=[0, 1, 1, 1])) == repr(sp.draw.show(post, given=[0, 1, 1, 1]))
    each = [WORDS, list("abcd"), list("efgh")]
    assert repr(draw(post, each, 2)) == repr(sp.draw.show(post, list("efgh"), 2))


@ways
def test_a_batch_draws_its_first_instances(draw: Draw) -> None:
    post = trees(6)
    drawn = draw(post, [WORDS] * 6)
    assert isinstance(drawn, Drawings)
    for shown in (repr(drawn), drawn._repr_html_()):
        assert [f"instance {i}" in shown for i in range(6)] == [True] * 4 + [False] * 2
        assert "and 2 more instances: post.show(instance=4)" in shown
        assert "saw" in shown
    assert repr(drawn[5]) == repr(sp.draw.show(post, WORDS, 5))
    assert len(drawn) == 6
    assert drawn.to("conllu").count("# weight") == len(post.structures)
    with pytest.raises(ValueError, match="'svg' holds one instance, got 6"):
        drawn.to("svg")
    assert repr(draw(trees(0))) == "no instances"


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(ValueError, match="words: expected 2 lists, one per instance, got 1"):
        sp.draw(trees(2), [WORDS])
    with pytest.raises(TypeError, match=r"expected a Posterior, got list.*sp.draw.draw\(words"):
        sp.draw(WORDS)  # pyright: ignore[reportArgumentType]


def test_print_draws() -> None:
    one = str(trees()).splitlines()
    assert one[0] == repr(trees()).splitlines()[0]
    assert any("▼" in line for line in one)
    several = str(trees(3))
    assert several.startswith(repr(trees(3)))
    assert several.endswith("and 1 more instance: post[2], ...")
    assert ["instance 0" in several, "instance 1" in several] == [True, True]


def test_print_says_what_it_cannot_draw() -> None:
    soft = sp.Gibbs()(torch.zeros(2, 4, 5), sp.DependencyTrees())
    assert str(soft) == repr(soft)
    none = trees(0)
    assert str(none) == repr(none)
    wide = sp.sparsemap(torch.randn(1, 600), sp.Hypercube(), max_active=2)
    assert str(wide) == repr(wide)
    heads, ones = torch.tensor([[7, 7]]), torch.ones(1)
    broken = sp.Posterior(sp.DependencyTrees(), heads, ones, ones.long(), (2, 3))
    assert str(broken) == repr(broken)


def test_the_package_stays_a_package() -> None:
    import sparsewood.draw
    from sparsewood.draw import svg

    assert sparsewood.draw is sp.draw
    assert sp.draw.svg is svg
    assert "▼" in sp.draw.draw(WORDS, [[2, 0, 4, 2]], [1.0])
