"""Tables as cells and in Markdown."""

from typing import Any

from sparsewood.lab.train.grid import Grid
from sparsewood.lab.train.paper_figures import LATENT


def _spread(mean: float, std: float | None = None) -> dict[str, Any]:
    return {"mean": mean, "std": std, "values": [mean]}


def _row(tests: dict[str, dict[str, Any]], validation: dict[str, Any]) -> dict[str, Any]:
    return {
        "lr": 0.1,
        "seeds": [0, 1],
        "seconds_per_epoch": 12.34,
        "tests": tests,
        "validation": {**validation, "support": _spread(1.5)},
    }


def test_accuracies_beside_the_papers() -> None:
    summary = {
        "criterion": "accuracy",
        "rows": {
            LATENT: _row({"test": {"accuracy": _spread(84.8, 0.3)}}, {"accuracy": _spread(85)}),
            "right_to_left": _row({"test": {"accuracy": _spread(80)}}, {"accuracy": _spread(81)}),
        },
    }
    lines = Grid.of(summary, "sst").markdown().splitlines()
    assert lines[0] == "| estimator | accuracy | validation | trees kept | lr | seeds | s/epoch |"
    assert lines[2] == "| sparsemap | 84.80 ± 0.30 (84.73) | 85.00 | 1.50 | 0.1 | 2 | 12.3 |"
    assert lines[3] == "| right_to_left | 80.00 | 81.00 | 1.50 | 0.1 | 2 | 12.3 |"
    assert lines[-1].endswith("(2018), who call given off-line, sparsemap latent.")
    assert "84.73" not in Grid.of(summary).markdown()


def test_certificates_of_latent_rows() -> None:
    accuracy = {"accuracy": _spread(60.0)}
    few = {"certified": 13, "sentences": 1821, "capped": 1808}
    rows = {
        "flat": {**_row({"test": accuracy}, accuracy), "certified": None},
        LATENT: {**_row({"test": accuracy}, accuracy), "certified": few},
    }
    head, _, flat, latent = Grid.of({"criterion": "accuracy", "rows": rows}).markdown().splitlines()
    assert head.endswith("| trees kept | certified | lr | seeds | s/epoch |")
    assert flat.endswith("| 1.50 |  | 0.1 | 2 | 12.3 |")
    assert latent.endswith("| 1.50 | 13 of 1,821 | 0.1 | 2 | 12.3 |")


def test_attachment_where_heads_are_known() -> None:
    accuracy = {"accuracy": _spread(60.0)}
    rows = {
        "flat": _row({"test": accuracy}, accuracy),
        LATENT: _row(
            {"test": accuracy},
            {
                **accuracy,
                "attachment": _spread(18.58),
                "attachment_without_brackets": _spread(20.04),
            },
        ),
    }
    head, _, flat, latent = Grid.of({"criterion": "accuracy", "rows": rows}).markdown().splitlines()
    columns = "| trees kept | attachment | attachment without ] | lr | seeds | s/epoch |"
    assert head.endswith(columns)
    assert flat.endswith("| 1.50 |  |  | 0.1 | 2 | 12.3 |")
    assert latent.endswith("| 1.50 | 18.6 | 20.0 | 0.1 | 2 | 12.3 |")


def test_ranks() -> None:
    metrics = {"median_rank": _spread(12.5), "accuracy_10": _spread(40), "loss": _spread(0.25)}
    tests = {"seen": metrics, "concepts": metrics}
    summary = {"criterion": "loss", "rows": {"flat": _row(tests, {"loss": _spread(0.3)})}}
    head, _, row, *_ = Grid.of(summary, "revdict").markdown().splitlines()
    assert head.startswith("| estimator | seen median rank | seen acc@10 | concepts median rank |")
    assert row.startswith(
        "| flat | 12.5 (18.0) | 40.0 (45.1) | 12.5 (29.0) | 40.0 (34.3) | 0.3000 |"
    )


def test_no_rows() -> None:
    assert Grid.of({"rows": {}}).markdown().startswith("| estimator |")
