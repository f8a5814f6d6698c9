"""`progress`: one meaning wherever it is an argument."""

import sys
import types

import numpy as np
import pytest
from progress_calls import CALLS

import hetsched as hs
from hetsched._base import progress

every = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


@pytest.fixture
def bars(monkeypatch):
    """Stands for tqdm: what its bars were told."""
    made = []

    class Bar:
        def __init__(self, total, **_):
            self.total, self.n, self.initial, self.closed = total, 0, 0, False
            made.append(self)

        def update(self, by):
            self.n += by

        def close(self):
            self.closed = True

    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))
    return made


@pytest.mark.few(6)
@every
def test_a_function_hears_of_the_end(call, bars):
    seen = []
    call(seen.append)
    assert seen == sorted(seen)
    assert all(0 <= fraction <= 1 for fraction in seen)
    assert seen.count(1.0) == 1
    assert seen[-1] == 1.0
    assert not bars


@pytest.mark.few(6)
@every
def test_true_is_a_bar(call, bars):
    call(True)
    (bar,) = bars
    assert bar.n == pytest.approx(bar.total)
    assert bar.closed


@pytest.mark.few(6)
@every
@pytest.mark.parametrize("nothing", [None, False])
def test_nothing(call, bars, nothing, capsys):
    call(nothing)
    assert not bars
    assert capsys.readouterr().err == ""


@every
@pytest.mark.parametrize("value", [1, 0, "yes", np.True_, []])
def test_others_are_refused(call, value):
    with pytest.raises(
        TypeError, match="progress must be a function of the fraction done, True or False, got "
    ):
        call(value)


@pytest.mark.few(6)
@every
def test_what_it_raises_is_raised(call):
    def stop(fraction):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call(stop)


def test_a_failed_call_does_not_say_that_it_is_done(bars):
    seen = []
    with pytest.raises(ValueError, match="A has 3 columns"):
        hs.matmul(np.ones((3, 3)), np.ones((4, 4)), progress=seen.append)
    assert seen == []
    with pytest.raises(ValueError, match="A has 3 columns"):
        hs.matmul(np.ones((3, 3)), np.ones((4, 4)), progress=True)
    assert [bar.closed for bar in bars] == [True]


class TestPlainBar:
    """Without tqdm."""

    @pytest.fixture(autouse=True)
    def _late(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "tqdm", None)
        monkeypatch.setattr(progress, "_DELAY", 0.0)

    def test_no_terminal(self, capsys):
        CALLS["small"](True)
        assert capsys.readouterr().err == ""

    def test_on_a_terminal(self, monkeypatch, capsys):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        with progress.reporting(True) as tell:
            tell(0.25)
        assert capsys.readouterr().err == f"\r[{'#' * 10:40}]  25%\r[{'#' * 40}] 100%\n"

    def test_short_calls(self, monkeypatch, capsys):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setattr(progress, "_DELAY", 3600.0)
        CALLS["tasks"](True)
        assert capsys.readouterr().err == ""
