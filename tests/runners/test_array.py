"""hs.asarray: NumPy in every respect, but for who computes large products and systems."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import many

import hetsched as hs
import hetsched.runners.array_linalg
import hetsched.runners.lu
import hetsched.runners.product
from hetsched.runners.array import Array

DTYPES = (np.float32, np.float64, np.complex64, np.complex128)
OTHERS = (np.int64, np.bool_, np.longdouble, np.float16, object, ">f8", np.uint8)


@pytest.fixture
def taken(monkeypatch):
    """Small ones too; the products, systems and determinants that hetsched has computed."""
    seen = []
    monkeypatch.setattr(hetsched.runners.product, "SMALL", 0)
    monkeypatch.setattr(hetsched.runners.product, "NUMPY_SIDE", 0)
    monkeypatch.setattr(hetsched.runners.array_linalg, "FEW_ROWS", 0)
    multiply, run = hetsched.runners.product.multiply, hetsched.runners.factor.Problem.run

    def matmul(*args):
        multiply(*args)
        seen.append("matmul")

    def factor(self, *args):
        seen.append("lu")
        return run(self, *args)

    monkeypatch.setattr(hetsched.runners.product, "multiply", matmul)
    monkeypatch.setattr(hetsched.runners.factor.Problem, "run", factor)
    return seen


def numbers(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape) * 3
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.round(values, 3).astype(dtype)


def outcome(function, *args):
    """The result, or the error's type and text; and what was warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:
            return (
                None,
                (type(error), str(error).replace("Array", "numpy.ndarray")),
                [str(w.message) for w in caught],
            )
    return result, None, [str(w.message) for w in caught]


def assert_same(ours, plain, exactly=True):
    """Equal results in equal types, an Array for a NumPy array (or still one, where NumPy itself
    drops subclasses)."""
    if isinstance(plain, tuple | list):
        assert isinstance(ours, tuple | list)
        assert len(ours) == len(plain)
        for x, y in zip(ours, plain, strict=True):
            assert_same(x, y, exactly)
        return
    assert (
        (type(ours) is Array or type(ours) is np.ndarray)
        if type(plain) is np.ndarray
        else type(ours) is type(plain)
    )
    if isinstance(plain, np.ndarray | np.generic):
        assert ours.dtype == plain.dtype
        assert ours.shape == plain.shape
        x, y = np.asarray(ours), np.asarray(plain)
        if exactly or x.dtype.kind not in "fc":
            np.testing.assert_array_equal(x, y)
        else:
            eps = np.finfo(plain.dtype).eps
            np.testing.assert_allclose(
                x, y, rtol=1e4 * eps, atol=1e4 * eps * max(1.0, np.abs(y).max(initial=0))
            )
    else:
        assert ours == plain or ours is plain


def index_sum(a):
    a = a.copy()
    np.add.at(a, (0, slice(None)), 1)
    return a


def in_place(a):
    a = a.copy()
    a += 1
    a *= a
    a[1:] -= a[:-1]
    return a


UNARY = {
    "exp": np.exp,
    "sqrt": lambda a: np.sqrt(np.abs(a)),
    "abs": abs,
    "negative": lambda a: -a,
    "power": lambda a: a**2,
    "divide": lambda a: 1 / (a + 10),
    "floor_divide": lambda a: a // 2,
    "modf": np.modf,
    "divmod": lambda a: divmod(a, 2),
    "frexp": np.frexp,
    "compare": lambda a: a > 0,
    "logical": lambda a: (a > 0) & (a < 1),
    "isfinite": np.isfinite,
    "conj": np.conj,
    "real": lambda a: a.real,
    "sum": np.sum,
    "sum_method": lambda a: a.sum(),
    "sum_axis": lambda a: a.sum(0),
    "sum_keep": lambda a: a.sum(1, keepdims=True),
    "sum_where": lambda a: np.sum(a, where=a > 0),
    "prod": lambda a: a.prod(axis=1),
    "mean": np.mean,
    "mean_axis": lambda a: a.mean(axis=1),
    "std": lambda a: a.std(),
    "var": lambda a: a.var(0),
    "max": lambda a: a.max(),
    "min_axis": lambda a: a.min(axis=0),
    "argmax": lambda a: a.argmax(),
    "argsort": lambda a: a.argsort(axis=0),
    "sort": np.sort,
    "median": np.median,
    "percentile": lambda a: np.percentile(a, [10, 50]),
    "any": lambda a: (a > 5).any(),
    "all": lambda a: (a > -9).all(axis=0),
    "cumsum": lambda a: a.cumsum(),
    "cumprod": lambda a: np.cumprod(a, 0),
    "diff": np.diff,
    "ptp": np.ptp,
    "trace": lambda a: a.trace(),
    "clip": lambda a: a.clip(-1, 1),
    "round": lambda a: np.round(a, 1),
    "scalar": lambda a: a[0, 0],
    "row": lambda a: a[1],
    "slice": lambda a: a[::-1, 1:3],
    "mask": lambda a: a[a > 0],
    "fancy": lambda a: a[[0, 2], [1, 1]],
    "newaxis": lambda a: a[None, :, None],
    "transpose": lambda a: a.T,
    "reshape": lambda a: a.reshape(-1),
    "ravel": np.ravel,
    "diag": np.diag,
    "flat": lambda a: list(a.flat),
    "tolist": lambda a: a.tolist(),
    "item": lambda a: a[0, 0].item(),
    "iter": lambda a: [x.sum() for x in a],
    "astype": lambda a: a.astype(np.float32),
    "view": lambda a: a.view(np.uint8),
    "bytes": lambda a: a.tobytes(),
    "copy": lambda a: a.copy("F"),
    "concatenate": lambda a: np.concatenate([a, a]),
    "stack": lambda a: np.stack([a, a]),
    "hstack": lambda a: np.hstack([a, a]),
    "where": lambda a: np.where(a > 0, a, 0),
    "nonzero": lambda a: a.nonzero(),
    "unique": np.unique,
    "tile": lambda a: np.tile(a, 2),
    "repeat": lambda a: a.repeat(2, axis=0),
    "roll": lambda a: np.roll(a, 1),
    "pad": lambda a: np.pad(a, 1),
    "broadcast": lambda a: np.broadcast_to(a, (2, *a.shape)),
    "take": lambda a: a.take([0, 1]),
    "choose": lambda a: np.choose([0, 1, 0, 1], a[:2, :4]),
    "split": lambda a: np.split(a, 2, axis=1),
    "outer": lambda a: np.multiply.outer(a[0], a[1]),
    "reduceat": lambda a: np.add.reduceat(a, [0, 2], axis=0),
    "at": index_sum,
    "in_place": in_place,
    "accumulate": lambda a: np.maximum.accumulate(a, axis=1),
    "out": lambda a: np.add(a, 1, out=np.empty_like(a)),
    "zeros_like": np.zeros_like,
    "full_like": lambda a: np.full_like(a, 2),
    "searchsorted": lambda a: np.sort(a[0]).searchsorted(0.0),
    "interp": lambda a: np.interp(0.5, [0, 1], a[0, :2]),
    "histogram": lambda a: np.histogram(a, bins=4),
    "cov": np.cov,
    "corrcoef": np.corrcoef,
    "gradient": lambda a: np.gradient(a)[0],
    "fft": np.fft.fft,
    "norm": np.linalg.norm,
    "svd": lambda a: np.linalg.svd(a, compute_uv=False),
    "qr": lambda a: np.linalg.qr(a)[1],
    "inv": lambda a: np.linalg.inv(a[:, :4] + 9 * np.eye(4)),
    "eigvalsh": lambda a: np.linalg.eigvalsh(a[:, :4] + a[:, :4].T),
    "pinv": np.linalg.pinv,
    "lstsq": lambda a: np.linalg.lstsq(a, a[:, 0], rcond=None)[0],
    "rank": np.linalg.matrix_rank,
    "einsum": lambda a: np.einsum("ij,kj->ik", a, a),
    "inner": lambda a: np.inner(a, a),
    "kron": lambda a: np.kron(a, a),
    "vdot": lambda a: np.vdot(a, a),
    "cross": lambda a: np.cross(a[:, :3], a[::-1, :3]),
    "vectorised": lambda a: np.apply_along_axis(sum, 0, a),
    "bool_error": lambda a: bool(a),
    "shape_error": lambda a: a + a[:2],
    "index_error": lambda a: a[99],
    "axis_error": lambda a: a.sum(axis=7),
    "int_index_error": lambda a: a[0.5],
    "reshape_error": lambda a: a.reshape(7, 3),
    "sqrt_warning": lambda a: np.sqrt(a),
    "zero_warning": lambda a: a / 0,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", [np.float64, np.int64, *many([np.float32], [])])
def test_all_else_is_numpy(name, dtype):
    """The same values, bit for bit, in the same types, with the same errors and warnings."""
    plain = numbers((4, 6), dtype)
    ours = hs.asarray(plain.copy())
    want, got = outcome(UNARY[name], plain), outcome(UNARY[name], ours)
    assert got[1:] == want[1:]
    assert_same(got[0], want[0])


PRODUCTS = {
    "matmul": np.matmul,
    "operator": lambda a, b: a @ b,
    "dot": np.dot,
    "method": lambda a, b: a.dot(b),
    "tensordot": lambda a, b: np.tensordot(a, b, 1),
    "multi_dot": lambda a, b: np.linalg.multi_dot([a, b]),
    "einsum": lambda a, b: np.einsum("...j,j...->...", a, b),
}
SHAPES = [
    ((5, 4), (4, 3)),
    ((4,), (4, 3)),
    ((5, 4), (4,)),
    ((4,), (4,)),
    ((2, 5, 4), (4, 3)),
    ((2, 5, 4), (2, 4, 3)),
    ((3, 1, 5, 4), (2, 4, 3)),
    ((5, 4), (2, 4, 3)),
    ((0, 4), (4, 3)),
    ((5, 0), (0, 3)),
    ((5, 4), (5, 4)),
    ((4,), (3,)),
    ((2, 5, 4), (3, 4, 2)),
    ((), (4, 3)),
    ((5, 4), ()),
]


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("sides", ["both", "left", "right"])
def test_products(taken, name, shapes, sides):
    """Of all shapes, mixed with plain arrays on either side; errors are NumPy's."""
    plain = [np.asarray(numbers(shape, seed=i)) for i, shape in enumerate(shapes)]
    ours = [
        hs.asarray(x) if sides in ("both", side) else x
        for x, side in zip(plain, ("left", "right"), strict=True)
    ]
    want, got = outcome(PRODUCTS[name], *plain), outcome(PRODUCTS[name], *ours)
    assert got[1:] == want[1:]
    assert_same(got[0], want[0], exactly=False)
    if name in ("matmul", "operator", "dot") and shapes == ((5, 4), (4, 3)):
        assert taken == ["matmul"]
        assert type(got[0]) is Array


@pytest.mark.parametrize("left", DTYPES + OTHERS, ids=str)
@pytest.mark.parametrize("right", DTYPES + OTHERS, ids=str)
def test_dtypes(taken, left, right):
    """Supported ones are taken over, mixed or not; all others are NumPy's, without a word."""
    a, b = numbers((6, 6), left), numbers((6, 6), right, 1)
    for name in ("matmul", "dot"):
        taken.clear()
        want, got = outcome(PRODUCTS[name], a, b), outcome(PRODUCTS[name], hs.asarray(a), b)
        assert got[1:] == want[1:]
        assert_same(got[0], want[0], exactly=False)
        assert bool(taken) == (left in DTYPES and right in DTYPES)


@given(st.data())
def test_views(data):
    """Any strides, offsets and orders."""

    def view(shape, seed):
        base = numbers(
            (2 * shape[0] + 3, 2 * shape[1] + 3), data.draw(st.sampled_from(DTYPES)), seed
        )
        steps = [data.draw(st.sampled_from([1, 2, -1, -2])) for _ in shape]
        found = base[:: steps[0], :: steps[1]][: shape[0], : shape[1]]
        return found if data.draw(st.booleans()) else np.asfortranarray(found)

    small, thin = hetsched.runners.product.SMALL, hetsched.runners.product.NUMPY_SIDE
    hetsched.runners.product.SMALL = hetsched.runners.product.NUMPY_SIDE = 0
    try:
        m, k, n = (data.draw(st.integers(1, 12)) for _ in range(3))
        a, b = view((m, k), 1), view((k, n), 2)
        assert_same(hs.asarray(a) @ b, a @ b, exactly=False)
        assert_same(np.dot(a, hs.asarray(b)), a @ b, exactly=False)
    finally:
        hetsched.runners.product.SMALL, hetsched.runners.product.NUMPY_SIDE = small, thin


class TestOut:
    def test_out(self, taken):
        a, b = numbers((7, 5)), numbers((5, 6), seed=1)
        for make in (
            np.empty,
            lambda shape: hs.asarray(np.empty(shape)),
            lambda shape: np.empty((12, 14))[:7, ::2][:, :6],
        ):
            for function in (np.matmul, np.dot):
                out = make((7, 6))
                if function is np.dot and not out.flags.c_contiguous:
                    continue
                assert function(hs.asarray(a), b, out=out) is out
                assert_same(np.asarray(out), a @ b, exactly=False)
        ours = hs.asarray(a.copy())
        assert np.matmul(a, b, out=hs.asarray(np.empty((7, 6)))).__class__ is Array
        assert taken.count("matmul") == 6
        assert ours.dot(b, hs.asarray(np.empty((7, 6)))).__class__ is Array

    def test_in_place(self, taken):
        a, b = numbers((6, 6)), numbers((6, 6), seed=1)
        ours = same = hs.asarray(a.copy())
        ours @= b
        assert ours is same
        assert_same(ours, a @ b, exactly=False)
        square = hs.asarray(a.copy())
        square @= square
        assert_same(square, a @ a, exactly=False)
        plain = a.copy()
        plain @= hs.asarray(b)
        assert_same(np.asarray(plain), a @ b, exactly=False)
        assert taken == ["matmul"] * 3

    @pytest.mark.parametrize(
        "name", ["shape", "dtype", "read-only", "casting", "list", "broadcast", "overlaps itself"]
    )
    def test_outputs_that_numpy_judges(self, taken, name):
        def call(wrap):
            a, b = wrap(numbers((4, 4))), numbers((4, 4), seed=1)
            out = {
                "shape": np.empty((4, 5)),
                "dtype": np.empty((4, 4), np.float32),
                "read-only": np.empty((4, 4)),
                "casting": np.empty((4, 4), np.complex128),
                "list": [],
                "broadcast": np.empty((2, 4, 4)),
                "overlaps itself": np.lib.stride_tricks.as_strided(np.empty(16), (4, 4), (8, 8)),
            }[name]
            if name == "read-only":
                out.setflags(write=False)
            np.matmul(a, b, out=out)
            return out[:, 0] if name == "overlaps itself" else out

        want, got = outcome(call, np.asarray), outcome(call, hs.asarray)
        assert got[1:] == want[1:]
        if name != "overlaps itself":
            assert_same(got[0], want[0], exactly=False)

    def test_options_are_numpys(self, taken):
        a = hs.asarray(numbers((4, 4)))
        for options in (
            {"dtype": np.float32, "casting": "same_kind"},
            {"order": "F"},
            {"axes": [(1, 0), (0, 1), (0, 1)]},
        ):
            assert_same(
                np.matmul(a, a, **options), np.matmul(np.asarray(a), np.asarray(a), **options)
            )
            ours, plain = (
                np.matmul(x, x, out=np.empty((4, 4)), **options) for x in (a, np.asarray(a))
            )
            assert_same(ours, plain)
        assert not taken


class TestSystems:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(9,), (9, 1), (9, 4), (9, 9)], ids=str)
    def test_solve(self, taken, dtype, shape):
        a, b = numbers((9, 9), dtype) + 9 * np.eye(9, dtype=dtype), numbers(shape, dtype, 1)
        for x, y in ((hs.asarray(a), b), (a, hs.asarray(b)), (hs.asarray(a), hs.asarray(b))):
            found = np.linalg.solve(x, y)
            assert type(found) is Array
            assert_same(found, np.linalg.solve(a, b), exactly=False)
        assert taken == ["lu"] * 3
        assert_same(np.linalg.det(hs.asarray(a)), np.linalg.det(a), exactly=False)
        assert len(taken) == 4

    @pytest.mark.parametrize(
        "function",
        [
            np.linalg.det,
            lambda a: np.linalg.solve(a, np.ones(a.shape[-1])),
            lambda a: np.linalg.solve(a, a),
        ],
    )
    @pytest.mark.parametrize(
        "a",
        [
            np.zeros((5, 5)), np.ones((4, 5)), np.ones(3), np.full((3, 3), np.nan),
            np.diag([np.inf, 1, 2]), numbers((2, 4, 4)), numbers((4, 4), np.int64),
            numbers((4, 4), np.longdouble), numbers((4, 4), object), np.empty((0, 0)),
        ],
        ids=lambda a: f"{a.dtype} {a.shape}",
    )  # fmt: skip
    def test_as_numpy(self, taken, function, a):
        """Singular, non-finite, stacked, empty, wrong: NumPy's results and errors."""
        want, got = outcome(function, a), outcome(function, hs.asarray(a))
        assert got[1] == want[1]
        assert np.isfinite(a.astype(complex)).all() or not taken
        if not np.isinf(a.astype(complex)).any():
            assert got[2] == want[2]
            assert_same(got[0], want[0], exactly=False)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_slogdet(self, taken, dtype):
        a = numbers((9, 9), dtype)
        for x in (a, a[::-1], a * np.asarray(1e15, dtype)):
            want, got = np.linalg.slogdet(x), np.linalg.slogdet(hs.asarray(x))
            assert type(got) is type(want)
            assert_same(tuple(got), tuple(want), exactly=False)
        assert taken == ["lu"] * 3
        for x in (
            np.ones((5, 5), dtype),
            np.zeros((0, 0), dtype),
            np.full((3, 3), np.nan, dtype),
            numbers((2, 4, 4), dtype),
        ):
            want, got = outcome(np.linalg.slogdet, x), outcome(np.linalg.slogdet, hs.asarray(x))
            assert got[1:] == want[1:]
            assert_same(tuple(got[0]), tuple(want[0]), exactly=False)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_factors_beyond_the_range(self, dtype):
        """Rows from 1000 to 1/1000: products of some of them cannot be written, the determinant
        can. Sizes for real."""
        n = 300
        tridiagonal = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        for scale in (
            np.repeat([1e3, 1e-3], n // 2),
            np.repeat([1e-3, 1e3], n // 2),
            np.tile([1e3, 1e-3], n // 2),
        ):
            found = np.linalg.det(hs.asarray((scale[:, None] * tridiagonal).astype(dtype)))
            assert type(found) is dtype
            assert found == pytest.approx(n + 1, rel=1e-3)
            sign, log = np.linalg.slogdet(hs.asarray((scale[:, None] * tridiagonal).astype(dtype)))
            assert sign == pytest.approx(1)
            assert log == pytest.approx(np.log(n + 1), abs=1e-3)

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("size", [1e-30, 1e30])
    @pytest.mark.parametrize("answer", ["ignore", "warn", "raise", "call"])
    def test_values_beyond_the_range(self, taken, dtype, size, answer):
        """Warned of, raised or passed on as np.errstate says, in NumPy's words; sixteen are too
        many for double precision."""
        for n in (3, 16):
            calls = [], []
            a = np.diag(np.full(n, size)).astype(dtype)
            results = []
            for x, seen in zip((a, hs.asarray(a)), calls, strict=True):
                with np.errstate(all=answer, call=lambda kind, flag, seen=seen: seen.append(kind)):
                    results.append(outcome(np.linalg.det, x))
            want, got = results
            assert got[1] == want[1]
            # of complex numbers NumPy multiplies an infinity by a zero of its own
            assert got[2] == [words for words in want[2] if "invalid" not in words]
            assert calls[1] == [kind for kind in calls[0] if kind != "invalid value"]
            if want[1] is None:
                assert type(got[0]) is type(want[0])
                assert np.isinf(got[0]) == (size > 1 and (n > 10 or np.finfo(dtype).bits == 32))
                if size < 1:
                    assert got[0] == pytest.approx(want[0], rel=1e-5, abs=0)
        assert taken == ["lu"] * 2

    def test_inputs_are_kept(self, taken):
        a, b = numbers((9, 9)), numbers(9)
        before = a.copy(), b.copy()
        np.linalg.solve(hs.asarray(a), b)
        np.linalg.det(hs.asarray(a))
        assert np.array_equal(a, before[0])
        assert np.array_equal(b, before[1])

    def test_mixed_dtypes(self, taken):
        a, b = (
            numbers((9, 9), np.float32) + 9 * np.eye(9, dtype=np.float32),
            numbers((9, 2), np.complex128),
        )
        assert_same(
            np.linalg.solve(hs.asarray(a), b),
            np.linalg.solve(a.astype(np.complex128), b),
            exactly=False,
        )


class TestForms:
    def test_views_share_memory(self):
        plain = numbers((4, 5))
        ours = hs.asarray(plain)
        assert np.shares_memory(ours, plain)
        ours[0, 0] = 77
        assert plain[0, 0] == 77
        assert type(np.asarray(ours)) is np.ndarray
        assert np.shares_memory(np.asarray(ours), plain)
        assert type(np.asanyarray(ours)) is Array
        assert type(ours[1:]) is Array
        assert ours[1:].base is not None
        assert hs.asarray([[1, 2], [3, 4]], np.float32).dtype == np.float32

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_pickle(self, protocol):
        a = hs.asarray(numbers((4, 5)))
        back = pickle.loads(pickle.dumps(a, protocol))
        assert type(back) is Array
        assert_same(back, np.asarray(a))
        assert_same(pickle.loads(pickle.dumps(a[::2, ::-1], protocol)), np.asarray(a)[::2, ::-1])

    def test_copies(self):
        a = hs.asarray(numbers((4, 5)))
        for twin in (copy.copy(a), copy.deepcopy(a), a.copy(), np.copy(a, subok=True)):
            assert type(twin) is Array
            assert not np.shares_memory(twin, a)
            assert_same(twin, np.asarray(a))

    def test_saved(self):
        a, file = hs.asarray(numbers((4, 5))), io.BytesIO()
        np.save(file, a)
        file.seek(0)
        assert_same(np.load(file), np.asarray(a))

    def test_masks_are_not_lost(self):
        with pytest.raises(TypeError, match="A is a masked array"):
            hs.asarray(np.ma.masked_array([1.0, 2.0], [True, False]))

    @pytest.mark.parametrize(
        ("value", "dtype", "error", "words"),
        [
            (
                [10**400, 1],
                "float32",
                ValueError,
                "A is not an array of dtype 'float32': .*too large",
            ),
            (
                [300],
                np.int8(100),
                ValueError,
                r"A is not an array of dtype np.int8\(100\): .*300 out of bounds",
            ),
            (
                [-1],
                np.uint64,
                ValueError,
                "A is not an array of dtype .*uint64.*: .*-1 out of bounds",
            ),
            (["x"], float, ValueError, "A is not an array of dtype .*float.*: could not convert"),
            ([1j], float, TypeError, "A is not an array of dtype .*float.*: .*complex"),
            (
                [1.0],
                "foo",
                TypeError,
                "A is not an array of dtype 'foo': data type 'foo' not understood",
            ),
            (np.ones(2), 7, TypeError, "A is not an array of dtype 7: Cannot interpret"),
            ([[1.0], [1.0, 2.0]], None, ValueError, "A is not an array: .*inhomogeneous"),
        ],
    )
    def test_what_is_no_array(self, value, dtype, error, words):
        with pytest.raises(error, match=rf"^{words}"):
            hs.asarray(value, dtype)

    def test_printed(self):
        assert repr(hs.asarray([1.0, 2.0])) == "Array([1., 2.])"
        assert str(hs.asarray([1.0, 2.0])) == "[1. 2.]"
        assert f"{hs.asarray(3.5)}" == "3.5"

    @pytest.mark.parametrize(
        "name",
        [
            "var",
            "std",
            "mean",
            "sum",
            "nanvar",
            "nanstd",
            "nanmean",
            "percentile",
            "median",
            "ptp",
            "round",
        ],
    )
    @pytest.mark.parametrize("value", [3, 3.0, 3 + 1j, True, np.float32(2)])
    def test_statistics_of_one_number(self, name, value):
        """NumPy keeps what it works on an array by an `out=...` that no override sees."""
        options = {"percentile": (50,)}.get(name, ())
        for function in (
            lambda a: getattr(np, name)(a, *options),
            lambda a: getattr(a, name)(*options),
        ):
            want, got = outcome(function, np.array(value)), outcome(function, hs.asarray(value))
            assert got[1:] == want[1:]
            assert_same(got[0], want[0])

    @pytest.mark.parametrize("name", ["var", "std"])
    def test_options_of_statistics(self, name):
        a, picked = numbers((4, 6)), numbers((4, 6), seed=1) > -1
        for options in (
            {"axis": 0},
            {"axis": 1, "keepdims": True},
            {"ddof": 1},
            {"where": picked},
            {"dtype": np.float32},
        ):
            wrapped = {
                key: hs.asarray(value) if key == "where" else value
                for key, value in options.items()
            }
            assert_same(getattr(hs.asarray(a), name)(**wrapped), getattr(a, name)(**options))
            assert_same(
                getattr(np, name)(hs.asarray(a), **wrapped), getattr(np, name)(a, **options)
            )
        for out in (hs.asarray(np.empty(6)), np.empty(6), hs.asarray(np.empty(6)).view(Derived)):
            assert getattr(hs.asarray(a), name)(0, None, out) is out
            assert getattr(hs.asarray(a), name)(axis=0, out=out) is out
            assert_same(np.asarray(out), getattr(a, name)(0))
        only = hs.asarray(np.empty(()))
        assert getattr(hs.asarray(2.0), name)(out=only) is only
        assert only == 0
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
            mean = a.mean(axis=0, keepdims=True)
            assert_same(
                getattr(hs.asarray(a), name)(axis=0, mean=hs.asarray(mean)),
                getattr(a, name)(axis=0, mean=mean),
            )

    def test_no_dimensions(self):
        a = hs.asarray(3.0)
        assert type(a) is Array
        assert type(a + 1) is np.float64
        assert float(a) == 3.0

    def test_results_stay(self, taken):
        a = hs.asarray(numbers((8, 8)))
        chain = np.exp(-(a @ a.T) / 100).mean(axis=1)[:, None] * a - 1
        assert type(chain) is Array
        assert type(np.where(chain > 0, chain, 0) @ a) is Array
        assert len(taken) == 2


class Subclass(np.ndarray):
    pass


class Derived(Array):
    """A user's own kind of Array, with nothing of its own."""


class Counted(Array):
    """One that asks its base, as NEP 13 has it."""

    calls = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        result = super().__array_ufunc__(ufunc, method, *inputs, **kwargs)
        if result is not NotImplemented:
            Counted.calls += 1
        return result


class Other:
    """Has its own idea of ufuncs and functions."""

    __array_ufunc__ = None

    def __rmatmul__(self, other):
        return "other"


class Dispatched:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc.__name__, tuple(type(x) for x in inputs)

    def __array_function__(self, func, types, args, kwargs):
        return func.__name__


class Asking(np.ndarray):
    """Another subclass, as the example in NumPy's documentation: strips itself and asks its
    base."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **kwargs):
        def plain(x):
            return x.view(np.ndarray) if isinstance(x, Asking) else x

        if out:
            kwargs["out"] = tuple(map(plain, out))
        result = super().__array_ufunc__(ufunc, method, *map(plain, inputs), **kwargs)
        return (
            result
            if result is NotImplemented
            else out[0]
            if out
            else np.asarray(result).view(Asking)
        )


class Silent:
    """Takes part in no ufunc."""

    def __array_ufunc__(self, *_, **__):
        return NotImplemented


class TestUfuncs:
    """What NumPy says of ndarray and its subclasses (NEP 13)."""

    def test_subok(self):
        a = numbers((3, 4))
        assert type(np.add(hs.asarray(a), 1, subok=False)) is np.ndarray
        assert type(np.add(hs.asarray(a), 1, subok=True)) is Array
        assert [type(x) for x in np.modf(hs.asarray(a), subok=False)] == [np.ndarray] * 2
        out = hs.asarray(np.empty((3, 4)))
        assert np.add(hs.asarray(a), 1, out=out, subok=False) is out
        assert np.add(hs.asarray(a), 1, out=(out,), subok=False) is out
        assert_same(out, a + 1)
        assert type(np.matmul(hs.asarray(a), a.T, subok=False)) is np.ndarray
        first, second = np.modf(hs.asarray(a), out=(out, None), subok=False)
        assert first is out
        assert type(second) is np.ndarray
        assert type(np.modf(hs.asarray(a), out=(out, None))[1]) is Array

    @pytest.mark.parametrize("wrap", [np.asarray, hs.asarray, lambda a: a.view(Derived)])
    def test_foreign_outputs(self, wrap):
        """An output with its own ways is asked, with all as it was given, and has the last word on
        the result."""
        a = wrap(numbers((3, 4)))
        assert np.add(a, 1, out=Dispatched()) == ("add", (type(a), int))
        assert np.modf(a, out=(None, Dispatched())) == ("modf", (type(a),))
        assert np.matmul(a, a.T, out=Dispatched()) == ("matmul", (type(a), type(a)))
        assert np.add.reduce(a, out=Dispatched()) == ("add", (type(a),))
        with pytest.raises(TypeError):
            np.add(a, 1, out=Other())

    @pytest.mark.parametrize(
        "function", [np.add, np.matmul, lambda a, b: a + b, lambda a, b: a @ b, lambda a, b: a < b]
    )
    @pytest.mark.parametrize("swap", [False, True])
    def test_nobody_knows(self, function, swap):
        def call(a):
            return function(*((Silent(), a) if swap else (a, Silent())))

        with pytest.raises(
            TypeError, match="(?s)all returned NotImplemented from __array_ufunc__.*'Array'"
        ):
            call(hs.asarray(numbers((3, 3))))
        with pytest.raises(
            TypeError, match="(?s)all returned NotImplemented from __array_ufunc__.*'ndarray'"
        ):
            call(numbers((3, 3)))
        with pytest.raises(TypeError, match="all returned NotImplemented"):
            np.add(hs.asarray(numbers(3)), 1, out=Silent())

    @pytest.mark.parametrize("wrap", [np.asarray, hs.asarray, lambda a: a.view(Derived)])
    def test_subclasses_that_ask_their_base(self, wrap):
        a, b = numbers((4, 4)), numbers((4, 4), seed=1)
        other = b.copy().view(Asking)
        for function in (np.add, np.matmul, lambda x, y: x - y):
            for pair, want in (
                ((wrap(a), other), function(a, b)),
                ((other, wrap(a)), function(b, a)),
            ):
                assert type(function(*pair)) is Asking
                assert_same(np.asarray(function(*pair)), want)
        assert np.add(wrap(a), 1, out=other) is other
        assert_same(np.asarray(other), a + 1)

    def test_not_implemented_is_returned(self):
        """To those who ask it of the method itself: the answer is NumPy's."""
        a = numbers((3, 3))
        for x in (a, hs.asarray(a)):
            assert x.__array_ufunc__(np.add, "__call__", x, Silent()) is NotImplemented
            assert x.__array_ufunc__(np.add, "__call__", x, x, out=(Silent(),)) is NotImplemented
            assert_same(np.asarray(x.__array_ufunc__(np.add, "__call__", x, 1)), a + 1)

    def test_derived_classes(self, taken):
        a = numbers((4, 4))
        ours = hs.asarray(a.copy()).view(Derived)
        for function in (np.add, np.matmul, lambda x, y: x @ y, lambda x, y: x - y, np.dot):
            for pair in (
                (ours, a),
                (a, ours),
                (ours, ours),
                (ours, hs.asarray(a)),
                (hs.asarray(a), ours),
            ):
                found = function(*pair)
                assert type(found) in (Derived, Array)
                np.testing.assert_allclose(np.asarray(found), function(a, a))
        assert type(ours + 1) is Derived
        assert type(hs.asarray(a) + ours) is Derived
        ours += 1
        assert type(ours) is Derived
        assert_same(np.asarray(ours), a + 1)
        assert ours.sum() == pytest.approx((a + 1).sum())
        assert "matmul" in taken

    def test_a_class_that_asks_its_base(self):
        a = hs.asarray(numbers((4, 4))).view(Counted)
        before = Counted.calls
        assert type(a + 1) is Counted
        assert type(np.add(1, a)) is Counted
        assert_same(np.asarray(a @ a), numbers((4, 4)) @ numbers((4, 4)), exactly=False)
        assert Counted.calls == before + 3
        with pytest.raises(TypeError, match="all returned NotImplemented"):
            np.add(a, Silent())

    def test_where(self):
        a, picked = numbers((3, 4)), numbers((3, 4), seed=1) > 0
        out = np.zeros((3, 4))
        assert np.add(hs.asarray(a), 1, where=hs.asarray(picked), out=out) is out
        assert_same(out, np.where(picked, a + 1, 0))


class TestPriority:
    """Beside other kinds of arrays an Array is a plain one."""

    @pytest.mark.parametrize(
        "function",
        [np.add, np.matmul, np.dot, lambda a, b: a @ b, lambda a, b: a * b, lambda a, b: b - a],
    )
    @pytest.mark.parametrize("kind", ["masked", "matrix", "subclass"])
    @pytest.mark.filterwarnings("ignore:the matrix subclass")
    def test_subclasses(self, taken, function, kind):
        a, b = numbers((4, 4)), numbers((4, 4), seed=1)
        other = {
            "masked": np.ma.masked_array(b, b > 2),
            "matrix": np.matrix(b),
            "subclass": b.view(Subclass),
        }[kind]
        for swap in (False, True):
            pairs = [(x, other)[:: -1 if swap else 1] for x in (a, hs.asarray(a))]
            want, got = (function(*pair) for pair in pairs)
            if function is not np.dot:  # there the left one decides
                assert type(got) is type(want)
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
        assert not taken

    def test_protocols(self):
        a = hs.asarray(numbers((4, 4)))
        assert a @ Other() == "other"
        assert a @ Dispatched() == ("matmul", (Array, Dispatched))
        assert np.add(Dispatched(), a) == ("add", (Dispatched, Array))
        assert np.dot(a, Dispatched()) == "dot"
        with pytest.raises(TypeError):
            a + Other()

    def test_libraries(self):
        linalg, sparse = pytest.importorskip("scipy.linalg"), pytest.importorskip("scipy.sparse")
        a = numbers((12, 12)) + 12 * np.eye(12)
        ours = hs.asarray(a)
        np.testing.assert_array_equal(linalg.lu_factor(ours)[0], linalg.lu_factor(a)[0])
        np.testing.assert_array_equal(linalg.eigh(ours + ours.T)[0], linalg.eigh(a + a.T)[0])
        matrix = sparse.random(12, 12, 0.3, "csr", random_state=0)
        np.testing.assert_allclose(matrix @ ours, matrix @ a)
        np.testing.assert_allclose(ours @ matrix, a @ matrix)

    @pytest.mark.slow
    def test_estimators(self):
        linear = pytest.importorskip("sklearn.linear_model")
        cluster = pytest.importorskip("sklearn.cluster")
        X, y = numbers((60, 5)), numbers(60, seed=2)
        for model in (
            linear.Ridge(),
            linear.LinearRegression(),
            cluster.KMeans(3, n_init=1, random_state=0),
        ):
            np.testing.assert_array_equal(
                model.fit(hs.asarray(X), hs.asarray(y)).predict(hs.asarray(X)),
                model.fit(X, y).predict(X),
            )


class TestSizes:
    def test_small_ones_are_numpys(self, monkeypatch):
        """Where it would not pay, not even the pool is asked."""
        monkeypatch.setattr(hetsched.runners.product, "multiply", None)
        monkeypatch.setattr(hetsched.runners.shared, "shared_pool", None)
        for m, k, n in ((100, 100, 100), (1, 10, 10)):
            a, b = hs.asarray(numbers((m, k))), numbers((k, n))
            assert_same(a @ b, np.asarray(a) @ b)
        spread = hs.asarray(numbers((2000, 2000)))[::2, ::2]
        assert_same(spread @ spread[:, :5], np.asarray(spread) @ np.asarray(spread)[:, :5])
        assert_same(spread[:5] @ spread, np.asarray(spread)[:5] @ np.asarray(spread))
        a = hs.asarray(numbers((255, 255)))
        assert_same(np.linalg.solve(a, a[0]), np.linalg.solve(np.asarray(a), np.asarray(a)[0]))
        assert_same(
            np.linalg.det(a[:200, :200] / 10), np.linalg.det(np.asarray(a)[:200, :200] / 10)
        )

    def test_large_ones_are_taken(self, monkeypatch):
        asked = []
        monkeypatch.setattr(
            hetsched.runners.product, "multiply", lambda *given: asked.append(given)
        )
        assert type(hs.asarray(np.ones((101, 101))) @ np.ones((101, 101))) is Array
        assert len(asked) == 1

    def test_for_real(self):
        a = numbers((300, 300))
        ours = hs.asarray(a)
        assert_same(ours @ ours, a @ a, exactly=False)
        np.testing.assert_allclose(np.linalg.solve(ours, ours @ np.ones(300)), 1, atol=1e-7)
        assert np.linalg.det(ours / 20) == pytest.approx(np.linalg.det(a / 20))


def test_example(monkeypatch, capsys):
    """examples/neighbour.py, small."""
    import runpy
    import sys
    from pathlib import Path

    monkeypatch.setattr(sys, "argv", ["neighbour.py", "--size", "320", "--rounds", "1"])
    runpy.run_path(
        str(Path(__file__).parents[2] / "examples" / "neighbour.py"), run_name="__main__"
    )
    out = capsys.readouterr().out
    assert "plain NumPy" in out
    assert "\nalone " in out
