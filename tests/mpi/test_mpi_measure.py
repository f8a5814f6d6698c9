"""Costs of links from round trips, over links that are made up."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import pytest

measure = importlib.import_module("hetsched.mpi.measure")  # as a name it is the function


class Link:
    """The time of messages over a token bucket: `burst` bytes pass at the rate `fast`, and then the
    bucket is filled at the rate `slow`, in bytes per second."""

    def __init__(self, burst, fast, slow, latency=1e-4):
        self.now, self.burst, self.left = 0.0, burst, burst
        self.fast, self.slow, self.latency = fast, slow, latency
        self.messages = 0

    async def _pass(self, array, *_):
        at_once = min(array.nbytes, self.left)
        seconds = self.latency + at_once / self.fast + (array.nbytes - at_once) / self.slow
        self.left = min(self.left - array.nbytes + seconds * self.slow, self.burst)
        self.now += seconds
        self.messages += 1

    send = receive = _pass


def asked(monkeypatch, link, seconds):
    monkeypatch.setattr(measure, "time", SimpleNamespace(perf_counter=lambda: link.now))
    coroutine = measure._asking(link, 1, seconds)
    with pytest.raises(StopIteration) as ended:
        coroutine.send(None)
    return ended.value.value


@pytest.mark.parametrize("rate", [1e6, 1e8, 1e10])
def test_a_link_of_one_rate(monkeypatch, rate):
    link = Link(0, rate, rate)
    cost, spread, latency = asked(monkeypatch, link, 0.5)
    assert cost == pytest.approx(1e9 / rate, rel=0.1)
    assert spread < 1e-6
    assert latency == pytest.approx(1e-4 + 1024 / rate)


@pytest.mark.parametrize("burst", [1e6, 1e7, 1e8])
def test_a_burst_is_not_the_rate(monkeypatch, burst):
    """The bucket is empty before half of the time is over."""
    cost, _, _ = asked(monkeypatch, Link(burst, 1e9, 2e7), 0.5)
    assert cost == pytest.approx(50.0, rel=0.15)


def test_a_burst_that_lasts(monkeypatch):
    cost, _, _ = asked(monkeypatch, Link(1e9, 1e9, 2e7), 0.5)
    assert cost == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.5])
def test_it_takes_the_time_that_it_has(monkeypatch, seconds):
    link = Link(0, 1e8, 1e8)
    asked(monkeypatch, link, seconds)
    assert seconds <= link.now < seconds + 0.1
    assert link.messages >= 2 * 3 * measure._ROUNDS // 2
