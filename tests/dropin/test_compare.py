"""`hetsched exec --compare`."""

from __future__ import annotations

import io
import subprocess
import sys

import dropin_calls as calls
import pytest

from hetsched.cli.compare import Difference, difference


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("", "", None),
        ("a 1\nb 2\n", "a 1\nb 2\n", None),
        ("a 1.0\n", "a 1.00\n", None),  # other digits, the same number
        ("[ 1.5 -2.5]\n", "[1.5   -2.5]\n", None),  # widths do not count
        ("nan -inf\n", "nan -inf\n", None),
        ("a 1\nb 4\nc 100\n", "a 1\nb 5\nc 101\n", Difference(2, (b"4", b"5"), 0.2)),
        ("1e-3\n", "-1e-3\n", Difference(1, (b"1e-3", b"-1e-3"), 2.0)),
        ("0\n", "0.5\n", Difference(1, (b"0", b"0.5"), 1.0)),
        ("1\n", "inf\n", Difference(1, (b"1", b"inf"), float("inf"))),
        ("1\n", "nan\n", Difference(1, (b"1", b"nan"), float("inf"))),
        ("a 1\n", "b 1\n", Difference(1)),
        ("#\n", "5\n", Difference(1)),
        ("1 2\n", "1 2 3\n", Difference(1)),
        ("1\n2\n", "1\n", Difference(2)),
        ("1\n", "1\n2\n", Difference(2)),
        ("1", "1\n", None),
        ("1 2\n" * 9 + "x\n", "1 3\n" * 9 + "y\n", Difference(10)),
    ],
)
def test_difference(one, other, expected):
    for text, its, found in ((one, other, expected), (other, one, expected and _swapped(expected))):
        assert difference(io.BytesIO(text.encode()), io.BytesIO(its.encode())) == found


def _swapped(found):
    return found._replace(numbers=found.numbers and found.numbers[::-1])


def test_outputs_that_are_no_text():
    raw = bytes(range(256)) * 40
    assert difference(io.BytesIO(raw), io.BytesIO(raw)) is None
    assert difference(io.BytesIO(raw), io.BytesIO(raw[:-1] + b"\0")).numbers is None


def compared(*command, turns=2, stdin=None):
    calls.skip_without_library()
    words = [sys.executable, "-m", "hetsched", "exec", "--compare", str(turns), "--", *command]
    return subprocess.run(
        words, capture_output=True, text=True, timeout=300, check=False, stdin=stdin
    )


@pytest.mark.slow
def test_table_and_outputs():
    program = "import numpy as np; a = np.ones((300, 300)); print((a @ a).sum())"
    done = compared(sys.executable, "-c", program, turns=3)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["run", "without", "with", "hetsched", "ratio"]
    assert [line.split()[0] for line in lines[1:4]] == ["1", "2", "3"]
    assert lines[4].startswith("With hetsched the program is ")
    assert lines[5:] == [
        "Output with and without: the same.",
        "Output of two runs without: the same.",
    ]


@pytest.mark.slow
def test_each_run_reads_the_same_file(tmp_path):
    path = tmp_path / "numbers"
    path.write_text("skipped\n1 2\n3\n")
    with path.open("rb") as file:
        file.seek(8)
        done = compared("sh", "-c", 'read a && test "$a" = "1 2"', stdin=file)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_other_input_is_empty():
    reader, writer = subprocess.PIPE, None
    calls.skip_without_library()
    process = subprocess.Popen(
        [sys.executable, "-m", "hetsched", "exec", "--compare", "1", "--", "cat"],
        stdin=reader,
        stdout=subprocess.PIPE,
        stderr=writer,
    )
    out = process.stdout.read()  # the pipe stays open: a run that read it would not end
    assert process.wait(120) == 0
    process.stdin.close()
    process.stdout.close()
    assert b"Output with and without: the same." in out


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("end", "status", "words"), [("exit 3", 3, "status 3"), ("kill -TERM $$", -15, "signal 15")]
)
def test_a_program_that_fails(end, status, words):
    done = compared("sh", "-c", end)
    assert done.returncode == status
    assert done.stdout == ""
    assert f"a run without hetsched ended with {words}" in done.stderr


@pytest.mark.slow
def test_a_program_that_fails_with_hetsched_only():
    done = compared("sh", "-c", 'case "$LD_PRELOAD" in *hetsched*) exit 4; esac')
    assert done.returncode == 4
    assert "a run with hetsched ended with status 4" in done.stderr


@pytest.mark.few(1)
@pytest.mark.parametrize("turns", ["0", "-1"])
def test_refused(turns):
    done = compared("true", turns=turns)
    assert done.returncode == 1
    assert "--compare must be" in done.stderr
