"""Presets: each fits its sources, and options beside one have their say."""

from pathlib import Path

import pytest

from sparsewood.lab.data.sources import SOURCES, ListOps, Logic, Parse, RevDict, Sst
from sparsewood.lab.run import PRESETS, RunConfig, TrainingConfig, preset
from sparsewood.lab.run.presets import find_preset
from sparsewood.lab.tasks import TASKS, DictionaryConfig, ModelConfig


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_options_that_there_are(name: str) -> None:
    found = PRESETS[name]
    assert "\n" not in found.about
    assert found.sources
    for source in found.sources:
        kind = SOURCES[source]
        assert set(found.source) <= set(kind.__dataclass_fields__)
        TASKS[kind.task].config(**find_preset(name, kind).model)
        TrainingConfig.default(kind, **found.training)


def test_the_papers_protocol_and_what_is_said_otherwise() -> None:
    paper = preset("paper", Sst, data=Path("sst"), hidden=8, patience=3, lr=0.05)
    assert paper.source == Sst(Path("sst"))
    assert paper.model == ModelConfig(hidden=8, dropout=0.0, loss="expected")
    assert paper.training == TrainingConfig(
        optimizer="sgd",
        lr=0.05,
        reduction="sum",
        shuffle="batches",
        clip=5.0,
        patience=3,
        warm_up=0,
    )


def test_the_papers_reverse_dictionary_has_the_cosine() -> None:
    paper = preset("paper", RevDict)
    assert paper.model == DictionaryConfig(dropout=0.0, loss="expected", objective="cosine")
    assert paper.training.batch == 16
    assert RunConfig(RevDict()).model.objective == "softmax"
    assert RunConfig(RevDict()).training.batch == 256


def test_the_data_of_paulus() -> None:
    config = preset("paulus", ListOps, train=36, validation=8, test=8, split_seed=3, dropout=0.1)
    assert config.model.dropout == 0.1
    splits = config.source.load().splits
    sizes = {name: len(examples) for name, examples in splits.items()}
    assert sizes == {"train": 45, "validation": 8, "test": 8}
    words = [s.words for examples in splits.values() for e in examples for s in e.sentences]
    assert {w for tokens in words for w in tokens if w[0] == "["} == {"[MIN", "[MAX", "[MED"}
    assert sum(len(tokens) < 10 for tokens in words) == 9  # of depth 1


def test_the_data_of_sums() -> None:
    config = preset("sums", ListOps, train=90, validation=8, test=8)
    splits = config.source.load().splits
    assert len(splits["train"]) == 120
    words = [s.words for e in splits["train"] for s in e.sentences]
    assert {w for tokens in words for w in tokens if w[0] == "["} == {"[MIN", "[MAX", "[MED", "[SM"}
    assert sum(sum(w[0] == "[" for w in tokens) == 1 for tokens in words) >= 30  # of depth 1


def test_logic_with_an_arc_scorer_that_holds_on_longer_expressions(tmp_path: Path) -> None:
    config = preset("logic", Logic, data=tmp_path, hidden=64)
    assert (config.model.scorer, config.model.hidden) == ("between", 64)
    assert config.model.leaves == tuple("()abcdef")
    assert config.source == Logic(tmp_path)
    assert RunConfig.from_json(config.to_json()) == config


def test_what_is_no_preset_or_option_of_it_is_named() -> None:
    with pytest.raises(ValueError, match="preset 'paulus': expected one of paper for sst"):
        preset("paulus", Sst)
    with pytest.raises(ValueError, match="'palus': expected one of paper, paulus, sums for list"):
        find_preset("palus", ListOps)
    with pytest.raises(ValueError, match="preset 'paper': there is none for parse"):
        preset("paper", Parse)
    with pytest.raises(ValueError, match="no option learning_rate of source, model or training"):
        preset("paulus", ListOps, learning_rate=0.1)
