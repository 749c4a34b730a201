"""What a report says first."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sparsewood.lab.data.sources import SOURCES
from sparsewood.lab.report import write_report
from sparsewood.lab.report._finding import Finding, finding_of
from sparsewood.lab.report._runs import ReportedRun
from sparsewood.lab.tasks import TASKS

WriteRun = Callable[..., Path]
Answers = dict[str, tuple[str | None, ...]]  # estimator -> right and wrong answers of each seed


ONE = "One seed; variation between seeds not assessed."


@pytest.fixture
def find(tmp_path: Path, write_run: WriteRun) -> Callable[[Answers], Finding]:
    """The finding of runs with these answers; None: a run that has kept none."""

    def find(answers: Answers) -> Finding:
        runs = []
        for estimator, texts in answers.items():
            for seed, text in enumerate(texts):
                run = write_run(tmp_path / estimator / str(seed), estimator, seed, epochs=1)
                if text is not None:
                    _answer(run, text)
                runs.append(ReportedRun(run))
        return finding_of(runs)

    return find


def _answer(run: Path, text: str) -> None:
    result = json.loads((run / "result.json").read_text())
    result["tests"] = {"test": {"accuracy": 100 * text.count("1") / len(text)}}
    (run / "result.json").write_text(json.dumps(result))
    kept = {"test": {"items": "hash", "outcomes": text}}
    (run / "outcomes.json").write_text(json.dumps(kept))


def test_one_run(find: Callable[[Answers], Finding]) -> None:
    assert find({"flat": ("1110",)}) == Finding(
        "flat, whose trees are fixed, answers 75.0 % of the test examples correctly.",
        ONE,
        "Accuracy 75.00 on test.",
    )
    assert find({"sparsemap": ("1110",)}) == Finding(
        "sparsemap, which learns its trees, answers 75.0 % of the test examples correctly.",
        ONE,
        "Accuracy 75.00 on test. It keeps 8.0 trees per sentence.",
    )


def test_seeds_of_one_estimator(find: Callable[[Answers], Finding]) -> None:
    found = find({"flat": ("1110", "1111")})
    assert found.caveat == ""
    assert found.numbers == "Accuracy 87.50 ± 17.68 on test (2 seeds)."


def test_more_than_chance(find: Callable[[Answers], Finding]) -> None:
    found = find({"flat": ("0" * 20,) * 2, "sparsemap": ("1" * 20,) * 2, "given": ("1" * 20,) * 2})
    assert found == Finding(
        "sparsemap, which learns its trees, answers 100.0 % of the test examples correctly; "
        "flat, whose trees are fixed, 0.0 %.",
        "",
        "Accuracy on test: 100.00 ± 0.00 against 0.00 ± 0.00, difference +100.00 "
        "[+100.00, +100.00] (95 % interval over the 2 seeds and test items, p < 0.001).",
    )


def test_one_seed_claims_nothing_of_others(find: Callable[[Answers], Finding]) -> None:
    found = find({"flat": ("1" * 200,), "sparsemap": ("0" * 200,)})
    assert found.caveat == ONE
    assert found.numbers == (
        "Accuracy on test: 0.00 against 100.00, difference -100.00 [-100.00, -100.00] "
        "(95 % interval over test items alone)."
    )


def test_what_limits_the_claim_is_said_first(tmp_path: Path, write_run: WriteRun) -> None:
    runs = [write_run(tmp_path / s, s, epochs=2) for s in ("flat", "sparsemap")]
    page = write_report(runs, tmp_path / "report.html").read_text(encoding="utf-8")
    places = [page.index(f'<p class="{name}">') for name in ("task", "caveat", "finding")]
    assert places == sorted(places)
    assert page.index(ONE) < page.index('<p class="finding">') < page.index("Accuracy on test:")


@pytest.mark.parametrize(
    ("best_epoch", "max_epochs", "told"),
    [
        (2, 2, True),  # the limit, while there was still progress
        (1, 2, False),  # the limit, after progress had ended
        (2, 20, False),  # stopped by patience
    ],
)
def test_training_that_was_cut_short(
    best_epoch: int, max_epochs: int, told: bool, tmp_path: Path, write_run: WriteRun
) -> None:
    runs = [write_run(tmp_path / s, s, epochs=2) for s in ("flat", "sparsemap")]
    for run in runs:
        for name, changes in (
            ("config.json", {"training": {"max_epochs": max_epochs, "seed": 0}}),
            ("result.json", {"best_epoch": best_epoch}),
        ):
            path = run / name
            path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    page = write_report(runs, tmp_path / "report.html").read_text(encoding="utf-8")
    text = "After 2 epochs, the limit, sparsemap and flat were still improving on validation."
    assert (text in page) == told
    page = write_report(runs[:1], tmp_path / "report.html").read_text(encoding="utf-8")
    text = "After 2 epochs, the limit, flat was still improving on validation."
    assert (text in page) == told


def test_no_more_than_chance(find: Callable[[Answers], Finding]) -> None:
    found = find({"flat": ("1100",), "sparsemap": ("1000",), "given": ("1111",)})
    assert found.said.endswith(
        "; flat, whose trees are fixed, 50.0 %: not a significant difference."
    )
    assert found.numbers == (
        "Accuracy on test: 25.00 against 50.00, difference -25.00 [-75.00, +0.00] "
        "(95 % interval over test items alone). Best of all: given, 100.00."
    )


def test_one_lucky_seed_does_not_lead(find: Callable[[Answers], Finding]) -> None:
    found = find({"flat": ("1000",) * 2, "given": ("1111",), "sparsemap": ("1100",) * 2})
    assert found.said.startswith("sparsemap, which learns its trees, answers 50.0 %")
    assert "interval over the 2 seeds and test items, p = " in found.numbers


def test_seeds_that_one_has_alone(find: Callable[[Answers], Finding]) -> None:
    found = find({"flat": ("1000",) * 2, "given": ("1111",) * 2, "sparsemap": ("1100",) * 3})
    numbers = found.numbers
    assert "(95 % interval over the 2 seeds that both have and test items, p = " in numbers
    assert numbers.endswith("). Best of all: given, 100.00 ± 0.00.")


def test_flat_trees_of_the_same_model(tmp_path: Path, write_run: WriteRun) -> None:
    runs = []
    for name, attention, answers in (
        ("flat", "none", "0000"),
        ("flat", "softmax", "0111"),
        ("sparsemap", "softmax", "1111"),
    ):
        folder = write_run(tmp_path / name / attention, name, kind="sick", epochs=1)
        config = json.loads((folder / "config.json").read_text())
        config["model"]["attention"] = attention
        (folder / "config.json").write_text(json.dumps(config))
        _answer(folder, answers)
        runs.append(ReportedRun(folder))
    found = finding_of(runs)
    assert "; flat + softmax, whose trees are fixed, 75.0" in found.said


def test_level(find: Callable[[Answers], Finding]) -> None:
    found = find({"flat": ("10",), "sparsemap": ("10",)})
    assert found.said.endswith("; flat, whose trees are fixed, 50.0 %: no difference.")


def test_answers_that_were_not_kept(find: Callable[[Answers], Finding]) -> None:
    found = find({"left-to-right": (None,), "sparsemap": ("1111", "1111")})
    assert found.caveat == "One seed of left-to-right; variation between its seeds not assessed."
    assert found.numbers.startswith("Accuracy on test: 100.00 ± 0.00 against ")
    assert found.numbers.endswith(
        "(1 and 2 seeds); the difference was not tested, "
        "as no answers to the same items were saved."
    )


def test_a_rank_is_better_when_lower(tmp_path: Path, write_run: WriteRun) -> None:
    runs = [write_run(tmp_path / s, s, kind="revdict", epochs=2) for s in ("flat", "sparsemap")]
    for run, loss in zip(runs, (2.0, 1.5), strict=True):
        result = json.loads((run / "result.json").read_text())
        result["tests"] = {"seen": {"loss": loss, "median_rank": 10.0}}
        (run / "result.json").write_text(json.dumps(result))
    page = write_report(runs, tmp_path / "report.html").read_text()
    assert (
        "sparsemap, which learns its trees, has loss 1.5000 on the seen examples (lower is "
        "better); flat, whose trees are fixed, 2.0000." in page
    )


def test_a_run_in_training(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", epochs=1, finished=False)
    page = write_report([run], tmp_path / "report.html").read_text()
    assert "sparsemap is in training: accuracy " in page
    assert " so far.</p>" in page
    (run / "metrics.jsonl").unlink()
    page = write_report([run], tmp_path / "report.html").read_text()
    assert "No results yet: no run has completed an epoch." in page


def test_each_data_set_has_its_own(tmp_path: Path, write_run: WriteRun) -> None:
    runs = [write_run(tmp_path / kind, kind=kind, epochs=1) for kind in ("sst", "sick")]
    page = write_report(runs, tmp_path / "report.html").read_text()
    parts = page.split('<h2 class="data">')[1:]
    assert [part.partition("<")[0] for part in parts] == ["sst", "sick"]
    assert all(part.count('<p class="finding">sparsemap, which learns') == 1 for part in parts)
    tasks = [part.partition("The task.</b> ")[2].partition(" ")[0] for part in parts]
    assert tasks == ["Judge", "Decide"]


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_says_what_is_asked(kind: str) -> None:
    source = SOURCES[kind]
    asked = source.asked or TASKS[source.task].asked
    assert asked.endswith(".")
    assert "{" not in asked
