"""The short way for what is small: nothing but the time differs from the general one."""

import gc
import inspect
import itertools
import operator
import os
import pickle
import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
import hetsched.runners.product
from hetsched._engine import fast

TESTS = Path(__file__).parents[1]
DEFAULTS = (None, 1.0, 0.0, "auto", False, None)
LIMIT = hetsched.runners.product.SMALL
needs_it = pytest.mark.skipif(not fast.BUILT, reason="the short way is not built")


class Subclass(np.ndarray):
    """Another kind of array, with nothing of its own."""


class Own(np.ndarray):
    """Another kind with its own operators."""


for _name in (
    "radd",
    "rsub",
    "rmul",
    "rmatmul",
    "rpow",
    "rmod",
    "rdivmod",
    "rxor",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
):
    setattr(Own, f"__{_name}__", lambda self, other, *_, name=_name: (name, type(other)))


class Derived(hs.Array):
    """A user's own kind of Array."""


class Asked:
    """Has its own idea of ufuncs."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc.__name__, tuple(type(x) for x in inputs)


class Whole(int):
    """A number of another type."""


@pytest.fixture(autouse=True, scope="module")
def _pool():
    """The short way is taken once there is one."""
    hs.matmul(np.eye(200), np.eye(200))


@pytest.fixture(scope="module")
def pool():
    with hs.Pool(1) as found:
        yield found


def outcome(function, *args):
    """What is returned, or the type and text of the error; warnings with the file that they
    name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = function(*args), None
        except Exception as raised:
            result, error = None, (type(raised), str(raised).replace("Array", "numpy.ndarray"))
    return result, error, [(w.category, str(w.message)) for w in caught]


def described(x):
    """All that can be seen of a result, bit for bit."""
    if isinstance(x, tuple):
        return tuple(map(described, x))
    if not isinstance(x, np.ndarray):
        return type(x), repr(x)
    if isinstance(x, np.ma.MaskedArray):
        return type(x), described(x.data), described(np.asarray(np.ma.getmaskarray(x)))
    # there bytes are padding or addresses
    values = repr(x.tolist()) if x.dtype.char in "gGO" else x.tobytes()
    return type(x), x.dtype.str, x.shape, x.strides, x.flags.writeable, x.flags.aligned, values


def unaligned(a):
    """Contiguous; objects always are aligned."""
    return (
        np.frombuffer(b"x" + a.tobytes(), a.dtype, offset=1).reshape(a.shape)
        if a.size and a.dtype != "O"
        else a
    )


FORMS = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "read-only": lambda a: np.broadcast_to(a, a.shape),
    "byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "unaligned": unaligned,
    "field": (
        lambda a: np.rec.fromarrays([np.ones(a.shape, "i1"), a], names="x, a", aligned=False)[
            "a"
        ].view(np.ndarray)
    ),
    "subclass": lambda a: a.view(Subclass),
    "Array": hs.asarray,
    "masked": np.ma.masked_array,
    "list": lambda a: a.tolist(),
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape) if a.size else a,
    "metadata": lambda a: a.astype(np.dtype(a.dtype, metadata={"unit": "m"})),
}
SIDES = (0, 1, 2, 8, 63, 64, 65)
DTYPES = ("f4", "f8", "c8", "c16", "i8", "f2", "?", "g", "O")


def matrix(rng, shape, dtype):
    values = rng.integers(-9, 9, shape) + 0.5 * (np.dtype(dtype).kind in "fc")
    return values.astype(dtype)


def by_both(monkeypatch, function):
    """The outcomes of the short way and of the general one."""
    short = function()
    with monkeypatch.context() as patch:
        patch.setattr(fast, "product", lambda *_: None)
        return short, function()


class TestProduct:
    @pytest.mark.parametrize(
        "forms", sorted({(x, y) for x in FORMS for y in ("C", "F", x)}), ids="-".join
    )
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_both_ways_agree(self, monkeypatch, pool, forms, dtype):
        """In value, type, layout, error and warning."""
        rng = np.random.default_rng(1)
        for m, k, n in ((8, 2, 1), (2, 8, 63), (0, 2, 2), (2, 0, 2), (1, 1, 0)):
            a, b = (
                FORMS[forms[0]](matrix(rng, (m, k), dtype)),
                FORMS[forms[1]](matrix(rng, (k, n), dtype)),
            )
            for call in (lambda a=a, b=b: hs.matmul(a, b), lambda a=a, b=b: pool.matmul(a, b)):
                short, general = by_both(monkeypatch, lambda call=call: outcome(call))
                assert described(short[0]) == described(general[0])
                assert short[1:] == general[1:]

    @given(st.data())
    def test_any_shapes(self, data):
        """Some do not fit together."""
        sides = st.sampled_from(SIDES)
        left, right = (data.draw(st.lists(sides, min_size=0, max_size=3)) for _ in range(2))
        dtypes = data.draw(st.tuples(st.sampled_from(DTYPES[:5]), st.sampled_from(DTYPES[:5])))
        if data.draw(st.booleans()):
            left, right, dtypes = (left + [8, 8])[:2], [(left + [8, 8])[1], 64], (dtypes[0],) * 2
        rng = np.random.default_rng(2)
        a, b = matrix(rng, left, dtypes[0]), matrix(rng, right, dtypes[1])
        with pytest.MonkeyPatch.context() as patch:
            short, general = by_both(patch, lambda: outcome(hs.matmul, a, b))
        assert described(short[0]) == described(general[0])
        assert short[1:] == general[1:]

    @needs_it
    @pytest.mark.parametrize("dtype", DTYPES[:4])
    @pytest.mark.parametrize("form", ["C", "F", "read-only"])
    def test_usual_ones_are_taken(self, dtype, form):
        for n in SIDES:
            a = FORMS[form](matrix(np.random.default_rng(3), (n, n), dtype))
            found = fast.product(a, a, *DEFAULTS, LIMIT)
            assert type(found) is np.ndarray
            assert described(found) == described(np.matmul(a, a))

    @pytest.mark.parametrize(
        "form",
        [name for name in FORMS if name not in ("C", "F", "transposed", "read-only", "metadata")],
    )
    def test_others_are_not(self, form):
        a = matrix(np.random.default_rng(4), (8, 8), "f8")
        assert fast.product(FORMS[form](a), a, *DEFAULTS, LIMIT) is None
        assert fast.product(a, FORMS[form](a), *DEFAULTS, LIMIT) is None
        twice = FORMS[form](a)
        assert fast.product(twice, twice, *DEFAULTS, LIMIT) is None

    def test_what_does_not_fit_is_not(self):
        for a, b in (
            (np.ones((8, 2)), np.ones((3, 8))),
            (np.ones((2, 2)), np.ones((2, 2), "f4")),
            (np.ones(3), np.ones((2, 2))),
            (np.array(2.0), np.ones((2, 2))),
            (np.ones((2, 2)), np.ones((2, 2, 2))),
            (1.0, np.ones((2, 2))),
        ):
            assert fast.product(a, b, *DEFAULTS, LIMIT) is None
        for dtype in DTYPES[4:]:
            a = np.ones((2, 2), dtype)
            assert fast.product(a, a, *DEFAULTS, LIMIT) is None

    @pytest.mark.parametrize(
        ("place", "value"),
        [
            (3, 2.0), (3, 1), (3, np.float64(1)), (3, 1j), (4, 1.0), (4, None), (5, "rows"),
            (5, None), (6, True), (6, 0), (7, print), (9, 2), (9, True), (9, 1.0),
            (10, "parallel"), (10, None),
        ],
    )  # fmt: skip
    def test_other_arguments_are_not(self, place, value):
        args = [np.eye(3), np.eye(3), *DEFAULTS, 27, 1, "once"]
        if fast.BUILT:
            assert fast.product(*args) is not None
        args[place] = value
        assert fast.product(*args) is None

    @needs_it
    def test_large_ones_have_been_looked_at(self):
        a, v = np.eye(3), np.ones(3)
        assert fast.product(a, a, *DEFAULTS, 26) is True
        assert fast.product(a, a, np.empty((3, 3)), *DEFAULTS[1:], 26) is True
        assert fast.product(a, a, np.empty((3, 4)), *DEFAULTS[1:], 26) is None
        assert fast.product(a, v, *DEFAULTS, 8) is None

    @pytest.mark.parametrize("a", [(5,), (4, 5)], ids=str)
    @pytest.mark.parametrize("b", [(5,), (5, 3)], ids=str)
    def test_vectors(self, a, b):
        rng = np.random.default_rng(6)
        a, b = rng.standard_normal(a), rng.standard_normal(b)
        work = a.size * b.size // 5
        if fast.BUILT:
            assert described(fast.product(a, b, *DEFAULTS, work)) == described(np.matmul(a, b))
            large = fast.product(a, b, *DEFAULTS, work - 1)
            assert large is (True if a.ndim == b.ndim == 2 else None)
        for x, y in ((a, b), (hs.asarray(a), b), (a, hs.asarray(b))):
            assert (x @ y).tolist() == np.matmul(a, b).tolist()

    OUTPUTS = {
        "itself": lambda memory: memory[:9].reshape(3, 3),
        "overlapping": lambda memory: memory[8:17].reshape(3, 3),
        "F": lambda _: np.empty((3, 3), order="F"),
        "strided": lambda _: np.empty((3, 6))[:, ::2],
        "read-only": lambda _: np.broadcast_to(np.empty((3, 3)), (3, 3)),
        "shape": lambda _: np.empty((3, 4)),
        "size": lambda _: np.empty(9),
        "dtype": lambda _: np.empty((3, 3), "f4"),
        "byte order": lambda _: np.empty((3, 3), ">f8"),
        "Array": lambda _: hs.asarray(np.empty((3, 3))),
        "list": lambda _: [[0.0] * 3] * 3,
    }

    @pytest.mark.parametrize("kind", ["new", "adjacent", *OUTPUTS])
    def test_outputs(self, monkeypatch, kind):
        """They are written if they have memory of their own, else refused."""
        usual = {
            "new": lambda _: np.empty((3, 3)),
            "adjacent": lambda memory: memory[9:18].reshape(3, 3),
        }

        def call(function):
            memory = np.arange(27.0)
            a, out = memory[:9].reshape(3, 3), (usual | self.OUTPUTS)[kind](memory)
            result, *said = outcome(function, a, np.full((3, 3), 0.5), out)
            assert result is None or result is out
            return described(result), described(memory), said

        short, general = by_both(monkeypatch, lambda: call(hs.matmul))
        assert short == general
        if fast.BUILT:
            result, *_ = call(lambda *arrays: fast.product(*arrays, *DEFAULTS[1:], LIMIT))
            assert (result[0] is np.ndarray) == (kind in usual)

    def test_an_output_for_vectors(self):
        out = np.empty(3)
        assert fast.product(np.ones((3, 3)), np.ones(3), out, *DEFAULTS[1:], LIMIT) is None
        assert hs.matmul(np.ones((3, 3)), np.ones(3), out) is out
        assert out.tolist() == [3.0] * 3

    @pytest.mark.parametrize("answer", ["ignore", "warn", "raise"])
    def test_values_beyond_the_range(self, monkeypatch, answer):
        big = np.full((4, 4), 1e300)
        with np.errstate(all=answer):
            short, general = by_both(monkeypatch, lambda: outcome(hs.matmul, big, big))
        assert described(short[0]) == described(general[0])
        assert short[1:] == general[1:]
        assert (short[1] is not None) == (answer == "raise")
        assert (short[2] != []) == (answer == "warn")

    def test_a_closed_pool(self):
        pool = hs.Pool(1)
        assert pool.matmul(np.eye(2), np.eye(2)).tolist() == np.eye(2).tolist()
        pool.close()
        with pytest.raises(ValueError, match="the pool is closed"):
            pool.matmul(np.eye(2), np.eye(2))

    def test_an_emulated_pool(self, monkeypatch):
        """Its products take their time, small ones too."""
        monkeypatch.setattr(fast, "product", None)
        with hs.Pool(hs.Platform.star([1.0, 2.0]), emulate=True) as pool:
            assert pool.matmul(np.eye(2), np.eye(2)).tolist() == np.eye(2).tolist()

    def test_the_function_is_one_of_python(self):
        """By name, with a signature and words, to be wrapped and sent as any other."""
        assert pickle.loads(pickle.dumps(hs.matmul)) is hs.matmul
        assert list(inspect.signature(hs.matmul).parameters) == [
            "A",
            "B",
            "out",
            "alpha",
            "beta",
            "method",
            "trace",
            "progress",
        ]
        assert inspect.isfunction(hs.matmul)
        assert "alpha A B" in inspect.getdoc(hs.matmul)


OPERATORS = (
    *(
        getattr(operator, name)
        for name in (
            "add",
            "sub",
            "mul",
            "truediv",
            "floordiv",
            "mod",
            "pow",
            "matmul",
            "lshift",
            "rshift",
            "and_",
            "or_",
            "xor",
            "lt",
            "le",
            "eq",
            "ne",
            "gt",
            "ge",
            "iadd",
            "isub",
            "imul",
            "itruediv",
            "ifloordiv",
            "ipow",
            "imatmul",
        )
    ),
    divmod,
    np.add,
    np.matmul,
    np.hypot,
    np.equal,
    np.divmod,
    np.ldexp,
)
COMPARISONS = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)
OTHERS = {
    "plain": lambda a: a.copy(),
    "Array": lambda a: hs.asarray(a.copy()),
    "itself": None,
    "float": lambda a: 2.0,
    "int": lambda a: 3,
    "bool": lambda a: True,
    "complex": lambda a: 1 + 2j,
    "float64": lambda a: np.float64(2),
    "float32": lambda a: np.float32(2),
    "row": lambda a: a[0],
    "scalar array": lambda a: np.array(2),
    "wrong shape": lambda a: np.ones((9, 2)),
    "list": lambda a: a.tolist(),
    "None": lambda a: None,
    "text": lambda a: "x",
    "whole": lambda a: Whole(2),
    "subclass": lambda a: a.view(Subclass),
    "own": lambda a: a.view(Own),
    "asked": lambda a: Asked(),
    "zero": lambda a: 0,
    "integers": lambda a: np.ones(a.shape, np.int32),
    "huge": lambda a: 10**30,
    "masked": lambda a: np.ma.masked_array(a.copy(), np.asarray(a) == a.flat[0]),
}


def as_plain(x):
    """With the types of Arrays forgotten, which a plain array in their place does not have."""
    if isinstance(x, tuple):
        return tuple(map(as_plain, x))
    if isinstance(x, type):
        return np.ndarray if issubclass(x, hs.Array) else x
    return x.view(np.ndarray) if isinstance(x, hs.Array) else x


class TestOperators:
    @pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
    @pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "O"])
    def test_as_beside_a_plain_array(self, function, dtype):
        """Values, errors and warnings; what comes back as a plain array there is an Array."""
        for other, swap in itertools.product(OTHERS, (False, True)):
            if other == "huge" and function in (operator.pow, operator.ipow):
                continue  # of objects, without end
            found = []
            for wrap in (np.asarray, hs.asarray):
                a = wrap(matrix(np.random.default_rng(5), (4, 4), dtype))
                b = a if other == "itself" else OTHERS[other](np.asarray(a))
                found.append(outcome(function, *((b, a) if swap else (a, b))))
            want, got = found
            assert described(as_plain(got[0])) == described(as_plain(want[0])), (other, swap)
            turned = swap and function in COMPARISONS  # Python asks a subclass first
            assert turned or got[1:] == want[1:], (other, swap)
            assert (got[1] is None) == (want[1] is None)
            # what others make of it is theirs; in place a plain array stays one
            kept = {"subclass", "own", "masked", "asked"}
            if (
                type(want[0]) is np.ndarray
                and other not in kept
                and not (swap and function.__name__.startswith("i"))
            ):
                assert type(got[0]) is hs.Array, (other, swap)

    @pytest.mark.parametrize(
        "function",
        [operator.neg, operator.pos, operator.abs, operator.invert, np.exp, np.modf, np.isnan],
    )
    @pytest.mark.parametrize("shape", [(4, 4), (0,), ()], ids=str)
    @pytest.mark.parametrize("dtype", ["f8", "i8", "?", "c16"])
    def test_of_one(self, function, shape, dtype):
        a = matrix(np.random.default_rng(6), shape, dtype)
        want, got = outcome(function, a), outcome(function, hs.asarray(a))
        assert described(as_plain(got[0])) == described(want[0])
        assert got[1:] == want[1:]
        if type(want[0]) is np.ndarray:
            assert type(got[0]) is hs.Array

    @pytest.mark.parametrize(
        "function", [operator.add, operator.lt, operator.iadd, operator.matmul, divmod, np.subtract]
    )
    def test_derived_classes_stay(self, function):
        a = matrix(np.random.default_rng(7), (4, 4), "f8") + 10
        ours = function(a.copy().view(Derived), a)
        for x in ours if isinstance(ours, tuple) else (ours,):
            assert type(x) is Derived
        assert described(as_plain(ours)) == described(function(a, a))
        assert (
            type(a.view(Derived).__array_ufunc__(np.add, "__call__", hs.asarray(a), 1)) is Derived
        )

    def test_in_place_is_the_same_object(self):
        a = np.ones((3, 3))
        ours = same = hs.asarray(a)
        ours += 1
        ours *= ours
        ours -= a
        assert ours is same
        assert a.tolist() == np.zeros((3, 3)).tolist()
        a.flags.writeable = False
        ours = hs.asarray(a)
        with pytest.raises(ValueError, match="read-only"):
            ours += 1

    def test_power_with_a_modulus(self):
        for a in (np.ones(3), hs.asarray(np.ones(3))):
            with pytest.raises(TypeError):
                pow(a, 2, 3)

    def test_no_attributes(self):
        """As an ndarray."""
        for a in (np.ones(3), hs.asarray(np.ones(3))):
            with pytest.raises(AttributeError):
                a.name = "x"
            with pytest.raises(TypeError, match="unhashable"):
                hash(a)

    @needs_it
    def test_results_are_objects_of_their_own(self):
        """Not views of another one, and no garbage to look for."""
        a = hs.asarray(np.ones((3, 3)))
        for found in (a + 1, a @ a, -a, np.exp(a), a < 2):
            assert type(found) is hs.Array
            assert found.base is None
            assert found.flags.owndata
            assert not gc.is_tracked(found)

    def test_arrays_of_others_stay_theirs(self):
        """A result that somebody else holds as well is not changed."""
        kept, pair = np.ones(3), (np.ones(3), np.ones(3))
        a = hs.asarray(np.ones(3))
        if fast.BUILT:
            assert type(a.__array_ufunc__(lambda _: kept, "__call__", a)) is hs.Array
            assert [type(x) for x in a.__array_ufunc__(lambda _: pair, "__call__", a)] == [
                hs.Array
            ] * 2
        assert type(a + 1) is hs.Array
        assert type(kept) is type(pair[0]) is np.ndarray

    def test_general_calls_keep_their_options(self):
        a = hs.asarray(np.arange(6.0).reshape(2, 3))
        assert np.add.reduce(a, axis=1, keepdims=True).tolist() == [[3.0], [12.0]]
        assert np.add(a, 1, where=np.asarray(a) > 2, out=np.zeros((2, 3))).tolist() == [
            [0, 0, 0],
            [4, 5, 6],
        ]
        assert np.add(a, 1, dtype=np.float32).dtype == np.float32
        with pytest.raises(TypeError):
            a.__array_ufunc__(np.add)

    def test_the_class(self):
        assert pickle.loads(pickle.dumps(hs.Array)) is hs.Array
        assert hs.Array.__mro__[1:] == (np.ndarray, object)
        assert (hs.Array.__name__, hs.Array.__qualname__) == ("Array", "Array")
        assert hs.Array.__module__ == inspect.getmodule(hs.asarray).__name__
        assert "hetsched's pool" in inspect.getdoc(hs.Array)
        assert "class Array(np.ndarray" in inspect.getsource(hs.Array)


class TestReferences:
    """What is counted is counted right: nothing is kept, and nothing ends early."""

    A, X = np.ones((4, 4)), hs.asarray(np.ones((4, 4)))
    CALLS = {
        "product": lambda A, X: hs.matmul(A, A),
        "of another shape": lambda A, X: outcome(hs.matmul, A, A[:2, :2]),
        "asarray": lambda A, X: hs.asarray(A),
        "sum": lambda A, X: X + A,
        "of both": lambda A, X: X + X,
        "reflected": lambda A, X: 1.5 - X,
        "in place": lambda A, X: operator.iadd(X, 0),
        "in place of itself": lambda A, X: operator.itruediv(X, X),
        "comparison": lambda A, X: X == A,
        "power": lambda A, X: X**2,
        "pair": lambda A, X: divmod(X, 2),
        "matrix product": lambda A, X: X @ A,
        "negative": lambda A, X: -X,
        "ufunc": lambda A, X: np.hypot(X, A),
        "general ufunc": lambda A, X: np.add(X, A, dtype=np.float64),
        "subclass": lambda A, X: X + A.view(Subclass),
        "error": lambda A, X: outcome(operator.add, X, A[:3]),
        "error in place": lambda A, X: outcome(operator.iadd, X, 1j),
        "error of a ufunc": lambda A, X: outcome(np.add, X, "x"),
        "error of a comparison": lambda A, X: outcome(operator.lt, X, A[:3]),
    }

    @pytest.mark.few(3)
    @pytest.mark.parametrize("name", CALLS)
    def test_none_is_kept(self, name):
        call = self.CALLS[name]
        held = (self.A, self.X, hs.Array, np.ndarray, np.matmul, np.dtype(float), LIMIT)

        def repeat(count):
            for _ in range(count):
                call(self.A, self.X)
            gc.collect()
            return [sys.getrefcount(x) for x in held]

        before = repeat(50)
        tracemalloc.start()
        try:
            repeat(50)
            grown = []
            # other threads allocate as well: once may be theirs, a loss of the calls is there each
            # time
            for _ in range(3):
                first = tracemalloc.get_traced_memory()[0]
                after = repeat(300)
                grown.append(tracemalloc.get_traced_memory()[0] - first)
        finally:
            tracemalloc.stop()
        assert all(abs(x - y) < 20 for x, y in zip(before, after, strict=True))
        assert min(grown) < 8000  # an object for each call would be 19 200 at least


def fresh(*command):
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment,
    )


@pytest.mark.slow
@needs_it
def test_without_it():
    """All tests of Arrays, and those here, where it was not built."""
    files = [str(TESTS / name) for name in ("runners/test_array.py", "_engine/test_fast.py")]
    options = [
        "-p",
        "without_fast",
        "-p",
        "no:cacheprovider",
        "-n",
        "0",
        "-k",
        "not both_ways and not any_shapes and not none_is_kept",
    ]
    run = fresh("-m", "pytest", *options, *files)
    assert run.returncode == 0, run.stdout[-5000:]
    assert "without the short way" in run.stdout


def test_products_alone_need_no_arrays():
    """The module is loaded with the first product; a class of Arrays may never be."""
    code = (
        "import sys, numpy as np, hetsched as hs; a = np.eye(3); [hs.matmul(a, a) for _ in"
        " range(3)]; assert 'hetsched._engine._fast' in sys.modules; assert"
        " 'hetsched.runners.array' not in sys.modules; assert hs._engine.fast.array(a, None) is"
        " None; print(hs.matmul(a, a).trace())"
    )
    run = fresh("-W", "error", "-c", code)
    assert (run.returncode, run.stdout) == (0, "3.0\n"), run.stderr
