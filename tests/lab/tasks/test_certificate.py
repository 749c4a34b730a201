"""Certificates as results hold them."""

from sparsewood.lab.tasks import Certificates

CAPPED = {"histogram": {"9": 3, "10": 4}, "unconverged": 4.0, "capped": 4.0}


def test_of_the_metrics_of_a_split() -> None:
    found = Certificates.of(CAPPED)
    assert found == Certificates(3, 7, 4)
    assert str(found) == "certified 3 of 7, 4 capped"
    assert str(Certificates(3, 9, 4)) == "certified 3 of 9, 4 capped, 2 stalled"


def test_results_that_do_not_tell_the_cause() -> None:
    found = Certificates.of({"histogram": {"10": 1821}, "unconverged": 1808.0})
    assert found is not None
    assert str(found) == "certified 13 of 1,821"
    assert found.percent == 100 * 13 / 1821


def test_metrics_without_certificates() -> None:
    assert Certificates.of({"histogram": {"1": 3}}) is None
    assert Certificates.of({"unconverged": 3.0}) is None


def test_totals() -> None:
    assert Certificates.total([Certificates(1, 2, 1), None, Certificates(3, 3, 0)]) == (
        Certificates(4, 5, 1)
    )
    assert Certificates.total([Certificates(1, 2, 1), Certificates(3, 3)]) == Certificates(4, 5)
    assert Certificates.total([None]) is None
    assert Certificates(0, 0).percent == 100
