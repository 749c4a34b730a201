from sparsewood.cli._results import results_table, splits_table


def test_columns_are_the_metrics_that_occur() -> None:
    table = splits_table({"a": {"loss": 1.0, "median_rank": 3.0}, "b": {"loss": 2.0}})
    assert [column.header for column in table.columns] == ["split", "loss", "median\nrank"]
    assert list(table.columns[2].cells) == ["3.0", ""]


def test_the_title_says_what_was_chosen() -> None:
    result = {
        "best_epoch": 2,
        "epochs": 5,
        "temperature": 0.5,
        "temperature_curve": {"0.5": 1.0},
        "validation": {"loss": 1.0},
        "tests": {"test": {"loss": 2.0}},
    }
    table = results_table(result)
    assert table.title == "best epoch 2 of 5, temperature 0.5"
    assert list(table.columns[0].cells) == ["validation", "test"]
    assert results_table({**result, "temperature_curve": {}}).title == "best epoch 2 of 5"
