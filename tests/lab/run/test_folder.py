"""Reading the folder of a run."""

from pathlib import Path

import pytest

from sparsewood import SparseMAP
from sparsewood.lab.run import Progress, Run, train


def test_a_finished_run(make_config, tmp_path: Path) -> None:
    config = make_config(max_epochs=2)
    result = train(config, tmp_path, progress=Progress())
    run = Run(tmp_path)
    assert run.config == config
    assert run.raw_config["training"]["lr"] == 0.5
    assert run.result == result
    assert run.finished
    assert [record["epoch"] for record in run.metrics] == [1, 2]
    assert len(run.gallery) == 12
    assert run.environment["torch"]
    assert repr(run).endswith("finished)")
    model = run.load_model()
    assert model.temperature == result["temperature"]
    assert not model.training


def test_an_unfinished_run(make_config, tmp_path: Path) -> None:
    train(make_config(max_epochs=1), tmp_path, progress=Progress())
    for path in ("result.json", "gallery.json", "environment.json", "metrics.jsonl"):
        (tmp_path / path).unlink()
    (tmp_path / "model").rename(tmp_path / "elsewhere")
    run = Run(tmp_path)
    assert (run.result, run.finished, run.gallery) == (None, False, [])
    assert (run.environment, run.metrics) == ({}, [])
    assert "0 epochs so far" in repr(run)
    with pytest.raises(ValueError, match="not finished; train it with --resume"):
        run.load_model()


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no run"):
        Run(tmp_path)
    with pytest.raises(ValueError, match="nowhere: is not a folder"):
        Run(tmp_path / "nowhere")


def test_damaged_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"sauce": {}}')
    (tmp_path / "metrics.jsonl").write_text('{"epoch": 1}\n{"epo')
    (tmp_path / "result.json").write_text("{")
    run = Run(tmp_path)
    with pytest.raises(ValueError, match="config.json: .*unknown sauce"):
        _ = run.config
    with pytest.raises(ValueError, match="metrics.jsonl:2: not JSON"):
        _ = run.metrics
    with pytest.raises(ValueError, match="result.json: not JSON"):
        _ = run.result


def test_a_broken_file_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{bad")
    with pytest.raises(ValueError, match="config.json: not JSON") as caught:
        _ = Run(tmp_path).config
    assert str(caught.value).count("config.json") == 1


def test_a_run_of_an_earlier_version_keeps_its_meaning(make_config, tmp_path: Path) -> None:
    """Its `sparsemap` had no cap: in the run, resumed, and as a model."""
    free = make_config("sparsemap:max_active=none", max_epochs=1)
    result = train(free, tmp_path, progress=Progress())
    for path in (tmp_path / "config.json", tmp_path / "model" / "config.json"):
        path.write_text(path.read_text().replace("sparsemap:max_active=none", "sparsemap"))
    run = Run(tmp_path)
    assert run.raw_config["model"]["estimator"] == "sparsemap"
    assert run.config == free
    assert run.load_model().estimator == SparseMAP()
    assert train(run.config, tmp_path, resume=True, progress=Progress()) == result
    capped = make_config("sparsemap", max_epochs=1)
    with pytest.raises(ValueError, match="'sparsemap:max_active=none' -> 'sparsemap:max_active=1"):
        train(capped, tmp_path, resume=True, progress=Progress())


def test_a_result_that_is_none(make_config, tmp_path: Path) -> None:
    config = make_config(max_epochs=1)
    result = train(config, tmp_path, progress=Progress())
    path = tmp_path / "result.json"
    for wrong, named in (("{}", "best_epoch, epochs"), ('{"tests": 3}', "tests")):
        path.write_text(wrong)
        with pytest.raises(ValueError, match=f"result.json: not the result .*{named}.*remove the"):
            train(config, tmp_path, resume=True, progress=Progress())
    path.unlink()
    again = train(config, tmp_path, resume=True, progress=Progress())
    assert again["tests"] == result["tests"]


def test_a_configuration_that_is_nested_without_end(make_config, tmp_path: Path) -> None:
    train(make_config(max_epochs=1), tmp_path, progress=Progress())
    (tmp_path / "config.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="config.json: not JSON"):
        _ = Run(tmp_path).config
    (tmp_path / "model" / "config.json").write_text('{"a": ' * 100_000)
    with pytest.raises(ValueError, match="not a readable model"):
        Run(tmp_path).load_model()
