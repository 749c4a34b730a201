import re

from hypothesis import given
from hypothesis import strategies as st

from sparsewood.draw import draw
from sparsewood.draw.tags import Tags
from sparsewood.draw.tikz import latex, panel_tikz


def test_edges_and_roots() -> None:
    text = draw(["a", "b", "c"], [[2, 0, 2]], [0.5], None, "tikz")
    assert r"{a} \& {b} \& {c} \\" in text
    assert re.findall(r"\\depedge\[[^]]*\]\{(\d)\}\{(\d)\}", text) == [("2", "1"), ("2", "3")]
    assert re.findall(r"\\deproot\[[^]]*\]\{(\d)\}", text) == ["2"]
    assert r"\textbf{50.0\%}" in text
    assert text.count(r"\begin{dependency}") == text.count(r"\end{dependency}") == 1


def test_agreement() -> None:
    text = draw(["a", "b"], [[0, 1]], [1.0], [0, 0], "tikz")
    assert r"edge style={draw=sparsewoodagree}]{1}{root}" in text
    assert r"edge style={draw=sparsewooddiffer, dashed}]{1}{2}{}" in text
    assert "(1 of 2 as given)" in text


def test_arcs_over_a_common_gap_have_different_heights() -> None:
    text = draw(["a", "b", "c", "d"], [[3, 4, 0, 0]], [1.0], None, "tikz")
    assert len(set(re.findall(r"depedge\[edge height=([\d.]+)ex", text))) == 2


@given(st.text())
def test_nothing_is_left_for_latex_to_read(word: str) -> None:
    text = latex(word)
    for command in (r"\textbackslash{}", r"\textasciicircum{}", r"\textasciitilde{}"):
        text = text.replace(command, "")
    for command in (r"\textless{}", r"\textgreater{}", r"\textbar{}", r"\symbol{38}"):
        text = text.replace(command, "")
    text = re.sub(r"\\[{}$#%_]", "", text)
    assert not set(text) & set("\\{}$&#%_^~<>|\n\t")


def test_other_families_are_drawn_by_their_shapes() -> None:
    text = panel_tikz(Tags(("50%", "b"), ("A_1", "B"), ("A_1", "C")).panel())
    assert text.count(r"\node[") == 4
    assert r"{50\%};" in text
    assert r"{A\_1};" in text
    assert text.count("sparsewooddiffer, dashed") == 1
    assert text.count(" rectangle ") == 3  # two tags and the frame
    assert r"\draw[-, rounded corners=4pt, opacity=.55]" in text


def test_the_certificate_is_said() -> None:
    text = draw(["a"], [[0]], [1.0], None, "tikz", status="solved")
    assert r"\noindent 1 tree, certified\par" in text
