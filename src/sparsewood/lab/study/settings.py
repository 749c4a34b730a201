"""Settings of estimators that comparisons try on validation."""

from typing import Any

from sparsewood.estimators.names import letters
from sparsewood.lab.tasks.readers import MAX_ACTIVE, from_name, name_of

# name -> option -> values; the first is what the parser's rates are tried with, the others are
# tried after it. Steps against the gradient are large, as that of a mean over a batch is small.
SETTINGS: dict[str, dict[str, tuple[Any, ...]]] = {
    "sparsemap": {"max_active": (MAX_ACTIVE, 5)},
    "top-k": {"k": (5, 10)},
    "sum-and-sample": {"k": (3, 1)},
    "score-function": {"samples": (4, 2)},
    "straight-through": {"backward": ("identity", "marginals")},
    "spigot": {"eta": (10.0, 100.0)},
    "perturbed": {"sigma": (1.0, 0.5)},
    "imle": {"lambda_": (100.0, 1000.0)},
    "aimle": {"tau": (1.0, 0.5)},
    "blackbox": {"lambda_": (100.0, 1000.0)},
    "relaxed": {"temperature": (1.0, 0.5)},
    "gibbs": {"temperature": (1.0, 0.5)},
}


def start(text: str) -> str:
    """The estimator with its first settings, in canonical spelling.

    Raises:
        ValueError: if it is unknown.
    """
    first = {option: values[0] for option, values in _settings(text).items()}
    return name_of(from_name(_spelled(text, first) if first else text))


def settings(text: str) -> list[str]:
    """The estimators to try for a name; empty if the name has options."""
    if ":" in text:
        return []
    options = _settings(text)
    found = [_spelled(text, {option: v}) for option, values in options.items() for v in values]
    return list(dict.fromkeys(name_of(from_name(one)) for one in found))


def _settings(text: str) -> dict[str, tuple[Any, ...]]:
    """The settings of an estimator, in any spelling."""
    return next((told for name, told in SETTINGS.items() if letters(name) == letters(text)), {})


def _spelled(name: str, options: dict[str, Any]) -> str:
    return f"{name}:" + ",".join(f"{option}={value}" for option, value in options.items())
