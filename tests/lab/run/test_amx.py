"""bfloat16 on machines that offer AMX and refuse it."""

import os
import signal
import sys
from pathlib import Path

import pytest

from sparsewood.lab.run import amx, train

DIES = (sys.executable, "-c", f"import os; os.kill(os.getpid(), {int(signal.SIGILL)})")


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was noted; oneDNN is told nothing yet, and the processor offers AMX."""
    monkeypatch.setenv(amx.VARIABLE, "")  # restored after the test
    monkeypatch.delenv(amx.VARIABLE)
    monkeypatch.setattr(amx, "offers_amx", lambda: True)
    return []


def test_it_is_avoided_where_its_instructions_are_refused(
    notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amx, "PROBE", DIES)
    amx.avoid_refused_amx(notes.append)
    assert os.environ[amx.VARIABLE] == "AVX512_CORE_FP16"
    assert len(notes) == 1
    assert "refuses its instructions" in notes[0]
    amx.avoid_refused_amx(notes.append)  # no second probe, and no second note
    assert len(notes) == 1


def test_it_is_used_where_the_probe_survives(
    notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(amx, "PROBE", (sys.executable, "-c", ""))
    amx.avoid_refused_amx(notes.append)
    assert amx.VARIABLE not in os.environ
    assert not notes


def test_what_the_user_has_set_stays(notes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(amx.VARIABLE, "AVX2")
    monkeypatch.setattr(amx, "PROBE", DIES)
    amx.avoid_refused_amx(notes.append)
    assert os.environ[amx.VARIABLE] == "AVX2"
    assert not notes


def test_processors_without_amx_are_told_apart(tmp_path: Path) -> None:
    with_amx, without = tmp_path / "with", tmp_path / "without"
    with_amx.write_text("flags : fpu avx512f amx_tile amx_bf16\n")
    without.write_text("flags : fpu avx512f\n")
    assert amx.offers_amx(with_amx)
    assert not amx.offers_amx(without)
    assert not amx.offers_amx(tmp_path / "nothing")


@pytest.mark.full
def test_the_probe_multiplies_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(amx.VARIABLE, "AVX512_CORE_FP16")  # it must survive here without AMX
    assert amx.survives(amx.PROBE)
    assert not amx.survives(DIES)


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
    monkeypatch.setattr(amx, "PROBE", DIES)
    recorder = recording()
    train(make_config("flat", max_epochs=1, precision=precision), tmp_path, progress=recorder)
    assert sum("refuses its instructions" in note for note in recorder.notes) == told
    assert (amx.VARIABLE in os.environ) == bool(told)
