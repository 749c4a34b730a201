"""What is shown while a model is evaluated and its temperature chosen."""

from pathlib import Path

from sparsewood.lab.run import train


def test_every_evaluation_is_shown(make_config, recording, tmp_path: Path) -> None:
    class Shown(recording):
        def __init__(self) -> None:
            super().__init__()
            self.works: list[list[object]] = []

        def start_work(self, name: str, batches: int) -> None:
            self.works.append([name, batches, 0])

        def work(self, batches: int) -> None:
            self.works[-1][2] = batches

    shown = Shown()
    train(make_config(max_epochs=2, eval_batch=5), tmp_path / "run", progress=shown)
    assert shown.works == [
        *[["validation", 3, 3]] * 2,
        ["temperatures", 51, 51],
        ["validation", 3, 3],
        ["test", 3, 3],
    ]
    (said,) = [note for note in shown.notes if note.startswith("choosing")]
    assert said == (
        "choosing the temperature: 17 are tried on the 12 examples of validation "
        "(--no-temperatures skips this)"
    )
    silent = recording()
    train(make_config("flat", max_epochs=1), tmp_path / "flat", progress=silent)
    assert not any(note.startswith("choosing") for note in silent.notes)
