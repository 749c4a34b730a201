"""Word alignments by attention that was trained on entailment alone, compared with people's.

    python results/alignments.py ../shared/data/mwa runs/alignments \\
        --vectors ../shared/data/glove/glove.6B.300d.float16.npz --encoder all-MiniLM-L6-v2

reads `mtref-dev.tsv` and `mtref-test.tsv`, decodes links from the attention of every run below
`runs/alignments`, and from the similarities of words in baselines. Decoding and threshold of each
row, and of each seed, are those with the best F1 on dev. The scores go to `alignments/scores.json`,
the table to README.md; rows and seeds that are there already are kept. `--draw FOLDER` draws ten
pairs of dev, which must not be published.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from collect import show

from sparsewood.draw.links import attention
from sparsewood.draw.svg import picture_file
from sparsewood.lab.data.alignments import AlignedPair, read_alignments
from sparsewood.lab.data.vectors import load_vectors
from sparsewood.lab.data.windows import padded_windows
from sparsewood.lab.run import Run
from sparsewood.lab.run.prepare import prepare
from sparsewood.lab.tasks import TASKS
from sparsewood.lab.tasks.alignments import (
    DECODINGS,
    Weights,
    attention_of,
    decoded,
    links_of,
    similarities,
)
from sparsewood.lab.tasks.pretrained import PretrainedEncoder

HERE = Path(__file__).parent
THRESHOLDS = [i / 50 for i in range(51)]
DRAWN = 10

Method = Callable[[Sequence[AlignedPair]], list[Weights]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--draw", type=Path)
    options = parser.parse_args()
    dev, test = (read_alignments(options.data / f"mtref-{name}.tsv") for name in ("dev", "test"))
    kept = HERE / "alignments" / "scores.json"
    rows: dict[str, list[dict[str, Any]]] = json.loads(kept.read_text()) if kept.exists() else {}
    for name, seed, method in methods(options):
        if any(row["seed"] == seed for row in rows.get(name, [])):
            continue
        of_dev = method(dev)
        row = {"seed": seed, **scores(dev, of_dev, test, method(test))}
        rows[name] = sorted([*rows.get(name, []), row], key=lambda row: row["seed"] or 0)
        kept.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
        print(name, seed, row["chosen"], flush=True)
        if options.draw and not seed:
            pictures(options.draw / name.replace(" ", "-"), dev[:DRAWN], of_dev, row)
    show("alignments", "\n".join(table(rows)))


def methods(options: argparse.Namespace) -> Iterator[tuple[str, int | None, Method]]:
    """The name, the seed and the weights of each method."""
    for path in sorted(options.runs.rglob("result.json")):
        run = Run(path.parent)
        row = TASKS[run.config.source.task].row(vars(run.config.model))
        name = f"{row}, {run.config.source.name}"
        yield name, run.seed, lambda pairs, r=run: attention_of(r.load_model(), pairs)
        yield f"{name}, untrained", run.seed, lambda pairs, r=run: by_untrained(r, pairs)
    yield "MiniLM", None, lambda pairs: by_encoder(options.encoder, pairs)
    yield "GloVe", None, lambda pairs: by_vectors(options.vectors, pairs)
    yield "same word", None, by_word


def by_untrained(run: Run, pairs: Sequence[AlignedPair]) -> list[Weights]:
    """The attention with the weights that the run began with."""
    _, model, _ = prepare(run.config)
    return attention_of(model.eval(), pairs)


def by_encoder(name: str, pairs: Sequence[AlignedPair]) -> list[Weights]:
    """The cosines of the means of the last hidden states of sub-words."""
    encoder = PretrainedEncoder.make(f"hf:{name}", None, 2, tuned=False).eval()

    def outputs(words: Sequence[str]) -> torch.Tensor:
        tables = padded_windows([encoder.split(words)], len(words))
        with torch.no_grad():
            return encoder.outputs(*tables, 1, len(words))[0]

    return [similarities(outputs(pair.words[0]), outputs(pair.words[1])) for pair in pairs]


def by_vectors(path: Path, pairs: Sequence[AlignedPair]) -> list[Weights]:
    """The cosines of word vectors; 0 for words without one, unless they are the same."""
    vectors = load_vectors(path, {word for pair in pairs for side in pair.words for word in side})
    found = (similarities(*map(vectors.lookup, pair.words)) for pair in pairs)
    return [
        (to_target.maximum(same), to_source.maximum(same.mT))
        for (to_target, to_source), (same, _) in zip(found, by_word(pairs), strict=True)
    ]


def by_word(pairs: Sequence[AlignedPair]) -> list[Weights]:
    """1 for the same word, 0 for another."""
    tables = [
        torch.tensor([[float(a == b) for b in pair.words[1]] for a in pair.words[0]])
        for pair in pairs
    ]
    return [(one, one.mT) for one in tables]


def scores(
    dev: Sequence[AlignedPair],
    of_dev: Sequence[Weights],
    test: Sequence[AlignedPair],
    of_test: Sequence[Weights],
) -> dict[str, Any]:
    """The scores on test of each decoding, and of the one chosen on dev with its threshold."""
    tried, tested = decoded(dev, of_dev), decoded(test, of_test)
    best = {name: links.best_threshold(THRESHOLDS) for name, links in tried.items()}
    chosen = max(DECODINGS, key=lambda name: tried[name].score(best[name])["f1"])
    return {
        "chosen": chosen,
        "threshold": best[chosen],
        "dev": tried[chosen].score(best[chosen]),
        "test": tested[chosen].score(best[chosen]),
        "plain": {name: links.score() for name, links in tested.items()},
    }


def table(rows: dict[str, list[dict[str, Any]]]) -> Iterator[str]:
    own = "chosen on dev | precision | recall | F1 | F1 with possible"
    yield f"| | {' | '.join(DECODINGS)} | {own} |"
    yield "| --- |" + " ---: |" * len(DECODINGS) + " --- |" + " ---: |" * 4
    for name, seeds in rows.items():
        cells = [spread(one["plain"][decoding]["f1"] for one in seeds) for decoding in DECODINGS]
        chosen = ", ".join(dict.fromkeys(f"{s['chosen']} ≥ {s['threshold']:g}" for s in seeds))
        own = [spread(s["test"][k] for s in seeds) for k in ("precision", "recall", "f1")]
        both = spread(s["test"]["f1_possible"] for s in seeds)
        yield f"| {' | '.join([name, *cells, chosen, *own, both])} |"


def spread(values: Iterator[float]) -> str:
    found = list(values)
    return f"{mean(found):.1f}" + (f" ± {stdev(found):.1f}" if len(found) > 1 else "")


def pictures(
    folder: Path, pairs: Sequence[AlignedPair], weights: Sequence[Weights], row: dict[str, Any]
) -> None:
    """The chosen links of each pair, and below them those of people."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (pair, one) in enumerate(zip(pairs, weights, strict=False)):
        links, own = links_of(*one)[row["chosen"]]
        kept = [
            (*link, min(1.0, weight))
            for link, weight in zip(links.tolist(), own.tolist(), strict=True)
            if weight >= row["threshold"]
        ]
        people = [(*link, 1.0) for link in sorted(pair.sure)]
        people += [(*link, 0.4) for link in sorted(pair.possible)]
        for who, found in (("model", kept), ("people", people)):
            picture = picture_file(attention(*pair.words, found))
            (folder / f"{number}-{who}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
