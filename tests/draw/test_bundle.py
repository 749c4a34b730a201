"""The web files as one script and one style."""

import gzip
import re
from base64 import b64decode
from importlib.resources import files

import pytest
import torch

import sparsewood as sp
from sparsewood.draw import _bundle, show

WEB = files("sparsewood.draw").joinpath("web")


def test_the_module_stands_alone() -> None:
    script = _bundle.module()
    assert not re.search(r"^\s*(?:import|export)\b", script, re.MULTILINE)
    assert "globalThis.sparsewood = " in script
    assert script == _bundle.module()


def test_it_holds_the_core() -> None:
    found = re.match(r'const SPARSEWOOD_WASM = "([^"]+)"', _bundle.module())
    assert found is not None
    core = gzip.decompress(b64decode(found[1]))
    assert core == WEB.joinpath("sparsewood.wasm").read_bytes()
    assert core.startswith(b"\0asm")


def test_assets_are_inline_and_closed_once() -> None:
    assets = _bundle.live_assets()
    assert assets.count("<script") == assets.count("</script>") == 1
    style = assets.partition("<script")[0]
    assert style.count("<style") == style.count("</style>") == 1
    assert not re.search(r"(?:src|href)=|url\(|@import", assets)


def joined(monkeypatch: pytest.MonkeyPatch, **sources: str) -> str:
    """The bundle of other files, starting with `mount.js`."""
    own = {f"{name}.js": source for name, source in sources.items()}
    monkeypatch.setattr(_bundle, "_read", lambda name: own[name])
    return _bundle.module.__wrapped__()


def test_files_come_after_what_they_import(monkeypatch: pytest.MonkeyPatch) -> None:
    script = joined(
        monkeypatch,
        mount='import { b } from "./b.js";\nimport { a } from "./a.js";\nexport const c = a + b;\n',
        b='import { a } from "./a.js";\nconst own = 1;\nexport function b() { return a + own; }\n',
        a="const own = 2;\nexport const a = own;\n",
    )
    places = [script.index(f"const {{ {name} }} = (() => {{") for name in "abc"]
    assert places == sorted(places)
    assert script.count("const own") == 2


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ({"mount": 'import * as a from "./a.js";\n'}, "cannot bundle this line: import"),
        ({"mount": "export default 1;\n"}, "cannot bundle this line: export default"),
        (
            {
                "mount": 'import { a } from "./a.js";\nexport const c = 1;\n',
                "a": "export const a = 1;\nexport class c {}\n",
            },
            "c is exported by a.js and by mount.js",
        ),
        (
            {
                "mount": 'import { a } from "./a.js";\n',
                "a": 'import { b } from "./mount.js";\n',
            },
            "import each other: mount.js -> a.js -> mount.js",
        ),
    ],
)
def test_what_cannot_be_joined(
    sources: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        joined(monkeypatch, **sources)


def test_the_style_of_live_figures_leaves_drawings_on_the_same_page_alone() -> None:
    drawn = show(sp.sparsemap(torch.randn(1, 3, 4), sp.DependencyTrees()))._repr_html_()
    classes = set(re.findall(r'class="([\w -]+)"', drawn))
    assert "sparsewood-trees" in classes
    styled = set(re.findall(r"\.([\w-]+)", _bundle.style()))
    assert not {name for value in classes for name in value.split()} & styled
