"""Where the workers of the drop-in library run: within the mask that the program has, however and
whenever it was set."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import dropin_calls as calls
import mpi_run
import pytest
from inputs import many
from openmp import BINDINGS, CPUS, ONE, OTHER, RUNTIMES, is_there

import hetsched as hs
from hetsched.machine import dropin

calls.skip_without_library()
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="one cpu has one mask")
BOTH = f"{ONE},{OTHER}"
needs_taskset = pytest.mark.skipif(shutil.which("taskset") is None, reason="there is no taskset")


def results(code, *before, **changes):
    """What a program prints as JSON, a value of each line, behind the words `before`."""
    command = [*before, sys.executable, "-c", f"from dropin_masks import *\n{code}"]
    environment = calls.environment(False, **changes)
    done = subprocess.run(
        list(map(str, command)),
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("[", "{"))]


LOOK = "tell(look(patience=20))"


def is_inside(found):
    """Of `look`: a worker on each cpu of the mask and none elsewhere; none at all where it is
    one."""
    mask, workers, count = found
    return workers == ([[cpu] for cpu in mask] if len(mask) > 1 else []) and count == len(mask)


# ---- launchers -----------------------------------------------------------------------------------


@pytest.mark.few(1)
@needs_taskset
@pytest.mark.parametrize("cpus", [(ONE,), (OTHER,)], ids=str)
def test_taskset(cpus):
    (found,) = results(LOOK, "taskset", "-c", ",".join(map(str, cpus)))
    assert found[0] == list(cpus)
    assert is_inside(found)


@pytest.mark.skipif(shutil.which("numactl") is None, reason="there is no numactl")
@pytest.mark.parametrize("cpus", [(OTHER,), (ONE, OTHER)], ids=str)
def test_numactl(cpus):
    (found,) = results(LOOK, "numactl", "-C", ",".join(map(str, cpus)))
    assert found[0] == list(cpus)
    assert is_inside(found)


#: As srun and mpiexec do: so many processes, each with a mask of its own, one after the other on
#: this machine.
LAUNCHER = """
import os, sys
masks = [[int(cpu) for cpu in each.split(",")] for each in sys.argv[1].split("/")]
children = []
for rank, mask in enumerate(masks):
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, mask)
        os.environ["SLURM_LOCALID"] = str(rank)
        os.execvp(sys.argv[2], sys.argv[2:])
    children.append(child)
sys.exit(any([os.waitpid(child, 0)[1] for child in children]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("masks", [f"{ONE}/{OTHER}", f"{OTHER}/{BOTH}/{ONE}"])
def test_ranks_with_masks_of_their_own(masks):
    found = results(LOOK, sys.executable, "-c", LAUNCHER, masks)
    assert sorted(each[0] for each in found) == sorted(
        [int(x) for x in mask.split(",")] for mask in masks.split("/")
    )
    assert all(map(is_inside, found))


@pytest.mark.slow
@pytest.mark.parametrize("binding", ["core", "none"])
def test_mpiexec(binding):
    command = [*mpi_run.mpiexec(), "2"]
    said = subprocess.run(
        [command[0], "--version"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    if "Open MPI" not in said:
        pytest.skip("the words for its binding are Open MPI's")
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    found = results(LOOK, *command, "--bind-to", binding, **root)
    assert len(found) == 2
    assert all(map(is_inside, found))
    if binding == "none":
        assert [each[0] for each in found] == [sorted(os.sched_getaffinity(0))] * 2


@pytest.mark.slow
def test_exec_itself():
    """The cpus of exec's own mask, of which the program has the other half."""
    code = f"from dropin_masks import *\n{LOOK}"
    command = [
        sys.executable,
        "-m",
        "hetsched",
        "exec",
        "--least",
        "0",
        "--",
        sys.executable,
        "-c",
        LAUNCHER,
        f"{ONE}/{OTHER}",
    ]
    given = calls.environment(False, LD_PRELOAD=None, HETSCHED_BLAS_CORES=None)
    done = subprocess.run(
        [*command, sys.executable, "-c", code],
        env=given,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == 2
    assert all(map(is_inside, found))


# ---- masks that change ---------------------------------------------------------------------------

STEPS = [[ONE, OTHER], [ONE], [OTHER], [ONE, OTHER], [OTHER], [ONE, OTHER]]
CHANGE = {
    "by the program": "os.sched_setaffinity(0, mask)",
    "by taskset": "taskset(mask)",
    "by taskset, of all threads": "taskset(mask, '-a')",
}


@pytest.mark.slow
@needs_taskset
@pytest.mark.parametrize("how", CHANGE)
def test_a_mask_that_changes_while_the_program_runs(how):
    found = results(f"for mask in {STEPS}:\n    {CHANGE[how]}\n    {LOOK}")
    assert [each[0] for each in found] == STEPS
    assert all(map(is_inside, found))


@pytest.mark.slow
def test_workers_that_move():
    """Two places for each cpu: two workers wherever the program is."""
    code = f"for mask in {STEPS}:\n    os.sched_setaffinity(0, mask)\n    tell(look())"
    for mask, workers, count in results(code, HETSCHED_BLAS_CORES=f"{ONE},{ONE},{OTHER},{OTHER}"):
        # OpenBLAS is to use two threads. Of four places they may have any, of two each has one
        assert workers == [mask] * 2
        assert count == 2 * len(mask)


@pytest.mark.slow
def test_threads_with_masks_of_their_own():
    """A thread that is pinned has the places of its own mask; the others go on as before."""
    code = f"""
import threading
def pinned(cpu):
    os.sched_setaffinity(0, [cpu])
    {LOOK}
for cpu in {CPUS}:
    {LOOK}
    thread = threading.Thread(target=pinned, args=(cpu,))
    thread.start()
    thread.join()
    {LOOK}
"""
    found = results(code)
    assert [each[0] for each in found] == [CPUS, [ONE], CPUS, CPUS, [OTHER], CPUS]
    assert all(map(is_inside, found))


@pytest.mark.slow
def test_threads_of_different_masks_at_once():
    code = f"""
import threading
wrong = []
def work(mask):
    BEFORE.add(threading.get_native_id())
    os.sched_setaffinity(0, mask)
    for turn in range(40):
        if not np.allclose(A @ A, RIGHT): wrong.append(turn)
masks = [{ONE}], [{OTHER}], {CPUS}, {CPUS}, [{ONE}]
threads = [threading.Thread(target=work, args=(mask,)) for mask in masks]
for thread in threads: thread.start()
for turn in range(40): look()
for thread in threads: thread.join()
tell(wrong)
{LOOK}
"""
    wrong, found = results(code)
    assert wrong == []
    assert is_inside(found)


def test_a_forked_child_with_another_mask():
    code = f"""
{LOOK}
child = os.fork()
if child == 0:
    os.sched_setaffinity(0, [{OTHER}])
    A @ A
    BEFORE.update(tasks())  # OpenBLAS has started new ones
    {LOOK}
    os.sched_setaffinity(0, {CPUS})
    {LOOK}
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
{LOOK}
"""
    found = results(code)
    assert [each[0] for each in found] == [CPUS, [OTHER], CPUS, CPUS]
    assert all(map(is_inside, found))


# ---- what the library says -----------------------------------------------------------------------


def test_numbers_of_threads_follow_the_mask():
    code = f"""
get, set_ = library.hetsched_blas_get_num_threads, library.hetsched_blas_set_num_threads
found = [get()]
os.sched_setaffinity(0, [{OTHER}]); found.append(get())
set_(1); os.sched_setaffinity(0, {CPUS}); found.append(get())  # one was all: no limit
set_(1); found.append(get())
os.sched_setaffinity(0, [{ONE}]); found.append(get())
os.sched_setaffinity(0, {CPUS}); found.append(get())  # the limit of before
set_(0); found.append(get())
set_(99); found.append(get())
tell(found)
"""
    assert results(code) == [[2, 1, 2, 1, 1, 1, 1, 2]]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"HETSCHED_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "1"}, 1),
        ({"HETSCHED_NUM_THREADS": "", "OMP_NUM_THREADS": "1"}, 1),
        ({"HETSCHED_NUM_THREADS": "2", "OMP_NUM_THREADS": "1"}, 2),
        ({"HETSCHED_BLAS_CORES": str(ONE)}, 1),
        ({}, 2),
    ],
    ids=str,
)
def test_a_wider_mask_brings_no_more_than_was_allowed(changes, count):
    code = f"found = [look()[2]]\nos.sched_setaffinity(0, {CPUS})\ntell([*found, look()[2]])"
    assert results(code, sys.executable, "-c", LAUNCHER, str(ONE), **changes) == [[1, count]]


def test_domains_are_those_of_the_places():
    code = f"""
found = []
for mask in ({CPUS}, [{OTHER}], {CPUS}):
    os.sched_setaffinity(0, mask)
    look()
    found.append(library.hetsched_blas_get_num_domains())
tell(found)
"""
    blocks = {
        "HETSCHED_BLAS_DOMAINS": "0,1",
        "HETSCHED_BLAS_BLOCKS": "0,0,0,0,0,0;plain:40,24,48,48,64,32",
    }
    assert results(code, **blocks) == [[2, 1, 2]]


@pytest.mark.slow
@pytest.mark.parametrize("named", ["60000,60001,60002", None])
def test_none_of_the_named_places_is_there(named):
    """One cpu of each core of the mask, at most as many as were named."""
    (found,) = results(LOOK, HETSCHED_BLAS_CORES=named)
    cores = len(hs.topology().groups())
    assert found[2] == (min(3, cores) if named else cores)
    assert all(set(cpus) <= set(found[0]) for cpus in found[1])


# ---- OpenMP --------------------------------------------------------------------------------------

LOAD = "ctypes.CDLL({!r}).omp_get_max_threads()"
#: The first call that binds a thread may be a region: a call of `omp_get_num_places` does for
#: these.
BOUND = LOAD + "; ctypes.CDLL({!r}).omp_get_num_places()"


@pytest.fixture(params=RUNTIMES)
def runtime(request):
    if not is_there(request.param):
        pytest.skip(f"there is no {request.param}")
    return request.param


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("binding", "first"),
    many(
        list(itertools.product(BINDINGS, [False, True])),
        [(binding, turn % 2 == 1) for turn, binding in enumerate(BINDINGS)],
    ),
    ids=lambda x: "+".join(x) if isinstance(x, dict) else "loaded " + ("first" if x else "later"),
)
def test_threads_that_openmp_binds(runtime, binding, first):
    """The main thread may be bound to one place: the workers have all of them."""
    code = f"{LOOK}\n{BOUND.format(runtime, runtime)}\n{LOOK}\n{LOOK}"
    changes = dict(binding)
    if first:
        changes["LD_PRELOAD"] = f"{dropin.library()}:{runtime}"  # the last one is initialised first
    for _, workers, count in results(code, **changes):
        assert (workers, count) == ([[ONE], [OTHER]], 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "narrowed"),
    list(itertools.product(["the drop-in library", "hetsched"], [False, True])),
)
def test_looking_does_not_bind_a_thread(runtime, by, narrowed):
    """LLVM's runtime binds a thread that asks for places, one that has not used OpenMP."""
    look = "look()" if by == "the drop-in library" else "import hetsched; hetsched.matmul(A, A)"
    code = f"""
ctypes.CDLL({runtime!r})
if {narrowed}:
    os.sched_setaffinity(0, [{OTHER}])
tell([sorted(os.sched_getaffinity(0))])
{look}
tell([sorted(os.sched_getaffinity(0))])
thread = threading.Thread(target=lambda: (look(), tell([sorted(os.sched_getaffinity(0))])))
thread.start()
thread.join()
"""
    for binding in BINDINGS[:2]:
        before, *after = results(code, **binding)
        assert after == [before] * 2


@needs_taskset
@pytest.mark.parametrize("binding", BINDINGS[1:], ids=lambda x: "+".join(x))
def test_one_cpu_remains_one_under_openmp(runtime, binding):
    found = results(
        f"{LOOK}\n{BOUND.format(runtime, runtime)}\n{LOOK}", "taskset", "-c", OTHER, **binding
    )
    assert [each[1:] for each in found] == [[[], 1]] * 2


@needs_taskset
def test_another_mask_under_openmp_is_not_the_runtimes(runtime):
    """taskset's after the runtime has bound the thread; not the first place, which cannot be told
    apart."""
    code = (
        f"{BOUND.format(runtime, runtime)}\n{LOOK}\ntaskset([{OTHER}])\n{LOOK}\ntaskset([{ONE},"
        f" {OTHER}])\n{LOOK}"
    )
    _, _, (mask, workers, count) = results(code, OMP_PROC_BIND="true")
    assert mask == CPUS
    assert len(workers) == count == 2


# ---- no threads ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """A library that lets only so many threads more be there at a time."""
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    folder = tmp_path_factory.mktemp("refusing")
    source = Path(__file__).with_name("refusing.c")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", source, "-o", "librefusing.so", "-ldl"],
        cwd=folder,
        check=True,
    )
    return folder / "librefusing.so"


@pytest.mark.slow
@pytest.mark.parametrize(("left", "workers"), [(1, 0), (2, 2), (-1, 4), (0, 0), (3, 3), (4, 4)])
def test_a_system_that_refuses_threads(refusing, left, workers):
    """Those that it starts, if these are two, and right numbers; the report says so."""
    code = f"""
library.threads_left({left})
tell(look())
tell(look())
"""
    changes = {
        "HETSCHED_BLAS_CORES": f"{ONE},{OTHER},{ONE},{OTHER}",
        "LD_PRELOAD": f"{refusing}:{dropin.library()}",
        "TEST_THREADS": "4",
    }
    for _, found, count in results(code, **changes):
        assert (len(found), count) == (workers, 4)


def test_no_memory_for_a_pool_is_no_refusal_of_threads(refusing):
    """The call goes to the library behind, and the next one has all workers again."""
    code = "library.memory(0)\ntell(look())\nlibrary.memory(1)\ntell(look())"
    changes = {
        "HETSCHED_BLAS_CORES": f"{ONE},{OTHER},{ONE},{OTHER}",
        "LD_PRELOAD": f"{refusing}:{dropin.library()}",
        "TEST_THREADS": "4",
    }
    assert [len(workers) for _, workers, _ in results(code, **changes)] == [0, 4]


def test_the_report_tells_of_threads_that_were_refused(refusing):
    code = "from dropin_masks import *\nlibrary.threads_left(1)\nlook()"
    environment = calls.environment(True, LD_PRELOAD=f"{refusing}:{dropin.library()}")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert calls.table(done.stderr)["dgemm"]["refused"] == 1
    assert "The system refused to start threads: calls had 1 worker at most." in done.stderr
