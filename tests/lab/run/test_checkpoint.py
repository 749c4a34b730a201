"""Checkpoints: names, contents, and what is kept of them."""

from pathlib import Path

import pytest
import torch
from torch import nn

from sparsewood.lab.run import checkpoint

CPU = torch.device("cpu")


class _Model(nn.Module):
    """A fixed embedding and a layer that learns."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(3, 2)
        self.embedding.weight.requires_grad_(False)
        self.layer = nn.Linear(2, 1)


def test_names_and_the_latest(tmp_path: Path) -> None:
    names = [checkpoint.name_of(2), checkpoint.name_of(12), checkpoint.name_of(12, 30)]
    assert names == ["0002", "0012", "0012-000030"]
    assert checkpoint.latest(tmp_path) is None
    for name in names:
        checkpoint.write_checkpoint(tmp_path / name, _Model(), {})
    (tmp_path / "0013.partial").mkdir()
    assert checkpoint.latest(tmp_path) == tmp_path / "0012-000030"
    checkpoint.prune(tmp_path, ["0002", "0012"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0002", "0012"]


def test_weights_that_training_changes_are_saved(tmp_path: Path) -> None:
    old, new = _Model(), _Model()
    checkpoint.write_checkpoint(tmp_path / "0001", old, {"epoch": 1, "rest": (1.5, None)})
    assert checkpoint.read_snapshot(tmp_path / "0001") == {"epoch": 1, "rest": (1.5, None)}
    fixed = new.embedding.weight.clone()
    checkpoint.load_weights(tmp_path / "0001", new)
    assert new.layer.weight.equal(old.layer.weight)
    assert new.embedding.weight.equal(fixed)


def test_averaged_weights_lie_beside_the_others(tmp_path: Path) -> None:
    model, average, new = _Model(), _Model(), _Model()
    checkpoint.write_checkpoint(tmp_path / "0001", model, {}, average)
    for wanted, averaged in ((average, True), (model, False)):
        checkpoint.load_weights(tmp_path / "0001", new, average=averaged)
        assert new.layer.weight.equal(wanted.layer.weight)
    checkpoint.write_checkpoint(tmp_path / "0002", model, {})
    with pytest.raises(checkpoint.Damaged, match="0002: not a readable checkpoint"):
        checkpoint.load_weights(tmp_path / "0002", new, average=True)


def test_a_checkpoint_that_is_there_stays(tmp_path: Path) -> None:
    checkpoint.write_checkpoint(tmp_path / "0001", _Model(), {"seconds": 1})
    checkpoint.write_checkpoint(tmp_path / "0001", _Model(), {"seconds": 2})
    assert checkpoint.read_snapshot(tmp_path / "0001") == {"seconds": 1}


def test_damage_is_told(tmp_path: Path) -> None:
    checkpoint.write_checkpoint(tmp_path / "0001", _Model(), {})
    with pytest.raises(ValueError, match="not a checkpoint of this model .*extra"):
        checkpoint.load_weights(tmp_path / "0001", nn.ModuleDict({"extra": nn.Linear(1, 1)}))
    for file in ("state.pt", "model.safetensors"):
        (tmp_path / "0001" / file).write_bytes(b"no")
    with pytest.raises(ValueError, match="0001: not a readable checkpoint"):
        checkpoint.read_snapshot(tmp_path / "0001")
    with pytest.raises(ValueError, match="0001: not a readable checkpoint"):
        checkpoint.load_weights(tmp_path / "0001", _Model())


def test_what_is_no_checkpoint_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "0001").mkdir()
    checkpoint.write_checkpoint(tmp_path / "0001", _Model(), {})
    assert (tmp_path / "0001" / "state.pt").exists()
    (tmp_path / "0002" / "photos").mkdir(parents=True)
    with pytest.raises(ValueError, match="0002: expected a checkpoint or nothing"):
        checkpoint.write_checkpoint(tmp_path / "0002", _Model(), {})
    assert (tmp_path / "0002" / "photos").exists()


def test_only_what_is_a_checkpoint_is_removed(tmp_path: Path) -> None:
    """The folder may be a link to a place where others keep theirs."""
    (tmp_path / "disk").mkdir()
    folder = tmp_path / "checkpoints"
    folder.symlink_to(tmp_path / "disk")
    for name in ("0001", "0002"):
        checkpoint.write_checkpoint(folder / name, _Model(), {})
    kept = {"2023", "2024", "2025", "0003", "notes.partial", "0005"}
    (folder / "2023").mkdir()  # empty
    (folder / "2024" / "photos").mkdir(parents=True)
    checkpoint.write_checkpoint(folder / "2025", _Model(), {})
    (folder / "2025" / "thesis.txt").write_text("mine")
    elsewhere = tmp_path / "elsewhere"
    checkpoint.write_checkpoint(elsewhere, _Model(), {})
    (folder / "0003").symlink_to(elsewhere)
    (folder / "notes.partial").mkdir()
    (folder / "0004.partial").mkdir()
    (folder / "0005").write_text("a file")
    checkpoint.prune(folder, ["0002"])
    assert {path.name for path in folder.iterdir()} == {*kept, "0002"}
    assert (elsewhere / "state.pt").exists()
