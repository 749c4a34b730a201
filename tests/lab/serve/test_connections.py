"""Clients that keep the server waiting, on 127.0.0.1."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from sparsewood.lab.serve.answer import Served
from sparsewood.lab.serve.limits import RequestLimits

Serves = Callable[..., Served]
Serving = Callable[..., str]
HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = b"POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
PATIENT = RequestLimits(patience=600.0)


def _connected(address: str) -> socket.socket:
    parts = urlsplit(address)
    assert parts.port is not None
    return socket.create_connection(("127.0.0.1", parts.port), timeout=30)


def _ended(client: socket.socket) -> bool:
    """Whether the server ends the connection, once all that it sends is read."""
    try:
        while client.recv(65536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


@contextmanager
def _many(address: str, count: int, start: bytes) -> Iterator[list[socket.socket]]:
    """Clients that send no more than the start of a request."""
    with ExitStack() as open_ones:
        clients = [open_ones.enter_context(_connected(address)) for _ in range(count)]
        for client in clients:
            client.sendall(start)
        yield clients


@pytest.mark.parametrize("start", [b"", HALF, BODY])
def test_half_requests_shut_nobody_out(start: bytes, serves: Serves, serving: Serving) -> None:
    address = serving(serves("flat"), limits=PATIENT)
    with _many(address, 200, start):
        for _ in range(3):
            assert httpx.get(address, trust_env=False).status_code == 200


def test_the_longest_waiting_go_first(serves: Serves, serving: Serving) -> None:
    address = serving(serves("flat"), limits=RequestLimits(patience=600.0, connections=10))
    with _many(address, 15, HALF) as clients:
        assert all(map(_ended, clients[:5]))
        clients[-1].sendall(b"no more\r\n\r\n")
        assert clients[-1].recv(15) == b"HTTP/1.1 200 OK"


@pytest.mark.parametrize("start", [b"", HALF])
def test_headers_must_arrive_in_time(start: bytes, serves: Serves, serving: Serving) -> None:
    address = serving(serves("flat"), limits=RequestLimits(patience=0.2))
    with _many(address, 5, start) as clients:
        assert all(map(_ended, clients))


@pytest.mark.full
def test_so_must_those_of_a_second_request(serves: Serves, serving: Serving) -> None:
    address = serving(serves("flat"), limits=RequestLimits(patience=0.2))
    with _connected(address) as client:
        client.sendall(WHOLE + HALF)
        assert client.recv(15) == b"HTTP/1.1 200 OK"
        assert _ended(client)


def test_a_byte_now_and_then_is_not_enough(serves: Serves, serving: Serving) -> None:
    address = serving(serves("flat"), limits=RequestLimits(patience=0.2))
    with _connected(address) as client:
        client.sendall(HALF)
        with pytest.raises(ConnectionError):
            _drip(client)


def _drip(client: socket.socket) -> None:
    for _ in range(3000):  # half a minute, and far less than is allowed for headers
        client.sendall(b"x")
        time.sleep(0.01)


def test_responses_that_nobody_reads_shut_nobody_out(serves: Serves, serving: Serving) -> None:
    address = serving(serves("flat"), limits=RequestLimits(patience=600.0, connections=8))
    script = WHOLE.replace(b"/ ", b"/live.js ")
    with _many(address, 20, script * 40):
        for _ in range(3):
            assert httpx.get(address, trust_env=False).status_code == 200


def test_a_patient_client_keeps_its_connection(serves: Serves, serving: Serving) -> None:
    with httpx.Client(base_url=serving(serves("flat")), trust_env=False) as client:
        for _ in range(20):
            answer = client.post("/answer", json={"sides": ["a small wood"]})
            assert answer.status_code == 200
            assert answer.headers.get("connection") != "close"
