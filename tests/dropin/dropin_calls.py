"""Calls of the drop-in library's functions as compilers make them, from within this process, with
arrays between guards."""

import contextlib
import ctypes
import os
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from hetsched.machine import dropin
from hetsched.machine.dropin import library

LETTERS = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
FORMS = ["fortran", "columns", "rows"]
WIDTHS = {"wheel64": np.int64, "wheel32": np.int32, "plain32": np.int32}
INTEGERS = {**WIDTHS, "plain64": np.int64}
GUARDS = 40  # elements around each array


def skip_without_library():
    """For the top of a test module: the functions that it calls are those of SciPy's and NumPy's
    wheels."""
    pytest.importorskip("scipy.linalg")
    try:
        library()
    except OSError as error:
        pytest.skip(str(error), allow_module_level=True)


def is_complex(letter):
    return letter in "cz"


def eps(letter):
    return np.finfo(LETTERS[letter]).eps


def loaded(word):
    """Paths of the shared libraries of this process whose file's name has a word."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sorted({line.split(maxsplit=5)[5] for line in lines if word in line.rpartition("/")[2]})


def _reference(name):
    """The reference library where Debian has it: the system's own may be OpenBLAS, which in 0.3.21
    refuses small letters."""
    found = sorted(Path("/usr/lib").glob(f"*/{name}/lib{name}.so.3"))
    return found[0] if found else f"lib{name}.so.3"


def behind(width):
    """The libraries that have the names of that width; none if there are no such here."""
    if width == "plain32":
        with contextlib.suppress(OSError):
            return [ctypes.CDLL(str(_reference(name))) for name in ("blas", "lapack")]
        return []
    name = "scipy_dgemm_64_" if width == "wheel64" else "scipy_dgemm_"
    return [found for found in map(ctypes.CDLL, loaded("openblas")) if hasattr(found, name)][:1]


def two_cores():
    """For HETSCHED_BLAS_CORES: two workers, on one core where there is but one."""
    allowed = sorted(os.sched_getaffinity(0))
    return f"{allowed[0]},{allowed[-1]}"


def load():
    """The drop-in library with two workers."""
    before = dict(os.environ)
    os.environ["HETSCHED_BLAS_CORES"] = two_cores()
    for name in ("HETSCHED_NUM_THREADS", "OMP_NUM_THREADS", "HETSCHED_BLAS", "HETSCHED_BLAS_LEAST"):
        os.environ.pop(name, None)
    try:
        found = ctypes.CDLL(str(library()))
    finally:
        os.environ.clear()
        os.environ.update(before)
    found.hetsched_blas_get_least.restype = ctypes.c_double
    return found


def told_threads(count):
    """Tells all OpenBLAS of this process how many threads to use; what they were told before."""
    told = []
    for path in loaded("openblas"):
        found = ctypes.CDLL(path)
        for suffix in ("", "64_"):
            get, set_ = (
                getattr(found, f"scipy_openblas_{verb}_num_threads{suffix}", None)
                for verb in ("get", "set")
            )
            if get and set_:
                told.append((set_, get()))
                set_(count)
    return told


@contextlib.contextmanager
def every_call_taken(found):
    """Whatever its size."""
    names = [letter + name for letter in LETTERS for name in ROUTINES + SPECTRAL + HERMITIAN]
    names += [f"alone:{name}" for name in names]  # after those that set both
    before = {name: found.hetsched_blas_get_least(name.encode()) for name in names}
    told = told_threads(2)
    found.hetsched_blas_set_least(b"0")
    try:
        yield found
    finally:
        found.hetsched_blas_set_least(
            ",".join(f"{name}={value!r}" for name, value in before.items()).encode()
        )
        for set_, count in told:
            set_(count)


ROUTINES = ["gemm", "syrk", "trsm", "gemv", "getrf", "getrs", "gesv", "getri"]
ROUTINES += ["potrf", "potrs", "posv", "trtrs", "geqrf", "orgqr", "ormqr", "gels"]
#: Eigenvalues, singular values, eigenvalues of pairs and least squares, and what complex functions
#: are called instead.
SPECTRAL = ["syev", "syevd", "syevr", "gesdd", "gesvd", "sygv", "sygvd", "gelsd", "gelss"]
HERMITIAN = ["heev", "heevd", "heevr", "hegv", "hegvd"]


def usual(letter, routine):
    """The function's name without prefix and suffix."""
    if is_complex(letter) and routine[:2] in ("or", "sy") and routine != "syrk":
        routine = {"or": "un", "sy": "he"}[routine[:2]] + routine[2:]
    return letter + routine


class Caller:
    """Functions by routine and type. `source` has them: the drop-in library, or that behind."""

    def __init__(self, sources, width):
        self.sources, self.width, self.integer = sources, width, INTEGERS[width]

    def _find(self, name):
        return next(getattr(source, name) for source in self.sources if hasattr(source, name))

    def fortran(self, letter, routine, *arguments):
        """Letters, integers, numbers (a NumPy scalar) and arrays; no lengths of the letters behind
        them."""
        prefix, suffix = {"wheel64": ("scipy_", "_64_"), "wheel32": ("scipy_", "_")}.get(
            self.width, ("", "_")
        )
        kept = [self._pointed(argument) for argument in arguments]
        self._find(prefix + usual(letter, routine) + suffix)(
            *(ctypes.c_void_p(each.ctypes.data) for each in kept)
        )

    def _pointed(self, argument):
        if isinstance(argument, str):
            return np.frombuffer(argument.encode() + b"?", np.uint8).copy()
        return (
            np.array([argument], self.integer)
            if isinstance(argument, int)
            else at_least_an_array(argument)
        )

    def cblas(self, letter, routine, *arguments, real=False):
        """Enumerations and integers as Python's, by value; real numbers by value, complex ones by
        address, unless `real`."""
        wheels = {"wheel64": ("scipy_cblas_", "64_"), "wheel32": ("scipy_cblas_", "")}
        prefix, suffix = wheels.get(self.width, ("cblas_", ""))
        integer = ctypes.c_int64 if self.integer is np.int64 else ctypes.c_int32
        kept, passed = [], []
        for argument in arguments:
            if isinstance(argument, Enumerated):
                passed.append(ctypes.c_int(argument))
            elif isinstance(argument, int):
                passed.append(integer(argument))
            elif isinstance(argument, np.generic) and (real or not is_complex(letter)):
                passed.append(
                    (ctypes.c_float if letter in "sc" else ctypes.c_double)(argument.real)
                )
            else:
                kept.append(at_least_an_array(argument))
                passed.append(ctypes.c_void_p(kept[-1].ctypes.data))
        self._find(prefix + letter + routine + suffix)(*passed)


class Enumerated(int):
    """Of CBLAS: an int, whatever the width."""


ENUMERATED = {"R": 101, "C": 102}
OF_LETTER = {"N": 111, "T": 112, "C": 113, "U": 121, "L": 122}
OF_DIAGONAL = {"N": 131, "U": 132}
OF_SIDE = {"L": 141, "R": 142}


def order_of(form):
    return Enumerated(ENUMERATED["R" if form == "rows" else "C"])


def enumerated(table, letter):
    return Enumerated(table[letter.upper()])


def at_least_an_array(argument):
    return (
        argument.memory
        if isinstance(argument, (Guarded, Integers))
        else np.atleast_1d(np.asarray(argument))
    )


class Guarded:
    """A matrix as it lies in memory, between guards: NaN, which whoever reads them gives away.
    `form` rows: row by row. A vector is a matrix with one column and a `step`."""

    def __init__(self, values, form="columns", more=3, step=None):
        values = np.asarray(values)
        lines, self.length = values.shape[::-1] if form != "rows" else values.shape
        self.lead = max(self.length, 1) + more
        if step is not None:
            assert values.shape[1] == 1
            self.lead = (max(self.length - 1, 0)) * abs(step) + 1
        self.store = np.full(
            2 * GUARDS + self.lead * max(lines, 1),
            np.nan * (1 + 0j if values.dtype.kind == "c" else 1),
            values.dtype,
        )
        self.memory = self.store[GUARDS:]
        inside = self.store[GUARDS : GUARDS + self.lead * max(lines, 1)].reshape(
            max(lines, 1), self.lead
        )[:lines]
        if step is None:
            self.values = inside[:, : self.length]
        else:
            # a negative step begins at the end
            self.values = inside[:, ::step] if self.length else inside[:, :0]
        if form != "rows":
            self.values = self.values.T
        self.values[...] = values
        self._before = self.store.copy()

    def check_guards(self):
        """Nothing but the matrix has changed."""
        kept = self.values.copy()
        self.values[...] = 0
        now = self.store.copy()
        self.values[...] = kept
        store, self.store[...] = self.store.copy(), self._before
        self.values[...] = 0
        assert now.tobytes() == self.store.tobytes(), "something around a matrix has changed"
        self.store[...] = store

    def check_unchanged(self):
        assert self.store.tobytes() == self._before.tobytes(), (
            "an array that is only read, or nothing of, has changed"
        )


class Integers:
    """Pivots or info of an integer's width, between guards."""

    def __init__(self, count, dtype):
        self.store = np.full(count + 6, -77, dtype)
        self.memory = self.store[3:]
        self.values = self.store[3 : 3 + count]

    def check_guards(self):
        assert (self.store[:3] == -77).all()
        assert (self.store[len(self.store) - 3 :] == -77).all()


def random(rng, letter, *shape):
    values = rng.uniform(-1, 1, shape)
    if is_complex(letter):
        values = values + 1j * rng.uniform(-1, 1, shape)
    return values.astype(LETTERS[letter])


def wide(values):
    """In double precision."""
    return np.asarray(values).astype(np.complex128 if np.iscomplexobj(values) else np.float64)


def op(letter, values):
    """op(X) by the BLAS's letter, either case."""
    return {"N": values, "T": values.T, "C": values.conj().T}[letter.upper()]


def stored(letter, values):
    """The X of which values are op(X)."""
    return op(letter, values).copy()


def assert_near(found, expected, scale, letter, terms):
    """Each element to so many roundings of its own scale."""
    error = np.abs(wide(found) - expected)
    bound = 4 * (terms + 8) * eps(letter) * np.broadcast_to(scale, error.shape)
    assert not np.isnan(wide(found)).any(), "NaN that was not to be read"
    worst = np.unravel_index(np.argmax(error - bound), error.shape) if error.size else None
    assert (error <= bound).all(), f"at {worst}: {found[worst]} for {expected[worst]}"


# ---- usual calls of each -------------------------------------------------------------------------


def products_of(letter, n=70):
    """Arguments of the BLAS's functions in Fortran's order, matrices by columns."""
    rng = np.random.default_rng(n)
    A, B, C = (
        Guarded(random(rng, letter, n, n) + 2 * np.eye(n, dtype=LETTERS[letter])) for _ in "abc"
    )
    x, y = (Guarded(random(rng, letter, n, 1), step=1) for _ in "xy")
    one = LETTERS[letter](1)
    found = {
        "gemm": ("N", "T", n, n, n, one, A, A.lead, B, B.lead, one, C, C.lead),
        "syrk": ("L", "N", n, n, one, A, A.lead, one, C, C.lead),
        "trsm": ("L", "U", "N", "N", n, n, one, A, A.lead, B, B.lead),
        "gemv": ("T", n, n, one, A, A.lead, x, 1, one, y, 1),
    }
    return {**found, "herk": found["syrk"]} if is_complex(letter) else found


def systems_of(letter, integer, n=70):
    """Arguments of LAPACK's functions but for the last, info."""
    rng = np.random.default_rng(n)
    A, B = (Guarded(random(rng, letter, n, n) / n + np.eye(n, dtype=LETTERS[letter])) for _ in "ab")
    tau, work = (Guarded(np.zeros((size, 1), LETTERS[letter]), more=0) for size in (n, 4 * n))
    pivots = Integers(n, integer)
    pivots.values[:] = np.arange(1, n + 1)
    a, b = (A, A.lead), (B, B.lead)
    transposed = "C" if is_complex(letter) else "T"
    return {
        "getrf": (n, n, *a, pivots),
        "getrs": ("T", n, n, *a, pivots, *b),
        "gesv": (n, n, *a, pivots, *b),
        "getri": (n, *a, pivots, work, 4 * n),
        "potrf": ("L", n, *a),
        "potrs": ("U", n, n, *a, *b),
        "posv": ("L", n, n, *a, *b),
        "trtrs": ("U", "N", "N", n, n, *a, *b),
        "geqrf": (n, n, *a, tau, work, 4 * n),
        "orgqr": (n, n, n, *a, tau, work, 4 * n),
        "ormqr": ("L", transposed, n, n, n, *a, tau, *b, work, 4 * n),
        "gels": ("N", n, n, n, *a, *b, work, 4 * n),
        **{
            routine: eigh_arguments(letter, integer, routine, "V", "L", A).arguments
            for routine in SPECTRAL[:3]
        },
        **{
            routine: svd_arguments(letter, integer, routine, "SA", A).arguments
            for routine in SPECTRAL[3:5]
        },
        **{
            routine: pair_arguments(letter, integer, routine, 1, "V", "L", A, B).arguments
            for routine in SPECTRAL[5:7]
        },
        **{
            routine: squares_arguments(letter, integer, routine, A, B, -1.0).arguments
            for routine in SPECTRAL[7:]
        },
    }


def _real(letter):
    return "sd"[letter in "dz"]


def _workspace(letter, size):
    return Guarded(np.zeros((max(size, 1), 1), LETTERS[letter]), more=0)


def _eigen_workspaces(letter, integer, routine, vectors, n):
    """The least workspaces of syev, syevd or syevr whose size is an argument, and all arguments for
    workspaces."""
    real, hermitian = _real(letter), is_complex(letter)
    square, more = (2 * n * n, 5 * n + 3) if vectors else (0, 1)
    work, rwork, iwork = {
        "syev": ((2 if hermitian else 3) * n - 1, 3 * n - 2, None),
        "syevd": (
            (n * n * vectors + n * (1 + vectors) + (not vectors))
            if hermitian
            else (square + (6 if vectors else 2) * n + 1),
            square + (5 * n + 1 if vectors else n),
            more,
        ),
        "syevr": ((2 if hermitian else 26) * n, 24 * n, 10 * n),
    }[routine]
    sized = [_workspace(letter, work)]
    if hermitian and iwork is not None:
        sized.append(_workspace(real, rwork))
    if iwork is not None:
        sized.append(Integers(max(iwork, 1), integer))
    passed = [part for each in sized for part in (each, len(at_least_an_array(each.values)))]
    if hermitian and iwork is None:
        passed.append(_workspace(real, rwork))
    return sized, passed


def pair_arguments(letter, integer, routine, kind, job, triangle, A, B):
    """The same as eigh_arguments for sygv or sygvd, which have the workspaces of syev and syevd."""
    n, alike = A.values.shape[0], {"sygv": "syev", "sygvd": "syevd"}[routine]
    made = SimpleNamespace(w=_workspace(_real(letter), n))
    made.sized, passed = _eigen_workspaces(letter, integer, alike, job in "vV", n)
    made.arguments = (kind, job, triangle, n, A, A.lead, B, B.lead, made.w, *passed)
    return made


def eigh_arguments(letter, integer, routine, job, triangle, A):
    """The arguments of syev, syevd or syevr but for the last, info, with the least workspaces:
    where values and vectors will be, and the workspaces whose size is an argument."""
    n, real = A.values.shape[0], _real(letter)
    made = SimpleNamespace(w=_workspace(real, n), z=A, count=None, support=None)
    vectors = job in "vV"
    made.sized, sized = _eigen_workspaces(letter, integer, routine, vectors, n)
    if routine != "syevr":
        made.arguments = (job, triangle, n, A, A.lead, made.w, *sized)
        return made
    made.z = Guarded(np.zeros_like(A.values), more=2) if vectors else _workspace(letter, 1)
    made.count, made.support = Integers(1, integer), Integers(2 * max(n, 1), integer)
    unread = (np.zeros(1, LETTERS[real]), np.zeros(1, LETTERS[real]), *(np.ones(1, integer),) * 2)
    made.arguments = (job, "A", triangle, n, A, A.lead, *unread, np.zeros(1, LETTERS[real]))
    made.arguments += (made.count, made.w, made.z, made.z.lead, made.support, *sized)
    return made


def svd_arguments(letter, integer, routine, jobs, A):
    """The arguments of gesdd (with the first job) or gesvd but for the last, info: where the values
    and vectors will be, and the workspace whose size is an argument."""
    (m, n), real = A.values.shape, _real(letter)
    short, long = min(m, n), max(m, n)
    job_u, job_vt = jobs.upper() if routine == "gesvd" else 2 * jobs[0].upper()

    def vectors(rows, cols):
        return Guarded(np.zeros((rows, cols), LETTERS[letter]), more=2)

    made = SimpleNamespace(
        s=_workspace(real, short),
        u=vectors(m, {"A": m, "S": short}.get(job_u, 1 if job_u == "N" else m)),
        vt=vectors({"A": n, "S": short}.get(job_vt, 1 if job_vt == "N" else n), n),
    )
    size = 5 * short * (short + 2) + 2 * long + 1
    made.sized = [_workspace(letter, size)]
    rest = []
    if is_complex(letter):
        rest.append(_workspace(real, 5 * short * (short + 2) + 2 * long * short))
    if routine == "gesdd":
        rest.append(Integers(8 * max(short, 1), integer))
    made.arguments = (*(jobs if routine == "gesvd" else jobs[0]), m, n, A, A.lead, made.s)
    made.arguments += (made.u, made.u.lead, made.vt, made.vt.lead, *made.sized, size, *rest)
    return made


def squares_arguments(letter, integer, routine, A, B, rcond):
    """The arguments of gelsd or gelss but for the last, info, with the least workspace for a square
    matrix: where the values and the rank will be, and the workspace whose size is an argument."""
    (m, n), k, real = A.values.shape, B.values.shape[1], _real(letter)
    short, least = min(m, n), 26 * 26
    levels = max(int(np.log2(max(short, 1) / 26)) + 1, 0)
    made = SimpleNamespace(s=_workspace(real, short), rank=Integers(1, integer))
    size = (62 + 8 * levels + k) * short + least
    rest = [Integers(max(1, (3 * levels + 11) * short), integer)]
    if is_complex(letter):
        size = 2 * short + max(m, n, short * k)
        more = max(least, max(m, n) * (1 + k) + 2 * k)
        rest.insert(0, _workspace(real, (60 + 8 * levels) * short + 75 * k + more))
        if m != n:  # cgelsd of 26 x 60 with 40 right-hand sides writes beyond the documented size
            size += short * (short + 4)
    if routine == "gelss":
        size = 3 * short + max(2 * short, m, n, k)
        if is_complex(letter):
            size = 2 * short + max(m, n, k)
        rest = [_workspace(real, 5 * short)][: is_complex(letter)]
    made.sized = [_workspace(letter, size)]
    made.arguments = (m, n, k, A, A.lead, B, B.lead, made.s, np.full(1, rcond, LETTERS[real]))
    made.arguments += (made.rank, *made.sized, max(size, 1), *rest)
    return made


TABLES = {
    "gemm": [OF_LETTER] * 2,
    "syrk": [OF_LETTER] * 2,
    "trsm": [OF_SIDE, OF_LETTER, OF_LETTER, OF_DIAGONAL],
    "gemv": [OF_LETTER],
}
TABLES["herk"] = TABLES["syrk"]


def in_c(routine, arguments, order="C"):
    """Arguments of cblas_ from those of Fortran."""
    letters = [enumerated(*pair) for pair in zip(TABLES[routine], arguments, strict=False)]
    return [Enumerated(ENUMERATED[order]), *letters, *arguments[len(letters) :]]


def call_each():
    """Each function of each width that there is, once in each form, in a process that reports;
    prints how often in all."""
    with every_call_taken(load()) as found:
        present = [width for width in WIDTHS if behind(width)]
        for who in [Caller([found], width) for width in present]:
            for letter in LETTERS:
                for routine, arguments in products_of(letter).items():
                    who.fortran(letter, routine, *arguments)
                    for order in "CR":
                        who.cblas(
                            letter,
                            routine,
                            *in_c(routine, arguments, order),
                            real=routine == "herk",
                        )
                for routine in ROUTINES[4:] + SPECTRAL:  # each with matrices of its own
                    who.fortran(
                        letter,
                        routine,
                        *systems_of(letter, who.integer)[routine],
                        Integers(1, who.integer),
                    )
    print(len(present))


def bad_arguments(ours):
    """Each function with each argument wrong, one after the other: prints what LAPACK's info says;
    what the BLAS itself says is on standard output as well. Nothing may be written."""
    found = load()
    with every_call_taken(found):
        for width in [width for width in ("wheel64", "wheel32") if behind(width)]:
            who = Caller([found] if ours else behind(width), width)
            for letter in LETTERS:
                for routine, arguments in products_of(letter).items():
                    for wrong in _each_wrong(arguments):
                        who.fortran(letter, routine, *wrong)
                        _check_unchanged(wrong)
                    for wrong in _each_wrong(in_c(routine, arguments)):
                        who.cblas(letter, routine, *wrong, real=routine == "herk")
                        _check_unchanged(wrong)
                for routine, arguments in systems_of(letter, who.integer).items():
                    for at, wrong in enumerate(_each_wrong(arguments)):
                        info = Integers(1, who.integer)
                        who.fortran(letter, routine, *wrong, info)
                        info.check_guards()
                        assert info.values[0] < 0, (routine, at)
                        _check_unchanged(wrong)
                        print(width, letter, routine, at, info.values[0], flush=True)


def _each_wrong(arguments):
    for i, argument in enumerate(arguments):
        wrong = {
            str: "X",
            Enumerated: Enumerated(7),
            int: 0 if argument in (1, 73) else -5 if i + 1 < len(arguments) else 0,
        }
        if type(argument) in wrong:
            yield [*arguments[:i], wrong[type(argument)], *arguments[i + 1 :]]


def _check_unchanged(arguments):
    for argument in arguments:
        if isinstance(argument, Guarded) and argument.values.shape[1] != 1:  # but a workspace
            argument.check_unchanged()


# ---- programs ------------------------------------------------------------------------------------

COLUMNS = ["taken", "small", "1-thread", "busy", "parallel", "refused"]


def environment(report=True, **changes):
    """Two workers, every call taken that may have both, and two threads of OpenBLAS; None takes a
    variable away."""
    given = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("HETSCHED_BLAS", "OMP_"))
    }
    given["OPENBLAS_NUM_THREADS"] = "2"
    made = dropin.environment(least="0,alone=inf", report=report, given=given)
    made.pop("HETSCHED_BLAS_SPEEDS", None)
    made["HETSCHED_BLAS_CORES"] = two_cores()
    made["PYTHONPATH"] = str(Path(__file__).parent)
    made.update({name: value for name, value in changes.items() if value is not None})
    return {
        name: value
        for name, value in made.items()
        if name not in changes or changes[name] is not None
    }


def table(text):
    """Calls by function and fate, of all tables."""
    found = {}
    for name, numbers in re.findall(r"^([sdcz][a-z]+) +((?:\d+ +){6})", text, re.MULTILINE):
        found[name] = {
            column: int(count) for column, count in zip(COLUMNS, numbers.split(), strict=True)
        }
    return found
