import torch

import sparsewood as sp
from sparsewood.draw import posterior_text
from sparsewood.draw._shapes import Box
from sparsewood.draw.items import Items, Ranking


def test_the_chosen_are_marked() -> None:
    picture = Items(("apple", "pear", "plum"), (0, 2))
    assert picture.text() == ["● apple   ○ pear   ● plum"]
    boxes = [shape for shape in picture.panel().shapes if isinstance(shape, Box)]
    assert [box.shaded for box in boxes] == [True, False, True]
    assert picture.description(1.0) == "Chosen with probability 100.0%: apple, plum"
    assert Items(("a", "b"), ()).description() == "Chosen: nothing"


def test_many_items_stand_in_columns() -> None:
    rows = Items(tuple(f"item {i}" for i in range(20)), (3,)).text()
    assert len(rows) > 1
    assert all(len(row) <= 78 for row in rows)
    starts = [[i for i, c in enumerate(row) if c in "●○"] for row in rows]
    assert all(start == starts[0][: len(start)] for start in starts)
    panel = Items(tuple(f"item {i}" for i in range(20)), (3,)).panel()
    assert panel.width <= 650
    assert len({shape.y for shape in panel.shapes if isinstance(shape, Box)}) > 1


def test_of_very_many_only_the_chosen_are_drawn() -> None:
    names = tuple(f"item {i}" for i in range(5000))
    assert Items(names, (7, 4000)).text() == ["● item 7   ● item 4000", "2 of 5,000 items"]
    assert Items(names, ()).text() == ["0 of 5,000 items"]
    assert Items(names, ()).panel().height > 0
    assert len(Items(names, (7,)).panel().shapes) == 3


def test_rankings_are_drawn_in_order() -> None:
    scores = torch.tensor([[2.0, torch.nan, torch.nan], [0.0, 9.0, 5.0]])
    post = sp.sparsemap(scores, sp.Rankings(), lengths=torch.tensor([1, 3]))
    assert "1. pear   2. plum   3. fig" in posterior_text(post[1], ["pear", "fig", "plum"])
    assert "1. pear" in posterior_text(post[0], ["pear"])
    many = Ranking(tuple(f"{rank}. item" for rank in range(1, 1001)), tuple(range(40)))
    assert many.text()[-1] == "40 of 1,000 items"
    assert many.text()[0].startswith("1. item")
    assert many.description().startswith("Order: 1. item, 2. item")
