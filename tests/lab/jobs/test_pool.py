"""Where runs are trained, and what they ask for there."""

import pytest

from sparsewood.lab.jobs.pool import LOCAL, Place


@pytest.mark.parametrize("on", ["raay", "", "ray://", "ray://host", "host:", ":6379", "http://h:1"])
def test_other_places_are_refused(on: str) -> None:
    with pytest.raises(ValueError, match="on: expected local, ray, HOST:PORT or ray://HOST:PORT"):
        Place(on)


@pytest.mark.parametrize("asked", [-1.0, 1.5, float("nan"), float("inf")])
def test_numbers_that_ray_cannot_keep(asked: float) -> None:
    with pytest.raises(ValueError, match="cpus_per_run: expected a positive number, whole from 1"):
        Place("ray", cpus_per_run=asked)
    with pytest.raises(ValueError, match="gpus_per_run: expected no negative number, whole from"):
        Place("ray", gpus_per_run=asked)


def test_processes_keep_nothing() -> None:
    with pytest.raises(ValueError, match="gpus_per_run: applies to Ray only"):
        Place(gpus_per_run=1)


def test_resources(make_config) -> None:
    assert LOCAL.here
    assert not Place("head:6379").here
    assert Place("ray").resources(make_config(threads=3)) == (3, 0)
    assert Place("ray").resources(make_config(threads=None, device="cuda")) == (1, 1)
    place = Place("ray://head:10001", cpus_per_run=0.5, gpus_per_run=0.25)
    assert place.resources(make_config(device="cuda")) == (0.5, 0.25)
