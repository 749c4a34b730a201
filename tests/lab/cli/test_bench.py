from collections.abc import Callable


def test_a_small_benchmark(prints: Callable[..., str]) -> None:
    text = prints(*"bench --batch 2 --hidden 4 --repeats 1 --device cpu --threads 1".split())
    for name in ("SparseMAP", "flat", "left_to_right", "given", "sparsemap"):
        assert name in text
    assert "sparsemap / flat = " in text


def test_nothing_to_time(fails: Callable[..., str]) -> None:
    for option in ("--batch", "--repeats", "--threads"):
        assert fails("bench", option, "0") == f"{option}: expected at least 1, got 0"
