"""A line of links below the introduction of each API page: the names that the page describes."""

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

_FEWEST = 3  # a page with fewer names shows them anyway


def _add_names(app: Sphinx, doctree: nodes.document) -> None:
    if not app.env.docname.startswith("api/"):
        return
    found = [d for d in doctree.findall(addnodes.desc) if isinstance(d.parent, nodes.section)]
    signatures = [next(iter(d.findall(addnodes.desc_signature))) for d in found]
    if len(signatures) < _FEWEST:
        return
    line = nodes.paragraph(classes=["names"])
    for signature in signatures:
        name = nodes.literal("", next(iter(signature.findall(addnodes.desc_name))).astext())
        for target in signature["ids"][:1]:  # none if the name is kept out of the index
            name = nodes.reference("", "", name, refid=target, internal=True)
        line += [name, nodes.Text(" ")]
    introduction = next(iter(doctree.findall(nodes.paragraph)))
    introduction.parent.insert(introduction.parent.index(introduction) + 1, line)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", _add_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
