"""Plans that are wrong: every type of plan, every field changed, from JSON, by hand and unpickled,
and then used in all ways.

    .venv/bin/python tests/files/test_plan_files.py [--seconds N] [--seed S] [--case N]

A case is a plan, a way, and a change of one field, all drawn from the seed and the number of the
case. What is wrong has to be refused by a ValueError (by hand and unpickled also a TypeError) that
the package means and whose message names a field. What is not refused has to be good for everything
that a plan is good for: each use does what it does with the plan as it was, or refuses the plan in
the same manner, and a run has the result of the plan as it was. All else is a finding: other
exceptions, warnings, signals, calls without end. The line printed with a finding repeats it.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import faulthandler
import importlib
import inspect
import json
import linecache
import math
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from inputs import many

import hetsched as hs
from hetsched._base.later import later
from hetsched._base.schema import Record
from hetsched._engine import allocate
from hetsched._engine.layers import Layers
from hetsched._engine.star import Star
from hetsched.plan import KINDS, Plan

mpl.use("Agg")

_PACKAGE = str(Path(hs.__file__).parent)
_MEMORY = 4 << 30  # of a child
_SANITIZED = "HETSCHED_EXTENSION"  # names an engine with sanitizers, as of make pytest-address
_INSTRUMENTED = (
    "import runpy, sys, instrumented; del sys.argv[0]; runpy.run_path(sys.argv[0],"
    " run_name='__main__')"
)
_SECONDS = 60  # of processor time for a case


# ---- plans, and what they are good for -----------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Subject:
    """A plan, a platform that it can be put on, and what it does on a pool of as many workers, if
    it runs."""

    plan: Any
    platform: Any
    run: Callable[[hs.Pool, Any], Any] | None = None


def _product(m: int, n: int, k: int, **options: Any) -> Callable[[hs.Pool, Any], Any]:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    return lambda pool, plan: pool.run(plan, a, b, **options)


def _factor(kind: str, n: int) -> Callable[[hs.Pool, Any], Any]:
    x = np.random.default_rng(2).standard_normal((n, n))
    a = x @ x.T + n * np.eye(n)
    calls: dict[str, Callable[[hs.Pool, Any], Any]] = {
        "lu": lambda pool, plan: pool.lu_factor(a, owner=plan)[0],
        "cholesky": lambda pool, plan: pool.cholesky(a, owner=plan),
        "qr": lambda pool, plan: np.abs(pool.qr(a, owner=plan)[1]),
    }
    return calls[kind]


def _reduction(n: int) -> Callable[[hs.Pool, Any], Any]:
    x = np.random.default_rng(2).standard_normal((n, n))
    return lambda pool, plan: pool.run(plan, x + x.T)


def _sweep(pool: hs.Pool, plan: Any) -> Any:
    image = np.random.default_rng(3).standard_normal((12, 18))
    return pool.sweep(plan, image, hs.Stencil([[0, 0.5, 0], [0.25, 0.25, 0], [0, 0, 0]]))


def _stencil(pool: hs.Pool, plan: Any) -> Any:
    return pool.stencil(np.random.default_rng(4).standard_normal((9, 8)), 3, plan=plan)


def _subjects() -> Iterator[Subject]:
    star = hs.Platform.star(
        [3.0, 5.0, 8.0], link_costs=[0.5, 0.25, 1.0], memory=[30, 40, 60], names=["a", "b", "ç"]
    )
    two, plain = hs.Platform.star([3.0, 5.0]), hs.Platform.star([3.0, 5.0, 8.0])
    ring = hs.Platform.complete([3.0, 5.0, 4.0], np.full((3, 3), 0.5))
    four = hs.Platform.complete([3.0, 5.0, 4.0, 2.0], np.full((4, 4), 0.5))
    mesh = hs.Platform.mesh(np.ones((2, 2)), np.full((2, 1), 0.1), np.full((1, 2), 0.1))
    units = hs.Platform.star([3.0, 5.0], unit=hs.Unit.gigaflop())
    yield Subject(hs.distribute(10, star), star)
    yield Subject(hs.distribute([[3, 4], [0, 9]], np.ones((2, 2, 3))), star)
    yield Subject(hs.distribute_profile(7, [2.0, [0.0, 3.0, 1.0, 2.0, 4.0, 5.0, 6.0, 9.0]]), two)
    yield Subject(
        hs.partition_profile((9, 8), [2.0, lambda h, w: 1.0 + h * w]), two, _product(9, 8, 4)
    )
    yield Subject(hs.lu_pattern(6, [3, 5, 8], period=4), star, _factor("lu", 60))
    yield Subject(
        hs.lu_grid(5, [1, 2, 3, 4], link_cost=0.5),
        hs.Platform.star([1, 2, 3, 4]),
        _factor("lu", 40),
    )
    yield Subject(hs.plan_lu(40, 40, star, block=8), star, _factor("lu", 40))
    yield Subject(hs.plan_lu(40, 40, units, block=8), units, _factor("lu", 40))
    yield Subject(
        hs.plan_factor(40, 40, two, kind="qr", block=8, owner="cyclic"), two, _factor("qr", 40)
    )
    yield Subject(
        hs.plan_factor(40, 40, two, kind="cholesky", block=8, panel_times=[1.0, 2.0]),
        two,
        _factor("cholesky", 40),
    )
    yield Subject(hs.plan_reduction(50, star, block=16), star, _reduction(50))
    yield Subject(hs.plan_reduction(40, two, panel_times=[1.0, 2.0]), two, _reduction(40))
    yield Subject(
        hs.plan_factor(30, 30, [1, 2, 3, 4], owner=hs.lu_grid(5, [1, 2, 3, 4])),
        hs.Platform.star([1, 2, 3, 4]),
        _factor("lu", 30),
    )
    yield Subject(hs.wavefront(4, 6, [1.0, 2.0]), two, _sweep)
    yield Subject(
        hs.wavefront(4, 6, [1.0, 2.0, 2.0], axis=0, mask="W N NE", order="along"), plain, _sweep
    )
    for method in ("columns", "nonrectangular"):
        yield Subject(hs.partition([5, 3, 0, 2, 1], method), hs.Platform.star([1, 2, 9, 3, 4]))
    yield Subject(
        hs.partition([5, 3, 2], shape=(7, 5), groups=[0, 0, 1], link_costs=[1, 2, 1]),
        plain,
        _product(7, 5, 4),
    )
    yield Subject(hs.partition([5, 3, 2], "contiguous", shape=(12, 9)), plain, _product(24, 18, 4))
    yield Subject(hs.cuboids([5, 3, 2, 0]), hs.Platform.star([1, 2, 3, 4]))
    yield Subject(hs.cuboids([5, 3, 2], shape=(7, 9, 4)), plain, _product(7, 9, 4))
    for kind in ("outer", "matrix"):
        yield Subject(hs.dynamic_product(4, [5, 9, 4], kind=kind), plain, _product(7, 9, 4))
    yield Subject(
        hs.max_tasks(28, [5, 9, 30], send=[3, 1, 1], receive=[1, 2, 1]),
        plain,
        lambda pool, x: np.array(pool.run(x, abs, range(-8, -2))),
    )
    yield Subject(
        hs.min_time(9, [5, 9], send=1),
        two,
        lambda pool, x: np.array(pool.run(x, abs, range(-9, 0))),
    )
    yield Subject(
        hs.divisible_load(7.0, [5, 9, 4], [0.5, 0.25, 1.0], return_ratio=0.5), star,
        lambda pool, x: pool.run(x, lambda rows: rows + 1, np.arange(14.0).reshape(7, 2)),
    )  # fmt: skip
    yield Subject(hs.slice_ring([1.0, 2.0, 3.0], np.ones((3, 3)), 9.0, 0.5), ring, _stencil)
    yield Subject(
        hs.slice_ring([1.0, 2.0, 3.0], np.ones((3, 3)), 9.0, 0.5, latencies=np.full((3, 3), 0.1)),
        ring,
    )
    yield Subject(hs.redistribute([4, 2, 3], [1, 5, 3], np.ones((3, 3))), ring)
    yield Subject(hs.redistribute([4, 2, 3], [1, 5, 3], 1.0, one_way=True), ring)
    network = [(0, 3, 0.1), (1, 3, 0.2), (2, 3, 0.1)]
    yield Subject(hs.shared_ring([1.0, 2.0, 3.0], network, 9.0, 0.5), ring)
    for mode in ("sccs", "pcss"):
        yield Subject(
            hs.layers_star(20, star.cycle_times, star.link_costs, mode), plain, _product(8, 9, 20)
        )
    yield Subject(
        hs.layers_star(20, [1.0, 2.0], [0.1, 0.2], memory=[900, 700], disk=True),
        two,
        _product(8, 9, 20),
    )
    yield Subject(hs.layers_mesh(8, mesh), mesh, _product(8, 9, 16))
    yield Subject(hs.layers_mesh(8, mesh, method="relaxed"), mesh)
    yield Subject(hs.layers_mesh(8, mesh, installments=2), mesh, _product(8, 9, 16))
    yield Subject(
        hs.layers_network(8, [1.0, 2.0, 3.0], [(0, 1, 0.1), (0, 2, 0.2), (1, 2, 0.1)]), ring
    )
    for method in ("best", "bmm", "overlap", "maxreuse"):
        yield Subject(hs.plan_product(4, 8, 3, star, method, budget=0), star, _product(16, 32, 12))
    yield Subject(hs.plan_product(4, 8, 3, star, "het"), star, _product(16, 32, 12, order="demand"))
    yield Subject(hs.plan_star_lu(6, star, "oddoml", width=2), star, _factor("lu", 24))
    for method in ("columns", "layers", "cuboids", "domains"):
        yield Subject(hs.plan_matmul(9, 8, 7, star, method=method), star, _product(9, 8, 7))
    yield Subject(
        hs.plan_matmul(9, 8, 7, four, method="cannon", communication="parallel"),
        four,
        _product(9, 8, 7),
    )
    yield Subject(
        hs.plan_matmul(9, 8, 7, ring, method="columns", communication="sequential", block=2),
        ring,
        _product(9, 8, 7),
    )
    with hs.Pool(3) as pool:
        yield Subject(pool.plan(9, 8, 7), plain, _product(9, 8, 7))
        yield Subject(pool.plan(90, 80, 3000), plain, _product(90, 80, 3000))
        a = np.random.default_rng(5).standard_normal((9, 4))
        yield Subject(
            pool.plan(9, 9, 4, method="triangle"), plain, lambda pool, plan: pool.run(plan, a, a.T)
        )
        yield Subject(pool.plan_stencil(9, 8, 3), plain, _stencil)
    yield Subject(hs.workers_worth(500, 400, 300, star), star)
    yield Subject(hs.workers_worth(500, 400, 300, plain, quota=1.5), plain)
    yield Subject(
        hs.plan_files(np.ones((90, 80)), np.ones((80, 70)), np.empty((90, 70)), memory="16M"), two
    )


@cache
def subjects() -> list[Subject]:
    return list(_subjects())


@cache
def pool_of(p: int) -> hs.Pool:
    return hs.Pool(p)


@cache
def results(index: int) -> tuple[dict[str, Any], Any]:
    """What the uses of a plan as it is come to, and the result of its run."""
    subject = subjects()[index]
    outcomes = {}
    for name, use in uses(subject, subject.plan):
        try:
            use()
            outcomes[name] = None
        except (TypeError, ValueError, AttributeError) as error:
            outcomes[name] = type(error)
    run = (
        None if subject.run is None else subject.run(pool_of(len(subject.plan.names)), subject.plan)
    )
    return outcomes, run


def uses(subject: Subject, plan: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """All but the picture, the file and the run."""
    yield "repr", lambda: repr(plan)
    yield "certificate", lambda: (str(plan.certificate), plan.gap)
    for name, member in inspect.getmembers_static(type(plan)):
        if not name.startswith("_") and not inspect.isroutine(member) and name != "lower_bound":
            yield name, lambda name=name: getattr(plan, name)
    yield "table", lambda: (str(plan.table()), plan.table()._repr_html_())
    for name in ("steps", "describe", "step_table", "to_dict"):
        if hasattr(plan, name):
            yield name, lambda name=name: getattr(plan, name)()
    yield "simulate", lambda: (hs.simulate(plan), hs.simulate(plan, subject.platform))
    yield "on", lambda: repr(plan.on(subject.platform))
    yield (
        "file",
        lambda: _same(
            plan, Plan.from_dict(json.loads(json.dumps(plan.to_dict(), allow_nan=False)))
        ),
    )
    yield "pickle", lambda: _same(plan, pickle.loads(pickle.dumps(plan)))
    yield "copy", lambda: _same(plan, copy.deepcopy(plan))


def _same(plan: Any, again: Any) -> None:
    assert plan == again, "another plan comes back"


def _saved(plan: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        plan.save(Path(folder, "plan.json"))
        _same(plan, Plan.load(Path(folder, "plan.json")))


def _plotted(plan: Any) -> None:
    from matplotlib import pyplot

    try:
        with np.errstate(over="ignore", invalid="ignore"):  # of the axes, near the largest double
            plan.plot().figure.canvas.draw()
            plan._repr_html_()
    finally:
        pyplot.close("all")


# ---- changes -------------------------------------------------------------------------------------


def _deep(levels: int) -> Any:
    found: Any = []
    for _ in range(levels):
        found = [found]
    return found


#: What a value of JSON becomes, whatever it was.
_ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    "",
    "x",
    "1",
    "Infinity",
    "-Infinity",
    "NaN",
    "\ud800",
    "a\x00b",
    "x" * 3000,
    -1,
    0,
    1,
    2,
    3,
    7,
    2**31,
    2**53,
    2**63,
    2**64,
    10**400,
    0.5,
    -0.5,
    1e-320,
    1e308,
    -1e308,
    math.nan,
    math.inf,
    [],
    {},
    [[]],
    [[], []],
    [0],
    [1.5],
    [None],
    ["a"],
    [True],
    [{}],
    ["a"] * 3,
    [0] * 3,
    [1.0] * 3,
    [[0] * 1000] * 1000,
    {"shape": [10**9], "dtype": "int64"},
    {"shape": [0], "dtype": "int64"},
    {"shape": [0, 7], "dtype": "float64"},
    {"shape": [0, 10**30], "dtype": "float64"},
    {"shape": [0], "dtype": "O"},
    {"shape": "ab", "dtype": 3},
    {"shape": [0] * 200, "dtype": "int64"},
    {"a": 1},
    {"work": "a"},
    *({"type": name} for name in ("os", "LayerSum", "Domains", "LuStep", "StarPlan", "__import__")),
)


def odd(rng: Random) -> Any:
    at = rng.randrange(len(_ODD) + 1)
    return _deep(100_000) if at == len(_ODD) else copy.deepcopy(_ODD[at])


def _number(x: Any, rng: Random) -> Any:
    """Another number in the place of one."""
    near = [
        x + 1,
        x - 1,
        -x,
        x * 2,
        x / 2,
        float(x),
        x + 0.5,
        x * 10**9,
        x * (1 + 1e-9),
        x * (1 - 1e-9),
    ]
    return rng.choice([*near, "Infinity", "NaN", -1, 0, 1])


def _leaf(value: Any, rng: Random, swap: bool) -> Any:
    """A value with one of its entries, at any depth, changed."""
    found = copy.deepcopy(value)
    at, depth = found, 0
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            return odd(rng)
        key = rng.choice(keys)
        inner = at[key]
        if not isinstance(inner, list | dict) or (depth and rng.random() < 0.3):
            break
        at, depth = inner, depth + 1
    if swap:
        other = rng.choice(keys)
        at[key], at[other] = at[other], at[key]
    elif isinstance(inner, int | float) and not isinstance(inner, bool) and rng.random() < 0.7:
        at[key] = _number(inner, rng)
    elif isinstance(inner, list | dict) and rng.random() < 0.7:
        at[key] = changed(inner, rng)
    else:
        at[key] = odd(rng)
    return found


def changed(value: Any, rng: Random) -> Any:
    """A value of JSON changed somehow."""
    if isinstance(value, list) and rng.random() < 0.8:
        ways: list[Callable[[], Any]] = [
            lambda: value[:-1],
            lambda: value[1:],
            lambda: value[:1],
            lambda: [],
            lambda: value * 2,
            lambda: value + value[:1],
            lambda: [value],
            lambda: [[x] for x in value],
            lambda: [x[:-1] if isinstance(x, list) else x for x in value],
            lambda: value[::-1],
            lambda: rng.sample(value, len(value)),
            lambda: [value[0]] * len(value),
            lambda: [float(x) if isinstance(x, int) else x for x in value],
            lambda: [int(x) if isinstance(x, float) else x for x in value],
            *[lambda: _leaf(value, rng, False)] * 10,
            *[lambda: _leaf(value, rng, True)] * 3,
        ]
        return rng.choice(ways)() if value else [0]
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        without = {name: inner for name, inner in value.items() if name != key}
        return rng.choice(
            [without, {**value, "added": 1}, *[{**value, key: changed(value[key], rng)}] * 8]
        )
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.7:
        return _number(value, rng)
    if isinstance(value, bool) and rng.random() < 0.5:
        return not value
    return odd(rng)


def changed_array(x: Any, rng: Random) -> Any:
    """An array changed somehow."""

    def with_entry(value: Any) -> Any:
        y = x.copy()
        if y.size:
            at = rng.randrange(y.size)
            if y.dtype.names:
                y[at][rng.choice(y.dtype.names)] = value
            else:
                y.reshape(-1)[at] = value
        return y

    entries: list[Any] = [-1, 0, 1, 2, 10**6, 2**31 - 1, x.size]
    if x.dtype.names or x.dtype.kind == "f":
        entries += [math.nan, math.inf, -math.inf, 0.5, 1e308, -0.0, 5e-324]
    ways: list[Callable[[], Any]] = [
        lambda: x[:-1],
        lambda: x[1:],
        lambda: x[:0],
        lambda: np.concatenate((x, x)),
        lambda: x[None],
        lambda: x.reshape(-1),
        lambda: x[::-1],
        lambda: np.roll(x, 1, axis=0),
        lambda: np.zeros_like(x),
        lambda: x.copy(),
        lambda: x.tolist(),
        lambda: x.reshape(-1)[:1].squeeze()[()],
        lambda: np.asfortranarray(x).copy("F"),
        lambda: np.repeat(x, 2, axis=0)[::2],
        lambda: x.astype("f8"),
        lambda: x.astype("i8"),
        lambda: x.astype("i1"),
        lambda: x.astype(object),
        lambda: x.astype(x.dtype.newbyteorder()),
        lambda: np.ma.masked_array(x),
        lambda: x.view(type("Other", (np.ndarray,), {})),
        *(lambda value=value: with_entry(value) for value in entries * 2),
    ]
    return rng.choice(ways)()


def changed_value(value: Any, rng: Random) -> Any:
    """A field of a plan changed somehow."""
    if rng.random() < 0.1:
        return rng.choice(
            [object(), 3j, b"x", np.zeros(3), np.array(None), np.bool_(True), np.int64(3), odd(rng)]
        )
    if isinstance(value, np.ndarray):
        return changed_array(value, rng)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        key = rng.choice(value._fields)
        return value._replace(**{key: changed_value(getattr(value, key), rng)})
    if isinstance(value, tuple) and value:
        at = rng.randrange(len(value))
        other = (*value[:at], changed_value(value[at], rng), *value[at + 1 :])
        return rng.choice(
            [value[:-1], value[1:], (), value * 2, value[::-1], list(value), *[other] * 6]
        )
    if isinstance(value, Plan):
        key = rng.choice(dataclasses.fields(value)).name
        return dataclasses.replace(value, **{key: changed_value(getattr(value, key), rng)})
    if isinstance(value, dict) and value:
        key = rng.choice(list(value))
        without = {name: inner for name, inner in value.items() if name != key}
        return rng.choice(
            [{**value, key: changed_value(value[key], rng)}, without, {**value, 3: 4.0}]
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        return rng.choice(
            [np.float64(value), math.nan, math.inf, 10**400, *[_number(value, rng)] * 6]
        )
    return odd(rng)


# ---- one case ------------------------------------------------------------------------------------


class Finding(Exception):
    """What is wrong, and where."""


def _where(error: BaseException) -> tuple[str, bool]:
    """The innermost line of the package, and whether that line raised."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [i for i, frame in enumerate(frames) if frame.filename.startswith(_PACKAGE)]
    if not own:
        return "outside", False
    frame = frames[own[-1]]
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    return f"{frame.filename.removeprefix(_PACKAGE)}:{frame.lineno}", own[-1] == len(
        frames
    ) - 1 and line.startswith("raise")


def _words(plan: Any) -> set[str]:
    """What a message may name: fields, also of parts of plans, steps, and the arguments of the
    uses."""
    words = {"plan", "platform", "steps", "content", "owner", "ring", "overflows", "loads"}
    for part in (plan, *(getattr(plan, "products", ()))):
        words |= {field.name for field in dataclasses.fields(part)}
    for value in vars(plan).values():
        words |= set(getattr(value, "_fields", ()))
    return words


def _refused(
    subject: Subject, error: BaseException, allowed: tuple[type[BaseException], ...], what: str
) -> None:
    """Finding unless that is a refusal."""
    where, meant = _where(error)
    text = str(error)
    if type(error) not in (*allowed, hs.InfeasibleError) or not meant:
        raise Finding(f"{what}: {type(error).__name__} at {where}: {text[:200]}") from error
    if not any(
        re.search(rf"(?<![A-Za-z_]){re.escape(word)}(?![A-Za-z])", text)
        for word in _words(subject.plan)
    ):
        raise Finding(f"{what}: a message without a name at {where}: {text[:200]}") from error
    if len(text) > 1000:
        raise Finding(f"{what}: a message of {len(text)} characters at {where}") from error


def made(
    subject: Subject, rng: Random
) -> tuple[str, Callable[[], Any], tuple[type[BaseException], ...]]:
    """How a plan is made from a changed one, in words and as a function, and what it may raise."""
    plan = subject.plan
    name = rng.choice(dataclasses.fields(plan)).name
    way = rng.choice(("file", "file", "file", "file", "replace", "replace", "pickle"))
    if way == "file":
        content = json.loads(json.dumps(plan.to_dict()))
        kind = rng.random()
        if kind < 0.02:
            del content[name]
        elif kind < 0.04:
            content[rng.choice(["added", "format", "version", 3, ("a",), "\ud800", ""])] = odd(rng)
        elif kind < 0.05:
            content["type"] = rng.choice([*KINDS, "Plan", "_TaskPlan", 3, None, ["Partition"]])
        else:
            content[name] = changed(content[name], rng)
        return (
            f"{type(plan).__name__}.{name} by from_dict",
            lambda: Plan.from_dict(content),
            (ValueError,),
        )
    value = changed_value(getattr(plan, name), rng)
    if way == "replace":
        return (
            f"{type(plan).__name__}.{name} by replace",
            lambda: dataclasses.replace(plan, **{name: value}),
            (ValueError, TypeError),
        )

    def unpickled() -> Any:
        found = object.__new__(type(plan))
        state = dict(plan.__getstate__() if hasattr(plan, "_waiting") else vars(plan))
        state = {
            key: inner
            for key, inner in state.items()
            if key in {field.name for field in dataclasses.fields(plan)}
        }
        found.__setstate__({**state, "_waiting": {}, name: value})
        return found

    return f"{type(plan).__name__}.{name} unpickled", unpickled, (ValueError, TypeError)


def case(seed: int, number: int, *, plots: float = 0.1) -> str:
    """ "refused" or "used"; a Finding for what is neither, or gives another result. plots: how many
    of the plans that are used are drawn and saved."""
    rng = Random(f"{seed}/{number}")
    index = rng.randrange(len(subjects()))
    subject = subjects()[index]
    expected, product = results(index)
    try:
        what, make, allowed = made(subject, rng)
    # of a part of a plan, or of what Python cannot work out
    except (TypeError, ValueError, OverflowError, RuntimeWarning):
        return "unmade"
    try:
        plan = make()
    except BaseException as error:
        _refused(subject, error, allowed, what)
        return "refused"
    for name, use in uses(subject, plan):
        try:
            use()
        except BaseException as error:
            if type(error) is not expected[name] and not (
                name == "copy" and isinstance(error, RecursionError)
            ):
                _refused(subject, error, (ValueError, TypeError), f"{what}, then {name}")
    if rng.random() < plots:
        for slow in (_plotted, _saved):
            try:
                slow(plan)
            except BaseException as error:
                _refused(subject, error, (ValueError, TypeError), f"{what}, then {slow.__name__}")
    if subject.run is not None and len(plan.names) == len(subject.plan.names):
        try:
            found = subject.run(pool_of(len(plan.names)), plan)
        except BaseException as error:
            _refused(subject, error, (ValueError, TypeError), f"{what}, then run")
        else:
            if not np.allclose(
                found, product, rtol=1e-9, atol=1e-9 * np.abs(product).max(), equal_nan=False
            ):
                raise Finding(f"{what}, then run: another result")
    return "used"


def attempt(seed: int, number: int, **options: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # of names that no picture has room for
        warnings.filterwarnings("ignore", "constrained_layout|Glyph", UserWarning)
        return case(seed, number, **options)


# ---- tests ---------------------------------------------------------------------------------------


def test_every_type_is_here():
    assert {type(subject.plan).__name__ for subject in subjects()} == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_the_table_has_every_field(name):
    kind = getattr(importlib.import_module(f"hetsched.{KINDS[name]}"), name)
    assert set(kind._table) == {field.name for field in dataclasses.fields(kind)}
    for inner in (
        field for outer in kind._table.values() for field in (outer, *vars(outer).values())
    ):
        if isinstance(inner, Record):
            assert tuple(inner.table) == inner.kind._fields


PLAN = hs.distribute(10, [3.0, 5.0, 8.0])


class TestFiles:
    """What is no plan, of one type: the changes above are of all types."""

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('{"type": "Distribution", "type": "Distribution"}', "the key 'type' occurs twice"),
            (
                '{"format": "hetsched-plan", "version": 1, "type": "Distribution", "bound": NaN}',
                "NaN is not a JSON number",
            ),
            (
                (
                    '{"format": "hetsched-plan", "version": 1, "type": "Distribution", "bound":'
                    " -Infinity}"
                ),
                "-Infinity is not a JSON",
            ),
            ("[" * 100_000, "recursion"),
            ('{"format": "hetsched-plan", "version": 1, "counts": ' + "[" * 100_000, "recursion"),
            ('{"format": "hetsched-plan", "version": true, "type": "Distribution"}', "version"),
            ('{"format": "hetsched-plan", "version": 1.0, "type": "Distribution"}', "version"),
            (
                '{"format": "hetsched-plan", "version": 1, "type": "Distribution", "bound": '
                + "9" * 5000
                + "}",
                "digits",
            ),
            ("{} {}", "Extra data"),
        ],
    )
    def test_text(self, tmp_path, text, message):
        (tmp_path / "plan.json").write_text(text)
        with pytest.raises(ValueError, match=message):
            Plan.load(tmp_path / "plan.json")

    @pytest.mark.parametrize(
        ("key", "value", "message"),
        [
            ("counts", {"shape": [10**9], "dtype": "int64"}, "without entries"),
            ("counts", {"shape": [0, 10**30], "dtype": "int64"}, "without entries"),
            ("counts", {"shape": [0], "dtype": "O"}, "dtype must be int64"),
            ("counts", {"shape": [0], "dtype": "int64"}, r"must have shape \(p\) with p = 3"),
            ("counts", {"type": "distribute"}, "a list, or an object"),
            ("counts", [6, 3, 1.0], "integers, got 1.0"),
            ("counts", [6, 3, True], "integers, got True"),
            ("counts", [6, 3, 10**30], "int64 can hold"),
            ("counts", [[6, 3, 1]], "must have 1 dimensions|integers"),
            ("counts", [6, 4], r"counts must have shape \(p\) with p = 3, got \(2,\)"),
            ("counts", [6, 5, -1], r"counts\[2\] must be in \[0, 9007199254740992\], got -1"),
            ("displs", [0, 6, 8], "displs must be the sums of the counts before each"),
            ("cycle_times", [3.0, 5.0, "NaN"], r"cycle_times\[2\] must be positive, got nan"),
            ("cycle_times", [3.0, 5.0, 10**400], "float64 can hold"),
            ("cycle_times", [3.0, 5.0, "1"], "numbers, got '1'"),
            ("cycle_times", ["Infinity"] * 3, "no worker can work"),
            ("makespan", 10**400, "makespan must be finite"),
            ("bound", True, "number, got True"),
            ("optimal", 1, "true or false, got 1"),
            ("names", ["a", "b", "\ud800"], "UTF-8"),
            ("unit", {"work": "a", "speed": 3}, "unknown key 'speed'"),
            ("format", "another", "not a hetsched plan file"),
            ("version", 2, "written by a newer hetsched"),
            (3, 4, "unknown key 3"),
        ],
    )  # fmt: skip
    def test_content(self, key, value, message):
        with pytest.raises(ValueError, match=message):
            Plan.from_dict({**PLAN.to_dict(), key: value})

    def test_only_parts_of_the_table_are_made(self):
        """A name in a file is that of a part of this type of plan: nothing else of the module is
        called."""
        plan = hs.plan_matmul(9, 8, 7, hs.Platform.star([3, 5]), method="layers")
        assert plan.layers is not None
        for name in (
            "Task",
            "Domains",
            "cannon_cuts",
            "ProductPlan",
            "replace",
            "np",
            "__import__",
        ):
            content = plan.to_dict()
            content["layers"]["type"] = name
            with pytest.raises(
                ValueError, match=r"content\['layers'\].*must be an object of type LayerSum"
            ):
                Plan.from_dict(content)

    def test_small_files_make_no_large_tables(self):
        """`rects` has room for as many pieces of each worker as one of them has."""
        plan = hs.partition(np.ones(4000), "columns")
        pieces = [[0.0, i / 4000, 0.0, 1 / 4000, 1.0] for i in range(4000)]
        with pytest.raises(ValueError, match="pieces must be at most 16 for each"):
            Plan.from_dict({**plan.to_dict(), "pieces": pieces})

    def test_messages_are_short(self):
        for value in (_deep(100_000), "x" * 10**6, [0] * 10**6, 10**5000, {"a" * 10**5: 1}):
            for key in PLAN.to_dict():
                if key in ("gap", "certificate"):
                    continue
                message = ""
                try:
                    Plan.from_dict({**PLAN.to_dict(), key: value})
                except ValueError as error:
                    message = str(error)
                assert len(message) < 1000, key


class TestByHand:
    def test_another_dtype(self):
        with pytest.raises(
            TypeError, match="counts must be an array of int64, got an array of float64 and shape"
        ):
            dataclasses.replace(PLAN, counts=PLAN.counts.astype(np.float64))
        with pytest.raises(TypeError, match="counts must be an array of int64, got a list of 3"):
            dataclasses.replace(PLAN, counts=PLAN.counts.tolist())

    def test_arrays_are_the_plans_own(self):
        """What is written to an array afterwards does not reach the plan, whose array is contiguous
        and read-only."""
        counts = PLAN.counts.copy()
        view = np.repeat(counts, 2)[::2]
        view.setflags(write=False)
        for given in (counts, counts[:], view):
            plan = dataclasses.replace(PLAN, counts=given)
            assert not plan.counts.flags.writeable
            assert plan.counts.flags.c_contiguous
            assert plan == PLAN
        plan = dataclasses.replace(PLAN, counts=counts)
        counts[0] = 99
        assert plan == PLAN

    def test_a_planners_arrays_are_not_copied(self):
        times = np.array([3.0, 5.0, 8.0])
        times.setflags(write=False)
        assert dataclasses.replace(PLAN, cycle_times=times).cycle_times is times

    def test_unpickled(self):
        state = vars(pickle.loads(pickle.dumps(PLAN)))
        with pytest.raises(ValueError, match=r"counts must have shape \(p\)"):
            object.__new__(hs.Distribution).__setstate__({**state, "counts": PLAN.counts[:2]})
        with pytest.raises(ValueError, match="makespan is missing"):
            object.__new__(hs.Distribution).__setstate__(
                {key: value for key, value in state.items() if key != "makespan"}
            )

    def test_what_is_made_later_is_checked_then(self):
        plan = dataclasses.replace(PLAN, displs=later(lambda: np.zeros(2, np.int64)))
        assert plan.makespan == PLAN.makespan
        with pytest.raises(ValueError, match=r"displs must have shape \(p\) with p = 3"):
            plan.displs  # noqa: B018


@pytest.mark.parametrize(
    "call",
    [
        lambda: allocate.distribute_after(3, np.ones(3), np.ones(2)),
        lambda: allocate.distribute(3, np.ones(3, np.float32)),
        lambda: allocate.factor_simulate("lu", 40, 40, 8, np.zeros(4, np.int32), np.ones(2)),
        lambda: allocate.factor_simulate("lu", 40, 40, 8, np.zeros(5, np.int8), np.ones(2)),
        lambda: allocate.factor_simulate(
            "lu", 40, 40, 8, np.zeros(5, np.int32), np.ones(2), links=np.ones((1, 2))
        ),
        lambda: Layers("scss", 9, np.ones(2), np.ones(1)),
        lambda: Star((2, 2, 2), np.ones(2), np.ones(2), np.ones(1, np.int64)),
    ],
)
def test_the_engine_reads_no_further_than_its_arrays(call):
    with pytest.raises(ValueError, match=r"the engine needs an array of .*, got one of"):
        call()


def test_a_star_run_has_room_for_its_log():
    """As many messages as the chunks need, whatever the plan lists; in the plan's order they have
    to be there."""
    star = hs.Platform.star([3.0, 5.0, 8.0], link_costs=[0.5, 0.25, 1.0], memory=[30, 40, 60])
    plan = hs.plan_product(4, 8, 3, star, "oddoml")
    short = dataclasses.replace(plan, messages=plan.messages[:1])
    a, b = np.arange(192.0).reshape(16, 12), np.ones((12, 32))
    found, trace = pool_of(3).run(short, a, b, order="demand", trace=True)
    assert np.array_equal(found, a @ b)
    assert sum(event.kind == "transfer" for event in trace.events) == len(plan.messages)
    with pytest.raises(ValueError, match="plan has chunks and messages that no port can send"):
        pool_of(3).run(short, a, b)


@pytest.mark.few(1)
@pytest.mark.parametrize("part", range(many(4, 2)))
def test_changed_fields(part):
    found = Counter()
    for number in range(part * 300, part * 300 + many(300, 200)):
        try:
            found[attempt(1, number, plots=0.03)] += 1
        except Finding as finding:
            pytest.fail(f"case {number} of seed 1: {finding}")
    assert found["refused"] > 100
    assert found["used"] > 20


# ---- without end ---------------------------------------------------------------------------------


def child(seed: int, start: int, stop: int) -> None:
    """A line for each case, its number in advance."""
    if _SANITIZED not in os.environ:  # else the tables of the sanitizer are counted too
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    # says where, then ends the process
    faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)
    for number in range(start, stop):
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        faulthandler.dump_traceback_later(10 * _SECONDS, exit=True)
        print(json.dumps({"number": number}), flush=True)
        try:
            outcome = attempt(seed, number)
        except Finding as finding:
            print(json.dumps({"number": number, "finding": str(finding)}), flush=True)
        else:
            print(json.dumps({"number": number, "outcome": outcome}), flush=True)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        faulthandler.cancel_dump_traceback_later()


def fuzz(seed: int, seconds: float) -> int:
    """So long; the number of different findings."""
    counts: Counter[str] = Counter()
    found: dict[str, int] = {}
    began, number = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        stop, last, after = number + 1000, number, number
        python = [sys.executable, *(["-c", _INSTRUMENTED] if _SANITIZED in os.environ else [])]
        command = [*python, __file__, "--seed", str(seed), "--child", str(number), str(stop)]
        with tempfile.TemporaryFile() as errors:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, check=False)
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        reports = [json.loads(line) for line in done.stdout.decode().splitlines()]
        if not reports:
            raise RuntimeError(f"no case was begun:\n{said[-2000:]}")
        for report in reports:
            last = report["number"]
            if "outcome" in report:
                counts[report["outcome"]] += 1
            if "finding" in report:
                counts["finding"] += 1
                _tell(found, report["finding"], seed, last)
        after = last + 1
        if "outcome" not in reports[-1] and "finding" not in reports[-1]:
            counts["finding"] += 1
            _tell(found, f"the process ended with {done.returncode}: {said[-1500:]}", seed, last)
        number = after
    print(
        f"seed {seed}: {dict(counts)}, {len(found)} different findings,"
        f" {time.monotonic() - began:.0f} s"
    )
    return len(found)


def _tell(found: dict[str, int], text: str, seed: int, number: int) -> None:
    key = re.sub(r"[\d.]+", "#", re.sub(r" by \w+| unpickled", "", text))[:120]
    if key not in found:
        print(f"{text}\n    --seed {seed} --case {number}", flush=True)
    found[key] = found.get(key, 0) + 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int, help="one case, with the traceback of what it finds")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.seed, *given.child)
        return 0
    if given.case is not None:
        print(attempt(given.seed, given.case, plots=1.0))
        return 0
    return 1 if fuzz(given.seed, given.seconds) else 0


if __name__ == "__main__":
    sys.exit(main())
