"""The settings that comparisons try: every one is of an estimator that there is."""

import pytest

from sparsewood.estimators.names import NAMES, name_of, parse
from sparsewood.lab.study.settings import SETTINGS, settings, start


@pytest.mark.parametrize("name", SETTINGS)
def test_every_entry_parses(name: str) -> None:
    assert name in NAMES
    assert parse(start(name)).gradient_through != "none"
    tried = settings(name)
    assert all(name_of(parse(one)) == one for one in tried)
    assert len(tried) >= 2
    assert tried[0] == start(name)
    for option in SETTINGS[name]:
        assert len({getattr(parse(one), option) for one in tried}) == len(tried)


def test_all_through_which_something_is_learnt_have_settings() -> None:
    learning = {name for name, (kind, _) in NAMES.items() if kind.gradient_through != "none"}
    assert set(SETTINGS) == learning


def test_what_is_named_with_options_is_taken_as_it_is() -> None:
    assert settings("spigot:eta=0.5") == []
    assert start("spigot:eta=0.5") == "spigot:eta=0.5"


def test_a_name_begins_with_its_first_settings() -> None:
    assert start("topk") == start("top_k") == "top-k:k=5"
    assert settings("topk") == ["top-k:k=5", "top-k:k=10"]
    assert start("spigot") == "spigot:eta=10.0" == settings("spigot")[0]
    assert start("flat") == "flat"


def test_estimators_that_are_none() -> None:
    with pytest.raises(ValueError, match="expected one of"):
        start("guesswork")
    with pytest.raises(ValueError, match="top-k: needs k"):
        start("top-k:temperature=2")
    assert settings("flat") == []
