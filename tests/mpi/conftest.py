"""Fixtures of calls on ranks that are threads (mpi_fake.py)."""

import pytest

import hetsched as hs
from hetsched.mpi import arguments


@pytest.fixture(scope="module")
def pools():
    """A pool for each rank."""
    made = [hs.Pool(1) for _ in range(5)]
    yield made
    for pool in made:
        pool.close()


@pytest.fixture
def fake_ranks(monkeypatch):
    """Communicators are what `mpi_fake.on_ranks` gives its calls."""
    monkeypatch.setattr(arguments, "Ranks", lambda comm: comm)
