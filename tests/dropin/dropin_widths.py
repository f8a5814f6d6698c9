"""Compare each function of a library, called through the drop-in library, with the function alone.

    python tests/dropin/dropin_widths.py WIDTH LIBRARY ...

with the drop-in library in LD_PRELOAD. WIDTH is plain32, plain64, wheel32 or wheel64: how functions
are named, and how wide integers are. The libraries are opened in the order given, each visible to
those after it (RTLD_GLOBAL), and names are looked up in this order. The program prints a line for
each difference, and at the end the number of calls.
"""

import ctypes
import functools
import sys

import dropin_calls as calls
import numpy as np

N, COLS, MORE, ZERO_AT = 70, 9, 25, 40


class Matrix(np.ndarray):
    """Becomes an array between guards, and after it its leading dimension."""


class Vector(np.ndarray):
    """An array alone, of one column."""


def matrix(values):
    return np.asarray(values).view(Matrix)


def vector(values):
    return np.asarray(values).reshape(-1, 1).view(Vector)


def made(parts, integer):
    """Arguments from a description: arrays of their own each time. Pivots are a list."""
    found = []
    for part in parts:
        if isinstance(part, Matrix):
            guarded = calls.Guarded(np.array(part))
            found += [guarded, guarded.lead]
        elif isinstance(part, Vector):
            found.append(calls.Guarded(np.array(part), more=0))
        elif isinstance(part, list):
            found.append(calls.Integers(len(part), integer))
            found[-1].values[:] = part
        else:
            found.append(part)
    return found


def products(letter, rng):
    one = calls.LETTERS[letter](1)
    a, b, c = (
        matrix(calls.random(rng, letter, N, N) + 2 * np.eye(N, dtype=calls.LETTERS[letter]))
        for _ in "abc"
    )
    x, y = (vector(calls.random(rng, letter, N)) for _ in "xy")
    yield "gemm", ("N", "T", N, N, N, one, a, b, one, c)
    yield "syrk", ("L", "N", N, N, one, a, one, c)
    if calls.is_complex(letter):
        yield "herk", ("L", "N", N, N, one, a, one, c)
    yield (
        "trsm",
        ("L", "U", "N", "N", N, N, one, matrix(np.array(a) + N * np.eye(N, dtype=a.dtype)), b),
    )
    yield "gemv", ("T", N, N, one, a, x, 1, one, y, 1)


def systems(letter, rng, factor):
    """`factor` calls a function of the library alone, and gives its arguments back."""
    dtype = calls.LETTERS[letter]
    values = calls.random(rng, letter, N, N)
    a, b, tall = (
        matrix(values),
        matrix(calls.random(rng, letter, N, COLS)),
        matrix(calls.random(rng, letter, N + MORE, N)),
    )
    tall_b = matrix(calls.random(rng, letter, N + MORE, COLS))
    positive = matrix((values @ values.conj().T + N * np.eye(N)).astype(dtype))
    triangle = matrix(np.triu(values) + N * np.eye(N, dtype=dtype))
    nothing, size = [-5] * N, 64 * (N + MORE)
    work, tau = vector(np.zeros(size, dtype)), vector(np.zeros(N, dtype))
    transposed = "C" if calls.is_complex(letter) else "T"
    yield "getrf", (N, N, a, nothing)
    yield "gesv", (N, COLS, a, nothing, b)
    _, _, lu, _, pivots, _ = factor("getrf", (N, N, a, nothing))
    lu, pivots = matrix(lu.values.copy()), pivots.values.tolist()
    yield "getrs", ("N", N, COLS, lu, pivots, b)
    yield "getri", (N, lu, pivots, work, size)
    yield "potrf", ("L", N, positive)
    yield "posv", ("L", N, COLS, positive, b)
    lower = matrix(factor("potrf", ("L", N, positive))[2].values.copy())
    yield "potrs", ("L", N, COLS, lower, b)
    yield "trtrs", ("U", "N", "N", N, COLS, triangle, b)
    yield "geqrf", (N + MORE, N, tall, tau, work, size)
    _, _, qr, _, tau, *_ = factor("geqrf", (N + MORE, N, tall, tau, work, size))
    qr, tau = matrix(qr.values.copy()), vector(tau.values.copy())
    yield "orgqr", (N + MORE, N, N, qr, tau, work, size)
    yield "ormqr", ("L", transposed, N + MORE, COLS, N, qr, tau, tall_b, work, size)
    yield "gels", ("N", N + MORE, N, COLS, tall, tall_b, work, size)

    # A column of zeros, and a diagonal element that is zero or negative: info says where.
    for zero in (matrix(values.copy()), matrix(np.array(triangle)), matrix(np.array(positive))):
        zero[:, ZERO_AT] = 0
        zero[ZERO_AT, :] = 0
        if zero[0, 0] == positive[0, 0]:
            yield "potrf", ("L", N, zero)
            yield "posv", ("L", N, COLS, zero, b)
        elif zero[1, 0] == 0:
            yield "trtrs", ("U", "N", "N", N, COLS, zero, b)
        else:
            yield "getrf", (N, N, zero, nothing)
            yield "gesv", (N, COLS, zero, nothing, b)


def difference(letter, found, expected, failed):
    """What differs between the arguments of two calls, or "". A factorisation that failed has
    pivots and info alone."""
    for at, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        if isinstance(ours, calls.Integers):
            ours.check_guards()
            if not np.array_equal(ours.values, theirs.values):
                return f"argument {at}: {ours.values[:8]} for {theirs.values[:8]}"
        elif isinstance(ours, calls.Guarded) and not failed:
            ours.check_guards()
            if ours.values.shape == (64 * (N + MORE), 1):
                continue  # workspace
            scale = max(1.0, float(np.abs(theirs.values).max()))
            error = float(np.abs(ours.values - theirs.values).max()) / scale
            if not error <= 1e5 * calls.eps(letter):
                return f"argument {at}: an error of {error:.1e}"
    return ""


class Comparison:
    """Calls through the drop-in library, and of the libraries alone."""

    def __init__(self, width, libraries):
        self.width, self.libraries = width, libraries
        self.ours, self.alone = (
            calls.Caller(sources, width) for sources in ([ctypes.CDLL(None)], libraries)
        )
        self.lines, self.count = [], 0

    def has(self, name):
        """Of plain names; the libraries in wheels are whole."""
        return self.width.startswith("wheel") or any(
            hasattr(library, name) for library in self.libraries
        )

    def call(self, who, letter, routine, parts, order=None):
        """Its arguments afterwards. `order`: of C."""
        arguments = made(parts, who.integer)
        if routine in calls.ROUTINES[4:]:
            arguments.append(calls.Integers(1, who.integer))
        if order:
            who.cblas(
                letter, routine, *calls.in_c(routine, arguments, order), real=routine == "herk"
            )
        else:
            who.fortran(letter, routine, *arguments)
        return arguments

    def compare(self, letter, routine, parts, order=None):
        found, expected = (
            self.call(who, letter, routine, parts, order) for who in (self.ours, self.alone)
        )
        failed = routine in calls.ROUTINES[4:] and expected[-1].values[0] != 0
        said = difference(letter, found, expected, failed)
        self.count += 1
        if said:
            self.lines.append(f"{letter}{routine}: {said}")

    def compare_all(self):
        for letter in calls.LETTERS:
            rng = np.random.default_rng(7)
            for routine, parts in products(letter, rng):
                for order in (None, "C", "R") if self.has("cblas_dgemm") else (None,):
                    self.compare(letter, routine, parts, order)
            if self.has("dgetrf_"):
                for routine, parts in systems(
                    letter, rng, functools.partial(self.call, self.alone, letter)
                ):
                    self.compare(letter, routine, parts)


if __name__ == "__main__":
    comparison = Comparison(
        sys.argv[1], [ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL) for path in sys.argv[2:]]
    )
    comparison.compare_all()
    for line in comparison.lines:
        print(line)
    print(comparison.count, "calls")
