"""The machine of a run, and bfloat16 where it offers AMX and refuses it."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
import torch

from sparsewood.lab.run import machine, train
from sparsewood.lab.run.distributed import World
from sparsewood.lab.run.machine import environment


def test_environment() -> None:
    found = environment(World(0, 2, torch.device("cpu")))
    assert found["torch"] == torch.__version__
    assert (found["processes"], found["threads"]) == (2, torch.get_num_threads())
    assert found["device"]
    json.dumps(found)


DIES = (sys.executable, "-c", f"import os; os.kill(os.getpid(), {int(signal.SIGILL)})")


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was noted; oneDNN is told nothing yet, and the processor offers AMX."""
    monkeypatch.setenv(machine.VARIABLE, "")  # restored after the test
    monkeypatch.delenv(machine.VARIABLE)
    monkeypatch.setattr(machine, "offers_amx", lambda: True)
    return []


def test_it_is_avoided_where_its_instructions_are_refused(
    notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "PROBE", DIES)
    machine.avoid_refused_amx(notes.append)
    assert os.environ[machine.VARIABLE] == "AVX512_CORE_FP16"
    assert len(notes) == 1
    assert "refuses its instructions" in notes[0]
    machine.avoid_refused_amx(notes.append)  # no second probe, and no second note
    assert len(notes) == 1


def test_it_is_used_where_the_probe_survives(
    notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "PROBE", (sys.executable, "-c", ""))
    machine.avoid_refused_amx(notes.append)
    assert machine.VARIABLE not in os.environ
    assert not notes


def test_what_the_user_has_set_stays(notes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine.VARIABLE, "AVX2")
    monkeypatch.setattr(machine, "PROBE", DIES)
    machine.avoid_refused_amx(notes.append)
    assert os.environ[machine.VARIABLE] == "AVX2"
    assert not notes


def test_processors_without_amx_are_told_apart(tmp_path: Path) -> None:
    with_amx, without = tmp_path / "with", tmp_path / "without"
    with_amx.write_text("flags : fpu avx512f amx_tile amx_bf16\n")
    without.write_text("flags : fpu avx512f\n")
    assert machine.offers_amx(with_amx)
    assert not machine.offers_amx(without)
    assert not machine.offers_amx(tmp_path / "nothing")


@pytest.mark.full
def test_the_probe_multiplies_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine.VARIABLE, "AVX512_CORE_FP16")  # it must survive here without AMX
    assert machine.survives(machine.PROBE)
    assert not machine.survives(DIES)


@pytest.mark.parametrize(("precision", "told"), [("bfloat16", 1), ("float32", 0)])
def test_training_in_bfloat16_looks_first(
    make_config,
    recording,
    notes: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    precision: str,
    told: int,
) -> None:
    monkeypatch.setattr(machine, "PROBE", DIES)
    recorder = recording()
    train(make_config("flat", max_epochs=1, precision=precision), tmp_path, progress=recorder)
    assert sum("refuses its instructions" in note for note in recorder.notes) == told
    assert (machine.VARIABLE in os.environ) == bool(told)
