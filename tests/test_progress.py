"""`progress`: one meaning wherever it is an argument."""

import sys
import types

import numpy as np
import pytest

import hetsched as hs
from hetsched._base import progress

PLATFORM = hs.Platform.star([1.0, 2.0])
FAST = dict(emulate=True, time_scale=1.0)
ONES = np.ones((60, 60))


def square(x):
    return x * x


def pooled(run, **options):
    def call(told):
        with hs.Pool(PLATFORM if options else 2, **options) as pool:
            return run(pool, told)

    return call


def star(pool, told):
    platform = hs.Platform.star([0.002, 0.003], link_costs=[0.001, 0.002], memory=[12, 21])
    return pool.run(
        hs.plan_product(4, 8, 3, platform), np.ones((64, 48)), np.ones((48, 128)), progress=told
    )


def sweep(pool, told):
    steps = hs.Stencil([[np.inf, 1, np.inf], [1, 0, np.inf], [np.inf] * 3], "min")
    return pool.sweep(hs.wavefront(4, 4, [1, 1]), ONES, steps, progress=told)


CALLS = {
    "small": lambda f: hs.matmul(np.ones((3, 4)), np.ones((4, 5)), progress=f),
    "plain": lambda f: hs.matmul(np.ones((500, 500)), np.ones((500, 500)), progress=f),
    "integers": lambda f: hs.matmul(ONES.astype(int), ONES.astype(int), progress=f),
    "empty": lambda f: hs.matmul(np.ones((0, 4)), np.ones((4, 5)), progress=f),
    "stack": lambda f: hs.matmul(np.ones((5, 200, 200)), np.ones((200, 200)), progress=f),
    "columns": pooled(lambda pool, f: pool.matmul(ONES, ONES, method="columns", progress=f)),
    "traced": pooled(lambda pool, f: pool.matmul(ONES, ONES, trace=True, progress=f)),
    "planned stack": pooled(
        lambda pool, f: pool.matmul(np.ones((3, 60, 60)), ONES, method="rows", progress=f)
    ),
    "emulated": pooled(lambda pool, f: pool.matmul(ONES, ONES, progress=f), **FAST),
    "zones": pooled(
        lambda pool, f: pool.run(hs.partition([1, 1], shape=(60, 60)), ONES, ONES, progress=f)
    ),
    "star": pooled(star),
    "sweep": pooled(sweep),
    "stencil": pooled(lambda pool, f: pool.stencil(ONES, 50, progress=f)),
    "no step": pooled(lambda pool, f: pool.stencil(ONES, 0, progress=f)),
    "lu": pooled(lambda pool, f: pool.lu_factor(np.eye(300), progress=f)),
    "lu of nothing": pooled(lambda pool, f: pool.lu_factor(np.ones((0, 3)), progress=f)),
    "lu traced": pooled(lambda pool, f: pool.lu_factor(np.eye(30), trace=True, progress=f)),
    "tasks": lambda f: hs.map_tasks(square, range(5), 2, progress=f),
    "tasks on demand": pooled(
        lambda pool, f: pool.map_tasks(square, range(5), order="demand", progress=f)
    ),
    "no tasks": lambda f: hs.map_tasks(square, [], 2, progress=f),
    "files": lambda f: hs.matmul_files(ONES, ONES, np.empty((60, 60)), memory="8M", progress=f),
}
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


@every
def test_a_function_hears_of_the_end(call, bars):
    seen = []
    call(seen.append)
    assert seen == sorted(seen)
    assert all(0 <= fraction <= 1 for fraction in seen)
    assert seen.count(1.0) == 1
    assert seen[-1] == 1.0
    assert not bars


@every
def test_true_is_a_bar(call, bars):
    call(True)
    (bar,) = bars
    assert bar.n == pytest.approx(bar.total)
    assert bar.closed


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
