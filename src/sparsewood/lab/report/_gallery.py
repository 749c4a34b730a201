"""Examples with their trees, label and prediction."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparsewood._internal.numbers import counted
from sparsewood.draw._markup import element, escaped
from sparsewood.draw.html import trees_html
from sparsewood.draw.svg import picture_svg
from sparsewood.lab.data.examples import TargetKind
from sparsewood.lab.report._results import best_of, criterion
from sparsewood.lab.report._runs import ReportedRun
from sparsewood.lab.run.gallery import attention_picture, side_sheet
from sparsewood.lab.tasks.solved import live_side
from sparsewood.lab.tasks.targets.labels import THRESHOLD

_TREES, _FOLDED = 4, 12  # trees shown per sentence, and trees in the folded part
_LABELS = 3  # labels shown per prediction
LOOKS = {True: "example right", False: "example wrong"}  # CSS classes of cards
_SHOWN = 3  # examples that are not folded


def gallery(runs: Sequence[ReportedRun]) -> str:
    """The examples of `run_of(runs)` as HTML; all but the first few are folded."""
    run = run_of(runs)
    if run is None:
        return element("p", "No run has a gallery of examples yet.", class_="missing")
    verdicts = [right_answer(example, run) for example in run.gallery]
    wrong = verdicts.count(False)
    about = f"{len(run.gallery)} validation sentences of the {run.label} model with seed {run.seed}"
    if any(right is not None for right in verdicts):
        about += (
            f", {wrong} of them predicted incorrectly" if wrong else ", all predicted correctly"
        )
    sides = [side for example in run.gallery for side in example["sides"]]
    told = [side["status"] == "solved" for side in sides if "status" in side]
    if told:
        about += f". Certified: {sum(told)} of {len(told)}"
    arcs = [side for side in sides if any("heads" in tree for tree in side.get("trees", []))]
    key = KEY if any(side.get("given") for side in arcs) else ""
    cards = [_card(run, i, example) for i, example in enumerate(run.gallery)]
    shown = element("p", escaped(about + ".") + key, class_="about") + "".join(cards[:_SHOWN])
    if len(cards) <= _SHOWN:
        return shown
    summary = element("summary", f"{counted(len(cards) - _SHOWN, 'more example')}")
    return shown + element("details", summary + "".join(cards[_SHOWN:]))


def run_of(runs: Sequence[ReportedRun]) -> ReportedRun | None:
    """The run whose gallery is shown: the best one with latent trees on validation, or else the
    best of all; None without a gallery.
    """
    having = [run for run in runs if run.gallery]
    latent = [run for run in having if run.latent]
    best = best_of([[run] for run in latent or having], criterion(having))
    return best[0] if best else None


KEY = (
    " <span class='key agree'>Solid blue</span> arcs agree with the given tree,"
    " <span class='key differ'>dashed orange</span> arcs differ."
)


def _answer(run: ReportedRun) -> TargetKind:
    """The kind of target of the run."""
    return "class" if run.task is None else run.task.answer


def right_answer(example: Mapping[str, Any], run: ReportedRun) -> bool | None:
    """Whether the predicted label or labels are correct; None if either side is unknown, and for
    numbers.
    """
    answer = _answer(run)
    label, prediction = example.get("label"), example.get("prediction")
    if answer == "labels" and isinstance(label, list) and prediction:
        return {name for name, p in prediction.items() if p >= THRESHOLD} == set(label)
    if answer != "class" or not label or not prediction:
        return None
    return max(prediction, key=prediction.__getitem__) == label


def _card(run: ReportedRun, i: int, example: Mapping[str, Any]) -> str:
    right = right_answer(example, run)
    try:
        sides = [_side(side, k, len(example["sides"])) for k, side in enumerate(example["sides"])]
        sides.append(_attention(example))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{run.folder / 'gallery.json'}: example {i}: {error}") from error
    return element(
        "article",
        verdict(example, run) + "".join(sides),
        class_="example" if right is None else LOOKS[right],
    )


def _side(side: Mapping[str, Any], k: int, count: int) -> str:
    """A sentence with its trees, and a folded live figure if the scores are known.

    A figure is much higher than its trees, and is drawn when it comes into view.
    """
    name = side_name(k, count)
    if not side["trees"]:
        return name + element("p", escaped(" ".join(map(str, side["words"]))))
    drawn = trees_html(side_sheet(side, side.get("given")), _TREES, _FOLDED) + _certificate(side)
    figure = live_side(side, side.get("given"))
    if figure is None:
        return name + drawn
    summary = element("summary", "Change the scores and the temperature")
    return name + drawn + element("details", summary + figure.fragment(), class_="play")


def side_name(k: int, count: int) -> str:
    """The heading of a side of an example with `count` sides; empty for the only one."""
    names = ("premise", "hypothesis")
    return element("h4", names[k] if k < 2 else str(k + 1)) if count > 1 else ""


def _attention(example: Mapping[str, Any]) -> str:
    """The attention between two sentences; empty without attention."""
    picture = attention_picture(example)
    if picture is None:
        return ""
    return element("h4", "attention") + element("div", picture_svg(picture), class_="scroll")


def _certificate(side: Mapping[str, Any]) -> str:
    """Whether the trees are certified, in words; empty if unknown."""
    if "status" not in side:
        return ""
    solved = side["status"] == "solved"
    verdict = "certified" if solved else f"not certified: {side['status']}"
    text = f"{verdict}, duality gap {float(side['gap']):.2g}"
    return element("p", element("small", escaped(text)), class_="certificate")


def verdict(example: Mapping[str, Any], run: ReportedRun) -> str:
    """The target of an example beside the prediction; empty if both are unknown."""
    if not example.get("label") and not example.get("prediction"):
        return ""
    mark = {True: "✓", False: "✗ wrong", None: ""}[right_answer(example, run)]
    name, label = _told(example, _answer(run))
    return element(
        "header",
        f"<span class='label'>{name} <b>{escaped(label)}</b></span>"
        + element("span", f"predicted {_guesses(example, run)}", class_="guesses")
        + element("span", mark, class_="mark"),
    )


def _told(example: Mapping[str, Any], answer: TargetKind) -> tuple[str, str]:
    """The target of the example and its heading."""
    label = example.get("label")
    if answer == "labels" and isinstance(label, list):
        return "labels" if len(label) != 1 else "label", ", ".join(map(str, label)) or "none"
    return "number" if answer == "number" else "label", str(label or "unknown")


def _guesses(example: Mapping[str, Any], run: ReportedRun) -> str:
    """The most probable labels with bars, or a number."""
    answer, form = _answer(run), (None if run.task is None else run.task.form) or "{:.0%}"
    prediction = sorted((example.get("prediction") or {}).items(), key=lambda item: -item[1])
    if answer == "number":
        return "".join(element("b", form.format(value)) for _, value in prediction)
    told = sum(p >= THRESHOLD for _, p in prediction) if answer == "labels" else 0
    return "".join(
        element(
            "span",
            element("span", "", class_="meter", style=f"--share:{min(1.0, max(0.0, p)):.3f}")
            + f"{escaped(str(label))} <small>{form.format(p)}</small>",
            class_="guess",
        )
        for label, p in prediction[: max(_LABELS, told)]
    )
