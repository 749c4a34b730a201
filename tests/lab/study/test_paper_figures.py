"""The paper's figures and rows."""

from sparsewood.lab.study.paper_figures import PAPER, in_order


def test_latent_wins_in_the_paper_where_it_says_so() -> None:
    for source in ("sst", "snli"):
        figures = {row: tests["test"]["accuracy"] for row, tests in PAPER[source].items()}
        assert max(figures, key=lambda row: figures[row]) == "sparsemap"


def test_the_papers_rows_come_in_its_order() -> None:
    rows = ["top-k:k=5", "sparsemap", "flat", "top-k:k=5", "left-to-right"]
    assert in_order(rows) == ["left-to-right", "flat", "sparsemap", "top-k:k=5"]
