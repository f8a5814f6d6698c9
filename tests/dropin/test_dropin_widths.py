"""The drop-in library before libraries of either width of integers, several in one process: small
ones, of which all is known."""

import itertools
import shutil
import subprocess
import sys
from pathlib import Path

import dropin_calls as calls
import pytest
from inputs import many

from hetsched.machine.dropin import library

HERE = Path(__file__).parent
SMALL, LARGE = 8, 120
INTEGERS = {32: "int32_t", 64: "int64_t"}
PREFIXED = ["-DFORTRAN(x)=x##_64_", "-DC(x)=cblas_##x##64_"]
ALL = {"dgemm": 2, "dgesv": 1, "dpotrf": 2}  # what caller.c's wrong() calls

if not sys.platform.startswith("linux") or shutil.which("gcc") is None:
    pytest.skip(
        "needs gcc, and the drop-in library, which is built on Linux", allow_module_level=True
    )
try:
    library()
except OSError as error:
    pytest.skip(str(error), allow_module_level=True)


class Builder:
    """Compiles, each once."""

    def __init__(self, folder):
        self.folder = folder

    def compiled(self, name, source, *words):
        made = self.folder / name
        if not made.exists():
            command = [
                "gcc",
                "-w",
                "-O2",
                str(HERE / source),
                "-o",
                str(made),
                *map(str, words),
                "-lm",
                "-ldl",
            ]
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        return made

    def blas(self, name, bits, *words):
        # it counts its own calls, whatever else is loaded
        shared = ["-shared", "-fPIC", "-Wl,-Bsymbolic"]
        return self.compiled(
            f"lib{name}.so", "tiny_blas.c", *shared, f"-DINT={INTEGERS[bits]}", *words
        )

    def module(self, name, bits, *libraries, words=()):
        linked = [f"-Wl,-rpath,{self.folder}", "-Wl,--no-as-needed", *libraries]
        return self.compiled(
            f"{name}.so", "caller.c", "-shared", "-fPIC", f"-DINT={INTEGERS[bits]}", *words, *linked
        )

    def program(self, name, bits, *libraries, words=()):
        linked = [f"-Wl,-rpath,{self.folder}", "-Wl,--no-as-needed", *libraries]
        return self.compiled(name, "caller.c", "-DMAIN", f"-DINT={INTEGERS[bits]}", *words, *linked)


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return Builder(tmp_path_factory.mktemp("widths"))


@pytest.fixture(scope="module")
def pairs(build):
    """Two modules by the width of their integers, each with a BLAS of its own that has the other's
    names."""
    found = {}
    for bits in INTEGERS:
        blas = build.blas(f"own{bits}", bits)
        found[bits] = (build.module(f"module{bits}", bits, blas), blas)
    return found


def ran(command, **changes):
    """Its output by lines, and calls by function and fate."""
    done = subprocess.run(
        list(map(str, command)),
        env=calls.environment(**changes),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), calls.table(done.stderr)


def in_python(program, *words, **changes):
    """A program of Python, which itself calls no BLAS, with `load`, which opens a library for
    itself, or as is said."""
    prelude = (
        "import ctypes, os, sys\ndef load(path, mode=0): return ctypes.CDLL(str(path), mode=mode |"
        " os.RTLD_NOW)\n"
    )
    return ran([sys.executable, "-c", prelude + program, *words], **changes)


def each(fate, turns=1, **others):
    """What is counted after so many calls of wrong()."""
    by_fate = dict.fromkeys(calls.COLUMNS, 0)
    return {name: by_fate | {fate: turns * others.get(name, count)} for name, count in ALL.items()}


# ---- one library ---------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("bits", "linked", "name"),
    many(
        list(itertools.product(INTEGERS, ["-pie", "-no-pie"], ["plain", "other{}"])),
        [(32, "-pie", "plain"), (32, "-no-pie", "other{}"), (64, "-pie", "other{}")],
    ),
)
def test_a_program(build, bits, linked, name):
    """Nothing is read from the names of files: "64" is in that of the library with 32 bits."""
    blas = (
        build.blas("blas" + name.format(96 - bits), bits)
        if "{" in name
        else build.blas(f"plain-{INTEGERS[bits][3]}", bits)
    )
    words = ["-fPIE" if linked == "-pie" else "-fno-pie", linked]
    program = build.program(f"program{blas.stem}{linked}", bits, blas, words=words)
    assert ran([program]) == (["0 0"], each("taken", 2))
    assert ran([program], HETSCHED_BLAS="off") == (["0 0"], each("small", 2))
    out, counted = ran([program], HETSCHED_BLAS_LEAST="1e5")
    assert out == ["0 0"]
    assert counted["dgemm"] == dict.fromkeys(calls.COLUMNS, 0) | {"taken": 2, "small": 2}


#: Flags of libraries that say nothing or nonsense, and which calls are refused.
SILENT = [
    (["-DWITHOUT_ISAMAX", "-DWITHOUT_ILAVER"], ALL),
    (["-DPLACE=7"], ALL),
    (["-DPLACE=-1"], ALL),
    (["-DWITHOUT_ILAVER"], {}),
    (["-DWITHOUT_ISAMAX"], {"dgemm": 1}),  # of C, which ilaver says nothing of
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "words", "refused"),
    [(bits, *case) for bits in INTEGERS for case in SILENT],
)
def test_a_library_that_does_not_tell(build, bits, words, refused):
    blas = build.blas(f"silent{bits}{''.join(words)}", bits, *words)
    out, counted = ran([build.program(f"with{blas.stem}", bits, blas)])
    assert out == ["0 0"]
    for name, count in ALL.items():
        unknown = 2 * refused.get(name, 0)
        assert counted[name] == dict.fromkeys(calls.COLUMNS, 0) | {
            "taken": 2 * count - unknown,
            "refused": unknown,
        }, name


@pytest.mark.few(1)
@pytest.mark.parametrize("bits", INTEGERS)
@pytest.mark.parametrize(
    ("words", "told"), [([], True), (["-DWITHOUT_ISAMAX", "-DWITHOUT_ILAVER"], False)]
)
def test_names_that_tell_the_width(build, bits, words, told):
    """Those with 64_ are of 64 bits, unless the library says that it is not so."""
    if bits == 32 and not told:
        return  # a fault of that library
    blas = build.blas(f"suffix{bits}{told}", bits, *words, *PREFIXED)
    program = build.program(f"with{blas.stem}", bits, blas, words=PREFIXED)
    assert ran([program]) == (["0 0"], each("taken" if bits == 64 else "refused", 2))


@pytest.mark.slow
@pytest.mark.parametrize("bits", INTEGERS)
def test_a_lapack_beside_its_blas(build, bits):
    """Each with functions of its own: the LAPACK is asked by ilaver, or by the isamax of the
    library that it is linked with."""
    blas = build.blas(f"level3-{bits}", bits, "-DWITHOUT_LAPACK", "-DWITHOUT_ILAVER")
    for words in (
        ["-DWITHOUT_ISAMAX"],
        ["-DWITHOUT_ISAMAX", "-DWITHOUT_ILAVER", "-Wl,--no-as-needed", blas],
    ):
        lapack = build.blas(
            f"lapack{bits}-{len(words)}",
            bits,
            "-DWITHOUT_BLAS",
            *words,
            f"-Wl,-rpath,{build.folder}",
        )
        program = build.program(f"with{lapack.stem}", bits, lapack, blas)
        assert ran([program]) == (["0 0"], each("taken", 2))


@pytest.mark.slow
def test_each_library_is_asked_once(pairs):
    program = """
modules = [load(path) for path in sys.argv[1::2]]
print(sum(module.wrong(8) for module in modules for turn in range(5)))
print([ctypes.c_int.in_dll(load(path), "tiny_asked").value for path in sys.argv[2::2]])
"""
    out, _ = in_python(program, *pairs[32], *pairs[64])
    assert out == ["0", "[2, 2]"]  # in Fortran and in C


# ---- several libraries ---------------------------------------------------------------------------

IN_TURNS = f"""
modules = [load(path) for path in sys.argv[1::2]]
for turn in range(3):
    print([module.wrong({SMALL}) | module.wrong({LARGE}) for module in modules])
print([ctypes.c_int.in_dll(load(path), "tiny_calls").value for path in sys.argv[2::2]])
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("order", [(32, 64), (64, 32)])
def test_two_modules_with_libraries_of_their_own(pairs, order):
    words = [path for bits in order for path in pairs[bits]]
    out, counted = in_python(IN_TURNS, *words)
    assert out == ["[0, 0]"] * 3 + ["[0, 0]"]
    assert counted == each("taken", 12)
    out, counted = in_python(IN_TURNS, *words, HETSCHED_BLAS="off")
    assert out == ["[0, 0]"] * 3 + ["[30, 30]"]
    assert counted == each("small", 12)


@pytest.mark.slow
@pytest.mark.parametrize("bits", INTEGERS)
def test_a_program_and_a_module(build, pairs, bits):
    """The program is linked with one width, and loads a module with the other. For the loader the
    program's library is before the module's own, unless it is told otherwise."""
    (build.folder / "main.c").write_text("""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int wrong(int);
int main(int count, char **words)
{
    void *module = dlopen(words[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    int (*other)(int) = (int (*)(int))dlsym(module, "wrong");
    for (int turn = 0; turn < 2; turn++) printf("%d %d\\n", wrong(120), other(120));
    return count != 2;
}
""")
    own = build.blas(f"programs{bits}", bits)
    program = build.program(f"two{bits}", bits, own, words=["-UMAIN", build.folder / "main.c"])
    assert ran([program, pairs[96 - bits][0]]) == (["0 0", "0 0"], each("taken", 2))


@pytest.mark.slow
@pytest.mark.parametrize("bits", INTEGERS)
def test_a_library_in_the_global_scope(build, pairs, bits):
    """A module that is linked with none."""
    program = f"load(sys.argv[2], os.RTLD_GLOBAL); print(load(sys.argv[1]).wrong({LARGE}))"
    module = build.module(f"linked-with-none{bits}", bits)
    assert in_python(program, module, pairs[bits][1]) == (["0"], each("taken"))


def test_a_library_that_is_preloaded_after_ours(build, pairs):
    """It is before the module's own, for the loader as well."""
    first = build.blas("preloaded", 32)
    preload = f"{calls.environment()['LD_PRELOAD']}:{first}"
    program = f"""
print(load(sys.argv[1]).wrong({SMALL}))
print([ctypes.c_int.in_dll(load(path), "tiny_calls").value for path in sys.argv[2:]])
"""
    out, _ = in_python(program, *pairs[32], first, LD_PRELOAD=preload, HETSCHED_BLAS="off")
    assert out == ["0", "[0, 5]"]


@pytest.mark.slow
@pytest.mark.parametrize("first", ["ours", "copy"])
def test_two_copies_of_the_drop_in_library(build, pairs, first):
    """As of two installations, one of which runs the other's `hetsched exec`: they do not call each
    other."""
    copy = build.folder / "copy" / library().name
    copy.parent.mkdir(exist_ok=True)
    shutil.copy(library(), copy)
    ours = calls.environment()["LD_PRELOAD"]
    preload = f"{ours}:{copy}" if first == "ours" else f"{copy}:{ours}"
    words = [path for found in pairs.values() for path in found]
    out, counted = in_python(IN_TURNS, *words, LD_PRELOAD=preload)
    assert out == ["[0, 0]"] * 4
    assert counted == each("taken", 12)
    program = build.program("with-copies", 64, build.blas("behind-copies", 64))
    assert ran([program], LD_PRELOAD=preload) == (["0 0"], each("taken", 2))


@pytest.mark.parametrize("bits", INTEGERS)
def test_a_library_that_becomes_global_too_late(pairs, bits):
    """The loader has bound the module to its own before."""
    program = (
        "module = load(sys.argv[1]); load(sys.argv[2], os.RTLD_GLOBAL);"
        f" print(module.wrong({LARGE}))"
    )
    assert in_python(program, pairs[bits][0], pairs[96 - bits][1]) == (["0"], each("taken"))


def test_a_module_that_binds_to_its_own_alone(pairs):
    program = (
        f"print(load(sys.argv[1]).wrong({LARGE}) | load(sys.argv[2],"
        f" os.RTLD_DEEPBIND).wrong({LARGE}))"
    )
    out, counted = in_python(program, pairs[32][0], pairs[64][0])
    assert out == ["0"]
    # of the other one, whose functions the loader finds before ours
    assert counted == each("taken")


def test_modules_that_replace_each_other(build, pairs):
    """The next is loaded to where the last one was, if that is unloaded."""
    program = """
import _ctypes
found = []
for path in sys.argv[1:]:
    module = load(path)
    found.append(module.wrong(8) | module.wrong(120))
    _ctypes.dlclose(module._handle)
print(found)
"""
    copies = []
    for turn in range(4):
        for bits in INTEGERS:
            copies.append(build.folder / f"turn{turn}-{bits}.so")
            shutil.copy(pairs[bits][0], copies[-1])
    out, counted = in_python(program, *copies)
    assert out == [str([0] * len(copies))]
    assert counted == each("taken", 2 * len(copies))


@pytest.mark.slow
@pytest.mark.parametrize("bits", INTEGERS)
def test_behind_a_library_that_chooses_another(build, bits):
    """As the one that is chosen, and before it. It has the same names, and calls them of the
    library that it has chosen."""
    blas = build.blas(f"chosen{bits}", bits)
    ours = library()
    nothing = [f"-DWITHOUT_{part}" for part in ("BLAS", "LAPACK", "ISAMAX", "ILAVER")]
    linked = ["-Wl,--no-as-needed", f"-Wl,-rpath,{ours.parent}:{build.folder}", ours, blas]
    chosen = build.blas(f"chosen-by-front{bits}", bits, *nothing, *linked)
    front = build.compiled(
        f"libfront{bits}.so", "front.c", "-shared", "-fPIC", f"-DINT={INTEGERS[bits]}"
    )
    # of which it has all other functions
    module = build.module(f"behind-front{bits}", bits, front, blas)
    program = f"""
front, module = load(sys.argv[1]), load(sys.argv[2])
print(module.wrong_cholesky({LARGE}), ctypes.c_int.in_dll(front, "front_calls").value)
"""
    out, counted = in_python(program, front, module, LD_PRELOAD=None, FRONT=str(chosen))
    assert out == ["0 2"]
    assert counted["dpotrf"] == dict.fromkeys(calls.COLUMNS, 0) | {"taken": 2}
    out, counted = in_python(program, front, module, FRONT=str(blas), HETSCHED_BLAS="off")
    assert out == ["0 2"]
    assert counted["dpotrf"] == dict.fromkeys(calls.COLUMNS, 0) | {"small": 2}


@pytest.mark.parametrize("off", [False, True])
def test_upper_halves_of_integers_by_value(pairs, off):
    """Those of 32-bit integers are anything."""
    program = """
load(sys.argv[1], os.RTLD_GLOBAL)
n, odd = 40, 0x5a5a5a5a << 32
a, c = (ctypes.c_double * n**2)(*[1] * n**2), (ctypes.c_double * n**2)()
integer = lambda value: ctypes.c_int64((value & 0xffffffff) | odd)
size, one, zero = integer(n), ctypes.c_double(1), ctypes.c_double(0)
ctypes.CDLL(None).cblas_dgemm(102, 111, 111, size, size, size, one, a, size, a, size, zero, c, size)
print(set(c))
"""
    out, counted = in_python(program, pairs[32][1], **({"HETSCHED_BLAS": "off"} if off else {}))
    assert out == ["{40.0}"]
    assert counted["dgemm"]["small" if off else "taken"] == 1


def test_threads_of_each_library(build, pairs):
    one = build.blas("one-thread", 64, "-DTHREADS=1")
    module = build.module("module-of-one-thread", 64, one)
    for words in ([module, one, *pairs[32]], [*pairs[32], module, one]):
        _, counted = in_python(IN_TURNS, *words)
        assert counted["dgemm"] == dict.fromkeys(calls.COLUMNS, 0) | {"taken": 12, "1-thread": 12}


# ---- callers that are not known ------------------------------------------------------------------

FROM_NOWHERE = """
module, function = load(sys.argv[1]), ctypes.cast(ctypes.CDLL(None).dpotrf_, ctypes.c_void_p)
call = lambda size, count: module.wrong_from_nowhere(function, size, count)
"""


@pytest.mark.parametrize("bits", INTEGERS)
def test_callers_without_an_object(pairs, bits):
    """Of code that is compiled as the program runs: from very many addresses."""
    out, counted = in_python(
        FROM_NOWHERE + "print(call(5, 3000), call(30, 20), call(30, 20))", pairs[bits][0]
    )
    if out == ["-1 -1 -1"]:
        pytest.skip("no such code for this processor")
    assert out == ["0 0 0"]
    assert counted["dpotrf"] == dict.fromkeys(calls.COLUMNS, 0) | {"taken": 3040}


@pytest.mark.parametrize("silent", [False, True])
def test_they_are_never_taken_where_the_width_could_be_another(build, pairs, silent):
    """The second library comes when calls have been taken already. All go to the first."""
    other = (
        build.blas("never-asked", 32, "-DWITHOUT_ISAMAX", "-DWITHOUT_ILAVER")
        if silent
        else pairs[64][1]
    )
    out, counted = in_python(
        FROM_NOWHERE + "print(call(30, 4)); load(sys.argv[2]); print(call(30, 4))",
        pairs[32][0],
        other,
    )
    if out == ["-1", "-1"]:
        pytest.skip("no such code for this processor")
    assert out == ["0", "0"]
    assert counted["dpotrf"] == dict.fromkeys(calls.COLUMNS, 0) | {"taken": 4, "refused": 4}


@pytest.mark.parametrize("bits", INTEGERS)
def test_a_function_that_ends_with_the_call(pairs, bits):
    """A compiler makes a jump of it, so that we are called by its caller: here by one that has no
    library of its own."""
    program = """
module, info = load(sys.argv[1]), ctypes.c_int64(-1)
a, n = (ctypes.c_double * 4)(4, 0, 0, 4), ctypes.c_int64(2)
module.hand_on(b"L", ctypes.byref(n), a, ctypes.byref(n), ctypes.byref(info), ctypes.c_size_t(1))
print(list(a), info.value)
"""
    out, counted = in_python(program, pairs[bits][0])
    # the upper half is not info's
    assert out == [f"[2.0, 0.0, 0.0, 2.0] {0 if bits == 64 else -(2**32)}"]
    assert counted["dpotrf"] == dict.fromkeys(calls.COLUMNS, 0) | {"taken": 1}


# ---- each function of whole libraries ------------------------------------------------------------


def plain64(build):
    """A library with 64-bit integers and plain names: of NumPy's wheel, which has them with a
    prefix and a suffix."""
    found = calls.behind("wheel64")
    if not found:
        pytest.skip("NumPy's BLAS has no 64-bit integers")
    names = [calls.usual(letter, routine) for letter in "sdcz" for routine in calls.ROUTINES] + [
        "cherk",
        "zherk",
    ]
    fortran = [(f"{name}_", f"scipy_{name}_64_") for name in [*names, "isamax", "ilaver"]]
    c = [
        name
        for name in [*names, "isamax"]
        if name[1:] in ("gemm", "syrk", "herk", "trsm", "gemv", "samax")
    ]
    pairs = fortran + [(f"cblas_{name}", f"scipy_cblas_{name}64_") for name in c]
    listed = " ".join(f"X({plain}, {there})" for plain, there in pairs)
    (build.folder / "functions.h").write_text(
        f'#define FUNCTIONS(X) {listed}\n#define LIBRARY "{found[0]._name}"\n'
    )
    return [
        build.compiled(
            "plain64.so", "plain64.c", "-shared", "-fPIC", "-include", build.folder / "functions.h"
        )
    ]


@pytest.mark.slow
@pytest.mark.parametrize("bits", INTEGERS)
def test_each_function(build, bits):
    """Results, pivots and info are those of the library alone."""
    paths = plain64(build) if bits == 64 else [found._name for found in calls.behind("plain32")]
    if not paths:
        pytest.skip("there is no reference BLAS")
    out, counted = ran([sys.executable, HERE / "dropin_widths.py", f"plain{bits}", *paths])
    assert out == ["122 calls"]
    assert sum(counts["taken"] for counts in counted.values()) >= 122
