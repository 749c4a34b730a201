"""Closes connections whose clients keep the server waiting."""

import asyncio
from collections.abc import Callable

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from sparsewood.lab.serve.limits import RequestLimits


def protocol(limits: RequestLimits) -> type[asyncio.Protocol]:
    """The protocol of a server within these limits.

    uvicorn waits for the headers of a request without a timeout, so that half-open connections can
    use up any limit on their number. Here, headers must be complete `limits.patience` seconds after
    the connection is made, or after the first byte of a later request. At most `limits.connections`
    may wait for their clients at the same time: for headers, for a body, or for a response to be
    read. Beyond that, the one that has waited longest is closed, so that new clients are always
    served. The app limits requests that have arrived.
    """
    # The functions that close waiting connections, the longest waiting first.
    waiting: dict[H11Protocol, Callable[[], None]] = {}

    class Connection(H11Protocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._expect_headers()
            self._update_waiting()

        def data_received(self, data: bytes) -> None:
            if self.conn.their_state is h11.IDLE:
                self._expect_headers()
            super().data_received(data)

        def handle_events(self) -> None:
            super().handle_events()
            if self.conn.their_state is not h11.IDLE:
                self._end_deadline()
            self._update_waiting()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._update_waiting()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._update_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end_deadline()
            waiting.pop(self, None)
            super().connection_lost(exc)

        def _update_waiting(self) -> None:
            """Close the connection that has waited longest, if too many are waiting."""
            unread = self.flow.write_paused
            if not unread and self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                waiting.pop(self, None)
                return
            waiting.setdefault(self, self._give_up)
            if len(waiting) > limits.connections:
                next(iter(waiting.values()))()

        def _give_up(self) -> None:
            self._end_deadline()
            waiting.pop(self, None)
            self.transport.abort()

        def _expect_headers(self) -> None:
            if self._deadline is None:
                self._deadline = self.loop.call_later(limits.patience, self._give_up)

        def _end_deadline(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

    return Connection
