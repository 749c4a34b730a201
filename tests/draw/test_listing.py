import torch

import sparsewood as sp
from sparsewood.draw import posterior_text
from sparsewood.draw.listing import Listing
from tests.structures.test_numbers import Curve


def test_parts_are_numbers() -> None:
    assert Listing(((0,), (3,))).text() == ["parts 0  3"]
    assert Listing(((0, 1), (3, 2))).text() == ["parts (0, 1)  (3, 2)"]
    assert Listing(()).text() == ["no parts"]
    assert Listing(((2,),)).description() == "Structure with the parts: 2"


def test_long_lists_are_cut_and_wrapped() -> None:
    picture = Listing(tuple((i, i) for i in range(100)))
    assert picture.text()[-1].endswith("40 more")
    assert all(len(row) <= 78 for row in picture.text())
    panel = picture.panel()
    assert len(panel.shapes) == len(picture.text())
    assert panel.height > 20 * len(picture.text())


def test_numbers_are_listed_with_their_parts() -> None:
    assert Listing(((0,), (3,)), (2.0, -0.5)).text() == ["parts 0: 2  3: -0.5"]
    post = sp.sparsemap(torch.tensor([[0.0, 9.0, 0.0]]), Curve())
    assert "parts 0: 1.5  1: 2.25  2: 3.375" in posterior_text(post)
