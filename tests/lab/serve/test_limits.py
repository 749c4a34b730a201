from sparsewood.lab.serve.limits import RateLimit, RequestLimits


def test_a_burst_and_then_a_rate() -> None:
    limit = RateLimit(RequestLimits(rate=2.0, burst=3))
    assert [limit.wait("a", 10.0) for _ in range(4)] == [0, 0, 0, 0.5]
    assert limit.wait("a", 10.25) == 0.25
    assert limit.wait("b", 10.25) == 0
    assert limit.wait("a", 10.5) == 0
    assert limit.wait("a", 10.5) == 0.5
    assert [limit.wait("a", 99.0) for _ in range(4)] == [0, 0, 0, 0.5]


def test_who_was_silent_longest_is_forgotten() -> None:
    limit = RateLimit(RequestLimits(rate=1.0, burst=1, clients=2))
    assert limit.wait("a", 0.0) == limit.wait("b", 0.1) == 0
    assert limit.wait("a", 0.2) > 0
    assert limit.wait("c", 0.3) == 0
    assert len(limit) == 2
    assert limit.wait("a", 0.4) > 0
    assert limit.wait("b", 0.5) == 0
