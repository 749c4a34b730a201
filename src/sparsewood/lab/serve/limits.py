"""How much is asked of a server at most: bytes, words, requests a second."""

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(frozen=True)
class RequestLimits:
    """What is refused.

    Attributes:
        body: bytes of a request.
        patience: seconds in which the headers of a request must have arrived, and its body.
        connections: those that may wait for their client at once.
        characters, words: of a sentence.
        rate: questions a second of each client, in the long run.
        burst: questions that a client may ask at once.
        clients: those that are remembered.
        waiting: questions that wait for an answer, of all clients together.
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
    """A bucket of tokens for each client: a question takes one, and they come back by and by.

    Args:
        limits: rate, burst and clients.
    """

    def __init__(self, limits: RequestLimits) -> None:
        self._limits = limits
        # client: tokens and when they were counted, the longest silent first
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, now: float) -> float:
        """Seconds until the client may ask again; 0: it may now, and a token is taken.

        Args:
            client: its address.
            now: seconds on a clock that never goes back.
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
