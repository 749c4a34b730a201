"""Models that nobody trained, which is enough to be asked."""

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import uvicorn

from sparsewood.lab.data import Corpus, Example, Sentence
from sparsewood.lab.data.listops import example_of
from sparsewood.lab.serve.answer import Served
from sparsewood.lab.serve.app import create_app, server_config
from sparsewood.lab.tasks import TASKS, ParserConfig, build_model

_WORDS = "a small wood of oaks shades nobody far from here ."


def _served(
    estimator: str = "sparsemap:max_active=10", *, task: str = "classify", **options: object
) -> Served:
    torch.manual_seed(0)
    words = tuple(_WORDS.split())
    sides = (Sentence(words, (0,) * len(words)),) * len(TASKS[task].sides)
    examples = {
        "class": [Example(sides, "good"), Example(sides, "bad")],
        "number": [Example(sides, "1000"), Example(sides, "3000")],
        "labels": [Example(sides, labels=("old", "tall")), Example(sides, labels=())],
    }
    corpus = Corpus(task, {"train": examples[TASKS[task].answer]})
    if task == "parse":
        parser = ParserConfig(embedding=4, characters=2, filters=3, layers=1, hidden=4, arc=4)
        model = build_model(corpus, parser)
    else:
        config = TASKS[task].config(estimator, hidden=6, embedding=4, **options)
        model = build_model(corpus, config)
    return Served(estimator.partition(":")[0], model.eval())


@pytest.fixture(scope="session")
def serves() -> Callable[..., Served]:
    """(estimator, task=, **options of the model) -> a tiny model that answers."""
    return _served


@pytest.fixture(scope="session")
def operations() -> Served:
    """A tiny model of list operations."""
    torch.manual_seed(0)
    examples = [example_of(tuple(text.split())) for text in ("[MAX 2 9 ]", "[MIN 4 7 0 ]")]
    config = TASKS["classify"].config("sparsemap:max_active=10", hidden=6, embedding=4)
    model = build_model(Corpus("classify", {"train": examples}), config)
    return Served("operations", model.eval())


@pytest.fixture
def serving() -> Iterator[Callable[..., str]]:
    """(*runs, **options of `create_app`) -> the address of a server that answers with them."""
    begun: list[tuple[uvicorn.Server, threading.Thread, socket.socket]] = []

    def begin(*runs: Served, **options: Any) -> str:
        place = socket.create_server(("127.0.0.1", 0))
        server = uvicorn.Server(server_config(create_app(runs, **options), options.get("limits")))
        thread = threading.Thread(target=server.run, args=([place],))
        thread.start()
        begun.append((server, thread, place))
        return f"http://127.0.0.1:{place.getsockname()[1]}"

    yield begin
    for server, thread, place in begun:
        server.should_exit = True
        thread.join()
        place.close()
