from xml.etree import ElementTree

from sparsewood.draw._trees import checked
from sparsewood.draw.html import page_html, trees_html
from sparsewood.status import Status


def test_fragment_is_well_formed_and_escaped() -> None:
    words = ["<script>alert(1)</script>", "&", "\x00"]
    text = trees_html(checked(words, [[2, 0, 2], [0, 0, 0]], [0.6, 0.4], [2, 0, 2]))
    root = ElementTree.fromstring(text)
    assert "<script" not in text
    assert [share.text for share in root.iter("strong")] == ["60.0%", "40.0%"]
    assert [note.text for note in root.iter("small")] == ["✓ as given", "1 of 3 as given"]


def test_the_rest_is_folded_away() -> None:
    drawable = checked(["a", "b"], [[0, 0], [0, 1], [2, 0]], [0.5, 0.3, 0.2])
    root = ElementTree.fromstring(trees_html(drawable, shown=1))
    (details,) = root.iter("details")
    assert details[0].text == "2 more, together 50.0%"
    assert len(list(details.iter("strong"))) == 2


def test_what_is_beyond_the_fold_is_counted() -> None:
    drawable = checked(["a", "b"], [[0, 0], [0, 1], [2, 0]], [0.5, 0.3, 0.2])
    root = ElementTree.fromstring(trees_html(drawable, shown=1, folded=1))
    assert [share.text for share in root.iter("strong")] == ["50.0%", "30.0%"]
    assert [rest.text for rest in root.iter("p")] == ["and 1 more, together 20.0%"]


def test_page_has_an_escaped_title() -> None:
    page = page_html(checked(["</title>", "{0}"], [[0, 1]], [1.0]))
    assert "<title>&lt;/title&gt; {0}</title>" in page
    assert page.startswith("<!DOCTYPE html>")


def test_the_caption_says_whether_it_is_certified() -> None:
    def caption(status: Status | None) -> list[str | None]:
        sheet = checked(["a", "b"], [[0, 0], [0, 1]], [0.6, 0.4], status=status)
        return [p.text for p in ElementTree.fromstring(trees_html(sheet)).iter("p")]

    assert caption(Status.SOLVED) == ["2 trees, certified"]
    assert caption(Status.CAPPED) == ["2 trees, not certified: capped"]
    assert caption(None) == []
