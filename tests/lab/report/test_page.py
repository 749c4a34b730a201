"""The report is read back as HTML, for one run and for many, whole and unfinished."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sparsewood.lab.report import Told, write_report
from sparsewood.lab.run import TrainingConfig
from tests.report_page import read

WriteRun = Callable[..., Path]


def edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_rows_are_compared_with_flat_trees(tmp_path: Path, write_run: WriteRun) -> None:
    answers = {"flat": ("0000", "0001"), "sparsemap": ("1110", "1111"), "given": (None, "0001")}
    runs = []
    for estimator, texts in answers.items():
        for seed, text in enumerate(texts):
            run = write_run(tmp_path / f"{estimator}-{seed}", estimator, seed, epochs=3)
            if text is not None:  # runs of older versions have none
                kept = {"test": {"items": "hash", "outcomes": text}}
                (run / "outcomes.json").write_text(json.dumps(kept))
            runs.append(run)
    page = read(write_report(runs, tmp_path / "report.html"))
    assert page.row("sparsemap")[1].endswith("+75.00 [+25.00, +100.00] against flat")
    assert page.row("given")[1].endswith("+0.00 [+0.00, +0.00] against flat")
    assert not page.row("flat")[1].endswith("against flat")
    assert not page.row("sparsemap")[2].endswith("against flat")
    assert any("items (with one seed, over test items alone)" in text for text in page.texts)


def test_estimators_and_seeds(tmp_path: Path, write_run: WriteRun) -> None:
    runs = [
        write_run(tmp_path / f"{estimator}-{seed}", estimator, seed, epochs=3, gallery=False)
        for estimator in ("sparsemap", "flat", "given", "left-to-right")
        for seed in (0, 1)
    ]
    for run, accuracy in zip(runs[:2], (84.0, 86.0), strict=True):
        edit(run / "result.json", tests={"test": {"accuracy": accuracy}})
    out = write_report(
        runs,
        tmp_path / "new" / "report.html",
        "Sentiment",
        {"sparsemap": {"test": {"accuracy": 84.73}}},
    )
    page = read(out)
    assert [row[0] for row in page.rows[2:6]] == [
        "left-to-righta chain, 2 seeds",
        "flatall words below one, 2 seeds",
        "giventhe given trees, 2 seeds",
        "sparsemaplearned trees, 2 seeds",
    ]
    assert page.row("sparsemap")[1] == "85.00 ± 1.41paper 84.73"
    assert page.row("flat", 1)[-1] == "1.00×"
    assert page.row("given")[1].count("±") == 1
    titles = [text for text in page.texts if text.strip()]
    for title in (
        "Sentiment",
        "Training loss",
        "Validation loss",
        "Validation accuracy",
        "Mean probability of the flat tree",
        "Mean probability of the given trees' arcs",
        "Attachment of the likeliest tree to the given tree",
        "Validation accuracy by temperature at test time",
        "Configuration",
        "Environment",
    ):
        assert title in titles
    assert "No run has a gallery" in page.text
    assert list(out.parent.iterdir()) == [out]


def test_estimators_that_share_a_name(tmp_path: Path, write_run: WriteRun) -> None:
    """They are told apart by their options; one that the page has never heard of is a row too."""
    capped = "sparsemap:temperature=0.5,max_active=10"
    names = ("sparsemap:max_active=10", capped, "guesswork:k=3")
    runs = [write_run(tmp_path / str(i), epochs=1) for i in range(3)]
    for run, name in zip(runs, names, strict=True):
        edit(run / "config.json", model={"estimator": name})
    page = read(write_report(runs, tmp_path / "report.html"))
    assert [row[0] for row in page.rows[2:5]] == [
        *(f"{name}learned trees, 1 seed" for name in names[:2]),
        "guesswork1 seed",
    ]


def test_certificates(tmp_path: Path, write_run: WriteRun) -> None:
    trees = {"histogram": {"9": 13, "10": 1808}, "unconverged": 1808.0, "capped": 1808.0}
    runs = [write_run(tmp_path / f"latent-{seed}", seed=seed, epochs=1) for seed in (0, 1)]
    for run in runs:
        test = {"accuracy": 84.0, **trees}
        edit(run / "result.json", tests={"test": test}, validation=test)
        examples = json.loads((run / "gallery.json").read_text())
        for i, example in enumerate(examples):
            solved = {"status": "solved", "gap": 1e-12}
            example["sides"][0] |= solved if i < 2 else {"status": "capped", "gap": 0.02}
        (run / "gallery.json").write_text(json.dumps(examples))
    runs.append(write_run(tmp_path / "flat", "flat", epochs=1))
    page = read(write_report(runs, tmp_path / "report.html"))
    assert page.row("sparsemap", 1)[2] == "26 of 3,6423,616 capped"
    assert page.row("flat", 1)[2] == "–"
    assert "There: certified 26 of 3,642, 3,616 capped." in page.text
    assert "Certified: 2 of 6." in page.text
    assert page.text.count("certified, duality gap 1e-12") == 2
    assert page.text.count("not certified: capped, duality gap 0.02") == 4


def test_results_without_the_cause(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", epochs=1)
    trees = {"histogram": {"10": 1821}, "unconverged": 1808.0}
    edit(run / "result.json", tests={"test": {"accuracy": 84.0, **trees}})
    page = read(write_report([run], tmp_path / "report.html"))
    assert page.row("sparsemap", 1)[2] == "13 of 1,821"
    assert "capped" not in page.text


def test_a_comparison(tmp_path: Path, write_run: WriteRun) -> None:
    """The finding first, then the rows with what was chosen, then all tries."""
    names = ("spigot:eta=10.0", "imle", "perturbed")
    runs = [write_run(tmp_path / name, epochs=2) for name in names]
    for run, name in zip(runs, names, strict=True):
        config = json.loads((run / "config.json").read_text())
        training = {**config["training"], "parser_lr": 0.0003}
        edit(run / "config.json", model={"estimator": name}, training=training)
        records = [json.loads(x) for x in (run / "metrics.jsonl").read_text().splitlines()]
        lines = [json.dumps({**record, "calls": 15.8}) + "\n" for record in records]
        (run / "metrics.jsonl").write_text("".join(lines))
        kept = {"test": {"items": "hash", "outcomes": "11" if name == "imle" else "00"}}
        (run / "outcomes.json").write_text(json.dumps(kept))
    told = Told("imle answers best.", names[0], {"imle": "parser lr 0.0003: 60.00*"})
    out = write_report(runs, tmp_path / "report.html", told=told)
    page = read(out)
    assert "imle answers best." in page.texts
    assert page.row("spigot")[0] == "spigotlearned trees, 1 seedeta=10.0, parser lr 0.0003"
    assert page.row("imle")[0] == "imlelearned trees, 1 seedparser lr 0.0003"
    assert page.row("imle")[1].endswith("+100.00 [+100.00, +100.00] against spigot")
    assert page.row("imle", 2)[-3] == "15.8"  # below the tries
    assert page.row("spigot", 1)[-1] == "1.00×"
    assert "parser lr 0.0003: 60.00*" in page.texts
    assert "Validation accuracy by seconds of training" in page.texts
    styles = re.findall(r'<tr class="hue-(\w+) learns">', out.read_text())
    assert styles == ["blue", "slate", "green"] * 2


def test_it_needs_no_network(tmp_path: Path, write_run: WriteRun) -> None:
    out = write_report([write_run(tmp_path / "run", epochs=2)], tmp_path / "report.html")
    text = out.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert "http" not in text
    assert "url(" not in text
    assert "@import" not in text
    page = read(out)
    assert page.count("script") == page.count("link") == page.count("img") == 0


def test_gallery_is_escaped_and_marks_what_is_wrong(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", epochs=2)
    evil = "<script>alert(1)</script>"
    tree = {"heads": [2, 0], "weight": 1.0}
    side = {"words": [evil, "\x00&"], "given": None, "trees": [tree]}
    example = {"label": evil, "prediction": {evil: 0.9, "b": 0.1}, "sides": [side, side]}
    wrong = {"label": "b", "prediction": {evil: 0.9, "b": 0.1}, "sides": [side]}
    (run / "gallery.json").write_text(json.dumps([example, wrong]))
    page = read(write_report([run], tmp_path / "report.html", title=evil))
    assert page.count("script") == 0
    classes = [attrs.get("class") for tag, attrs in page.tags if tag == "article"]
    assert classes == ["example right shown", "example right", "example wrong"]
    assert "1 of them predicted incorrectly" in page.text
    assert "premise" in page.texts
    assert "hypothesis" in page.texts
    assert evil in page.text


def test_galleries_of_readers(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", epochs=2)
    edit(run / "config.json", model={"estimator": "chart"})
    words = ["a", "small", "wood"]
    tree = {"spans": [[0, 0], [0, 2], [1, 1], [1, 2], [2, 2]], "weight": 0.437}
    drawn = {"words": words, "given": [3, 3, 0], "trees": [tree]}
    plain = {"words": words, "given": [3, 3, 0], "trees": []}
    for side in (drawn, plain):
        example = {"label": "b", "prediction": {"b": 0.9}, "sides": [side]}
        (run / "gallery.json").write_text(json.dumps([example]))
        page = read(write_report([run], tmp_path / "report.html"))
        assert ("43.7%" in page.text) == (side is drawn)
        assert "a small wood" in page.text or side is drawn
        assert "agree with the given tree" not in page.text
    (run / "gallery.json").write_text(json.dumps([{"sides": [{**drawn, "words": words[:2]}]}]))
    with pytest.raises(ValueError, match=r"example 0: tree 0: expected the 3 spans"):
        write_report([run], tmp_path / "report.html")


def test_settings_and_paths_are_escaped(tmp_path: Path, write_run: WriteRun) -> None:
    evil = '"><script>alert(1)</script>'
    runs = [write_run(tmp_path / name, seed=i, epochs=1) for i, name in enumerate(("<i>", "b&"))]
    for i, run in enumerate(runs):
        edit(
            run / "config.json",
            sparsewood=evil,
            source={"kind": evil, evil: evil},
            model={"estimator": evil},
            training={"seed": i, "lr": 0.1},
        )
        edit(run / "environment.json", command=[evil, str(i)])
        edit(run / "result.json", tests={evil: {"accuracy": 1.0}})
    page = read(write_report(runs, tmp_path / "report.html"))
    assert page.count("script") == page.count("i") == 0
    assert {"<i>", "b&"} <= set(page.texts)


def test_the_best_latent_run_gives_the_gallery(tmp_path: Path, write_run: WriteRun) -> None:
    runs = [
        write_run(tmp_path / f"{s}-{i}", s, i, epochs=2)
        for s in ("flat", "sparsemap")
        for i in (0, 1)
    ]
    for run, accuracy in zip(runs, (99.0, 99.0, 80.0, 81.0), strict=True):
        edit(run / "result.json", validation={"accuracy": accuracy})
    page = read(write_report(runs, tmp_path / "report.html"))
    assert "of the sparsemap model with seed 1" in page.text


def test_unfinished_run(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", epochs=3, finished=False, gallery=False)
    (run / "environment.json").unlink()
    page = read(write_report([run], tmp_path / "report.html"))
    assert "run (sparsemap, seed 0): unfinished, no result yet (epochs so far: 3)" in page.texts
    assert "Environment is not recorded." in page.texts
    assert len(page.row("sparsemap")) == 2  # validation
    assert len(page.row("sparsemap", 1)) == 5


@pytest.mark.parametrize(("stages", "columns"), [(2, 2), (12, 1)])
def test_epochs_of_stages(tmp_path: Path, write_run: WriteRun, stages: int, columns: int) -> None:
    run = write_run(tmp_path / "run", finished=False, gallery=False)
    records = [json.loads(x) for x in (run / "metrics.jsonl").read_text().splitlines()]
    for record in records[:stages]:
        record |= {"stage": 5, "best": False}
    (run / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    page = read(write_report([run], tmp_path / "report.html"))
    assert any("unfinished, no result yet (epochs so far: 12)" in text for text in page.texts)
    assert len(page.row("sparsemap")) == columns  # validation, if an epoch counts


def test_run_that_has_only_begun(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", epochs=1, finished=False, gallery=False)
    (run / "metrics.jsonl").unlink()
    page = read(write_report([run], tmp_path / "report.html"))
    assert any("no metrics yet" in text for text in page.texts)
    assert page.row("sparsemap")[1:] == []
    assert page.row("sparsemap", 1)[1:] == ["–"] * 3


def test_not_a_number_is_left_out(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", epochs=1)
    edit(run / "result.json", tests={"test": {"accuracy": float("nan")}}, temperature_curve={})
    page = read(write_report([run], tmp_path / "report.html"))
    assert page.row("sparsemap")[1] == "–"
    assert "nan" not in page.text.split()


def test_reverse_dictionary(tmp_path: Path, write_run: WriteRun) -> None:
    runs = [write_run(tmp_path / s, s, kind="revdict", epochs=2) for s in ("flat", "sparsemap")]
    paper = {"sparsemap": {"seen": {"median_rank": 12.0}, "concepts": {"accuracy_10": 38.4}}}
    page = read(write_report(runs, tmp_path / "report.html", paper=paper))
    assert page.rows[0][1:4] == ["seen", "unseen", "concepts"]
    assert page.rows[1][1:4] == ["median rank", "acc@10", "acc@100"]
    assert page.row("sparsemap")[1].endswith("paper 12.0")
    assert page.row("sparsemap")[8].endswith("paper 38.4")
    assert page.text.count("paper") == 2
    assert "Validation loss by temperature at test time" in page.texts


def test_several_data_sets(tmp_path: Path, write_run: WriteRun) -> None:
    runs = [
        write_run(tmp_path / f"{kind}-{s}", s, kind=kind, epochs=2)
        for kind in ("sst", "sick")
        for s in ("flat", "sparsemap")
    ]
    page = read(write_report(runs, tmp_path / "report.html"))
    assert page.count("h2") == 2
    assert {"sst", "sick"} <= set(page.texts)
    with pytest.raises(ValueError, match="for one data set, the runs are on sst, sick"):
        write_report(runs, tmp_path / "other.html", paper={})
    assert not (tmp_path / "other.html").exists()


def test_row_of_the_paper_that_was_not_run(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", epochs=2)
    page = read(
        write_report([run], tmp_path / "r.html", paper={"flat": {"test": {"accuracy": 83.96}}})
    )
    assert page.row("flat")[:3] == [
        "flatall words below one, not run",
        "–paper 83.96",
        "–",
    ]


def test_best_settings_are_shown(tmp_path: Path, write_run: WriteRun) -> None:
    """Two learning rates with seed 0; only the one chosen on validation with another seed."""
    runs = [
        write_run(tmp_path / name, seed=seed, epochs=1)
        for name, seed in (("low", 0), ("high", 0), ("high-1", 1))
    ]
    edit(runs[0] / "config.json", training={"lr": 0.01, "seed": 0})
    for run, value in zip(runs, (80.0, 82.0, 70.0), strict=True):
        edit(
            run / "result.json", validation={"accuracy": value}, tests={"test": {"accuracy": value}}
        )
    page = read(write_report(runs, tmp_path / "report.html"))
    assert page.row("sparsemap")[1] == "76.00 ± 8.49"
    assert "Settings tried (the best on validation are shown): sparsemap 2." in page.text
    assert "low" not in page.texts
    edit(runs[0] / "result.json", validation={"accuracy": 82.0})  # of equals the lowest rate
    assert "low" in read(write_report(runs, tmp_path / "report.html")).text


def test_settings_without_a_common_seed(tmp_path: Path, write_run: WriteRun) -> None:
    """Those with the most seeds are shown; an option at its default makes no other settings."""
    runs = [write_run(tmp_path / str(seed), seed=seed, epochs=1) for seed in range(4)]
    training = {"optimizer": "sgd", "lr": 0.1, "batch": 16, "patience": TrainingConfig().patience}
    edit(runs[1] / "config.json", training={**training, "seed": 1})
    edit(runs[2] / "config.json", training={**training, "seed": 2})
    edit(runs[3] / "config.json", training={**training, "lr": 0.01, "seed": 3})
    edit(runs[3] / "result.json", validation={"accuracy": 100.0})
    page = read(write_report(runs, tmp_path / "report.html"))
    assert page.row("sparsemap")[0] == "sparsemaplearned trees, 3 seeds"


def test_runs_are_named_by_their_place(tmp_path: Path, write_run: WriteRun) -> None:
    runs = [write_run(tmp_path / s / "seed-0", s, epochs=1) for s in ("flat", "sparsemap")]
    page = read(write_report(runs, tmp_path / "report.html"))
    assert {"flat/seed-0", "sparsemap/seed-0"} <= set(page.texts)
    assert str(tmp_path) not in page.text


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no runs"):
        write_report([], tmp_path / "report.html")
    with pytest.raises(ValueError, match="nowhere: is not a folder"):
        write_report([tmp_path / "nowhere"], tmp_path / "report.html")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", "{", "config.json: not JSON"),
        ("result.json", "[]", "result.json: expected a JSON object"),
        ("gallery.json", "{}", "gallery.json: expected a JSON list"),
        ("gallery.json", "[1]", "gallery.json: example 0: expected sides"),
        ("gallery.json", '[{"sides": [], "prediction": [1]}]', "gallery.json: example 0: expected"),
        ("gallery.json", '[{"sides": [{"words": 3}]}]', "gallery.json: example 0: 'trees'"),
        (
            "gallery.json",
            '[{"sides": [{"words": ["a"], "trees": [{"heads": [0], "weight": 1}], '
            '"status": "solved", "gap": "wide"}]}]',
            "gallery.json: example 0: could not convert",
        ),
        ("metrics.jsonl", '{"epoch": 1}\n{\n{"epoch": 2}\n', "metrics.jsonl:2: not JSON"),
        (
            "gallery.json",
            '[{"sides": [{"words": ["a"], "trees": [{"heads": [3], "weight": 1}]}]}]',
            "gallery.json: example 0: tree 0: word 1 of 1 has head 3",
        ),
    ],
)
def test_damaged_files(
    tmp_path: Path, write_run: WriteRun, name: str, content: str, message: str
) -> None:
    run = write_run(tmp_path / "run", epochs=1)
    (run / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        write_report([run], tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_of_many_tests_one_measure_is_shown(tmp_path: Path, write_run: WriteRun) -> None:
    run = write_run(tmp_path / "run", epochs=1)
    values = {"accuracy": 84.0, "macro_f1": 77.0}
    edit(run / "result.json", tests={f"{n}-{n + 9}": values for n in (10, 20)})
    assert "77.00" in read(write_report([run], tmp_path / "report.html")).text
    edit(run / "result.json", tests={f"{n}-{n + 9}": values for n in range(10, 80, 10)})
    page = read(write_report([run], tmp_path / "report.html"))
    assert page.row("sparsemap")[1:8] == ["84.00"] * 7  # validation has no room
    assert "77.00" not in page.text
