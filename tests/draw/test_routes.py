"""Paths in text, and what a picture of a long one has."""

import torch

import sparsewood as sp
from sparsewood.draw._names import Names
from sparsewood.draw._problem import problem
from sparsewood.draw._shapes import Box, Line
from sparsewood.draw.routes import GridRoute, Route


def test_a_path_is_its_vertices() -> None:
    path = Route((0, 2, 13))
    assert path.text() == ["0 → 2 → 13"]
    assert path.description(0.5) == "Path with probability 50.0%: 0 → 2, 2 → 13"
    shapes = path.panel().shapes
    assert sum(isinstance(shape, Box) for shape in shapes) == 3
    assert [shape.title for shape in shapes if isinstance(shape, Line)] == ["0 → 2", "2 → 13"]


def test_a_long_path_is_broken_into_lines() -> None:
    path = Route(tuple(range(100, 160)))
    assert all(len(line) <= 78 for line in path.text())
    assert " ".join(path.text()) == " → ".join(map(str, path.vertices))
    panel = path.panel()
    assert panel.width < 660
    assert all(box.x + box.width <= panel.width for box in panel.shapes if isinstance(box, Box))


def test_a_path_through_a_grid_is_its_cells() -> None:
    path = GridRoute(2, 3, ((0, 0), (1, 1), (1, 2)))
    assert path.text() == ["■ · ·", "· ■ ■"]
    assert path.description() == "Path through the cells: (0, 0), (1, 1), (1, 2)"
    boxes = [shape for shape in path.panel().shapes if isinstance(shape, Box)]
    assert [box.shaded for box in boxes] == [True, False, False, False, True, True]


def test_posteriors_are_drawn() -> None:
    scores = torch.tensor([[1.0, 0.0, 0.5, 2.0]])
    diamond = sp.Paths([[0, 1], [0, 2], [1, 3], [2, 3]], 0, 3)
    drawn = sp.draw.posterior_text(sp.sparsemap(scores, diamond))
    assert "0 → 2 → 3" in drawn
    costs = torch.tensor([[[1.0, 9.0], [1.0, 1.0]]])
    assert "■ ·\n■ ■" in sp.draw.posterior_text(sp.sparsemap(-costs, sp.GridPaths(4)))


def test_the_items_of_a_live_figure_are_edges() -> None:
    diamond = sp.Paths([[0, 1], [0, 2], [1, 3], [2, 3]], 0, 3)
    data = problem(torch.zeros(2, 4), diamond, None, 1, Names()).data()
    assert data["words"] == ["0 → 1", "0 → 2", "1 → 3", "2 → 3"]
    assert (data["family"], data["picture"], data["noun"]) == ("paths", "items", "path")
    assert data["options"][:2] == [4, 4]
