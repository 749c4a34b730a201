from collections.abc import Callable
from pathlib import Path


def test_several_runs_on_a_page(
    latent: Path, given: Path, prints: Callable[..., str], tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    assert prints("report", latent, given.parent, "--out", out, "--title", "A <b>") == (
        f"report: {out}\n"
    )
    page = out.read_text()
    assert "A &lt;b&gt;" in page
    assert "2 runs" in page


def test_no_runs(fails: Callable[..., str], tmp_path: Path) -> None:
    assert "no run in this folder" in fails("report", tmp_path)
    assert "is a folder; expected the name of a file" in fails(
        "report", tmp_path, "--out", tmp_path
    )
