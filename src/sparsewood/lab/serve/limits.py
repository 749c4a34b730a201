"""Limits of requests: bytes, words, requests per second."""

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True)
class RequestLimits:
    """The largest requests that are answered.

    Attributes:
        body: maximum bytes of a request.
        patience: seconds until the headers of a request must have arrived, and then its body.
        connections: maximum number of connections that wait for their clients.
        characters, words: maximum length of a sentence.
        rate: questions per second and client, on average.
        burst: maximum number of questions of a client at once.
        clients: number of clients to remember.
        waiting: maximum number of questions waiting for an answer, over all clients.
    """

    body: int = 64 * 1024
    patience: float = 5.0
    connections: int = 100
    characters: int = 4000
    words: int = 200
    rate: float = 20.0
    burst: int = 40
    clients: int = 1024
    waiting: int = 32


class RateLimit:
    """A bucket of tokens per client: a question takes one token, and tokens are refilled at `rate`.

    Args:
        limits: its rate, burst and clients apply.
    """

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        # client: tokens and the time of the last update, the least recent client first
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, now: float) -> float:
        """Seconds until the client may ask again; 0 if it may ask now, which takes a token.

        Args:
            client: address of the client.
            now: seconds on a monotonic clock.
        """
        rate, burst = self._limits.rate, self._limits.burst
        tokens, then = self._buckets.pop(client, (float(burst), now))
        tokens = min(float(burst), tokens + (now - then) * rate)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / rate
        self._buckets[client] = (tokens if wait else tokens - 1, now)
        if len(self._buckets) > self._limits.clients:
            self._buckets.popitem(last=False)
        return wait

    def __len__(self) -> int:
        return len(self._buckets)
