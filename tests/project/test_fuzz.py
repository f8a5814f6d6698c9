"""A short run of the fuzz harness, and the harness itself: that it finds what is there, and leaves
nothing out unsaid."""

import io
import subprocess
import sys
from pathlib import Path
from random import Random

import fuzz
import fuzz_values
import numpy as np
import pytest
from inputs import many
from instances import forged

import hetsched as hs


@pytest.fixture(autouse=True)
def _where_files_may_be_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_everything_public_is_fuzzed_or_left_out_with_a_reason():
    called = set(fuzz_values.targets()) - set(fuzz.LEFT_OUT)
    assert set(hs.__all__) <= called | set(fuzz.LEFT_OUT)
    # nothing that is gone
    assert set(fuzz.LEFT_OUT) <= set(hs.__all__) | set(fuzz_values.targets())
    assert all(fuzz.LEFT_OUT.values())


def test_calls_depend_on_seed_and_number_only():
    first, again, other = (
        [str(fuzz.drawn(seed, n, None)[1]) for n in range(30)] for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.slow
def test_every_function_accepts_some_calls_and_refuses_others():
    """Of the planners: a function all of whose calls are refused would not be tested."""
    for name in (
        "distribute",
        "partition",
        "wavefront",
        "lu_pattern",
        "assign",
        "layers_star",
        "cuboids",
        "plan_lu",
        "layers_network",
    ):
        outcomes = set()
        target = fuzz_values.targets()[name]
        for number in range(60):
            call = fuzz_values.Draw(Random(f"{name}{number}")).call(target)
            if not fuzz._is_small(call):  # there is no limit of time here
                continue
            with np.errstate(all="ignore"):
                outcomes.add(fuzz.attempt(target, call)[0])
        assert {"accepted", "refused"} <= outcomes, name


def _target(function):
    return fuzz_values._target("planted", None, "planted", function)


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda n: [][n], "IndexError"),
        (lambda n: int("x"), "ValueError not meant"),
        (lambda n: np.float64(1e308) * 10 * n, "RuntimeWarning"),
        (lambda n: n / 0, "ZeroDivisionError"),
    ],
)
def test_it_finds_what_nobody_meant(function, kind, monkeypatch):
    import warnings

    monkeypatch.setitem(fuzz_values.SPACE, "planted", function)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(fuzz.Finding) as found:
            fuzz.attempt(_target(function), fuzz_values.Call("planted", (("n", "3"),), ()))
    assert found.value.kind == kind


def test_it_finds_a_changed_argument(monkeypatch):
    def planted(a):
        a[0] = 7.0

    monkeypatch.setitem(fuzz_values.SPACE, "planted", planted)
    with pytest.raises(fuzz.Finding, match="a") as found:
        fuzz.attempt(_target(planted), fuzz_values.Call("planted", (("a", "np.zeros(2)"),), ()))
    assert found.value.kind == "argument changed"


def test_it_finds_a_false_claim():
    plan = hs.distribute(10, [3, 5, 8])
    fuzz._claims(plan)
    for change in ({"bound": 17.0}, {"bound": 1.0}):
        with pytest.raises(AssertionError):
            fuzz._claims(forged(plan, **change))


@pytest.mark.slow
def test_it_survives_crashes_and_calls_without_end(tmp_path):
    """A call that never returns, and one that kills the process, are findings; the calls after them
    are made."""
    program = tmp_path / "planted.py"
    program.write_text(
        f"import sys; sys.path.insert(0, {str(Path(fuzz.__file__).parent)!r})\n"
        "import os, signal, fuzz, fuzz_values, hetsched as hs\n"
        "fuzz.__file__ = __file__\n"
        "def drawn(seed, number, only):\n"
        "    target = fuzz_values.targets()['distribute']\n"
        "    call = {1: 'stuck', 2: 'killed', 4: 'loud'}.get(number, 'hs.distribute')\n"
        "    return target, fuzz_values.Call(call, (('n', '3'), ('cycle_times', '[1, 2]')), ())\n"
        "fuzz_values.SPACE['stuck'] = lambda *a: sum(iter(int, 1))\n"
        "fuzz_values.SPACE['loud'] = lambda *a: os.write(1, b'loud\\n') and hs.distribute(*a)\n"
        "fuzz_values.SPACE['killed'] = lambda *a: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "fuzz.drawn = drawn\n"
        "if '--child' in sys.argv:\n"
        "    sys.exit(fuzz.main())\n"
        "for report in fuzz.batch(1, 0, 5, None, 3.0):\n"
        "    print(report['number'], report['outcome'], report.get('kind'), flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=120, check=False
    )
    wanted = [
        "0 accepted None",
        "1 finding no end",
        "2 finding signal 11",
        "3 accepted None",
        "3 finding prints",
        "4 accepted None",
    ]
    assert done.stdout.splitlines() == wanted, done


def test_nothing_is_found():
    """The same calls each time; a longer run is `make fuzz`, where each call has less time."""
    out = io.StringIO()
    found = fuzz.fuzz(seed=1, calls=many(2000, 80), seconds=None, only=None, limit=20.0, out=out)
    assert not found, out.getvalue()
