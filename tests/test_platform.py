"""hetsched.platform: what a platform refuses, and files that come back as they went."""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import subprocess
import sys
import tomllib
from dataclasses import FrozenInstanceError
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hetsched as hs
from hetsched import Platform, Worker

INF, NAN = math.inf, math.nan
LEAST, MOST = math.ulp(0.0), float(np.finfo(float).max)
SUFFIXES = (".toml", ".json")


@pytest.fixture(params=SUFFIXES)
def suffix(request):
    return request.param


def written(folder, suffix, content):
    """A file of that content, by the parsers' own inverse: json.dumps, or TOML made of JSON
    values."""
    path = folder / f"given{suffix}"
    if isinstance(content, dict):
        lines = [
            f"{key} = {json.dumps(value)}" for key, value in content.items() if key != "worker"
        ]
        for worker in content.get("worker", []):
            lines += ["[[worker]]"] + [
                f"{key} = {json.dumps(value)}" for key, value in worker.items()
            ]
        if content.get("worker") == []:
            lines.append("worker = []")
        content = json.dumps(content) if suffix == ".json" else "\n".join(lines)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# ---- Worker --------------------------------------------------------------------------------------


def test_worker_keeps_what_it_is_given():
    worker = Worker(3, 0.5, 100, "a")
    assert (worker.cycle_time, worker.link_cost, worker.memory, worker.name) == (3.0, 0.5, 100, "a")
    assert type(worker.cycle_time) is float
    assert worker.speed == 1 / 3
    default = Worker(2.0)
    assert (default.link_cost, default.memory, default.name) == (0.0, None, None)
    assert Worker(speed=4).cycle_time == 0.25


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int16(3), Fraction(3)])
def test_worker_takes_every_real_number(value):
    assert Worker(value, value, value) == Worker(3.0, 3.0, 3)
    assert type(Worker(1, memory=value).memory) is int


@pytest.mark.parametrize("value", [LEAST, MOST, 1e-300])
def test_worker_takes_the_ends_of_the_range(value):
    assert Worker(value).cycle_time == value


@pytest.mark.parametrize("argument", ["cycle_time", "speed", "link_cost"])
@pytest.mark.parametrize(
    ("value", "error"),
    [
        (NAN, ValueError),
        (INF, ValueError),
        (-INF, ValueError),
        (-1, ValueError),
        (-LEAST, ValueError),
    ]
    + [(value, TypeError) for value in ("1", True, np.True_, 1j, [1], b"1", np.array([1.0, 2.0]))],
    ids=repr,
)
def test_worker_refuses_numbers(argument, value, error):
    given_time = {} if argument in ("cycle_time", "speed") else {"cycle_time": 1}
    with pytest.raises(error, match=f"^{argument} must be"):
        Worker(**{argument: value}, **given_time)


@pytest.mark.parametrize("argument", ["cycle_time", "speed"])
@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_worker_refuses_zero(argument, zero):
    with pytest.raises(ValueError, match=f"{argument} must be greater than 0, got"):
        Worker(**{argument: zero})
    assert Worker(1, zero).link_cost == 0.0


@pytest.mark.parametrize("argument", ["cycle_time", "speed", "link_cost", "memory"])
def test_worker_refuses_integers_beyond_doubles(argument):
    given_time = {} if argument in ("cycle_time", "speed") else {"cycle_time": 1}
    with pytest.raises(ValueError, match=f"{argument} must be"):
        Worker(**{argument: 10**400}, **given_time)


def test_worker_names_a_speed_too_small():
    with pytest.raises(ValueError, match="^speed is too small"):
        Worker(speed=LEAST)


@pytest.mark.parametrize(
    ("memory", "error"),
    [
        (-1, ValueError),
        (1.5, ValueError),
        (NAN, ValueError),
        (INF, ValueError),
        (2**53 + 1, ValueError),
    ]
    + [("1", TypeError), (True, TypeError), ([1], TypeError)],
)
def test_worker_refuses_memory(memory, error):
    with pytest.raises(error, match="memory must be"):
        Worker(1, memory=memory)


@pytest.mark.parametrize("name", [3, b"a", ["a"], 1.5])
def test_worker_refuses_names(name):
    with pytest.raises(TypeError, match="name must be a string"):
        Worker(1, name=name)


@pytest.mark.parametrize("arguments", [{}, {"cycle_time": 1, "speed": 1}, {"cycle_time": None}])
def test_worker_needs_one_of_cycle_time_and_speed(arguments):
    with pytest.raises(TypeError, match="give either cycle_time or speed"):
        Worker(**arguments)


def test_worker_is_a_value():
    assert Worker(1, 2, 3, "a") == Worker(1.0, 2.0, 3, "a")
    assert hash(Worker(1, 2, 3, "a")) == hash(Worker(1.0, 2.0, 3, "a"))
    others = [
        Worker(2, 2, 3, "a"),
        Worker(1, 3, 3, "a"),
        Worker(1, 2, 4, "a"),
        Worker(1, 2, 3, "b"),
        Worker(1, 2, 3),
    ]
    assert all(Worker(1, 2, 3, "a") != other for other in others)
    with pytest.raises(FrozenInstanceError):
        Worker(1).cycle_time = 2.0


# ---- Platform ------------------------------------------------------------------------------------


def test_star():
    platform = Platform.star([3, 5, 8], [1, 0, 2], [10, None, 30], names=["a", "b", "c"])
    assert len(platform) == 3
    assert platform.workers == (
        Worker(3, 1, 10, "a"),
        Worker(5, 0, None, "b"),
        Worker(8, 2, 30, "c"),
    )
    assert platform.cycle_times.tolist() == [3, 5, 8]
    assert platform.speeds.tolist() == [1 / 3, 1 / 5, 1 / 8]
    assert platform.link_costs.tolist() == [1, 0, 2]
    assert platform.memory == (10, None, 30)
    assert platform.names == ("a", "b", "c")
    assert platform.links is None
    assert "star, 3 workers, cycle-times 3, 5, 8" in repr(platform)


def test_star_defaults_and_scalars():
    platform = Platform.star(speeds=[1, 4])
    assert platform.cycle_times.tolist() == [1, 0.25]
    assert platform.link_costs.tolist() == [0, 0]
    assert platform.memory == (None, None)
    assert platform.names == ("P0", "P1")
    assert Platform.star([1, 2], 0.5, 7) == Platform.star([1, 2], [0.5, 0.5], [7, 7])
    assert Platform.star([1, 2], memory=np.array([3, 4])).memory == (3, 4)
    assert Platform([Worker(1), Worker(2, name="b"), Worker(3)]).names == ("P0", "b", "P2")


def test_complete():
    links = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 0.0]])
    platform = Platform.complete([1, 2, 3], links)
    assert platform.links.tolist() == links.tolist()
    assert platform.cycle_times.tolist() == [1, 2, 3]
    assert "complete, 3 workers" in repr(platform)
    links[0, 1] = 99.0
    assert platform.links[0, 1] == 1.0


def test_mesh():
    right, down = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0, 7.0]])
    platform = Platform.mesh([[1, 2, 3], [4, 5, 6]], right, down, names="abcdef")
    assert platform.shape == (2, 3)
    assert platform.cycle_times.tolist() == [1, 2, 3, 4, 5, 6]
    assert platform.names == tuple("abcdef")
    assert platform.links is None
    assert "2 x 3 mesh, 6 workers" in repr(platform)
    right[0, 0] = 99.0
    assert platform.right.tolist() == [[1, 2], [3, 4]]
    assert platform.down.tolist() == [[5, 6, 7]]
    for array in (platform.right, platform.down):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0
    assert Platform.mesh(speeds=[[1, 2]], right=[[3]]) == Platform.mesh([[1, 0.5]], [[3]], [])
    star = Platform.star([1, 2])
    assert (star.shape, star.right, star.down) == (None, None, None)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "give either cycle_times or speeds"),
        ({"cycle_times": [[1]], "speeds": [[1]]}, TypeError, "give either cycle_times or speeds"),
        (
            {"cycle_times": [1, 2]},
            ValueError,
            r"cycle_times must have rows and columns, got shape \(2,\)",
        ),
        (
            {"cycle_times": [[]]},
            ValueError,
            r"cycle_times must have rows and columns, got shape \(1, 0\)",
        ),
        ({"speeds": [["1", "2"]]}, TypeError, "speeds must be an array of real numbers"),
        (
            {"cycle_times": [[1, 0]], "right": [[1]]},
            ValueError,
            r"cycle_times\[1\] must be positive",
        ),
        (
            {"cycle_times": [[1, INF]], "right": [[1]]},
            ValueError,
            r"cycle_times\[1\] must be finite",
        ),
        (
            {"cycle_times": [[1, 2]], "right": [[1]], "names": "a"},
            ValueError,
            "names must have 2 entries, one for each worker, got 1",
        ),
        (
            {"cycle_times": [[1, 2]]},
            ValueError,
            r"right must have shape \(1, 1\) for a mesh of 1 x 2 nodes, got None",
        ),
        (
            {"cycle_times": [[1], [2]], "down": [1]},
            ValueError,
            r"down must have shape \(1, 1\) .* got shape \(1,\)",
        ),
        (
            {"cycle_times": [[1], [2]], "right": [[1]], "down": [[1]]},
            ValueError,
            r"right must have shape \(2, 0\)",
        ),
        (
            {"cycle_times": [[1, 2]], "right": [[NAN]]},
            ValueError,
            r"right\[0, 0\] must be finite and not negative, got nan",
        ),
        (
            {"cycle_times": [[1], [2]], "down": [[-1]]},
            ValueError,
            r"down\[0, 0\] must be finite and not negative, got -1",
        ),
        (
            {"cycle_times": [[1, 2]], "right": [["x"]]},
            TypeError,
            "right must be an array of real numbers",
        ),
    ],
)
def test_mesh_refuses(arguments, error, message):
    with pytest.raises(error, match=message):
        Platform.mesh(**arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"right": [[1]]}, TypeError, "right and down need shape"),
        (
            {"shape": (1, 2), "right": [[1]], "links": [[0, 1], [1, 0]]},
            TypeError,
            "a mesh has right and down, not links",
        ),
        (
            {"shape": 2, "right": [[1]]},
            TypeError,
            "shape must be the rows and columns of a mesh, got 2",
        ),
        ({"shape": (2, 2)}, ValueError, "shape must be rows and columns of 2 workers, got 2 x 2"),
        ({"shape": (0, 2)}, ValueError, r"shape\[0\] must be in \[1, "),
    ],
)
def test_platform_refuses_shapes(arguments, error, message):
    with pytest.raises(error, match=message):
        Platform([Worker(1), Worker(2)], **arguments)


def test_a_mesh_is_no_star():
    mesh = Platform.mesh([[1, 2]], [[3]])
    with pytest.raises(ValueError, match="platform must be a star, .* it is a mesh"):
        hs.plan_product(2, 2, 2, mesh)
    with pytest.raises(TypeError, match="links must be given: the Platform is a mesh"):
        hs.slice_ring(mesh, work=1, volume=1)


def test_platform_cannot_be_changed():
    given_times = np.array([1.0, 2.0])
    platform = Platform.complete(given_times, [[0, 1], [1, 0]])
    before = platform.to_dict()
    given_times[0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        platform.links[0, 1] = 5.0
    for array in (platform.cycle_times, platform.speeds, platform.link_costs):
        if array.flags.writeable:  # then it is a copy
            array[:] = 7.0
    platform.to_dict()["worker"][0]["cycle_time"] = 7.0
    for name in (
        "workers",
        "links",
        "shape",
        "right",
        "down",
        "cycle_times",
        "speeds",
        "link_costs",
        "memory",
        "names",
    ):
        with pytest.raises(AttributeError):
            setattr(platform, name, None)
    assert platform.to_dict() == before
    workers = [Worker(1)]
    platform = Platform(workers)
    workers.append(Worker(2))
    assert len(platform) == 1
    assert isinstance(platform.workers, tuple)


def test_equality():
    links = [[0, 1], [1, 0]]
    assert Platform.star([1, 2]) == Platform([Worker(1.0), Worker(speed=0.5)])
    assert Platform.complete([1, 2], links) == Platform.complete([1.0, 2.0], np.array(links))
    different = [
        Platform.star([1, 2]),
        Platform.star([2, 1]),
        Platform.star([1, 2, 3]),
        Platform.star([1, 2], 1),
        Platform.star([1, 2], memory=1),
        Platform.star([1, 2], names="ab"),
        Platform.complete([1, 2], links),
        Platform.complete([1, 2], [[0, 1], [2, 0]]),
        Platform.mesh([[1, 2]], [[1]]),
        Platform.mesh([[1], [2]], down=[[1]]),
        Platform.mesh([[1], [2]], down=[[2]]),
    ]
    for i, platform in enumerate(different):
        assert [platform == other for other in different] == [i == j for j in range(len(different))]
    assert Platform.star([1, 2]) != [1, 2]
    with pytest.raises(TypeError, match="unhashable"):
        hash(Platform.star([1]))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"cycle_times": [1, NAN]}, ValueError, r"cycle_times\[1\] is NaN"),
        ({"cycle_times": [1, 0]}, ValueError, r"cycle_times\[1\] must be positive, got 0"),
        ({"cycle_times": [-1, 2]}, ValueError, r"cycle_times\[0\] must be positive, got -1"),
        ({"cycle_times": [1, INF]}, ValueError, r"cycle_times\[1\] must be finite"),
        ({"cycle_times": [INF]}, ValueError, "cycle_times are all infinite"),
        ({"cycle_times": []}, ValueError, "cycle_times is empty"),
        ({"cycle_times": [[1, 2]]}, ValueError, "cycle_times must be one-dimensional"),
        ({"cycle_times": "ab"}, TypeError, "cycle_times must be a sequence of real numbers"),
        ({"cycle_times": [True]}, TypeError, "cycle_times must be a sequence of real numbers"),
        ({"speeds": [1, 0]}, ValueError, r"speeds\[1\] must be positive"),
        ({"speeds": [1, NAN]}, ValueError, r"speeds\[1\] is NaN"),
        ({"speeds": [INF, 1]}, ValueError, r"speeds\[0\] must be finite"),
        ({}, TypeError, "give either cycle_times or speeds"),
        ({"cycle_times": [1], "speeds": [1]}, TypeError, "give either cycle_times or speeds"),
        (
            {"cycle_times": [1, 2], "link_costs": [1]},
            ValueError,
            "link_costs must be a number or have 2 entries, one for each worker, got 1",
        ),
        ({"cycle_times": [1, 2], "link_costs": [1, NAN]}, ValueError, r"link_costs\[1\] is NaN"),
        ({"cycle_times": [1, 2], "link_costs": [1, -1]}, ValueError, "link_cost"),
        ({"cycle_times": [1, 2], "link_costs": INF}, ValueError, "link_cost"),
        (
            {"cycle_times": [1, 2], "link_costs": ["1", "2"]},
            TypeError,
            "link_costs must be a number or a sequence of numbers",
        ),
        (
            {"cycle_times": [1, 2], "memory": [1]},
            ValueError,
            "memory must have 2 entries, one for each worker, got 1",
        ),
        ({"cycle_times": [1, 2], "memory": [1, -1]}, ValueError, "memory must be in"),
        ({"cycle_times": [1, 2], "memory": 1.5}, ValueError, "memory must be an integer"),
        ({"cycle_times": [1, 2], "memory": "12"}, TypeError, "memory must be an integer"),
        (
            {"cycle_times": [1, 2], "names": ["a"]},
            ValueError,
            "names must have 2 entries, one for each worker, got 1",
        ),
        (
            {"cycle_times": [1, 2], "link_costs": "1.5"},
            TypeError,
            "link_costs must be a number or a sequence of numbers, got '1.5'",
        ),
        (
            {"cycle_times": [1, 2], "link_costs": "x"},
            TypeError,
            "link_costs must be a number or a sequence of numbers, got 'x'",
        ),
        (
            {"cycle_times": [1, 2], "link_costs": True},
            TypeError,
            "link_costs must be a number or a sequence of numbers, got True",
        ),
    ],
)
def test_star_refuses(arguments, error, message):
    with pytest.raises(error, match=message):
        Platform.star(**arguments)


@pytest.mark.parametrize(
    ("links", "error", "message"),
    [
        ([[0, 1]], ValueError, r"links must have shape \(2, 2\), got \(1, 2\)"),
        ([0, 1], ValueError, r"links must have shape \(2, 2\), got \(2,\)"),
        (1.0, ValueError, r"links must have shape \(2, 2\), got \(\)"),
        ([[0, NAN], [1, 0]], ValueError, r"links\[0, 1\] must be finite and not negative, got nan"),
        ([[0, 1], [INF, 0]], ValueError, r"links\[1, 0\] must be finite and not negative, got inf"),
        ([[0, 1], [-1, 0]], ValueError, r"links\[1, 0\] must be finite and not negative, got -1"),
        ([[0, 1], [1]], TypeError, "links must be a matrix of real numbers"),
        ("ab", TypeError, "links must be a matrix of real numbers"),
        ([[0, 1j], [1, 0]], TypeError, "links must be a matrix of real numbers"),
        ([[0, {}], [1, 0]], TypeError, "links must be a matrix of real numbers"),
        ([["0", "1"], ["1", "0"]], TypeError, "links must be a matrix of real numbers"),
        ([[False, True], [True, False]], TypeError, "links must be a matrix of real numbers"),
        pytest.param(
            [[0, 10**400], [1, 0]],
            TypeError,
            "links must be a matrix of real numbers",
            id="10**400",
        ),
    ],
)
def test_complete_refuses_links(links, error, message):
    with pytest.raises(error, match=message):
        Platform.complete([1, 2], links)


def test_platform_refuses_workers():
    with pytest.raises(ValueError, match="workers is empty"):
        Platform([])
    with pytest.raises(TypeError, match=r"workers\[1\] must be a Worker, got float"):
        Platform([Worker(1), 2.0])
    with pytest.raises(TypeError):
        Platform(3)
    with pytest.raises(ValueError, match="must be finite"):
        Platform.complete([1, INF], [[0, 1], [1, 0]])


# ---- files ---------------------------------------------------------------------------------------

DELETE = "\x7f"  # TOML wants it escaped, JSON does not
names = st.text(st.characters(exclude_categories=["Cs"]))
workers = st.builds(
    Worker,
    st.floats(LEAST, MOST),
    st.floats(0, MOST),
    st.one_of(st.none(), st.integers(0, 2**53)),
    st.one_of(
        st.none(),
        names,
        st.sampled_from(
            ['"', "'''", "\\", "\n", "\r\n", "\t", "\0", "]]", "#", "\u2028", "é", DELETE]
        ),
    ),
)


@st.composite
def platforms(draw):
    own = draw(st.lists(workers, min_size=1, max_size=5))
    p = len(own)
    cost = st.floats(0, MOST)
    if draw(st.booleans()):
        x = draw(st.sampled_from([x for x in range(1, p + 1) if p % x == 0]))
        right, down = (
            [[draw(cost) for _ in range(b)] for _ in range(a)]
            for a, b in ((x, p // x - 1), (x - 1, p // x))
        )
        return Platform(own, shape=(x, p // x), right=right, down=down)
    nodes = draw(st.one_of(st.none(), st.lists(names.filter(len), min_size=p, max_size=p)))
    row = st.lists(cost, min_size=p, max_size=p)
    return Platform(
        own, draw(st.one_of(st.none(), st.lists(row, min_size=p, max_size=p))), nodes=nodes
    )


@given(platforms(), st.sampled_from(SUFFIXES))
@example(Platform([Worker(1e16, 1e-7, name="ünïcödé 日本 🦉")]), ".toml")
@example(Platform([Worker(1, name=f"a{DELETE}b")]), ".toml")
@example(Platform([Worker(1, name=f"\\{DELETE}\\u007f")]), ".toml")
@example(Platform([Worker(1, name="\ud800")]), ".json")
def test_files_give_back_the_platform(tmp_path_factory, platform, suffix):
    path = tmp_path_factory.getbasetemp() / f"round trip{suffix}"
    platform.save(path)
    loaded = Platform.load(path)
    assert loaded == platform
    assert loaded.to_dict() == platform.to_dict()
    assert [w.name for w in loaded.workers] == [w.name for w in platform.workers]
    parsed = (
        json.loads(path.read_bytes())
        if suffix == ".json"
        else tomllib.loads(path.read_bytes().decode())
    )
    assert parsed == platform.to_dict()
    assert parsed["format"] == "hetsched-platform"
    assert parsed["version"] == 1


@pytest.mark.parametrize("diagonal", [NAN, INF, -1.0, 5.0])
def test_diagonal_of_links_means_nothing(tmp_path, suffix, diagonal):
    """Nobody sends to himself; a file has to be valid JSON or TOML all the same."""
    platform = Platform.complete([1, 2], [[diagonal, 1], [1, diagonal]])
    assert platform == Platform.complete([1, 2], [[0, 1], [1, 0]])
    platform.save(tmp_path / f"p{suffix}")
    assert Platform.load(tmp_path / f"p{suffix}") == platform
    assert "Infinity" not in (tmp_path / f"p{suffix}").read_text()


def test_names_that_toml_cannot_hold_leave_no_file(tmp_path):
    (tmp_path / "p.toml").write_text("before")
    with pytest.raises(ValueError, match="names must be text that UTF-8 can hold, got"):
        Platform([Worker(1, name="\ud800")]).save(tmp_path / "p.toml")
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [("p.toml", "before")]


def test_files_written_by_hand(tmp_path, suffix):
    content = {"worker": [{"speed": 4}, {"cycle_time": 2, "link_cost": 1, "name": "b"}]}
    assert Platform.load(written(tmp_path, suffix, content)) == Platform(
        [Worker(0.25), Worker(2, 1, None, "b")]
    )
    content = {"links": [[0, 1], [2, 0]], "worker": [{"cycle_time": 1}, {"cycle_time": 2}]}
    assert Platform.load(str(written(tmp_path, suffix, content))) == Platform.complete(
        [1, 2], [[0, 1], [2, 0]]
    )


def test_missing_file(tmp_path, suffix):
    with pytest.raises(FileNotFoundError, match=f"nowhere{suffix}"):
        Platform.load(tmp_path / f"nowhere{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(IsADirectoryError):
        Platform.load(tmp_path / f"folder{suffix}")


@pytest.mark.parametrize("name", ["p.xml", "p", ".toml", "p.JSON", "p.toml.bak"])
def test_unknown_suffix(tmp_path, name):
    with pytest.raises(ValueError, match="path must end in .toml or .json"):
        Platform.load(tmp_path / name)
    with pytest.raises(ValueError, match="path must end in .toml or .json"):
        Platform.star([1]).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".toml", "worker = ["),
        (".toml", "[[worker]]\ncycle_time = 1\ncycle_time = 2"),
        (".toml", "[[worker]]\ncycle_time ="),
        (".toml", b"\xff\xfe"),
        (".toml", "{}"),
        (".toml", ""),
        (".json", ""),
        (".json", "{"),
        (".json", '{"worker": [{"cycle_time": 1}]'),
        (".json", b"\xff\xfe"),
        (".json", "[[worker]]\ncycle_time = 1"),
        (".json", "null"),
        (".json", "[]"),
        (".json", '"worker"'),
        (".json", '{"worker": {"cycle_time": 1}}'),
        pytest.param(".json", "[" * 100_000, id="deep"),
        pytest.param(".toml", "a=" + "[" * 100_000, id="deep"),
    ],
)
def test_broken_files(tmp_path, suffix, content):
    path = written(tmp_path, suffix, content)
    with pytest.raises(ValueError, match=f"given{suffix}: "):
        Platform.load(path)


ONE = {"cycle_time": 1.0}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "a platform needs a list 'worker'"),
        ({"worker": []}, "workers is empty"),
        ({"worker": [ONE, {"cycle_time": "1"}]}, "worker 1: cycle_time must be a number, got '1'"),
        ({"worker": [{"cycle_time": True}]}, "worker 0: cycle_time must be a number, got True"),
        ({"worker": [{"cycle_time": [1]}]}, r"worker 0: cycle_time must be a number, got \[1\]"),
        (
            {"worker": [ONE, ONE, {"cycle_time": 0}]},
            "worker 2: cycle_time must be greater than 0, got 0",
        ),
        ({"worker": [{"cycle_time": -1}]}, "worker 0: cycle_time must be greater than 0, got -1"),
        ({"worker": [ONE, {}]}, "worker 1: give either cycle_time or speed"),
        ({"worker": [{"cycle_time": 1, "speed": 1}]}, "worker 0: give either cycle_time or speed"),
        ({"worker": [{"speed": 0}]}, "worker 0: speed must be greater than 0, got 0"),
        ({"worker": [{**ONE, "link_cost": -1}]}, "worker 0: link_cost must be at least 0, got -1"),
        ({"worker": [{**ONE, "memory": 1.5}]}, "worker 0: memory must be an integer, got 1.5"),
        (
            {"worker": [{**ONE, "memory": "many"}]},
            "worker 0: memory must be an integer, got 'many'",
        ),
        ({"worker": [{**ONE, "name": 7}]}, "worker 0: name must be a string, got 7"),
        ({"worker": [ONE, {**ONE, "colour": "red"}]}, "worker 1: .*'colour'"),
        (
            {"colour": "red", "worker": [ONE]},
            "unknown key 'colour' in a platform; known are format, version, worker, links",
        ),
        (
            {"worker": [{"cycletime": 3}]},
            "worker 0: unknown key 'cycletime'; did you mean 'cycle_time'",
        ),
        (
            {"worker": [ONE, {"Cycle-Time": 3}]},
            "worker 1: unknown key 'Cycle-Time'; did you mean 'cycle_time'",
        ),
        (
            {"worker": [{**ONE, "linkcosts": 3}]},
            "worker 0: unknown key 'linkcosts'; did you mean 'link_cost'",
        ),
        (
            {"workers": 3, "worker": [ONE]},
            "unknown key 'workers' in a platform; did you mean 'worker'",
        ),
        (
            {"nodes": ["a", "b"], "worker": [ONE]},
            "nodes must have 1 entries, one for each worker, got 2",
        ),
        ({"nodes": [1], "worker": [ONE]}, r"nodes\[0\] must be a string, got 1"),
        ({"nodes": "a", "worker": [ONE]}, "nodes must be a sequence of strings"),
        ({"format": "simgrid", "worker": [ONE]}, "unknown format 'simgrid'"),
        ({"version": 2, "worker": [ONE]}, "unknown format None, version 2"),
        ({"links": [[0, 1]], "worker": [ONE]}, r"links must have shape \(1, 1\), got \(1, 2\)"),
        (
            {"links": [[0, -1], [1, 0]], "worker": [ONE, ONE]},
            r"links\[0, 1\] must be finite and not negative",
        ),
        ({"links": "none", "worker": [ONE]}, "links must be a matrix"),
        ({"links": [[0, 1], [1]], "worker": [ONE, ONE]}, "links must be a matrix"),
    ],
)
def test_wrong_entries(tmp_path, suffix, content, message):
    with pytest.raises(ValueError, match=f"given{suffix}: {message}"):
        Platform.load(written(tmp_path, suffix, content))
    if "worker" in content:
        with pytest.raises((TypeError, ValueError), match=message):
            Platform.from_dict(content)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_toml_numbers_that_are_none(tmp_path, value):
    with pytest.raises(ValueError, match=r"given.toml: worker 0: cycle_time must be"):
        Platform.load(written(tmp_path, ".toml", f"[[worker]]\ncycle_time = {value}"))


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", "null"])
def test_json_numbers_that_are_none(tmp_path, value):
    with pytest.raises(ValueError, match=r"given.json: worker 0: "):
        Platform.load(written(tmp_path, ".json", f'{{"worker": [{{"cycle_time": {value}}}]}}'))


@pytest.mark.parametrize("entry", ["cycle_time", "memory", "links"])
def test_integers_beyond_doubles_in_files(tmp_path, suffix, entry):
    content = {"worker": [dict(ONE)]}
    if entry == "links":
        content = {"links": [[10**400]], **content}
    else:
        content["worker"][0][entry] = 10**400
    with pytest.raises(ValueError, match=f"given{suffix}: .*{entry}"):
        Platform.load(written(tmp_path, suffix, content))


@pytest.mark.parametrize("entries", [[3], ["a"], [None], [[1]]])
def test_workers_that_are_no_tables(tmp_path, entries):
    with pytest.raises(ValueError, match=r"given.json: worker 0: "):
        Platform.load(written(tmp_path, ".json", json.dumps({"worker": entries})))


DOTS = ".".join("a" * 50_000)
WORKER = "[[worker]]\ncycle_time = 1.0\n"


def test_keys_of_many_parts(tmp_path):
    """Read as they are, each of them takes tomllib a minute."""
    texts = [
        f"{DOTS} = 1\n{WORKER}", f"{WORKER}{DOTS} = 1\n", f"[{DOTS}]\n", f"[[ {DOTS} ]]\n",
        f"x = {{{DOTS} = 1}}\n", DOTS.replace(".", " . ") + " = 1",
        DOTS.replace("a", '"#"') + " = 1", DOTS.replace("a", "'a'") + "= 1",
        'name = """ " \\""" x"""\n' + f"{DOTS} = 1\n", f"name = ''' ' '''\n{DOTS} = 1\n",
        f"x = {{b = '''c'''', {DOTS} = 1}}\n", f'x = {{b = """\\""""", {DOTS} = 1}}\n',
    ]  # fmt: skip
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.toml").write_text(text)
    program = """
import sys
import hetsched as hs
for path in sys.argv[1:]:
    try:
        hs.Platform.load(path)
    except ValueError as error:
        print(error)
"""
    paths = [str(tmp_path / f"{number}.toml") for number in range(len(texts))]
    run = subprocess.run(
        [sys.executable, "-c", program, *paths],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    said = run.stdout.splitlines()
    assert len(said) == len(paths)
    for path, line in zip(paths, said, strict=True):
        assert line.startswith(f"{path}: a key has 50000 parts")


def test_dots_that_are_no_keys(tmp_path):
    """In numbers, strings and comments, however many."""
    path = tmp_path / "p.toml"
    path.write_text(f'# {DOTS} "\n{WORKER}name = "{DOTS}\\"#"\n{WORKER}name = \'{DOTS}"\'\n')
    assert Platform.load(path).names == (f'{DOTS}"#', f'{DOTS}"')
    p = 40
    links = np.full((p, p), 1.5)
    np.fill_diagonal(links, 0.0)
    Platform.complete([1.5] * p, links).save(path)
    assert Platform.load(path) == Platform.complete([1.5] * p, links)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [(".json", "["), (".json", '{"a":'), (".toml", "a = ["), (".toml", "a = {b = [")],
)
def test_deep_nesting(tmp_path, suffix, text):
    path = tmp_path / f"p{suffix}"
    path.write_text(text[:-1] + text[-1] * 50_000 if text[-1] == "[" else text * 50_000)
    with pytest.raises(ValueError, match=f"p{suffix}: "):
        Platform.load(path)


# ---- writing -------------------------------------------------------------------------------------


def refuse(*_args, **_kwargs):
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("call", "before"),
    [
        ("fsync", None),
        ("replace", None),
        *[(call, "the old content") for call in ("fsync", "replace", "chmod")],
    ],
)
def test_failed_writes_leave_what_was_there(tmp_path, suffix, monkeypatch, call, before):
    path = tmp_path / f"p{suffix}"
    if before is not None:
        path.write_text(before)
    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(OSError, match="No space left on device") as caught:
        Platform.star([1, 2]).save(path)
    assert caught.value.filename == str(path)
    assert [f.name for f in tmp_path.iterdir()] == ([] if before is None else [path.name])
    assert before is None or path.read_text() == before


def test_interrupted_write_leaves_no_part(tmp_path, monkeypatch):
    def interrupt(_handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Platform.star([1]).save(tmp_path / "p.toml")
    assert not list(tmp_path.iterdir())


def test_target_is_whole_at_all_times(tmp_path, suffix, monkeypatch):
    """Until the rename the old file is untouched; at the rename the new one is complete beside
    it."""
    path = tmp_path / f"p{suffix}"
    old, new = Platform.star([1]), Platform.star(range(1, 2000))
    old.save(path)
    seen = []
    rename = os.replace

    def watch(source, target):
        seen.append(Platform.load(path) == old)
        text = Path(source).read_text(encoding="utf-8")
        seen.append(
            Platform.from_dict(json.loads(text) if suffix == ".json" else tomllib.loads(text))
            == new
        )
        rename(source, target)

    monkeypatch.setattr(os, "replace", watch)
    new.save(path)
    assert seen == [True, True]
    assert Platform.load(path) == new
    assert [f.name for f in tmp_path.iterdir()] == [path.name]


def test_where_nothing_can_be_written(tmp_path, suffix):
    with pytest.raises(FileNotFoundError):
        Platform.star([1]).save(tmp_path / "nowhere" / f"p{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(OSError, match="[Dd]irectory"):
        Platform.star([1]).save(tmp_path / f"folder{suffix}")
    assert [f.name for f in tmp_path.iterdir()] == [f"folder{suffix}"]


def test_the_umask_is_not_touched(tmp_path, suffix, monkeypatch):
    """Not for a moment: it is the process's, and other threads make files."""
    monkeypatch.setattr(os, "umask", refuse)
    Platform.star([1]).save(tmp_path / f"p{suffix}")
    Platform.star([2]).save(tmp_path / f"p{suffix}")


SAVES = {
    "platform": "hs.Platform.star(range(1, 9999)).save(path)",
    "csv": "trace.to_csv(path)",
    "json": "trace.to_chrome(path)",
    "paje": "trace.to_paje(path)",
    "measurement": (
        "hs.measure.__globals__['keep'].__globals__['_write'](pathlib.Path(path), ['x' * 99999])"
    ),
}


@pytest.mark.slow
def test_a_full_disk_leaves_what_was_there(tmp_path):
    """In a process whose files may not be larger than 4 KB: the system itself refuses to write
    more."""
    code = f"""
import pathlib, resource, sys
import hetsched as hs
steps = [(0, "compute", i, i + 0.5, "x" * 99) for i in range(99)]
trace = hs.Trace.from_steps(steps, ["P0"], kind="real", speeds=[1.0])
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
for path in sys.argv[1:]:
    kind = pathlib.Path(path).parent.name.split("-")[0]
    try:
        exec({SAVES!r}[kind])
    except OSError as error:
        print(error.errno, error.filename)
"""
    paths = []
    for kind in SAVES:
        for before in ("", "the old content"):
            folder = tmp_path / f"{kind}-{len(before)}"
            folder.mkdir()
            paths.append(folder / "saved.toml")
            if before:
                paths[-1].write_text(before)
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-c", code, *paths],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    # a cache may be lost
    assert run.stdout.splitlines() == [
        f"{errno.EFBIG} {path}" for path in paths if not path.parent.name.startswith("measurement")
    ]
    for path in paths:
        there = {file.name: file.read_text() for file in path.parent.iterdir()}
        assert there == ({} if path.parent.name.endswith("-0") else {path.name: "the old content"})


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002, 0o000])
def test_new_files_respect_the_umask(tmp_path, suffix, mask):
    previous = os.umask(mask)
    try:
        Platform.star([1]).save(tmp_path / f"p{suffix}")
        assert os.umask(mask) == mask  # left as it was
    finally:
        os.umask(previous)
    assert stat.S_IMODE((tmp_path / f"p{suffix}").stat().st_mode) == 0o666 & ~mask


def test_existing_files_keep_their_permissions(tmp_path, suffix):
    path = tmp_path / f"p{suffix}"
    path.write_text("old")
    path.chmod(0o640)
    Platform.star([1]).save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert Platform.load(path) == Platform.star([1])


def test_saving_through_a_symbolic_link(tmp_path, suffix):
    target, link = tmp_path / f"target{suffix}", tmp_path / f"link{suffix}"
    Platform.star([1]).save(target)
    link.symlink_to(target)
    Platform.star([2]).save(link)
    assert link.is_symlink()
    assert Platform.load(target) == Platform.star([2])


def test_a_platform_is_accepted_where_cycle_times_are():
    assert hs.distribute(78, Platform.star([3, 5, 8])).makespan == 120


def test_per_worker_arguments_are_named():
    with pytest.raises(ValueError, match=r"link_costs must be at least 0, got -1e\+308"):
        Platform.star([1, 2], -1e308)
    with pytest.raises(TypeError, match="names must be a sequence of strings"):
        Platform.star([1, 2], names=2**64)
    for wrong in (3, None, 1.5):
        with pytest.raises(TypeError, match="workers must be a sequence of Workers"):
            Platform(wrong)


# ---- several computers ---------------------------------------------------------------------------


class TestJoin:
    LEFT = Platform.star([1, 2], link_costs=[3, 4], memory=[5, None], names=["x", "y"])
    RIGHT = Platform.star([7])

    def test_names_and_nodes(self):
        both = Platform.join([self.LEFT, self.RIGHT])
        assert both.names == ("node0/x", "node0/y", "node1/P0")
        assert both.nodes == ("node0", "node0", "node1")
        assert both.cycle_times.tolist() == [1, 2, 7]
        assert both.link_costs.tolist() == [3, 4, 0]
        assert both.memory == (5, None, None)
        assert both.links is None
        assert both != Platform(both.workers)
        assert self.LEFT.nodes is None

    def test_nodes_of_nodes(self):
        rack = Platform.join([self.LEFT, self.RIGHT], ["a", "b"])
        both = Platform.join([rack, self.RIGHT], iter(["rack", "desk"]))
        assert both.names == ("rack/a/x", "rack/a/y", "rack/b/P0", "desk/P0")
        assert both.nodes == ("rack/a", "rack/a", "rack/b", "desk")

    def test_units(self):
        """Those of the first node; what cannot be converted, or is not known of one, is refused
        with both."""
        blocks = Platform.star([0.76e-3], link_costs=[5.12e-3], unit=hs.Unit.block_update(80))
        fast = Platform.star([2.0], link_costs=[3.0], unit=hs.Unit.gigaflop())
        both = Platform.join([fast, blocks])
        assert both.unit == hs.Unit.gigaflop()
        np.testing.assert_allclose(both.cycle_times, [2.0, 0.76e-3 / 1024e-6])
        np.testing.assert_allclose(both.link_costs, [3.0, 100.0])
        gigaflop = "seconds per gigaflop of 1e.09 flops and per gigabyte of 1e.09 bytes"
        for parts, words in (
            (
                [self.LEFT, fast],
                rf"platforms\[0\] is in unnamed units, platforms\[1\] in {gigaflop}",
            ),
            (
                [fast, self.LEFT],
                rf"platforms\[0\] is in {gigaflop}, platforms\[1\] in unnamed units",
            ),
            (
                [fast, Platform.star([1], unit=hs.Unit("task", "message"))],
                rf"joined, needs {gigaflop}, but .* per task and",
            ),
        ):
            with pytest.raises(ValueError, match=words):
                Platform.join(parts)

    def test_links(self):
        inner = Platform.complete([1, 2], [[0, 5], [6, 0]])
        both = Platform.join([inner, self.LEFT], links=[[9, 1], [2, 9]])
        assert both.links.tolist() == [[0, 5, 1, 1], [6, 0, 1, 1], [2, 2, 0, 0], [2, 2, 0, 0]]
        assert Platform.join([inner, self.RIGHT], links=3.0).links.tolist() == [
            [0, 5, 3],
            [6, 0, 3],
            [3, 3, 0],
        ]

    @pytest.mark.parametrize(
        ("platforms", "options", "error", "words"),
        [
            ([], {}, ValueError, "platforms is empty"),
            ([LEFT, 3], {}, TypeError, r"platforms\[1\] must be a Platform, got int"),
            (LEFT, {}, TypeError, "platforms must be a sequence of Platforms"),
            (
                [LEFT],
                {"names": ["a", "b"]},
                ValueError,
                "names must have 1 entries, one for each node, got 2",
            ),
            (
                [LEFT, LEFT],
                {"names": ["a", "a"]},
                ValueError,
                "names must be unique, got 'a' twice",
            ),
            (
                [LEFT],
                {"names": ["a/b"]},
                ValueError,
                "names.0. must be a name without /, got 'a/b'",
            ),
            ([LEFT], {"names": [""]}, ValueError, "names.0. must be a name without /, got ''"),
            ([LEFT], {"names": [3]}, TypeError, "names.0. must be a string, got 3"),
            (
                [Platform.star([1, 1], names=["x", "x"])],
                {},
                ValueError,
                "workers must be unique, node0 has 'x' twice",
            ),
            ([Platform.mesh([[1, 1]], [[0]])], {}, ValueError, r"platforms\[0\] is a mesh"),
            (
                [LEFT, Platform.complete([1], [[0]])],
                {},
                ValueError,
                r"platforms\[1\] has links between its workers",
            ),
            ([LEFT, RIGHT], {"links": -1}, ValueError, "links must be at least 0"),
            (
                [LEFT, RIGHT],
                {"links": [[0]]},
                ValueError,
                r"links must have shape \(2, 2\), got \(1, 1\)",
            ),
        ],
    )
    def test_refused(self, platforms, options, error, words):
        with pytest.raises(error, match=words):
            Platform.join(platforms, **options)


class TestReplace:
    def test_other_cycle_times(self):
        right, down = [[0.5]], np.empty((0, 2))
        mesh = Platform.mesh([[3, 5]], right, down, unit=hs.Unit.gigaflop(), names=["n0", "gpu-1"])
        found = mesh.replace({"gpu-1": 1}, n0=10)
        assert found.cycle_times.tolist() == [10.0, 1.0]
        assert found.replace(n0=3.0).replace({"gpu-1": 5.0}) == mesh
        assert mesh.replace() == mesh
        assert Platform.star([3, 5]).replace(P1=7).cycle_times.tolist() == [3.0, 7.0]

    def test_all_else_stays(self):
        whole = Platform.join([Platform.star([3, 5], [0.1, 0.2]), Platform.star([8])], links=0.5)
        name = whole.names[0]
        found = whole.replace({name: 9.0})
        assert found.cycle_times[0] == 9.0
        assert found.replace({name: whole.cycle_times[0]}) == whole

    def test_a_worker_in_its_place(self):
        star = Platform.star([3, 5], [0.1, 0.2], [7, 8], names=["a", "b"])
        new = Worker(1.0, 0.3, 9, "c")
        assert star.replace(b=new).workers == (star.workers[0], new)

    @pytest.mark.parametrize(
        ("given", "named", "error", "words"),
        [
            (None, {"P2": 1}, ValueError, r"no worker has the name 'P2'; the names are \['P0'"),
            ({"P0": 1}, {"P0": 1}, TypeError, "the worker 'P0' is given twice"),
            (2.0, {}, TypeError, "cycle_times must map names to cycle-times, got 2.0"),
            (["P0"], {}, TypeError, "cycle_times must map names to cycle-times"),
            (None, {"P0": 0}, ValueError, "the cycle-time of P0 must be greater than 0"),
            (None, {"P0": np.nan}, ValueError, "the cycle-time of P0 must be finite"),
            (None, {"P0": "fast"}, TypeError, "the cycle-time of P0 must be a number"),
        ],
    )
    def test_refused(self, given, named, error, words):
        with pytest.raises(error, match=words):
            Platform.star([3, 5]).replace(given, **named)


def test_long_values_are_cut_in_messages():
    with pytest.raises(TypeError, match=r"areas must be .*\.\.\. \(\d+ characters\)$") as raised:
        hs.partition([Platform.star([1, 2])] * 1000)
    assert len(str(raised.value)) < 400


MESH = hs.Platform.mesh([[1, 2.0], [3, 4]], right=[[5.0], [5.0]], down=[[5.0, 5.0]])
COMPLETE = hs.Platform.complete([1, 2, 3, 4], links=np.full((4, 4), 5.0) - 5 * np.eye(4))
STAR_OF_FOUR = hs.Platform.star([1, 2, 3, 4])


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: hs.plan_matmul(40, 40, 40, MESH), "a mesh"),
        (lambda: hs.plan_matmul(40, 40, 40, MESH, profiles=[1, 2, 3, 4], block=4), "a mesh"),
        (lambda: hs.plan_matmul(40, 40, 40, COMPLETE, profiles=[1, 2, 3, 4], block=4), "complete"),
        (lambda: hs.divisible_load(10, MESH), "a mesh"),
        (lambda: hs.divisible_load(10, COMPLETE), "complete"),
        (lambda: hs.layers_star(10, MESH), "a mesh"),
        (lambda: hs.layers_star(10, COMPLETE), "complete"),
        (lambda: hs.plan_product(4, 4, 4, COMPLETE), "complete"),
        (lambda: hs.plan_matmul(40, 40, 40, STAR_OF_FOUR).on(COMPLETE), "complete"),
        (lambda: hs.replan(hs.plan_matmul(40, 40, 40, STAR_OF_FOUR), MESH), "a mesh"),
    ],
)
def test_planners_for_stars_refuse_other_links(call, kind):
    with pytest.raises(ValueError, match=f"must be a star, .* it is {kind}"):
        call()


def test_links_that_cost_nothing_are_those_of_a_star():
    free = hs.Platform.complete([1, 2, 3, 4], links=np.zeros((4, 4)))
    plan = hs.divisible_load(10, STAR_OF_FOUR)
    assert plan.on(free).makespan == plan.makespan


@pytest.mark.parametrize(
    "call",
    [
        lambda x: hs.distribute(12, x),
        lambda x: hs.partition(cycle_times=x),
        lambda x: hs.cuboids(volumes=x),
        lambda x: hs.Platform.star(x),
        lambda x: hs.assign(np.ma.outer(x, x)),
        lambda x: hs.plan_factor(12, 12, [1, 2], block=4, owner=x.astype(int) % 2),
    ],
)
def test_masked_arrays_are_refused(call):
    """A mask would be ignored, as limits.md says."""
    masked = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, False, True])
    with pytest.raises(TypeError):
        call(masked)


@pytest.mark.parametrize("shape", [(2**22,) * 3, (2**40,) * 3])
def test_loads_beyond_64_bits(shape):
    volume = float(np.prod(np.array(shape, float)))
    plan = hs.cuboids([1, 2, 4], shape=shape)
    assert (plan.load > 0).all()
    assert plan.load.sum() == pytest.approx(volume)
    zones = hs.partition([1, 1], shape=shape[:2])
    assert zones.load.sum() == pytest.approx(float(shape[0]) * shape[1])
