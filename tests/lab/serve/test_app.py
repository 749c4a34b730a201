"""What the server answers and what it refuses."""

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive

from sparsewood.lab.data.typed import typed_sentence
from sparsewood.lab.serve.answer import Served, answer
from sparsewood.lab.serve.app import create_app
from sparsewood.lab.serve.limits import RequestLimits
from sparsewood.lab.tasks import DictionaryConfig, ReverseDictionary

Serves = Callable[..., Served]
SENTENCE = "a small wood of oaks ."


def _client(*runs: Served, **options: Any) -> TestClient:
    app = create_app(runs, **options)
    return TestClient(app, "http://127.0.0.1", raise_server_exceptions=False)


@pytest.fixture(scope="module")
def client(serves: Serves) -> TestClient:
    return _client(serves("flat"), serves(), limits=RequestLimits(burst=1000))


def _refused(response: Any, status: int) -> str:
    assert response.status_code == status
    assert list(response.json()) == ["detail"]
    return response.json()["detail"]


def test_each_run_answers(client: TestClient, serves: Serves) -> None:
    response = client.post("/answer", json={"sides": [SENTENCE], "most": 2})
    assert response.status_code == 200
    runs = response.json()["runs"]
    assert [run.pop("error") for run in runs] == [None, None]
    assert runs == [
        json.loads(json.dumps(answer(run, [typed_sentence(SENTENCE)], most=2)))
        for run in (serves("flat"), serves())
    ]


@pytest.mark.parametrize("text", ["[MAX 2 9 ]", "[MAX 2 9]", "[max 2,9]"])
def test_list_operations_are_read_as_such(text: str, operations: Served) -> None:
    client = _client(operations)
    (side,) = client.post("/answer", json={"sides": [text]}).json()["runs"][0]["sides"]
    assert side["words"] == ["[MAX", "2", "9", "]"]
    assert side["unknown"] == []
    assert side["figure"]["given"] == [0, 1, 1, -1]  # as a report has it


def test_what_is_no_list_operation_is_refused(operations: Served) -> None:
    client = _client(operations)
    why = _refused(client.post("/answer", json={"sides": ["[MAX 2 9 [MIN 4 7] 0"]}), 422)
    assert why.startswith("sides[0]: '[MAX' has no closing ']', at character 1: ▸[MAX")
    why = _refused(client.post("/answer", json={"sides": ["a film"]}), 422)
    assert why.endswith("found 'a', at character 1: ▸a film")


def test_a_reverse_dictionary_splits_compounds() -> None:
    words = ["<unk>", "oak", "-", "wood"]
    model = ReverseDictionary(
        DictionaryConfig("flat", hidden=6, embedding=4), words, ["grove", "copse"]
    )
    client = _client(Served("flat", model.eval()))
    response = client.post("/answer", json={"sides": ["oak-wood"]})
    assert response.json()["runs"][0]["sides"][0]["words"] == ["oak", "-", "wood"]


def test_a_run_that_cannot_answer_says_why(serves: Serves) -> None:
    client = _client(serves("given"), serves("flat"))
    given, flat = client.post("/answer", json={"sides": [SENTENCE]}).json()["runs"]
    assert given["error"] == "given reads given trees, but a typed sentence has none"
    assert flat["error"] is None
    alone = _client(serves("given")).post("/answer", json={"sides": [SENTENCE]})
    assert _refused(alone, 422) == given["error"]


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        ("{", 422, "body: JSON decode error"),
        ("", 422, "body: Field required"),
        ("null", 422, "body: Input should be a valid dictionary"),
        ("[" * 30_000, 400, "error parsing the body"),
        ('{"sides": "oaks"}', 422, "sides: Input should be a valid list"),
        ('{"sides": ["oaks"], "path": "/etc"}', 422, "path: Extra inputs are not permitted"),
        ('{"sides": ["oaks", "elms"]}', 422, "sides: expected 1, got 2"),
        ('{"sides": [" "]}', 422, "sides[0]: expected a sentence, got white space"),
        (
            json.dumps({"sides": ["a " * 201]}),
            422,
            "at most 200 words and 4,000 characters, got 201 words and 402 characters",
        ),
        (
            json.dumps({"sides": ["oak " * 1715]}),
            422,
            "at most 200 words and 4,000 characters, got 1,715 words and 6,860 characters",
        ),
        ('{"sides": ["\\ud800"]}', 422, "sides[0]: expected Unicode text"),
        ('{"sides": ["a"], "temperature": 0}', 422, "temperature: Input should be greater"),
        ('{"sides": ["a"], "temperature": NaN}', 422, "temperature: Input should be a finite"),
        ('{"sides": ["a"], "most": 0}', 422, "most: Input should be greater"),
        (json.dumps({"sides": ["a" * 70_000]}), 413, "at most 65,536 bytes"),
    ],
)
def test_what_is_no_question(client: TestClient, body: str, status: int, why: str) -> None:
    response = client.post("/answer", content=body, headers={"Content-Type": "application/json"})
    assert why in _refused(response, status)


def test_a_temperature_where_there_is_none(serves: Serves) -> None:
    response = _client(serves("flat")).post("/answer", json={"sides": ["a"], "temperature": 2})
    assert _refused(response, 422) == "temperature: models with estimator flat have no temperature"


def _send(receive: Receive, serves: Serves, **limits: Any) -> list[Message]:
    """What is answered to a request whose body comes as `receive` has it."""
    said: list[Message] = []

    async def send(message: Message) -> None:
        said.append(message)

    app = create_app([serves("flat")], limits=RequestLimits(**limits))
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/answer", "headers": headers}

    async def ask() -> None:
        await app(scope, receive, send)

    # In a thread of its own: the first one's loop may be that of a browser.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, ask()).result()
    return said


def test_a_body_is_read_no_further_than_allowed(serves: Serves) -> None:
    asked = 0

    async def receive() -> Message:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b" " * 1000, "more_body": True}

    start, body = _send(receive, serves, body=4500)
    assert start["status"] == 413
    assert (b"connection", b"close") in start["headers"]
    assert json.loads(body["body"]) == {"detail": "expected a body of at most 4,500 bytes"}
    assert asked == 5


def test_a_body_that_does_not_come(serves: Serves) -> None:
    async def receive() -> Message:
        await asyncio.sleep(60)
        raise AssertionError

    start, _ = _send(receive, serves, patience=0.01)
    assert start["status"] == 408


def test_a_client_that_goes_away(serves: Serves) -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    assert _send(receive, serves) == []


def test_too_many_questions(serves: Serves) -> None:
    client = _client(serves("flat"), limits=RequestLimits(rate=0.01, burst=2))
    asked = [client.post("/answer", json={"sides": ["a"]}) for _ in range(3)]
    assert [response.status_code for response in asked] == [200, 200, 429]
    assert _refused(asked[2], 429) == "too many questions; wait a moment"
    assert 1 <= int(asked[2].headers["retry-after"]) <= 100
    assert client.get("/").status_code == 200


def test_too_many_at_once(serves: Serves, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(*args: Any, **options: Any) -> dict[str, Any]:
        begun.set()
        assert go_on.wait(20)
        return answer(*args, **options)

    monkeypatch.setattr("sparsewood.lab.serve.app.answer", slow)
    found = []
    with _client(serves("flat"), limits=RequestLimits(waiting=1)) as client:  # one loop for both
        first = threading.Thread(
            target=lambda: found.append(client.post("/answer", json={"sides": ["a"]}))
        )
        first.start()
        assert begun.wait(20)
        second = client.post("/answer", json={"sides": ["a"]})
        go_on.set()
        first.join()
    assert _refused(second, 503) == "too many questions are waiting"
    assert found[0].status_code == 200


def test_a_mistake_of_the_server_is_not_shown(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("sparsewood.lab.serve.app.answer", fail)
    response = client.post("/answer", json={"sides": ["a"]})
    assert "secret" not in _refused(response, 500)
    assert "content-security-policy" in response.headers


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000"])
def test_names_of_this_machine(host: str, client: TestClient) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["example.org", "localhost.example.org", "", "[", "127.0.0.1.x"])
def test_foreign_names(host: str, client: TestClient, serves: Serves) -> None:
    assert "Host" in _refused(client.get("/", headers={"Host": host}), 400)
    named = _client(serves("flat"), hosts=["Example.org"])
    known = named.get("/", headers={"Host": "example.org:8000"})
    assert known.status_code == 200


def test_other_pages_are_not_answered(client: TestClient) -> None:
    question = {"sides": ["a"]}
    own = client.post("/answer", json=question, headers={"Origin": "http://127.0.0.1"})
    assert own.status_code == 200
    for origin in ("http://example.org", "null", "http://127.0.0.1:9000"):
        foreign = client.post("/answer", json=question, headers={"Origin": origin})
        assert "Origin" in _refused(foreign, 403)
    assert not any(name.startswith("access-control") for name in own.headers)


@pytest.mark.parametrize("path", ["/", "/page.js", "/live.css", "/openapi.json", "/no"])
def test_headers(path: str, client: TestClient) -> None:
    headers = client.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; ")
    assert "http" not in policy
    assert "unsafe-inline" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


def test_no_files_are_given_away(client: TestClient) -> None:
    for path in (
        "/app.py",
        "/page.html",
        "/../app.py",
        "/..%2fapp.py",
        "/static/x",
        "/docs",
        "/redoc",
    ):
        assert client.get(path).status_code == 404
    assert client.put("/answer").status_code == 405


def test_pages_ask_for_nothing_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/page.js", "/page.css", "/live.css"):
        text = client.get(path).text.replace("http://www.w3.org/", "")
        assert "http:" not in text
        assert "https:" not in text


def test_the_description_of_the_endpoint(client: TestClient) -> None:
    api = client.get("/openapi.json").json()
    assert list(api["paths"]) == ["/answer"]
    assert {"413", "422", "429"} <= set(api["paths"]["/answer"]["post"]["responses"])
    assert set(api["components"]["schemas"]["Question"]["properties"]) == {
        "sides",
        "temperature",
        "most",
    }


def test_examples_stay_inert(serves: Serves) -> None:
    client = _client(serves("flat"), examples=[("</script><script>alert(1)</script>",)])
    text = client.get("/").text
    assert "<script>alert" not in text
    assert r"\u003c/script>\u003cscript>alert" in text
