"""What estimators share."""

import pytest

import sparsewood as sp
from sparsewood.estimators.base import check_estimator


def test_the_repr_has_the_options_that_were_set() -> None:
    assert repr(sp.SparseMAP()) == "SparseMAP()"
    assert repr(sp.SparseMAP(max_active=3, solver="native")) == (
        "SparseMAP(max_active=3, solver='native')"
    )
    assert repr(sp.TopK(1)) == "TopK(k=1)"


@pytest.mark.parametrize(
    ("value", "message"),
    [(sp.SparseMAP, "got the class SparseMAP"), ("sparsemap", "got 'sparsemap'"), (None, "None")],
)
def test_modules_refuse_what_is_none(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"expected an Estimator such as .*{message}"):
        check_estimator(value)
    with pytest.raises(ValueError, match=message):
        sp.nn.LatentTreeEncoder(None, sp.nn.TreeGRU(2, 2), estimator=value)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=message):
        sp.nn.StructuredAttention(sp.Simplex(), estimator=value)  # pyright: ignore[reportArgumentType]
