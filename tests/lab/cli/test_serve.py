import os
import re
import signal
import socket
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import httpx
import pytest
from fastapi.testclient import TestClient

from sparsewood.lab.cli.serve import ServeOptions, address_of, announce, is_loopback
from sparsewood.lab.serve.app import create_app
from sparsewood.lab.serve.load import example_questions, load_runs


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_runs_answer_until_they_are_stopped(latent: Path, given: Path) -> None:
    command = [sys.executable, "-m", "sparsewood", "serve", str(latent), str(given), "--port", "0"]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True) as server:
        assert server.stdout is not None
        said = server.stdout.readline()
        found = re.fullmatch(r"latent, given at (http://127\.0\.0\.1:\d+) \(Ctrl-C ends\)\n", said)
        assert found is not None, said
        question = {"sides": ["[MAX 2 9 [MIN 4 7 ] ]"]}
        answered = httpx.post(f"{found[1]}/answer", json=question, trust_env=False)
        server.send_signal(signal.SIGINT)
        out, error = server.communicate()
    assert [run["name"] for run in answered.json()["runs"]] == ["latent", "given"]
    assert (out, error, server.returncode) == ("stopped\n", "", 0)


def test_where_the_page_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = threading.Event()
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.set())
    announce("[a], b", ServeOptions((), open=True), 8123)
    assert capsys.readouterr() == ("[a], b at http://127.0.0.1:8123 (Ctrl-C ends)\n", "")
    assert opened.wait(20)
    announce("a", ServeOptions((), host="0.0.0.0"), 8123)
    told = capsys.readouterr()
    assert "at http://127.0.0.1:8123" in told.out
    assert "--host 0.0.0.0: anyone who can reach this machine can use the models" in told.err


def test_a_dictionary_answers_with_words(dictionary: Path) -> None:
    app = create_app(load_runs([dictionary]), examples=example_questions([dictionary]))
    client = TestClient(app, "http://127.0.0.1")
    (said,) = client.post("/answer", json={"sides": ["a thing like 3"]}).json()["runs"]
    assert len(said["prediction"]) == 10
    assert all(-1 <= cosine <= 1 for cosine in said["prediction"].values())
    assert '"definition"' in client.get("/").text
    assert "a thing like" in client.get("/").text


def test_where_nothing_can_be_served(
    latent: Path, pairs: Path, fails: Callable[..., str], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
        taken = f"--host 127.0.0.1 --port {port}: in use; --port 0 picks a free one"
        assert fails("serve", latent, "--port", str(port)) == taken
    assert fails("serve", latent, "--port", "70000").startswith("--port: expected a number from 0")
    assert "no such address" in fails("serve", latent, "--host", "256.1.1.1.1")
    assert "no such folder" in fails("serve", tmp_path / "absent", "--port", "0")
    assert fails("serve", latent, pairs, "--port", "0") == (
        "serve: expected runs of the same task, got latent (classify of list operations), run (nli)"
    )


def test_the_extra_is_asked_for(
    latent: Path, fails: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    said = fails("serve", latent)
    assert "is not installed (extra [serve]): " in said
    assert "pip install" in said


def test_which_addresses_are_of_this_machine_alone() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "localhost", "::1", "127.9.9.9")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.0.2", "example.org")))
    assert address_of("::", 80) == "http://[::1]:80"
    assert address_of("0.0.0.0", 8000) == "http://127.0.0.1:8000"
