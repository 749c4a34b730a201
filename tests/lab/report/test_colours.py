"""The colours of estimators: fixed, distinct, readable for readers with any colour vision."""

from itertools import combinations

import numpy
import pytest
from numpy.typing import NDArray

from sparsewood.estimators.names import NAMES
from sparsewood.lab.report._colours import HUES, MARKERS, Mark, css, mark_of, marks_of

Vector = NDArray[numpy.float64]
GROUNDS = ("#ffffff", "#1a1f1c")  # --card of light and dark pages
# Machado, Oliveira & Fernandes (2009), table 1, severity 1.0: what readers see, in linear RGB.
SIGHT = {
    "any": numpy.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


def linear(colour: str) -> Vector:
    channels = numpy.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return numpy.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    return float(linear(colour) @ [0.2126, 0.7152, 0.0722])


def oklab(rgb: Vector) -> Vector:
    """Ottosson (2020): distances are about those that people see; black to white is 1."""
    to_cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return numpy.array(to_lab) @ numpy.cbrt(numpy.array(to_cones) @ rgb.clip(0, 1))


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("sight", SIGHT)
def test_hues_differ(theme: int, sight: str) -> None:
    seen = [oklab(numpy.array(SIGHT[sight]) @ linear(hue[theme])) for hue in HUES.values()]
    assert min(float(numpy.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 0.1


@pytest.mark.parametrize("theme", [0, 1])
def test_hues_stand_out_from_the_page(theme: int) -> None:
    ground = luminance(GROUNDS[theme]) + 0.05
    for hue in HUES.values():
        own = luminance(hue[theme]) + 0.05
        assert max(own / ground, ground / own) >= 3  # WCAG 2.1, 1.4.11
        assert hue[theme] in css()


def test_an_estimator_has_one_mark_whatever_its_options() -> None:
    kin = ("sparsemap", "sparsemap:max_active=10", "sparsemap + between")
    assert {mark_of(row) for row in kin} == {Mark("blue")}
    assert mark_of("guesswork:k=3") == mark_of("guesswork")
    rows = [*NAMES, "lstm", "transformer", "mean", "bow", "chart"]
    assert len({mark_of(row) for row in rows if row != "right-to-left"}) >= len(rows) - 2
    assert marks_of(["imle", "sparsemap:max_active=5", "flat"]) == {
        "imle": mark_of("imle"),
        "sparsemap:max_active=5": mark_of("sparsemap"),
        "flat": mark_of("flat"),
    }


def test_rows_of_one_name_differ_by_their_marker() -> None:
    rows = [f"sparsemap:max_active={k}" for k in range(1, 6)]
    marks = marks_of([*rows, "imle", "flat"])
    assert len(set(marks.values())) == 7
    assert marks["imle"] == mark_of("imle")
    kin = [mark for row, mark in marks.items() if row in rows and mark.hue == "blue"]
    assert len(kin) == len(MARKERS) - 1  # I-MLE has the fifth
    most = [f"sparsemap:max_active={k}" for k in range(50)]
    assert len(set(marks_of(most).values())) == len(HUES) * len(MARKERS)
    assert marks_of([]) == {}
    assert Mark("blue").style == "hue-blue"
