"""The settings of estimators that a comparison tries on validation."""

from typing import Any

from sparsewood.estimators.names import name_of, parse

# name -> option -> values, each of which is tried with the other options at their defaults. The
# values span the range that the estimator's paper, or one that compares it, tries.
SETTINGS: dict[str, dict[str, tuple[Any, ...]]] = {
    "sparsemap": {"max_active": (5, 10)},
    "top-k": {"k": (5, 10)},
    "sum-and-sample": {"k": (1, 5)},
    "score-function": {"samples": (2, 4, 8)},
    "straight-through": {"backward": ("identity", "marginals")},
    "spigot": {"eta": (0.1, 1.0, 10.0)},
    "perturbed": {"sigma": (0.5, 1.0, 2.0)},
    "imle": {"lambda_": (1.0, 10.0, 100.0)},
    "aimle": {"tau": (0.5, 1.0, 2.0)},
    "blackbox": {"lambda_": (1.0, 10.0, 100.0)},
    "relaxed": {"temperature": (0.5, 1.0, 2.0)},
    "gibbs": {"temperature": (0.5, 1.0, 2.0)},
}


def start(text: str) -> str:
    """The estimator that a name stands for, in one spelling.

    An option that has no default takes the first value of its settings.

    Raises:
        ValueError: if it is none.
    """
    try:
        return name_of(parse(text))
    except ValueError:
        first = {option: values[0] for option, values in _settings(text).items()}
        if ":" in text or not first:
            raise
        return name_of(parse(_spelled(text, first)))


def settings(text: str) -> list[str]:
    """The estimators to try for one that is named; none where options are named with it."""
    if ":" in text:
        return []
    options = _settings(text)
    found = [_spelled(text, {option: v}) for option, values in options.items() for v in values]
    return list(dict.fromkeys(name_of(parse(one)) for one in found))


def _settings(text: str) -> dict[str, tuple[Any, ...]]:
    """Of the estimator that is named, in whatever spelling."""
    letters = text.replace("-", "").replace("_", "")
    return next((found for name, found in SETTINGS.items() if name.replace("-", "") == letters), {})


def _spelled(name: str, options: dict[str, Any]) -> str:
    return f"{name}:" + ",".join(f"{option}={value}" for option, value in options.items())
