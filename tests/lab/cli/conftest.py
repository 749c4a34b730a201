"""Tiny runs, trained once by the command line itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparsewood.lab.cli import main

LISTOPS: str = "--train 40 --validation 12 --test 12 --max-length 10 --max-depth 4"
TINY: str = "--hidden 6 --max-epochs 1 --threads 1 --device cpu"


@pytest.fixture
def listops() -> list[str]:
    """The options of a tiny run on list operations."""
    return f"{LISTOPS} --embedding 4 {TINY}".split()


def _train(source: str, options: str, folder: Path) -> Path:
    assert main(["train", source, *options.split(), *TINY.split(), "--out", str(folder)]) == 0
    return folder


def _on_listops(name: str, estimator: str) -> Any:
    """A fixture: the run `name` on list operations with this estimator or reader."""

    @pytest.fixture(scope="session")
    def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
        folder = tmp_path_factory.mktemp("runs") / name
        options = f"{LISTOPS} --embedding 4 --estimator {estimator}"
        return _train("listops", options, folder)

    return run


latent = _on_listops("latent", "sparsemap")
given = _on_listops("given", "given")
chart = _on_listops("chart", "chart")
bow = _on_listops("bow", "bow")


@pytest.fixture(scope="session")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on sentences that reads given trees."""
    folder = tmp_path_factory.mktemp("parsed")
    rows = [f"{'odd' if i % 2 else 'even'}\ta red fox\t3 3 0\n" for i in range(24)]
    (folder / "train.tsv").write_text("".join(rows))
    options = f"--train {folder / 'train.tsv'} --embedding 4 --estimator given"
    return _train("classify", options, folder / "run")


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on pairs of sentences."""
    folder = tmp_path_factory.mktemp("pairs")
    rows = [f"{'same' if i % 2 else 'other'}\ta red fox\ta {i} hen\n" for i in range(12)]
    (folder / "train.tsv").write_text("".join(rows))
    return _train("pairs", f"--train {folder / 'train.tsv'} --embedding 4", folder / "run")


@pytest.fixture(scope="session")
def dictionary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a reverse dictionary, in a folder runs/."""
    folder = tmp_path_factory.mktemp("dictionary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARSEWOOD_CACHE", str(folder / "cache"))
        rows = [f"word{i}\ta thing like {i}\tnoun\n" for i in range(40)]
        (folder / "my_definitions.tsv").write_text("".join(rows))
        vectors = folder / "vectors.txt"
        vectors.write_text("".join(f"word{i} {i} 1\n" for i in range(40)) + "thing 1 2\n")
        options = f"--data {folder} --vectors {vectors}"
        return _train("revdict", options, folder / "runs" / "mine")


@pytest.fixture(scope="session")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a parser."""
    pytest.importorskip("conllu", reason="the extra [conllu] is not installed")
    folder = tmp_path_factory.mktemp("parser")
    row = "{}\t{}\t_\t_\t_\t_\t{}\t_\t_\t_\n"
    words = (("oaks", 2), ("shade", 0), ("elms", 2), (".", 2))
    text = "".join(row.format(i, *word) for i, word in enumerate(words, 1)) + "\n"
    for name in ("train", "dev", "test"):
        (folder / f"toy-{name}.conllu").write_text(text * 6)
    small = "--embedding 4 --characters 2 --filters 3 --layers 1 --arc 4 --loss hinge"
    return _train("parse", f"--data {folder} {small}", folder / "run")


@pytest.fixture
def fails(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """(*arguments) -> the one line that is said when the command is refused with exit code 2."""

    def run(*args: str | Path) -> str:
        capsys.readouterr()
        assert main([str(arg) for arg in args]) == 2
        error = capsys.readouterr().err.splitlines()
        assert len(error) == 1
        assert error[0].startswith("sparsewood: ")
        return error[0].removeprefix("sparsewood: ")

    return run


@pytest.fixture
def prints(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """(*arguments) -> what the command prints."""

    def run(*args: str | Path) -> str:
        capsys.readouterr()
        assert main([str(arg) for arg in args]) == 0
        return capsys.readouterr().out

    return run
