"""What all tests of the workbench share: a cache, a tiny encoder, runs of an instant."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from sparsewood.lab.data.sources import ListOps, Parse
from sparsewood.lab.run import Progress, Run, RunConfig, TrainingConfig, train
from sparsewood.lab.tasks import ModelConfig, ParserConfig
from tests import encoders

_SENTENCE = ((1, "oaks", 2), (2, "shade", 0), (3, "elms", 2), (4, ".", 2))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of each test's own, not the user's; made when something is first kept in it."""
    monkeypatch.setenv("SPARSEWOOD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def save_encoder() -> Callable[..., Path]:
    """(folder, kind, **options of its configuration) -> the folder, with a tiny encoder in it."""
    pytest.importorskip("transformers", reason="the extra [hf] is not installed")
    return encoders.save_encoder


@pytest.fixture(scope="session")
def encoder_folder(
    save_encoder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of a tiny encoder of word pieces."""
    return save_encoder(tmp_path_factory.mktemp("encoder") / "bert")


def _make_config(
    estimator: str = "sparsemap:max_active=10",
    *,
    composer: Any = "tree_lstm",
    dropout: float = 0.1,
    **training: Any,
) -> RunConfig:
    source = ListOps(train=40, validation=12, test=12, max_length=8, max_depth=4)
    model = ModelConfig(estimator, hidden=8, embedding=6, dropout=dropout, composer=composer)
    options = {"optimizer": "sgd", "lr": 0.5, "batch": 8, "max_epochs": 4, "threads": 1}
    return RunConfig(source, model, TrainingConfig(**{**options, "device": "cpu", **training}))


@pytest.fixture
def make_config() -> Callable[..., RunConfig]:
    """(estimator, composer=, dropout=, **training options) -> the configuration of a tiny run."""
    return _make_config


@pytest.fixture
def make_parser_config(tmp_path: Path) -> Callable[..., RunConfig]:
    """(**options of the parser) -> a tiny run on a treebank of three sentences, with vectors."""
    pytest.importorskip("conllu", reason="the extra [conllu] is not installed")
    (tmp_path / "bank").mkdir()
    rows = [f"{i}\t{w}" + "\t_" * 4 + f"\t{h}" + "\t_" * 3 for i, w, h in _SENTENCE]
    short = "1\toaks" + "\t_" * 4 + "\t0" + "\t_" * 3
    for name in ("train", "dev", "test"):
        text = "\n".join([*rows, "", short, "", *rows, "", ""])
        (tmp_path / "bank" / f"toy-{name}.conllu").write_text(text, encoding="utf-8")
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("oaks 1 2\nelms 2 1\nyew 0 1\n", encoding="utf-8")

    def make(**options: Any) -> RunConfig:
        small = {"embedding": 4, "characters": 2, "filters": 3, "layers": 1, "hidden": 4, "arc": 4}
        source = Parse(tmp_path / "bank", keep_vectors=1, vectors=str(vectors))
        short_run = {"lr": 0.01, "batch_words": 5, "max_epochs": 3, "warm_up": 2, "threads": 1}
        training = TrainingConfig.default(source, **short_run, device="cpu")
        return RunConfig(source, ParserConfig(**{**small, **options}), training)

    return make


class Recorder(Progress):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.epochs: list[int] = []
        self.steps = 0

    def note(self, text: str) -> None:
        self.notes.append(text)

    def step(self, step: int, values: Any) -> None:
        self.steps += 1

    def end_epoch(self, record: dict[str, Any]) -> None:
        self.epochs.append(record["epoch"])

    def finish(self, folder: Path, result: dict[str, Any], *, already: bool = False) -> None:
        self.notes.append(f"{folder}: {'already ' * already}finished")


@pytest.fixture
def recording() -> type[Recorder]:
    """A kind of progress that keeps what it is told."""
    return Recorder


_TIMES = ("seconds", "sentences_per_second")


def _outcome(folder: Path) -> dict[str, Any]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return {
        "metrics": [{k: v for k, v in json.loads(x).items() if k not in _TIMES} for x in lines],
        "result": {
            k: v
            for k, v in json.loads((folder / "result.json").read_text()).items()
            if k not in _TIMES
        },
        "gallery": json.loads((folder / "gallery.json").read_text()),
        "outcomes": {split: o.to_json() for split, o in Run(folder).outcomes.items()},
        "weights": {
            (str(path.relative_to(folder)), name): weight.tolist()
            for path in sorted(folder.rglob("*.safetensors"))
            for name, weight in load_file(path).items()
        },
        "checkpoints": sorted(path.name for path in (folder / "checkpoints").iterdir()),
    }


@pytest.fixture
def outcome() -> Callable[[Path], dict[str, Any]]:
    """(folder of a run) -> all that the run came to, times left out."""
    return _outcome


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the tiny run comes to if nothing happens to it."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    train(_make_config(), folder, progress=Progress())
    return _outcome(folder)
