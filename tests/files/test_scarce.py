"""Products of files without memory enough: the output is as it was, nothing is left running, and
the next call works."""

import os
import re
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from inputs import many

import hetsched as hs
from hetsched.files import plan as files_plan
from hetsched.files import product
from hetsched.files.journal import Journal
from hetsched.files.output import OutputFile
from hetsched.files.stored import Raw


class Scarce:
    """A function of which the call number k, from 0 on, finds no memory."""

    def __init__(self, function, k):
        self.function, self.k, self.calls, self.lock = function, k, 0, threading.Lock()

    def wrapped(self):
        def call(*arguments, **options):
            with self.lock:
                self.calls += 1
                failed = self.calls == self.k + 1
            if failed:
                raise MemoryError
            return self.function(*arguments, **options)

        return call


@pytest.fixture
def operands(tmp_path, monkeypatch):
    """Files for a product of several tiles and chunks, with an output of an earlier one."""
    monkeypatch.setattr(files_plan, "RESERVE", 0)
    monkeypatch.setattr(os, "fsync", lambda file: None)
    rng = np.random.default_rng(1)
    a, b = rng.integers(-9, 9, (3, 4)).astype(float), rng.integers(-9, 9, (4, 2)).astype(float)
    (
        np.save(tmp_path / "A.npy", a),
        np.save(tmp_path / "B.npy", b),
        np.save(tmp_path / "C.npy", np.full((2, 2), 7.0)),
    )
    return tmp_path, a @ b


def unharmed(folder):
    np.testing.assert_array_equal(np.load(folder / "C.npy"), np.full((2, 2), 7.0))
    assert not [t.name for t in threading.enumerate() if t.name.startswith("hetsched ")]


def least(folder):
    """As little memory as there must be: several tiles, each in several chunks."""
    files = folder / "A.npy", folder / "B.npy", folder / "C.npy"
    with pytest.raises(hs.InfeasibleError) as caught:
        hs.plan_files(*files, memory=1)
    memory = int(re.search(r"at least (\d+) are", str(caught.value))[1])
    rows, columns, chunks = hs.plan_files(*files, memory=memory).grid
    assert rows * columns > 1
    assert chunks > 1
    return memory


PLACES = {
    "buffers": (np, "empty"),
    "what the engine needs": (product, "accumulate"),
    "reading": (Raw, "read"),
    "writing": (Raw, "write"),
    "the journal's tiles": (Journal, "add"),
    "the journal's head": (Journal, "describe"),
    "what is around the elements": (OutputFile, "frame"),
    "threads": (threading.Thread, "start"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("place", PLACES)
def test_a_call_that_finds_no_memory_leaves_the_output(operands, monkeypatch, place, resumed):
    folder, expected = operands
    memory = least(folder)
    owner, name = PLACES[place]
    function = getattr(owner, name)
    for k in range(1000):
        if not resumed:
            for left in ("C.npy.partial", "C.npy.journal"):
                (folder / left).unlink(missing_ok=True)
        scarce = Scarce(function, k)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, scarce.wrapped())
            try:
                hs.matmul_files(folder / "A.npy", folder / "B.npy", folder / "C.npy", memory=memory)
            except MemoryError:
                assert scarce.calls > k
            else:
                assert scarce.calls <= k
                break
        unharmed(folder)
    assert k > 0
    np.testing.assert_array_equal(np.load(folder / "C.npy"), expected)
    assert sorted(os.listdir(folder)) == ["A.npy", "B.npy", "C.npy"]


@pytest.mark.slow
def test_a_process_without_memory_leaves_the_output(operands):
    """The system refuses what the process asks for: it ends with the product or with MemoryError,
    and never with half of it."""
    folder, expected = operands
    program = """
    import resource, sys
    import numpy as np
    import hetsched as hs
    from hetsched.files import plan as files_plan
    files_plan.RESERVE = 0
    pool = hs.Pool(2)
    pool.matmul(np.ones((9, 9)), np.ones((9, 9)))
    product = hs.matmul_files  # Python reports no MemoryError where an import lacks memory
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]),) * 2)
    try:
        product("A.npy", "B.npy", "C.npy", memory=8 << 20, pool=pool)
    except MemoryError:
        print("no memory")
    except RuntimeError as error:
        assert str(error) == "can't start new thread", error  # there is none for its stack
        print("no memory")
    else:
        print("done")
    """
    said = set()
    for room in (0, 1 << 20, 1 << 30, *many((1 << 16, 1 << 18, 1 << 22), ())):
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), str(room)],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        # the C library ends the process
        if "cannot allocate memory for thread-local data" in run.stderr:
            run.stdout = "no memory"
        else:
            assert run.returncode == 0, run.stderr
        said.add(run.stdout.strip())
        if run.stdout.strip() == "done":
            np.testing.assert_array_equal(np.load(folder / "C.npy"), expected)
            np.save(folder / "C.npy", np.full((2, 2), 7.0))
        else:
            unharmed(folder)
    assert said == {"done", "no memory"}
