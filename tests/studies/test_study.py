"""Parameter studies: which cells and seeds there are, what is kept when a study is stopped, files,
and the studies by name."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import namedtuple
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import many

import hetsched as hs
from hetsched._base.lines import content_of, line_of
from hetsched.cli import main as cli
from hetsched.studies import ready

pandas = pytest.importorskip("pandas", reason="a study's table is pandas's")
from pandas.testing import assert_frame_equal  # noqa: E402

Pair = namedtuple("Pair", ["low", "high"])


def product(x, y):
    return x * y


def seeded(x, seed):
    return {"got": seed}


class Counted:
    """A function that knows how often it was called, and fails or is interrupted where it is told
    to."""

    def __init__(self, stop=None, fail=()):
        self.calls, self.stop, self.fail = [], stop, fail

    def __call__(self, x, seed):
        if x == self.stop:
            raise KeyboardInterrupt
        self.calls.append(x)
        if x in self.fail:
            raise ArithmeticError(f"no {x}")
        return {"square": x * x, "root": x**0.5}


def without_seconds(frame):
    return frame.drop(columns="seconds")


# ---- cells and seeds ----


def test_the_last_parameter_varies_fastest():
    frame = hs.study(product, {"x": [1, 2], "y": [3, 5, 7]}, repeats=2)
    assert list(frame.columns) == ["x", "y", "repeat", "seed", "value", "seconds", "error"]
    assert frame["value"].tolist() == [3, 3, 5, 5, 7, 7, 6, 6, 10, 10, 14, 14]
    assert frame["repeat"].tolist() == [0, 1] * 6
    assert frame["error"].isna().all()
    assert (frame["seconds"] >= 0).all()
    assert frame["seed"].is_unique


@pytest.mark.parametrize(
    "function",
    [
        seeded,
        lambda **given: {"got": given["seed"]},
        partial(seeded),
        lambda x, *, seed=None: {"got": seed},
    ],
    ids=["named", "any", "partial", "optional"],
)
def test_a_function_that_takes_a_seed_gets_it(function):
    frame = hs.study(function, {"x": [1, 2]}, repeats=3)
    assert (frame["got"] == frame["seed"]).all()
    assert ((frame["seed"] >= 0) & (frame["seed"] < 2**32)).all()


def seeds(grid, **options):
    """By what is in the row."""
    frame = hs.study(lambda **given: None, grid, **options)
    names = [name for name in frame.columns if name not in ("seed", "seconds", "error")]
    return {
        tuple(sorted(zip(names, row, strict=True))): s
        for *row, s in frame[[*names, "seed"]].itertuples(index=False)
    }


values = st.lists(st.integers(-5, 5), min_size=1, max_size=4, unique=True)


@given(values, values, st.integers(1, 3), st.integers(0, 2**40), st.randoms())
def test_a_seed_depends_on_its_own_cell_only(xs, ys, repeats, seed, rng):
    small = seeds({"x": xs, "y": ys}, repeats=repeats, seed=seed)
    more = [*xs, 99]
    rng.shuffle(more)
    large = seeds({"y": [*ys, 98], "x": more}, repeats=repeats + 1, seed=seed)
    assert small.items() <= large.items()
    listed = seeds([{"x": x, "y": y} for x in xs for y in ys], repeats=repeats, seed=seed)
    assert listed == small
    assert not set(small.values()) & set(
        seeds({"x": xs, "y": ys}, repeats=repeats, seed=seed + 1).values()
    )


def test_seeds_stay_as_they_are():
    """In every version: a study is repeated by its seed."""
    assert hs.study(seeded, {"x": [1, "a", 2.5, (1, 2)]}, seed=7)["seed"].tolist() == SEEDS


SEEDS = [281503841, 2799580076, 2611578375, 973168301]


def test_cells_one_by_one():
    frame = hs.study(lambda **given: len(given), [{"x": 1}, {"y": True, "x": 2}])
    assert frame["x"].tolist() == [1, 2]
    assert frame["y"].tolist() == [pandas.NA, True]
    assert frame["value"].tolist() == [2, 3]


def test_no_parameters():
    assert hs.study(lambda: 3, {}, repeats=4)["value"].tolist() == [3] * 4


def test_values_with_names():
    """The function gets the value, the table shows a name."""
    platforms = {"two": hs.Platform.star([1, 2]), "three": hs.Platform.star([1, 1, 1])}
    frame = hs.study(
        lambda p, method: len(p) * method([1, 2]), {"p": platforms, "method": [sum, max]}
    )
    assert frame["p"].tolist() == ["two", "two", "three", "three"]
    assert frame["method"].tolist() == ["sum", "max"] * 2
    assert frame["value"].tolist() == [6, 4, 9, 6]


def test_values_that_can_be_written():
    cells = [
        np.int8(3),
        np.float32(0.5),
        (1, [2, 3]),
        np.arange(3),
        hs.Platform.star([1, 2]),
        "a",
        None,
    ]
    frame = hs.study(lambda x: type(x).__name__, [{"x": x} for x in cells])
    shown = "<Platform: star, 2 workers, cycle-times 1, 2>"
    assert frame["x"].iloc[:-1].tolist() == ["3", "0.5", "[1, [2, 3]]", "[0, 1, 2]", shown, "a"]
    assert frame["value"].tolist() == [
        "int",
        "float",
        "tuple",
        "ndarray",
        "Platform",
        "str",
        "NoneType",
    ]


def test_random_designs():
    stats = pytest.importorskip("scipy.stats", reason="SciPy has the distributions")
    grid = {
        "a": stats.loguniform(1, 10),
        "b": lambda rng: int(rng.integers(3, 6)),
        "c": ["left", "right"],
    }
    frame = hs.study(lambda a, b, c: a * b, grid, samples=40)
    assert ((frame["a"] >= 1) & (frame["a"] <= 10)).all()
    assert frame["a"].is_unique
    assert set(frame["b"]) == {3, 4, 5}
    assert set(frame["c"]) == {"left", "right"}
    again = hs.study(lambda **given: given["a"] * given["b"], {"d": [1, 2, 3], **grid}, samples=60)
    assert_frame_equal(again[["a", "b", "c"]].head(40), frame[["a", "b", "c"]])
    assert not frame["a"].equals(hs.study(lambda a, b, c: 1, grid, samples=40, seed=1)["a"])
    assert len(hs.study(lambda a: a, {"a": [1]}, samples=5)) == 5


@pytest.mark.parametrize(
    ("grid", "options", "words"),
    [
        ({"x": []}, {}, r"grid\['x'\] is empty"),
        ({"x": 3}, {}, r"grid\['x'\] must be a sequence of values, got 3"),
        ({"x": "abc"}, {}, r"grid\['x'\] must be a sequence of values, got 'abc'"),
        ({"x": [1, 2, 1]}, {}, r"grid\['x'\] has 1 twice; use repeats"),
        ({"x": [Path("a/x"), Path("a/x")]}, {}, r"grid\['x'\] has \"a/x\" twice; use repeats"),
        ({"x": [lambda a: a, lambda a: 1]}, {}, r"has \"<lambda>\" twice; .* give them names"),
        (
            {"x": [hs.Platform.star([1], [k]) for k in (1, 2)]},
            {},
            r"grid\['x'\] has .*star.* twice; give values .* by name",
        ),
        (
            {"x": [object()]},
            {},
            r"grid\['x'\]\[0\] is of type object; give values of other kinds by name",
        ),
        ({"x": [[1, object()]]}, {}, r"grid\['x'\]\[0\] is of type list"),
        ({"x": [2**63]}, {}, r"grid\['x'\]\[0\] must fit in 64 bits"),
        ({"x": lambda rng: 1}, {}, r"grid\['x'\] is a distribution: give samples"),
        ({"seed": [1]}, {}, "grid has 'seed', a column that the study itself writes"),
        ({"a b": [1]}, {}, "grid has 'a b', which cannot be the name of an argument"),
        ({3: [1]}, {}, "grid has 3, which cannot be"),
        ({"y": [1]}, {}, "function .* does not take what grid gives: .*'x'"),
        ({"x": [1], "y": [1], "z": [1]}, {}, "function .* does not take what grid gives: .*'z'"),
        ([], {}, "grid is empty"),
        ([1], {}, r"grid\[0\] must be a mapping"),
        ([{"x": 1}, {"x": 1}], {}, r"grid\[1\] is the same cell as grid\[0\]"),
        ([{"x": 1}], {"samples": 3}, "samples needs a grid that maps names"),
        (3, {}, "grid must be a mapping"),
        ({"x": [1]}, {"samples": 0}, "samples must be in"),
        ({"x": [1]}, {"repeats": 0}, "repeats must be in"),
        ({"x": [1]}, {"repeats": 10**8}, "grid has 100000000 runs with all repeats"),
        ({"x": [1]}, {"seed": -1}, "seed must be in"),
        ({"x": [1]}, {"n_jobs": 0}, "n_jobs must be the number of processes"),
        ({"x": [1]}, {"progress": 3}, "progress must be"),
        ({"x": [1]}, {"path": "x.txt"}, "path must end in .parquet or .csv, got 'x.txt'"),
        ({"x": [1]}, {"path": 3}, "path must be a path, got 3"),
    ],
)
def test_mistakes(grid, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, TypeError), match=words):
        hs.study(lambda x, y=1: 1, grid, **options)
    assert os.listdir() == []


def test_function_must_be_callable():
    with pytest.raises(TypeError, match="function must be callable, got 'abs'"):
        hs.study("abs", {})


# ---- what is returned ----


@pytest.mark.parametrize(
    ("result", "columns", "rows"),
    [
        (3, ["value"], [[3]]),
        (np.float32(0.5), ["value"], [[0.5]]),
        ({"a": 1, "b": "x"}, ["a", "b"], [[1, "x"]]),
        (Pair(1, 2), ["low", "high"], [[1, 2]]),
        ([{"a": 1}, {"a": 2}], ["a"], [[1], [2]]),
        ([Pair(1, 2), Pair(3, 4)], ["low", "high"], [[1, 2], [3, 4]]),
        ({"a": [1, 2]}, ["a"], [["[1, 2]"]]),
        (None, [], [[]]),
        ([], [], [[]]),
    ],
)
def test_results(result, columns, rows):
    frame = hs.study(lambda x: result, {"x": [1]})
    assert list(frame.columns) == ["x", "repeat", "seed", *columns, "seconds", "error"]
    assert frame[columns].values.tolist() == rows
    assert frame["error"].isna().all()


def test_a_plan_is_its_certificate():
    frame = hs.study(hs.distribute, {"n": [78, 10], "cycle_times": [[3, 5, 8]]})
    plans = [hs.distribute(n, [3, 5, 8]) for n in (78, 10)]
    for name in ("value", "bound", "gap", "optimal"):
        assert frame[name].tolist() == [getattr(plan, name) for plan in plans]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            {"x": 1},
            (
                "ValueError: the function returned a measure 'x', but the table has another column"
                " of that name"
            ),
        ),
        ({"seconds": 1}, "ValueError: the function returned a measure 'seconds'"),
        ({1: 2}, "TypeError: the name of a measure must be a string, got 1"),
        ({"a": object()}, "ValueError: the measure 'a' is of type object"),
        ([1, 2], "TypeError: a list that the function returns must have mappings, got int"),
        (1j, "ValueError: the measure 'value' is of type complex"),
    ],
)
def test_results_that_cannot_be_kept_are_errors_of_their_row(result, words):
    (error,) = hs.study(lambda x: result, {"x": [1]})["error"]
    assert error.startswith(words)


def test_failures_are_rows():
    frame = hs.study(Counted(fail=(2, 3)), {"x": [1, 2, 3, 4]})
    assert frame["error"].isna().tolist() == [True, False, False, True]
    assert frame["error"][1] == "ArithmeticError: no 2"
    assert frame["square"].tolist() == [1, pandas.NA, pandas.NA, 16]
    assert frame["root"].isna().tolist() == [False, True, True, False]
    everything = hs.study(Counted(fail=(1,)), {"x": [1]})
    assert list(everything.columns) == ["x", "repeat", "seed", "seconds", "error"]


def test_progress(tmp_path):
    told = []
    hs.study(product, {"x": [1, 2], "y": [1, 2]}, progress=told.append)
    assert told == [0.25, 0.5, 0.75, 0.9999, 1.0]
    with pytest.raises(KeyboardInterrupt):
        hs.study(
            Counted(stop=3),
            {"x": [1, 2, 3, 4]},
            path=tmp_path / "t.csv",
            progress=(told := []).append,
        )
    assert told == [0.25, 0.5]
    hs.study(Counted(), {"x": [1, 2, 3, 4]}, path=tmp_path / "t.csv", progress=(told := []).append)
    assert told[:2] == [0.5, 0.75]


# ---- files, and going on ----

needs_arrow = pytest.mark.skipif(
    find_spec("pyarrow") is None, reason="pyarrow writes .parquet files"
)
files = pytest.mark.parametrize("suffix", [".csv", pytest.param(".parquet", marks=needs_arrow)])


@files
def test_an_interrupted_study_goes_on(tmp_path, suffix):
    path, grid = tmp_path / f"table{suffix}", {"x": [1, 2, 3, 4, 5]}
    for stop, calls in ((3, [1, 2]), (5, [3, 4]), (None, [5])):
        function = Counted(stop, fail=(2,))
        if stop is not None:
            with pytest.raises(KeyboardInterrupt):
                hs.study(function, grid, path=path)
            assert os.listdir(tmp_path) == [f"table{suffix}.journal"]
        else:
            frame = hs.study(function, grid, path=path)
        assert function.calls == calls
    assert os.listdir(tmp_path) == [f"table{suffix}"]
    assert_frame_equal(without_seconds(frame), without_seconds(hs.study(Counted(fail=(2,)), grid)))
    done = Counted()
    assert_frame_equal(hs.study(done, grid, path=path), frame)
    assert done.calls == []


@files
def test_others_read_the_file(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    frame = hs.study(Counted(fail=(2,)), {"x": [1, 2]}, path=path)
    found = pandas.read_csv(path) if suffix == ".csv" else pandas.read_parquet(path)
    assert list(found.columns) == list(frame.columns)
    assert found["root"].iloc[0] == frame["root"].iloc[0]
    assert found["error"].iloc[1] == "ArithmeticError: no 2"
    assert found["error"].isna().tolist() == [True, False]


scalars = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.floats(), st.booleans(), st.none(),
    st.text(st.characters(exclude_categories=["Cs"])).map(lambda text: f"'{text}'"),
)  # fmt: skip


@files
@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), scalars), min_size=1, max_size=4),
    st.lists(scalars, max_size=4),
)
def test_what_is_read_is_what_was_written(tmp_path_factory, suffix, results, keys):
    path = tmp_path_factory.mktemp("study") / f"table{suffix}"
    cells = [{"i": i, "x": key} for i, key in enumerate([None, *keys])]
    frame = hs.study(lambda i, x: results, cells, path=path)
    assert_frame_equal(hs.study(lambda i, x: 1 / 0, cells, path=path), frame, rtol=0, atol=0)


def half_done(path, **options):
    with pytest.raises(KeyboardInterrupt):
        hs.study(Counted(stop=3), {"x": [1, 2, 3, 4]}, path=path, **options)
    return Path(f"{path}.journal")


@pytest.mark.parametrize("torn", [1, 30])
def test_a_torn_line_does_not_count(tmp_path, torn):
    path, function = tmp_path / "t.csv", Counted()
    journal = half_done(path)
    journal.write_bytes(journal.read_bytes()[:-torn])
    hs.study(function, {"x": [1, 2, 3, 4]}, path=path)
    assert function.calls == [2, 3, 4]
    assert hs.study(function, {"x": [1, 2, 3, 4]}, path=path)["square"].tolist() == [1, 4, 9, 16]


@pytest.mark.parametrize("length", [0, 1, 20])
def test_a_torn_first_line(tmp_path, length):
    path = tmp_path / "t.csv"
    journal = half_done(path)
    journal.write_bytes(journal.read_bytes()[:length])
    assert len(hs.study(Counted(), {"x": [1, 2, 3, 4]}, path=path)) == 4


def said(line):
    """What a line of a journal says."""
    return json.loads(content_of(line))


def goes_on(path):
    """The study of `half_done`, with its calls."""
    function = Counted()
    frame = hs.study(function, {"x": [1, 2, 3, 4]}, path=path)
    assert frame["square"].tolist() == [1, 4, 9, 16]
    return function.calls


@pytest.mark.slow
def test_a_journal_cut_anywhere_is_gone_on_with(tmp_path):
    path = tmp_path / "t.csv"
    whole = half_done(path).read_bytes()
    ends = [i for i, byte in enumerate(whole, 1) if byte == ord("\n")]
    for length in range(0, len(whole), 7):
        Path(f"{path}.journal").write_bytes(whole[:length])
        done = max(sum(end <= length for end in ends) - 1, 0)
        assert goes_on(path) == [1, 2, 3, 4][done:]
        path.unlink()


def test_a_flipped_bit_is_found(tmp_path):
    """Anywhere: never another result."""
    path = tmp_path / "t.csv"
    journal = half_done(path)
    whole = journal.read_bytes()
    for place in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        # without its end, the last line was cut short
        if place // 8 == len(whole) - 1 or place % 5:
            continue
        journal.write_bytes(damaged)
        with pytest.raises((ValueError, FileExistsError), match=r"t\.csv\.journal") as caught:
            hs.study(Counted(), {"x": [1, 2, 3, 4]}, path=path)
        assert "remove" in str(caught.value)
        assert journal.read_bytes() == bytes(damaged)
    journal.write_bytes(whole[:-1] + b"\x0b")
    assert goes_on(path) == [2, 3, 4]


def changed(**entries):
    """Of the second line, with its own checksum."""
    return lambda lines: [
        lines[0],
        line_of(json.dumps({**said(lines[1][:-1]), **entries}).encode()),
        *lines[2:],
    ]


def without(name):
    def change(lines):
        content = said(lines[1][:-1])
        del content[name]
        return [lines[0], line_of(json.dumps(content).encode()), *lines[2:]]

    return change


@pytest.mark.parametrize(
    ("change", "line"),
    [
        *((without(name), 2) for name in ("run", "rows", "seconds", "error")),
        (changed(run=4), 2), (changed(run=-1), 2), (changed(run="1"), 2), (changed(rows=[]), 2),
        (changed(rows=[3]), 2), (changed(rows={}), 2), (changed(seconds="1"), 2),
        (changed(error=3), 2), (lambda lines: [*lines, lines[1]], 4), (lambda lines: lines * 2, 4),
        (lambda lines: [lines[0], lines[0]], 2), (lambda lines: [lines[0], b"\n", *lines[1:]], 2),
        (lambda lines: [lines[0], bytes(99), b"\n", *lines[1:]], 2),
        (lambda lines: [lines[0], lines[1][:-1], lines[2]], 2),
        (lambda lines: [lines[0], b"[" * 9999 + b"\n"], 2),
        (lambda lines: [lines[0], line_of(b"[" * 9999)], 2),
        (lambda lines: [lines[0], line_of(b"[1]")], 2),
    ],
)  # fmt: skip
def test_damaged_lines_are_named(tmp_path, change, line):
    path = tmp_path / "t.csv"
    journal = half_done(path)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(change(lines)))
    words = (
        rf"path: .*t\.csv\.journal is damaged: line {line} was changed after it was written; remove"
        r" that line to repeat its call, or"
    )
    with pytest.raises(ValueError, match=words):
        hs.study(Counted(), {"x": [1, 2, 3, 4]}, path=path)
    journal.write_bytes(b"".join(lines))
    assert goes_on(path) == [3, 4]


def test_the_journal_of_another_version_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    journal = half_done(path)
    header = said(journal.read_bytes().splitlines()[0])
    for first in (
        json.dumps({**header, "version": 1}).encode() + b"\n",
        line_of(json.dumps({**header, "version": 3}).encode()),
    ):
        journal.write_bytes(
            first + b'{"run": 0, "rows": [{"square": 6.0}], "seconds": 0.1, "error": null}\n'
        )
        with pytest.raises(
            ValueError,
            match=r"t\.csv\.journal is the journal of another version of hetsched; remove the",
        ):
            hs.study(Counted(), {"x": [1, 2, 3, 4]}, path=path)


@pytest.mark.parametrize(
    "name", ["t.csv", "t.csv.journal", pytest.param("t.parquet", marks=needs_arrow)]
)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_something_else_in_the_place_of_a_file(tmp_path, name, make):
    make(tmp_path / name)
    with pytest.raises(OSError, match=name.replace(".", r"\.")):
        hs.study(Counted(), {"x": [1]}, path=tmp_path / name.removesuffix(".journal"))


@pytest.mark.slow
@needs_arrow
def test_a_damaged_table_is_found(tmp_path):
    """A flipped bit changes nothing that is read, or is an error; so is a table that is cut
    short."""
    path, function = tmp_path / "t.parquet", Counted()
    hs.study(function, {"x": [1, 2, 3, 4]}, path=path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for place in [*rng.integers(0, 8 * len(whole), 150), *range(0, 8 * 600, 31)]:
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << int(place % 8)
        path.write_bytes(damaged)
        error = None
        try:
            assert goes_on(path) == []
        except ValueError as caught:
            error = str(caught)
        assert error is None or error.startswith(f"path: {path} ")
    for length in [0, 3, 4, 8, *rng.integers(0, len(whole), 20)]:
        path.write_bytes(whole[:length])
        with pytest.raises(
            ValueError,
            match=r"path: .*t\.parquet is not a readable Parquet file: .*; remove the file",
        ):
            goes_on(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[: len(text) // 2], lambda text: text.replace(b"16", b"1\x006"),
        lambda text: text + b"\x00", lambda text: text + b"\xff",
        lambda text: text.decode().encode("utf-16"), lambda text: text + text,
        lambda text: text.replace(b"seconds", b"secunds"), lambda text: text + b"x" * 200_000,
        lambda text: text + b"1" * 5000,
    ],
)  # fmt: skip
def test_a_damaged_csv_file(tmp_path, change):
    path = tmp_path / "t.csv"
    hs.study(Counted(), {"x": [1, 2, 3, 4]}, path=path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ValueError, match=r"path: .*t\.csv (is damaged|belongs to another study)"):
        hs.study(Counted(), {"x": [1, 2, 3, 4]}, path=path)


OTHERS = {
    "function": (seeded, {"x": [1, 2, 3, 4]}, {}),
    "grid": (Counted(), {"x": [1, 2, 3, 5]}, {}),
    "repeats": (Counted(), {"x": [1, 2, 3, 4]}, {"repeats": 2}),
    "seed": (Counted(), {"x": [1, 2, 3, 4]}, {"seed": 1}),
}


@pytest.mark.parametrize("what", OTHERS)
def test_the_journal_of_another_study_is_refused(tmp_path, what):
    function, grid, options = OTHERS[what]
    journal = half_done(tmp_path / "t.csv")
    before = journal.read_bytes()
    with pytest.raises(
        ValueError,
        match=rf"path: .*t\.csv\.journal belongs to another study, with another {what}; remove it",
    ):
        hs.study(function, grid, path=tmp_path / "t.csv", **options)
    assert journal.read_bytes() == before


@pytest.mark.parametrize(
    ("what", "suffix"),
    [
        *(pytest.param(what, ".parquet", marks=needs_arrow) for what in OTHERS),
        # a .csv file does not say of which function it is
        *((what, ".csv") for what in OTHERS if what != "function"),
    ],
)
def test_the_file_of_another_study_is_refused(tmp_path, what, suffix):
    path = tmp_path / f"t{suffix}"
    hs.study(Counted(), {"x": [1, 2, 3, 4]}, path=path)
    before = path.read_bytes()
    function, grid, options = OTHERS[what]
    with pytest.raises(ValueError, match=r"path: .* belongs to another study, with (an)?other "):
        hs.study(function, grid, path=path, **options)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "x,repeat,seed\n1,0,5\n"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(ValueError, match="path: .* belongs to another study"):
        hs.study(Counted(), {"x": [1]}, path=tmp_path / "t.csv")


@needs_arrow
def test_files_in_the_way(tmp_path):
    (tmp_path / "t.parquet").write_text("no")
    with pytest.raises(ValueError, match="path: .* is not a readable Parquet file"):
        hs.study(Counted(), {"x": [1]}, path=tmp_path / "t.parquet")
    for content in ("mine\n", "mine", "{}\n", "[1]\n"):
        (tmp_path / "t.csv.journal").write_text(content)
        with pytest.raises(FileExistsError, match="is in the way"):
            hs.study(Counted(), {"x": [1]}, path=tmp_path / "t.csv")
        assert (tmp_path / "t.csv.journal").read_text() == content
    with pytest.raises(FileNotFoundError, match="its folder does not exist"):
        hs.study(Counted(), {"x": [1]}, path=tmp_path / "none" / "t.csv")


def test_two_at_once(tmp_path):
    path = tmp_path / "t.csv"

    def inner(x):
        with pytest.raises(BlockingIOError, match="another process is writing it"):
            hs.study(inner, {"x": [1]}, path=path)
        return x

    assert hs.study(inner, {"x": [1]}, path=path)["error"].isna().all()


# ---- processes ----

SCRIPT = """
import sys, time
import hetsched as hs

def slow(x, wait):
    time.sleep(wait)
    return x

if __name__ == "__main__":
    jobs, wait = int(sys.argv[1]), float(sys.argv[2])
    grid = {"x": [1, 2, 3], "wait": {"short": 0, "long": wait}}
    frame = hs.study(slow, grid, n_jobs=jobs, path="t.csv")
    print(frame["value"].tolist())
"""


def running(pid):
    """Processes of a session that are not only waited for."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == pid and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


@pytest.mark.few(1)
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize(
    ("jobs", "sent"),
    [
        (1, signal.SIGINT),
        (2, signal.SIGKILL),
        *many([(2, signal.SIGINT), (1, signal.SIGKILL)], []),
    ],
)
def test_a_stopped_program_goes_on(tmp_path, jobs, sent):
    """In the middle of calls that would take ten minutes; no process is left."""
    if jobs > 1:
        pytest.importorskip("joblib", reason="joblib has the processes")
    (tmp_path / "slow.py").write_text(SCRIPT)
    journal = tmp_path / "t.csv.journal"
    program = subprocess.Popen(
        [sys.executable, "slow.py", str(jobs), "600"],
        cwd=tmp_path,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    # the short calls before the long ones
    while not journal.exists() or journal.read_bytes().count(b"\n") < 1 + jobs:
        assert program.poll() is None
        time.sleep(0.02)
    program.send_signal(sent)
    assert program.wait(timeout=60) == -sent
    while running(program.pid):
        time.sleep(0.02)
    kept = [said(line)["run"] for line in journal.read_bytes().splitlines()[1:]]
    assert kept == [0, 2][:jobs]
    done = subprocess.run(
        [sys.executable, "slow.py", "1", "0"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[1, 1, 2, 2, 3, 3]\n"


LATE = """
import os, time
from pathlib import Path
import hetsched as hs

def arrive(name):
    Path(name).touch()
    while not Path("go").exists():
        time.sleep(0.02)

class Late:
    def __reduce__(self):
        return arrive, (f"arrived{os.urandom(4).hex()}",)

def function(x):
    Path("called").touch()
    time.sleep(600)

if __name__ == "__main__":
    import late
    hs.study(late.function, {"x": {"a": late.Late(), "b": late.Late()}}, n_jobs=2)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_processes_do_not_begin_after_their_parent(tmp_path):
    """Killed while both have got a call, and have not called yet."""
    pytest.importorskip("joblib", reason="joblib has the processes")
    (tmp_path / "late.py").write_text(LATE)
    program = subprocess.Popen(
        [sys.executable, "late.py"], cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL
    )
    while len(list(tmp_path.glob("arrived*"))) < 2:
        assert program.poll() is None
        time.sleep(0.02)
    program.kill()
    program.wait(timeout=60)
    (tmp_path / "go").touch()
    while running(program.pid):
        time.sleep(0.02)
    assert not (tmp_path / "called").exists()


def sometimes(x, seed):
    if x % 5 == 3:
        raise ValueError(f"not {x}")
    return [
        {"k": k, "drawn": int(np.random.default_rng(seed).integers(1000))} for k in range(x % 3)
    ]


@pytest.mark.slow
def test_processes_give_the_same():
    pytest.importorskip("joblib", reason="joblib has the processes")
    from joblib.externals.loky import get_reusable_executor

    told = []
    several = hs.study(sometimes, {"x": range(20)}, repeats=2, n_jobs=2, progress=told.append)
    assert_frame_equal(
        without_seconds(several), without_seconds(hs.study(sometimes, {"x": range(20)}, repeats=2))
    )
    assert several["error"].notna().sum() == 8
    assert told == sorted(told)
    assert told[-1] == 1.0
    # more cores than calls
    assert hs.study(lambda x: x, {"x": [1, 2]}, n_jobs=-1)["value"].tolist() == [1, 2]
    get_reusable_executor().shutdown()


# ---- random platforms ----


@given(
    st.sampled_from(hs.datasets.KINDS), st.integers(1, 30), st.integers(0, 2**40),
    st.floats(1, 1e6), st.floats(1e-3, 1e3), st.sampled_from(["star", "complete", "mesh"]),
)  # fmt: skip
def test_random_platforms_are_in_their_ranges(kind, p, seed, ratio, unit, topology):
    make = partial(
        hs.datasets.random, kind, p, seed=seed, ratio=ratio, cycle_time=unit, topology=topology
    )
    platform = make(link_costs=(0.25, 0.5), **({"memory": (3, 7)} if topology == "star" else {}))
    times = platform.cycle_times / unit
    assert len(platform) == p
    assert times.min() >= 1 - 1e-9
    assert times.max() <= ratio * (1 + 1e-9)
    assert (make().cycle_times == platform.cycle_times).all()  # whatever the links
    if kind in ("two-kinds", "zipf") and p > 1:
        assert times.max() / times.min() == pytest.approx(ratio)
    if kind == "two-kinds":
        assert np.isclose(times, 1.0).sum() >= round(p / 2)
    if topology == "star":
        assert ((platform.link_costs >= 0.25) & (platform.link_costs <= 0.5)).all()
        assert set(platform.memory) <= set(range(3, 8))
    elif topology == "complete":
        links = platform.links[~np.eye(p, dtype=bool)]
        assert (platform.links == platform.links.T).all()
        assert ((links >= 0.25) & (links <= 0.5)).all()
    else:
        rows, columns = platform.shape
        assert rows * columns == p
        assert all(p % k for k in range(rows + 1, columns))


def test_kinds_of_speeds():
    """By their means, of many: 0.55, and logarithms in units of log(ratio)."""
    found = {
        kind: hs.datasets.random(kind, 4000, seed=5).speeds
        for kind in ("uniform", "loguniform", "lognormal")
    }
    assert found["uniform"].mean() == pytest.approx(0.55, abs=0.02)
    for kind, deviation in (("loguniform", 12**-0.5), ("lognormal", 0.25 * 0.88)):
        logarithms = np.log10(found[kind])
        assert logarithms.mean() == pytest.approx(-0.5, abs=0.02)
        assert logarithms.std() == pytest.approx(deviation, abs=0.01)
    few = hs.datasets.random("two-kinds", 10, seed=1, fast=0.2)
    assert np.isclose(few.cycle_times, 1.0).sum() == 2
    assert sorted(hs.datasets.random("zipf", 3, seed=2, ratio=3).speeds) == pytest.approx(
        [1 / 3, 1 / 2, 1]
    )
    assert hs.datasets.random("uniform", 9, seed=3) != hs.datasets.random("uniform", 9, seed=4)
    star = hs.datasets.random("equal", 500, seed=1, memory=(3, 5))
    assert set(star.memory) == {3, 4, 5}
    assert set(star.cycle_times) == {1.0}


def test_random_platforms_stay_as_they_are():
    platform = hs.datasets.random("uniform", 3, seed=1, link_costs=(1, 2), memory=(10, 1000))
    assert platform.speeds.tolist() == pytest.approx(SPEEDS)
    assert platform.link_costs.tolist() == pytest.approx(LINKS)
    assert platform.memory == MEMORY


SPEEDS, LINKS, MEMORY = (
    [0.715650123, 0.188617673, 0.289627542],
    [1.537143437, 1.424093791, 1.278254876],
    (689, 459, 294),
)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "normal"}, "kind must be one of equal, uniform"),
        ({"p": 0}, "p must be in"),
        ({"seed": -1}, "seed must be in"),
        ({"ratio": 0.5}, "ratio must be at least 1"),
        ({"fast": 1.5}, "fast must be at most 1, got 1.5"),
        ({"cycle_time": 0}, "cycle_time must be greater than 0"),
        ({"cycle_time": 1e300, "ratio": 1e300}, "cycle_time times ratio overflows"),
        ({"topology": "ring"}, "topology must be one of star, complete, mesh"),
        ({"link_costs": (2, 1)}, r"link_costs must be the least and the largest, got \(2, 1\)"),
        ({"link_costs": (1, 2, 3)}, r"link_costs must be .* got shape \(3,\)"),
        ({"link_costs": -1}, r"link_costs\[0\] must be finite and not negative"),
        ({"memory": 2.5}, "memory must be an integer"),
        ({"memory": 5, "topology": "mesh"}, "memory is for a star"),
    ],
)
def test_random_mistakes(options, words):
    with pytest.raises(ValueError, match=words):
        hs.datasets.random(**{"kind": "uniform", "p": 4, "seed": 1} | options)


# ---- studies by name ----


@pytest.mark.parametrize("name", ready.READY)
def test_studies_by_name(name):
    """Small ones of each: no call fails, none is better than its bound or than the best, and the
    seed says it all."""
    study = ready.READY[name]
    grid = {key: values[:2] for key, values in study.grid.items()}
    frame = hs.study(study.function, grid, repeats=2)
    assert frame["error"].isna().all()
    ratios = frame["ratio"] if name == "static2001" else frame["relative"]
    assert (ratios >= 1 - 1e-12).all()
    if "bound" in frame:
        cost = frame["cost" if "cost" in frame else "makespan"]
        assert (cost >= frame["bound"] * (1 - 1e-12)).all()
    row = frame.iloc[0]
    first = study.function(
        **{key: values[0] for key, values in grid.items()}, seed=int(row["seed"])
    )
    assert len(first) == len(frame[frame["seed"] == row["seed"]])
    assert all(row[key] == value for key, value in first[0].items())


def test_equal_stars():
    """Of eight equal workers the paper's two methods for such are one."""
    rows = ready.ppopp2008(1.0, 400, 3)
    found = {row["method"]: row["makespan"] for row in rows}
    assert found["hom"] == found["homi"]


def test_the_heuristic_meets_the_best_ring_or_is_above():
    greedy, exact = ready.rings(10.0, 8, 5)
    assert exact["relative"] == 1.0
    assert greedy["makespan"] >= exact["makespan"]


# ---- the command ----

TOML = """
function = "mine:area"
repeats = 2
seed = 3
[grid]
height = [1, 2]
width = {small = 3, large = 300}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    Path("mine.py").write_text(
        "word = 'x'\ndef area(height, width=1.0, seed=0):\n    return {'area': height * width}\n"
    )
    Path("study.toml").write_text(TOML)
    return tmp_path


def shown(capsys, *arguments):
    assert cli.main(["study", *map(str, arguments)]) == 0
    return capsys.readouterr()


def test_command(folder, capsys):
    out, said = shown(capsys, "study.toml", "-o", "t.csv")
    assert said == ""
    assert out.startswith("t.csv: 8 rows, 0 with an error, ")
    table = pandas.read_csv("t.csv")
    assert table["area"].tolist() == [3, 3, 300, 300, 6, 6, 600, 600]
    assert table["width"].tolist() == ["small", "small", "large", "large"] * 2
    rows = json.loads(shown(capsys, "study.toml", "--json").out)
    assert [row["seed"] for row in rows] == table["seed"].tolist()
    assert {row["error"] for row in rows} == {None}
    assert len(shown(capsys, "study.toml", "--repeats", 1).out.splitlines()) == 6
    other = json.loads(shown(capsys, "study.toml", "--seed", 4, "--json").out)
    assert not {row["seed"] for row in other} & set(table["seed"])


def test_command_says_what_failed(folder, capsys):
    Path("study.toml").write_text(
        'function = "mine:area"\n[[grid]]\nheight = "a"\n[[grid]]\nheight = "b"\nwidth = 2\n'
    )
    out, said = shown(capsys, "study.toml")
    assert out.splitlines()[-1].startswith("2 rows, 1 with an error, ")
    assert said.startswith(
        "hetsched: 1 of 2 rows have an error, the first: TypeError: can't multiply sequence"
    )
    assert "nan" not in out


def test_random_design_of_a_file(folder, capsys):
    pytest.importorskip("scipy.stats", reason="SciPy has the distributions")
    design = (
        'samples = 30\n[grid]\nheight = {distribution = "uniform", loc = 5, scale = 2}\nwidth = [1,'
        " 2]\n"
    )
    Path("study.toml").write_text(f'function = "mine:area"\n{design}')
    rows = json.loads(shown(capsys, "study.toml", "--json").out)
    assert len(rows) == 30
    assert all(5 <= row["height"] <= 7 for row in rows)
    assert {row["width"] for row in rows} == {1, 2}


def test_list(capsys):
    lines = shown(capsys, "--list").out.splitlines()
    assert [line.split()[0] for line in lines] == list(ready.READY)


@pytest.mark.slow
@needs_arrow
def test_the_examples_of_the_help_work(folder, capsys):
    pytest.importorskip("joblib", reason="joblib has the processes")
    pytest.importorskip("scipy.stats", reason="SciPy has the distributions")
    with pytest.raises(SystemExit):
        cli.main(["study", "--help"])
    text = capsys.readouterr().out
    content = text.partition("study.toml, for a named study")[2].partition("\n")[2]
    lines = [line.split("   ")[0].strip() for line in content.replace("  ", "", 1).splitlines()]
    lines = [
        line.replace("package.module:function", "mine:area")
        for line in lines
        if " = " in line or line.startswith("[")
    ]
    lines = [
        line.replace("p = ", "width = ").replace("ratio = ", "height = ")
        for line in lines
        if not line.startswith("With")
    ]
    Path("study.toml").write_text("samples = 100\n" + "\n".join(lines))
    commands = [
        line.split("    ")[0].split()
        for line in text.splitlines()
        if line.startswith("  hetsched study")
    ]
    assert len(commands) == 3
    for command in commands:
        shown(capsys, *command[2:])
    assert len(pandas.read_csv("rings.csv")) == 60
    assert len(pandas.read_parquet("results.parquet")) == 1000


@pytest.mark.parametrize(
    ("arguments", "toml", "words"),
    [
        ([], None, "give a .toml file or the name of a study; --list shows the names"),
        (["nothing"], None, "unknown study 'nothing'; give one of static2001, rings"),
        (["none.toml"], None, "none.toml: No such file"),
        (
            ["study.toml", "-o", "t.xlsx"],
            None,
            "--output must end in .parquet or .csv, got 't.xlsx'",
        ),
        (["study.toml", "-o", "nowhere/t.csv"], None, "--output: there is no folder 'nowhere'"),
        (["study.toml", "--jobs", "0"], None, "--jobs must be"),
        (["study.toml", "--repeats", "0"], None, "repeats must be in"),
        (["study.toml"], "x = ", "study.toml: "),
        (
            ["study.toml"],
            "functoin = 'a:b'",
            "unknown key 'functoin' in study.toml; did you mean 'function'?",
        ),
        (["study.toml"], "seed = 1", "study.toml: give either study, a name, or function"),
        (
            ["study.toml"],
            "study = 'layers'\nfunction = 'a:b'",
            "study.toml: give either study, a name, or function",
        ),
        (
            ["study.toml"],
            "function = 'mine'",
            "study.toml: function must be 'package.module:function', got 'mine'",
        ),
        (
            ["study.toml"],
            "function = 'missing:f'",
            "function 'missing:f' cannot be imported: ModuleNotFoundError",
        ),
        (
            ["study.toml"],
            "function = 'mine:f'",
            "function 'mine:f' cannot be imported: AttributeError",
        ),
        (["study.toml"], "function = 'mine:word'", "function 'mine:word' is a str"),
        (["study.toml"], "function = 'mine:area'\ngrid = 3", "study.toml: grid must be a table"),
        (
            ["study.toml"],
            "function = 'mine:area'\ngrid = {depth = [1]}",
            "function mine:area does not take what grid gives",
        ),
        (
            ["study.toml"],
            "function = 'mine:area'\ngrid = {height = {distribution = 'none'}}",
            "scipy.stats has no distribution",
        ),
        (
            ["study.toml"],
            "function = 'mine:area'\ngrid = {height = {distribution = 'norm', x = 1}}",
            "grid.height: ",
        ),
        (["study.toml"], "study = 'layers'\ngrid = {q = [1]}", "does not take what grid gives"),
    ],
)
def test_mistakes_of_the_command(folder, capsys, arguments, toml, words):
    if toml is not None:
        if "distribution" in toml:
            pytest.importorskip("scipy.stats", reason="SciPy has the distributions")
        Path("study.toml").write_text(toml)
    before = sorted(os.listdir())
    assert cli.main(["study", *arguments]) == 1
    out, said = capsys.readouterr()
    assert said.startswith("hetsched: ")
    assert len(said.splitlines()) == 1
    assert words in said
    assert out == ""
    assert sorted(name for name in os.listdir() if name != "__pycache__") == before


def test_an_interrupted_command(folder, capsys):
    Path("mine.py").write_text("def area(height, width):\n    raise KeyboardInterrupt\n")
    assert cli.main(["study", "study.toml", "-o", "t.csv"]) == 130
    assert (
        capsys.readouterr().err == "hetsched: interrupted; run the same command again to continue\n"
    )


@pytest.mark.parametrize("kind", hs.datasets.KINDS)
def test_a_stack_of_random_platforms(kind):
    one = hs.datasets.random(kind, 7, 5, ratio=3, cycle_time=2.0)
    stack = hs.datasets.random(kind, 7, 5, ratio=3, cycle_time=2.0, size=(2, 3))
    assert stack.shape == (2, 3, 7)
    assert stack[0, 0].tolist() == one.cycle_times.tolist()
    assert ((stack >= 2.0) & (stack <= 6.0 * (1 + 1e-12))).all()
    if kind not in ("equal", "two-kinds"):
        assert len({row.tobytes() for row in stack.reshape(6, 7)}) == 6
    for row in stack.reshape(6, 7):
        if kind in ("two-kinds", "zipf"):
            assert sorted(row) == sorted(one.cycle_times)
    assert hs.datasets.random(kind, 7, 5, size=0).shape == (0, 7)
    assert hs.datasets.random(kind, 1, 5, size=2).shape == (2, 1)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"size": -1}, ValueError, "size must be in"),
        ({"size": 1.5}, ValueError, "size must be an integer"),
        ({"size": 2, "topology": "mesh"}, ValueError, "size is for stars"),
        ({"size": 2, "link_costs": 1.0}, ValueError, "size is for stars"),
        ({"size": 2, "memory": 9}, ValueError, "size is for stars"),
    ],
)
def test_stacks_that_are_refused(options, error, words):
    with pytest.raises(error, match=words):
        hs.datasets.random("uniform", 4, 1, **options)


def test_paths_are_known_by_all_of_their_parts(tmp_path):
    frame = hs.study(lambda file: len(file.parts), {"file": [Path("a/x"), Path("a/b/x")]})
    assert frame["file"].tolist() == ["a/x", "a/b/x"]
    kept = tmp_path / "study.csv"
    hs.study(lambda file: 1, {"file": [Path("old/x")]}, path=kept)
    with pytest.raises(ValueError, match="belongs to another study"):
        hs.study(lambda file: 2, {"file": [Path("new/x")]}, path=kept)
