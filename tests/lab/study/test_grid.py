"""Tables as cells and in Markdown."""

from typing import Any

from sparsewood.lab.study.grid import OPENINGS, Grid
from sparsewood.lab.study.paper_figures import LATENT


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
            "right-to-left": _row({"test": {"accuracy": _spread(80)}}, {"accuracy": _spread(81)}),
        },
    }
    lines = Grid.of(summary, "sst").markdown().splitlines()
    assert lines[0] == "| estimator | accuracy | validation | trees kept | lr | seeds | s/epoch |"
    assert lines[2] == "| sparsemap | 84.80 ± 0.30 (84.73) | 85.00 | 1.50 | 0.1 | 2 | 12.3 |"
    assert lines[3] == "| right-to-left | 80.00 | 81.00 | 1.50 | 0.1 | 2 | 12.3 |"
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
    columns = "| trees kept | attachment | attachment without brackets | lr | seeds | s/epoch |"
    assert head.endswith(columns)
    assert flat.endswith("| 1.50 |  |  | 0.1 | 2 | 12.3 |")
    assert latent.endswith("| 1.50 | 18.6 | 20.0 | 0.1 | 2 | 12.3 |")


def _compared(difference: float, low: float, high: float, seeds: int) -> dict[str, Any]:
    values = {"difference": difference, "low": low, "high": high}
    return {**values, "p": 0.01, "seeds": seeds, "items": 9}


def test_rows_against_flat() -> None:
    accuracy = {"accuracy": _spread(60.0)}
    row = _row({"test": accuracy}, accuracy)
    rows = {
        "flat": {**row, "against": {}},
        LATENT: {**row, "against": {"test": _compared(1.234, 0.4, 2.05, 3)}},
        "given": row,  # as tables had it before
    }
    grid = Grid.of({"criterion": "accuracy", "rows": rows}, "sst")
    lines = grid.markdown().splitlines()
    assert lines[0].startswith("| estimator | accuracy | against flat | validation |")
    assert lines[2].startswith("| flat | 60.00 (83.96) |  | 60.00 |")
    assert lines[3].startswith("| sparsemap | 60.00 (84.73) | +1.23 [+0.40, +2.05] | 60.00 |")
    assert lines[4].startswith("| given | 60.00 (83.25) |  | 60.00 |")
    assert lines[-1] == (
        "Against flat: the difference over the seeds that both have and its 95 % interval, by "
        "bootstrap over seeds and test items."
    )
    notes = [line for line in lines[5:] if line]
    assert all(note.startswith(start) for note, start in zip(notes, OPENINGS, strict=False))
    rows[LATENT]["against"] = {}
    assert "gainst" not in Grid.of({"criterion": "accuracy", "rows": rows}).markdown()


def test_a_criterion_without_a_column_is_named() -> None:
    metrics = {"median_rank": _spread(12.5), "loss": _spread(0.25)}
    row = _row({"seen": metrics, "unseen": metrics}, {"loss": _spread(0.3)})
    against = {"seen": _compared(-0.01, -0.02, 0.0, 1)}
    summary = {"criterion": "loss", "rows": {"flat": row, LATENT: {**row, "against": against}}}
    tables = Grid.of(summary).markdown().split("\n\n")
    seen, unseen, rest = (table.splitlines() for table in tables[:3])
    assert seen[0] == "| seen | median rank | loss against flat |"
    assert seen[2] == "| flat | 12.5 |  |"
    assert seen[3] == "| sparsemap | 12.5 | -0.0100 [-0.0200, +0.0000] |"
    assert unseen[0] == "| unseen | median rank |"
    assert unseen[2:] == ["| flat | 12.5 |", "| sparsemap | 12.5 |"]
    assert rest[0].startswith("| estimator | validation |")
    assert rest[2].startswith("| flat | 0.3000 |")


def test_ranks() -> None:
    metrics = {"median_rank": _spread(12.5), "accuracy_10": _spread(40), "loss": _spread(0.25)}
    tests = {"seen": metrics, "concepts": metrics}
    summary = {"criterion": "loss", "rows": {"flat": _row(tests, {"loss": _spread(0.3)})}}
    tables = Grid.of(summary, "revdict").markdown().split("\n\n")
    seen, concepts, rest = (table.splitlines() for table in tables[:3])
    assert seen == [
        "| seen | median rank | acc@10 |",
        "| --- | ---: | ---: |",
        "| flat | 12.5 (18.0) | 40.0 (45.1) |",
    ]
    assert concepts[2] == "| flat | 12.5 (29.0) | 40.0 (34.3) |"
    assert rest[2].startswith("| flat | 0.3000 |")


def test_no_rows() -> None:
    assert Grid.of({"rows": {}}).markdown().startswith("| estimator |")
