"""The examples of latent structures reproduce their claims on synthetic sentences."""

import re
import runpy
import shutil
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

FOLDER = Path(__file__).parents[2] / "examples"
matplotlib.use("agg")

pytestmark = pytest.mark.full


@pytest.fixture
def said(
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> list[str]:
    """The output lines of the example named by the test's parameter, in an empty folder."""
    monkeypatch.delenv("SPARSEWOOD_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    path = shutil.copy(FOLDER / f"{request.param}.py", tmp_path)
    runpy.run_path(str(path))
    plt.close("all")
    return capsys.readouterr().out.splitlines()


def of(example: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("said", [example], indirect=True)


def figures(said: list[str], start: str, pattern: str) -> list[float]:
    """The numbers that `pattern` captures in the lines that begin with `start`."""
    lines = [line for line in said if line.strip().startswith(start)]
    return [float(x) for line in lines for x in re.findall(pattern, line)]


PERCENT = r"([\d.]+)%"


@of("segmenting")
def test_segmentations_find_more_words_than_surprise(said: list[str]) -> None:
    assert said[0].startswith("made-up")
    cuts = {
        name: figures(said[i:], "seed", rf"{name} +{PERCENT}")
        for i, name in ((1, "surprise"), (1, "ten"), (1, "all"))
    }
    assert all(len(found) == 3 for found in cuts.values())
    assert max(cuts["surprise"]) < 85 < 93 < min(cuts["ten"])
    assert sum(cuts["all"]) >= sum(cuts["ten"])


@of("rationales")
def test_four_words_are_enough_for_sets_and_not_for_attention(said: list[str]) -> None:
    by_four = {
        how: figures(said, how, rf"by four words +{PERCENT}") for how in ("attention", "sets")
    }
    assert min(by_four["sets"]) > 97
    assert sum(by_four["attention"]) < sum(by_four["sets"]) - 3


@of("latent_alignment")
def test_pairs_of_words_tell_more_than_means(said: list[str]) -> None:
    means, matching = (figures(said, how, PERCENT) for how in ("means", "matching"))
    assert max(means) < 93 < 97 < min(matching)


@of("few_labels")
def test_a_chain_learns_from_few_labels(said: list[str]) -> None:
    chain, single = (
        figures(said, how, rf"{PERCENT}(?=[,\s])") for how in ("SparseMAP  ", "single")
    )
    # share, then three seeds; a fifth of the labels is worth nearly all of them
    assert chain[4] == single[4] == 20
    assert min(chain[5:8]) > max(single[5:8])
    assert sum(chain[9:12]) - sum(chain[5:8]) < 12


@of("sorting")
def test_losses_of_rankings_sort_more_lists_than_regression(said: list[str]) -> None:
    regression = figures(said, "regression", PERCENT)
    for how in ("soft ranks", "sparsemap", "crf"):
        assert min(figures(said, how, PERCENT)) > 2 * max(regression)
    orders = [line for line in said if "1. " in line]
    assert len(orders) > 1
    assert all(f"{rank}. " in line for line in orders for rank in range(1, 7))


@of("routing")
def test_capacities_err_least(said: list[str]) -> None:
    """Exact ones where kinds are equally frequent, with room where they are not."""
    middle = said.index("kinds by chance")
    for lines, how in ((said[:middle], "8 each"), (said[middle:], "at most 16")):
        own, balanced = (figures(lines, name, r"(0\.\d+)[,;]") for name in (how, "top-1, balanced"))
        assert sum(own) < 0.8 * sum(balanced)


@of("latent_program")
def test_programs_answer_questions_longer_than_any_seen(said: list[str]) -> None:
    assert figures(said, "9 words", PERCENT) == [100.0] * 3
    assert max(figures(said, "network", PERCENT)) < 50


@of("shortest_paths")
def test_costs_are_learned_from_paths(said: list[str]) -> None:
    (straight,) = figures(said, "straight", PERCENT)
    learned = figures(said, "learned", PERCENT)
    assert len(learned) == 3
    assert max(learned) < 10 < straight / 2
