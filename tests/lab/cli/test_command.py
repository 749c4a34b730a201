"""The command of a run trains what the run was."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from sparsewood.lab.cli import main, train
from sparsewood.lab.cli._command import train_command
from sparsewood.lab.data.sources import (
    SOURCES,
    Classify,
    ListOps,
    Logic,
    Pairs,
    Parse,
    RevDict,
    Sst,
)
from sparsewood.lab.run import PRESETS, RunConfig, TrainingConfig, preset
from sparsewood.lab.tasks import ModelConfig, PairConfig, ParserConfig

SST = Sst(Path("data/my sst"), vectors="glove.6B.300d.txt", heads=(Path("a"), Path("b c")))
LOGIC = Path("data/logic")
TUNED = ModelConfig("flat", encoder="hf:oak", tune_encoder=True)
CONFIGS = {
    "defaults": RunConfig(ListOps()),
    "a source": RunConfig(SST),
    "an estimator": RunConfig(SST, ModelConfig("sparsemap:max_active=none,temperature=0.5")),
    "quotes": RunConfig(Classify("my 'own'.tsv", label="the label", delimiter=";", skip_bad=True)),
    "a delimiter": RunConfig(Classify("a.txt", delimiter=" ", lowercase=False)),
    "a dash": RunConfig(Classify("a.txt", delimiter="-", label="-x")),
    "a number": RunConfig(Pairs("a.tsv", target="number")),
    "words": RunConfig(RevDict(max_length=None)),
    "a parser": RunConfig(Parse(Path("ewt")), ParserConfig(loss="hinge")),
    "lengths": RunConfig(
        ListOps(test_lengths=(120, 500)),
        ModelConfig(scorer="between", composer_input="words", channels=2),
        TrainingConfig(rounding=(0.1, 0.5)),
    ),
    "no rounding": RunConfig(ListOps(), None, TrainingConfig(rounding=None)),
    "logic": RunConfig(Logic(LOGIC, tests=(7, 12)), PairConfig("transformer:heads=2")),
    "an encoder": RunConfig(Sst(Path("sst")), TUNED),
}


def _parsed(command: str, monkeypatch: pytest.MonkeyPatch) -> RunConfig:
    """What the command line makes of a command."""
    found: list[RunConfig] = []
    monkeypatch.setattr(train, "run_one", lambda config, *_, **__: found.append(config))
    program, *args = shlex.split(command)
    assert program == "sparsewood"
    assert main(args) == 0
    return found[0]


@pytest.mark.parametrize("name", CONFIGS)
def test_it_is_read_back(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _parsed(train_command(CONFIGS[name]), monkeypatch) == CONFIGS[name]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_read_back(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = ListOps if "listops" in PRESETS[name].sources else SOURCES[PRESETS[name].sources[0]]
    folder = {} if source is ListOps else {"data": Path("data")}
    config = preset(name, source, **folder)
    assert _parsed(train_command(config), monkeypatch) == config


def test_options_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    config = CONFIGS["defaults"]
    told = {"patience": None, "clip": 1e-05, "lr": 0.00031234567890123456, "linear": True}
    more = {"temperatures": False, "anneal": ("noise=1:0",), "anneal_epochs": 2}
    config = replace(config, training=replace(config.training, **told, **more))
    command = train_command(config)
    assert "--no-temperatures" in command
    assert "--patience None" in command
    assert _parsed(command, monkeypatch) == config


def test_what_is_at_its_default_is_left_out() -> None:
    assert train_command(CONFIGS["defaults"]) == "sparsewood train listops"
