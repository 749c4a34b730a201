"""Checks of requests before they are read, and headers of every response."""

import asyncio
import math
import time
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sparsewood.lab.serve.limits import RateLimit, RequestLimits

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
        "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses requests by foreign names or pages, and requests that are too large or too many.

    A foreign page may resolve its own name to this machine (DNS rebinding), so that the browser
    treats the server as part of that page. Therefore only requests to known names and to numeric
    addresses are answered.

    Args:
        app: the app to guard.
        limits: limits of size and rate.
        hosts: host names of the server, besides localhost.
    """

    def __init__(self, app: ASGIApp, limits: RequestLimits, hosts: Iterable[str] = ()) -> None:
        self._app, self._limits = app, limits
        self._hosts = {"localhost", *(host.lower() for host in hosts)}
        self._rate = RateLimit(limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            try:
                body = await asyncio.wait_for(self._read(receive), self._limits.patience)
            except TimeoutError:
                refusal = _refuse(408, "the request did not arrive in time", close=True)
            else:
                if isinstance(body, bytes):
                    await self._app(scope, _replay(body, receive), say)
                    return
                refusal = body
        if refusal is not None:
            await refusal(scope, receive, say)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        """The refusal of a request that is not read; None if it is read."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._known(host):
            return _refuse(400, "Host: not a name of this server", close=True)
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return _refuse(403, "Origin: requests from other pages are not answered", close=True)
        if scope["method"] == "POST":
            client = scope.get("client")
            wait = self._rate.wait(client[0] if client else "", time.monotonic())
            if wait > 0:
                after = {"Retry-After": str(math.ceil(wait))}
                return _refuse(429, "too many questions; wait a moment", after, close=True)
        size = headers.get("content-length", "0")
        if not size.isdecimal() or int(size) > self._limits.body:
            return self._too_large()
        return None

    def _known(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._hosts:
            return True
        try:
            ip_address(name)
        except ValueError:
            return False
        return True

    async def _read(self, receive: Receive) -> bytes | JSONResponse | None:
        """The body; a refusal if it is too large, None if the client has disconnected."""
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            body += message.get("body", b"")
            if len(body) > self._limits.body:
                return self._too_large()
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> JSONResponse:
        return _refuse(413, f"expected a body of at most {self._limits.body:,} bytes", close=True)


def _refuse(
    status: int, why: str, headers: dict[str, str] | None = None, *, close: bool = False
) -> JSONResponse:
    """A refusal. With `close`, the rest of what the client sends is not read."""
    more = {"Connection": "close"} if close else {}
    return JSONResponse({"detail": why}, status, {**(headers or {}), **more})


def _replay(body: bytes, receive: Receive) -> Receive:
    """Receives the body that was read, then the messages of `receive`."""
    told = False

    async def once() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return once
