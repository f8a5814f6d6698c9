"""What every test starts from."""

import faulthandler
import gc
import math
import os
import signal
import sys
import time
from itertools import count
from pathlib import Path

# What is compared with is computed by one thread: more of them would spin on cores that others
# need. Before NumPy is loaded.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# In the programs that tests start it has more; they wait asleep.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

# Modules are compiled once, even where the environment says to keep no bytecode: tests start
# hundreds of programs, and compiling the package takes most of them longer than their work.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import combinations
import pytest
from hypothesis import settings
from inputs import many

from hetsched.plan import Plan

sys.dont_write_bytecode = False

# The number of examples is that of the profile, unless a test needs another. With few, in "make
# test", they are the same in each run.
settings.register_profile("all", deadline=None, max_examples=200)
settings.register_profile("few", deadline=None, max_examples=15, derandomize=True)
settings.load_profile(many("all", "few"))

# a failure in it shows its values, as those of tests do
pytest.register_assert_rewrite("interrupted")

# Also the plans that our planners make are checked whole.
Plan.checks_own = True

_tests = count()

#: Files that take longest, with all inputs or with few.
LONG = (
    "test_aarch64",
    "test_notebooks",
    "test_mpi_product",
    "test_docs",
    "test_plans",
    "test_cli",
    "test_fuzz",
    "test_mpi_workers",
    "test_c_library",
    "test_gallery",
    "test_dropin_programs",
    "test_star",
    "test_outofcore",
    "test_reproduce",
)

# as in a shell's background, or under nohup: programs that a test interrupts inherit it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


#: Where a process says that it hangs: standard error, outside pytest's capture. And since when.
_watch = {"to": 2, "since": -math.inf}
#: Seconds after which it says so, and ends.
_PATIENCE = float(os.environ.get("HS_TEST_PATIENCE", "760"))


def pytest_configure(config):
    """A process that dies ends the run with an error. With `--dist loadfile` the others may wait
    for ever for its successor."""
    config.option.maxworkerrestart = "0"
    _watch["to"] = os.dup(2)  # pytest does not capture it now
    worker, given = os.environ.get("PYTEST_XDIST_WORKER"), config.option
    # pytest takes files that are named, even if it is to ignore them
    if worker and not (given.ignore or given.ignore_glob):
        config.args[:] = _in_turn(
            config.args, int(worker[2:]), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        )


def _in_turn(args, process, processes):
    """The files of the arguments, each process beginning with others. pytest rewrites the asserts
    of a file that it reads for the first time, which takes as long as all else that it does with
    it. So each process finds most files as another one has left them."""
    files = [
        str(file)
        for arg in args
        for file in (sorted(Path(arg).rglob("test_*.py")) if Path(arg).is_dir() else [arg])
    ]
    first = len(files) * process // processes
    return files[first:] + files[:first]


def pytest_runtest_setup():
    """A test that no signal interrupts ends the process after 700 to 760 seconds, and with it the
    run. pytest's own `faulthandler_timeout` starts and ends a thread for each test, which takes
    longer than most tests."""
    if time.monotonic() > _watch["since"] + 60:
        faulthandler.dump_traceback_later(_PATIENCE, exit=True, file=_watch["to"])
        _watch["since"] = time.monotonic()


def pytest_exception_interact():
    """After a failure pytest ends all watches of faulthandler: the next test begins another."""
    _watch["since"] = -math.inf


def pytest_unconfigure():
    faulthandler.cancel_dump_traceback_later()


def pytest_collection(session):
    """Thousands of tests and what they import stay until the end: no collection of garbage goes
    through them, now or later."""
    gc.disable()


@pytest.hookimpl(trylast=True)  # after the choices of -m and -k
def pytest_collection_modifyitems(config, items):
    """Few combinations of parameters, in "make test". And the longest files first, so that at the
    end no process waits for the other: xdist takes the files in this order."""
    if many(False, True):
        kept = combinations.few_of(items)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    items.sort(
        key=lambda item: (
            LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG),
            item.path,
        )
    )


def pytest_collection_finish(session):
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """No measurement of this machine's speeds: neither the user's nor another test's, nor do theirs
    reach the user."""
    monkeypatch.setenv(
        "XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / f"cache-{next(_tests)}")
    )
