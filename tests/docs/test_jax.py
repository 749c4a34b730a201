"""The code of the page about jax runs, and its tagger learns."""

import re
from pathlib import Path
from typing import Any

import pytest

import sparsewood as sp

PAGE = Path(__file__).parents[2] / "docs" / "jax.md"


@pytest.mark.full
def test_the_page() -> None:
    scope: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S):
        exec(code, scope)
    post = scope["post"]
    assert post.structures.shape == (2, 10, 4)
    assert set(post.status.tolist()) <= {sp.Status.SOLVED, sp.Status.CAPPED}
    assert scope["value"] < scope["loss"]({k: 0 * v for k, v in scope["model"].items()}) / 2
    assert scope["right"] > 0.8
