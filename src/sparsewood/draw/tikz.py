"""Pictures for LaTeX: dependency trees with the package tikz-dependency, others with tikz."""

from sparsewood.draw._escape import printable
from sparsewood.draw._shapes import SIZE, Box, Kind, Line, Panel, Text
from sparsewood.draw._sheet import Sheet, percent
from sparsewood.draw._tables import TABLES

_ESCAPES: dict[str, str] = TABLES["latex"]  # \& would part the words of a deptext
_PREAMBLE = "% \\usepackage{PACKAGE}\n" + TABLES["tikzColours"]
_STYLES: dict[Kind, str] = TABLES["tikzStyles"]


def sheet_tikz(sheet: Sheet) -> str:
    """The certificate, and the pictures, each after its probability."""
    drawn = [picture.tikz() for picture in sheet.pictures]
    blocks = [_PREAMBLE.replace("PACKAGE", "tikz-dependency" if any(drawn) else "tikz")]
    if sheet.caption:
        blocks.append(f"\\noindent {latex(sheet.caption)}\\par\\medskip")
    for picture, weight, own in zip(sheet.pictures, sheet.weights, drawn, strict=True):
        note = picture.note.replace("✓ ", "")
        title = latex(f"{percent(weight)} {f'({note})' if note else ''}".strip())
        shown = own or panel_tikz(picture.panel())
        blocks.append(f"\\noindent\\textbf{{{title}}}\\par\\noindent\n{shown}\\par\\medskip")
    return "\n\n".join(blocks)


def panel_tikz(panel: Panel) -> str:
    """The shapes as one `tikzpicture`; a pixel is 0.75 pt."""
    lines = [r"\begin{tikzpicture}[x=.75pt, y=-.75pt, every node/.style={inner sep=0pt}]"]
    lines.append(rf"  \path (0, 0) rectangle ({panel.width:.1f}, {panel.height:.1f});")
    lines += [f"  {_shape(shape)}" for shape in panel.shapes]
    return "\n".join([*lines, r"\end{tikzpicture}"])


def _shape(shape: Text | Line | Box) -> str:
    style = _STYLES[shape.kind]
    if isinstance(shape, Text):
        options = ["anchor=base", "font=" + (r"\small" if shape.size == SIZE else r"\scriptsize")]
        place = f"({shape.x:.1f}, {shape.y:.1f})"
        return rf"\node[{_options(*options, style)}] at {place} {{{latex(shape.text)}}};"
    dashed = "dashed" if shape.kind == "differ" else ""
    if isinstance(shape, Box):
        shade = "fill=black!12" if shape.shaded else ""
        corners = (shape.x, shape.y), (shape.x + shape.width, shape.y + shape.height)
        path = " rectangle ".join(f"({x:.1f}, {y:.1f})" for x, y in corners)
        return rf"\draw[{_options('rounded corners=2pt', style, dashed, shade)}] {path};"
    path = " -- ".join(f"({x:.1f}, {y:.1f})" for x, y in shape.points)
    ends = "->" if shape.arrow else "-"
    ink = "" if shape.share == 1 else f"opacity={shape.share:.2f}"
    drawn = rf"\draw[{_options(ends, 'rounded corners=4pt', style, dashed, ink)}] {path};"
    x, y = shape.points[0]
    return drawn + rf" \fill[{style}] ({x:.1f}, {y:.1f}) circle (2pt);" * shape.dot


def _options(*options: str) -> str:
    return ", ".join(option for option in options if option)


def latex(text: str) -> str:
    """Escape the special characters of LaTeX."""
    return "".join(_ESCAPES.get(character, character) for character in printable(text))
