"""The charts by length: which lines they have, what is shaded, and when there are none."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from sparsewood.lab.report._colours import Mark
from sparsewood.lab.report._lengths import length_curves
from sparsewood.lab.report._runs import ReportedRun
from sparsewood.lab.report.charts import Series, line_chart
from sparsewood.lab.report.page import write_report

SVG = "{http://www.w3.org/2000/svg}"
ENDS = ((10, 49), (50, 80), (81, 250), (251, 1000))
WORSE = {"sparsemap": (0, 0, 0.5, 1), "flat": (20, 22, 24, 25), "given": (1, 3, 5, 9)}


def told(estimator: str, seed: int, **more: Any) -> dict[str, Any]:
    bins = [
        {
            "from": low,
            "to": high,
            "mean": (low + high) / 2,
            "examples": 300,
            "accuracy": 99 - worse - seed,
            "attachment": 90.0 - worse if estimator == "flat" else 100.0,
        }
        for (low, high), worse in zip(ENDS, WORSE[estimator], strict=True)
    ]
    return {"unit": "words", "training": [4, 49], "bins": bins, **more}


@pytest.fixture
def runs(write_run: Callable[..., Path], tmp_path: Path) -> Callable[..., list[Path]]:
    """(**entries of by_length) -> three estimators with two seeds each."""

    def write(**more: Any) -> list[Path]:
        folders = []
        for estimator in WORSE:
            for seed in (0, 1):
                folder = write_run(tmp_path / estimator / str(seed), estimator, seed)
                path = folder / "result.json"
                result = json.loads(path.read_text())
                path.write_text(json.dumps(result | {"by_length": told(estimator, seed, **more)}))
                folders.append(folder)
        return folders

    return write


def drawn(figure: str) -> tuple[str, ElementTree.Element]:
    root = ElementTree.fromstring(figure)
    caption, chart = root
    return caption.text or "", chart


def points(chart: ElementTree.Element) -> list[ElementTree.Element]:
    """The points of lines, which have titles, without the marks beside their names."""
    return [circle for circle in chart.iter(f"{SVG}circle") if len(circle)]


def names(chart: ElementTree.Element) -> list[str | None]:
    return [text.text for text in chart.iter(f"{SVG}text") if text.get("class") == "name"]


def test_a_line_for_each_estimator_with_a_band_over_seeds(runs: Callable[..., list[Path]]) -> None:
    read = [ReportedRun(folder) for folder in runs()]
    accuracy, attachment = map(drawn, length_curves(read))
    assert accuracy[0] == "Accuracy, by number of words"
    assert names(accuracy[1]) == ["sparsemap", "flat", "given"]
    assert len([p for p in accuracy[1].iter(f"{SVG}path") if p.get("class") == "band"]) == 3
    (ground,) = (r for r in accuracy[1].iter(f"{SVG}rect") if r.get("class") == "ground")
    tips = [c[0].text for c in points(accuracy[1])]
    assert tips[0] == "sparsemap (2 seeds), 29.5: 98.5%"
    # The points of the lengths of training are on the ground, all others beyond it.
    right = float(ground.attrib["x"]) + float(ground.attrib["width"])
    places = [float(c.attrib["cx"]) for c in points(accuracy[1])]
    assert [x <= right for x in places] == [True, False, False, False] * 3
    assert names(attachment[1]) == ["sparsemap", "flat"]  # the given trees are the given ones
    assert attachment[0].startswith("Attachment of the likeliest tree")


def test_the_page_has_the_charts(runs: Callable[..., list[Path]], tmp_path: Path) -> None:
    page = write_report(runs(), tmp_path / "report.html").read_text()
    said = page.partition('<p class="finding">')[2].partition("</p>")[0]
    assert said.replace("&nbsp;", " ").endswith(
        "On inputs of 251 to 1000 words, where training had at most 49: 97.5 % against 73.5 %."
    )
    assert page.index("Accuracy by length") < page.index('class="results"')
    assert "with a band from the worst to the best" in page
    assert page.count('class="ground"') == 2


def test_without_lengths_there_is_no_chart(
    runs: Callable[..., list[Path]], write_run: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    old = ReportedRun(write_run(tmp_path / "old" / "run"))
    assert length_curves([old]) == []
    one = {"bins": told("flat", 0)["bins"][:1]}
    assert length_curves([ReportedRun(folder) for folder in runs(**one)]) == []
    page = write_report([old.folder], tmp_path / "report.html").read_text()
    assert "by length" not in page


def test_unknown_training_and_few_operators(runs: Callable[..., list[Path]]) -> None:
    bins = [{"from": n, "to": n, "mean": n, "examples": 9, "accuracy": 90.0 - n} for n in (0, 7, 8)]
    few = {"unit": "operators", "training": None, "bins": bins}
    (figure,) = length_curves([ReportedRun(folder) for folder in runs(**few)])
    caption, chart = drawn(figure)
    assert caption == "Accuracy, by number of operators"
    assert not [r for r in chart.iter(f"{SVG}rect") if r.get("class") == "ground"]
    assert "8" in [text.text for text in chart.iter(f"{SVG}text")]


def test_a_logarithmic_axis_has_even_decades() -> None:
    line = Series(
        "a", Mark("blue"), [(x, 1.0) for x in (1, 10, 100)], band=[(1, 0, 2), (100, 1, 1)]
    )
    chart = ElementTree.fromstring(line_chart([line], "t", "words", log=True, shaded=(1, 10)))
    first, second, third = (float(c.attrib["cx"]) for c in points(chart))
    assert second - first == pytest.approx(third - second, abs=0.11)
    marks = [text.text for text in chart.iter(f"{SVG}text")]
    assert {"1", "2", "5", "10", "100"} <= set(marks)
