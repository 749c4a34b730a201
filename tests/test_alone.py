"""The library with only torch and numpy installed."""

import subprocess
import sys

import pytest

_EXTRAS = (
    "anywidget",
    "docstring_parser",
    "huggingface_hub",
    "jax",
    "pyepo",
    "rich",
    "safetensors",
    "tyro",
)
_WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({_EXTRAS!r})); "
_LIBRARY = """
import torch
import sparsewood as sp

scores = torch.randn(2, 4, 5, dtype=torch.float64, requires_grad=True)
post = sp.sparsemap(scores, sp.DependencyTrees())
composer = sp.nn.ChildSumTreeLSTM(3, 3).double()
roots = composer(torch.randn(2, 4, 3, dtype=torch.float64), post.forest())
post.expect(roots).square().sum().backward()
assert scores.grad.abs().sum() > 0
for name in sp.__all__:
    getattr(sp, name)
drawing = sp.draw.show(post[0], ["a", "b", "c", "d"])
for form in ("text", "svg", "html", "tikz", "conllu"):
    assert len(drawing.to(form)) > 20
assert post[0]._repr_html_() and post._repr_html_() and post.forest()._repr_html_()
assert not [name for name in sys.modules if name.startswith("sparsewood.lab")]
"""


def _run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", _WITHOUT + code], capture_output=True, text=True)


def test_the_library_needs_torch_and_numpy_alone() -> None:
    done = _run(_LIBRARY)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [[], ["--help"], ["train", "listops"]])
def test_the_command_says_in_a_line_what_to_install(arguments: list[str]) -> None:
    run = "import runpy; runpy.run_module('sparsewood', run_name='__main__')"
    done = _run(f"sys.argv[1:] = {arguments}; {run}")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "(extra [lab]): " in line
    assert "pip install " in line


@pytest.mark.parametrize("extra", ["pyepo", "jax"])
def test_modules_say_what_to_install(extra: str) -> None:
    done = _run(f"import sparsewood.{extra}")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert f"sparsewood.{extra} needs {extra} (extra [{extra}]): " in last
    assert f"pip install '{extra}>=" in last


def test_the_public_names_are_all_that_dir_shows() -> None:
    import sparsewood as sp

    assert set(dir(sp)) == {*sp.__all__, "__version__"}
