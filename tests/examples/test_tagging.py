"""The tagging example: both taggers learn, and only the sparse one gives probabilities of 0."""

import contextlib
import io
import re
import runpy
from pathlib import Path

PATH = Path(__file__).parents[2] / "examples" / "tagging.py"


def test_both_learn_and_sparsemap_keeps_few_readings() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(PATH))
    crf, sparse = out.getvalue().split("SparseMAP: ")
    for text in (crf, sparse):
        right = re.search(r"([\d.]+)% of words right", text)
        assert right is not None
        assert float(right[1]) > 80  # 76 from words without context
    shares = [float(p) for p in re.findall(r"([\d.]+)%  det", sparse)]
    assert abs(sum(shares) - 100) < 0.1 * len(shares)
    assert len(shares) < 10
    assert " ." in sparse.splitlines()[2]
    assert " ." not in crf
