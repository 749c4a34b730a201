import pytest

from sparsewood.draw._sheet import more, percent, sheet
from sparsewood.draw.items import Items
from sparsewood.draw.tags import Tags
from sparsewood.status import Status


def test_the_heaviest_comes_first() -> None:
    pictures = [Items(("a", "b"), (0,)), Items(("a", "b"), (1,))]
    sorted_sheet = sheet("set", "a b", pictures, [0.25, 0.75])
    assert sorted_sheet.weights == (0.75, 0.25)
    assert sorted_sheet.pictures == (pictures[1], pictures[0])


@pytest.mark.parametrize(
    ("count", "status", "gap", "caption"),
    [
        (1, Status.SOLVED, 0.0, "1 tree, certified"),
        (2, Status.SOLVED, 1e-12, "2 trees, certified"),
        (2, Status.CAPPED, 0.0213, "2 trees, not certified: capped (gap 2.1e-02)"),
        (2, Status.STALLED, None, "2 trees, not certified: stalled"),
        (2, None, None, ""),
    ],
)
def test_caption(count: int, status: Status | None, gap: float | None, caption: str) -> None:
    pictures = [Items(("a",), ())] * count
    assert sheet("tree", "a", pictures, [1 / count] * count, status, gap).caption == caption


def test_a_part_of_the_support_is_not_counted_as_the_whole() -> None:
    part = sheet("tree", "a", [Items(("a",), ())], [0.25], Status.SOLVED)
    assert part.caption == "the most likely 1 tree, certified"


def test_small_words() -> None:
    assert [percent(weight) for weight in (0, 1e-5, 0.5, 1)] == ["0.0%", "<0.1%", "50.0%", "100.0%"]
    assert more([0.25, 0.125]) == "2 more, together 37.5%"
    for given, note in ((None, ""), (("N", "V"), "✓ as given"), (("N", "N"), "1 of 2 as given")):
        assert Tags(("a", "b"), ("N", "V"), given).note == note
