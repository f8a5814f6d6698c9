"""numpy.linalg of an Array: NumPy's results, types and errors, whoever computes them."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_matrices import DTYPES, close, definite, dtypes, eps, laid_out, layouts, random, seeds

import hetsched as hs
import hetsched.runners.array_linalg
from hetsched._engine import factor, stack, tall, tuning
from hetsched._engine import spectral as engine_spectral
from hetsched.runners.array import Array

OTHERS = [np.int64, np.bool_, np.uint8, np.float16, np.longdouble, object, ">f8"]
#: What each is of interest for, by the functions of numpy.linalg.
CALLS = {
    "solve": lambda a: np.linalg.solve(a, np.ones(a.shape[-1])),
    "solve_matrix": lambda a: np.linalg.solve(a, a),
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": np.linalg.slogdet,
    "cholesky": np.linalg.cholesky,
    "qr": np.linalg.qr,
    "qr_complete": lambda a: np.linalg.qr(a, mode="complete"),
    "qr_r": lambda a: np.linalg.qr(a, "r"),
    "qr_raw": lambda a: np.linalg.qr(a, "raw"),
    "lstsq": lambda a: np.linalg.lstsq(a, np.ones(a.shape[0])),
    "lstsq_matrix": lambda a: np.linalg.lstsq(a, a, rcond=1e-3),
    "eigh": np.linalg.eigh,
    "eigh_upper": lambda a: np.linalg.eigh(a, "u"),
    "eigvalsh": lambda a: np.linalg.eigvalsh(a, UPLO="U"),
    "svd": np.linalg.svd,
    "svd_economic": lambda a: np.linalg.svd(a, full_matrices=False),
    "svd_values": lambda a: np.linalg.svd(a, compute_uv=False),
    "svdvals": np.linalg.svdvals,
    "pinv": np.linalg.pinv,
    "pinv_limit": lambda a: np.linalg.pinv(a, 0.3),
    "rank": np.linalg.matrix_rank,
    "rank_limit": lambda a: np.linalg.matrix_rank(a, rtol=0.3),
    "rank_absolute": lambda a: np.linalg.matrix_rank(a, 2.0),
    "cond": np.linalg.cond,
    "norm": lambda a: np.linalg.norm(a, 2, axis=(-2, -1)),
    "norm_least": lambda a: np.linalg.norm(a, -2, (-2, -1)),
    "norm_sum": lambda a: np.linalg.norm(a, "nuc", axis=(-2, -1)),
}


@pytest.fixture
def taken(monkeypatch):
    """Small ones too; the names of what the engine has computed."""
    seen = []
    monkeypatch.setattr(hetsched.runners.array_linalg, "FEW_ROWS", 0)
    monkeypatch.setattr(tuning, "SPECTRAL_ORDER", 1)
    monkeypatch.setattr(tuning, "EIGENVALUES_ORDER", 1)

    def watch(module, name):
        own = getattr(module, name)

        def watched(*args, **options):
            seen.append(name)
            return own(*args, **options)

        monkeypatch.setattr(module, name, watched)

    for name in ("cholesky", "qr", "inverse"):
        watch(factor, name)
    for name in ("solve", "inverse", "cholesky", "lu"):
        watch(stack, name)
    watch(tall, "tall_qr")
    for name in ("eigh", "svd"):
        watch(engine_spectral, name)
    watch(hetsched.runners.factor.Problem, "run")
    return seen


def outcome(function, *args):
    """The result, or the error's type and text; and what was warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, error = function(*args), None
        except Exception as raised:
            result, error = None, (type(raised), str(raised))
    return result, error, [str(w.message) for w in caught]


def of_type(ours, plain):
    """Equal types and shapes, part by part; an Array for what follows the argument's class."""
    if isinstance(plain, tuple):
        assert type(ours) is type(plain)
        assert len(ours) == len(plain)
        for x, y in zip(ours, plain, strict=True):
            of_type(x, y)
        return
    assert type(ours) in ((Array, np.ndarray) if type(plain) is np.ndarray else (type(plain),))
    if type(plain) is int:  # the rank of a vector
        return
    assert ours.shape == plain.shape
    assert ours.dtype == plain.dtype


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("shape", [(9, 9), (3, 9, 9), (2, 2, 4, 4)], ids=str)
def test_types(taken, name, dtype, shape):
    a = definite(shape[-1], dtype, 0, shape[:-2])
    if len(shape) > 2 and name == "solve_matrix":
        name = "solve"
    want, got = outcome(CALLS[name], a), outcome(CALLS[name], hs.asarray(a))
    assert got[1:] == want[1:]
    if want[1] is not None:  # lstsq takes no stacks
        assert "lstsq" in name
        return
    assert taken
    of_type(got[0], want[0])
    if name.startswith(("qr", "eigh", "svd")) and isinstance(want[0], tuple):
        return  # signs are free: see test_qr, and test_decompositions
    pairs = zip(got[0], want[0], strict=True) if isinstance(want[0], tuple) else [(got[0], want[0])]
    for x, y in pairs:
        np.testing.assert_allclose(
            np.asarray(x), np.asarray(y), rtol=1e4 * eps(a), atol=1e4 * eps(a)
        )


def test_which_parts_are_arrays(taken):
    """Those that NumPy wraps."""
    a = hs.asarray(definite(8))
    for found, expected in (
        (np.linalg.qr(a), [True, True]),
        (np.linalg.qr(a, "raw"), [True, False]),
        (np.linalg.lstsq(a, a), [True, True, False, False]),
        (np.linalg.slogdet(a[None]), [False, False]),
        (np.linalg.cholesky(a), [True]),
        (np.linalg.inv(a), [True]),
        (np.linalg.solve(a, np.ones(8)), [True]),
    ):
        assert [
            type(x) is Array for x in (found if isinstance(found, tuple) else (found,))
        ] == expected


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "a",
    [
        np.ones((5, 5)), -np.eye(4), np.zeros((3, 3)), np.ones((4, 5)), np.ones((5, 4)), np.ones(3),
        np.array(2.0), np.empty((0, 0)), np.empty((2, 0, 0)), np.empty((0, 3, 3)),
        np.diag([1.0, np.nan, 2]), np.diag([1.0, np.inf, 2]), np.ones((2, 3, 4)),
    ],
    ids=lambda a: f"{a.dtype} {a.shape} {a.flat[0] if a.size else ''}",
)  # fmt: skip
def test_errors_are_numpys(taken, name, a):
    if "lstsq" in name and not np.isfinite(a).all():
        pytest.skip("LAPACK's does not return")
    want, got = outcome(CALLS[name], a), outcome(CALLS[name], hs.asarray(a))
    assert got[1:] == want[1:]
    if want[1] is None:
        of_type(got[0], want[0])


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", OTHERS, ids=str)
def test_other_dtypes_are_numpys(taken, name, dtype):
    a = (4 * np.eye(4) + np.tri(4)).astype(dtype)
    want, got = outcome(CALLS[name], a), outcome(CALLS[name], hs.asarray(a))
    assert got[1:] == want[1:]
    assert not taken
    if want[1] is None:
        of_type(got[0], want[0])
        for x, y in zip(
            *((r if isinstance(r, tuple) else (r,)) for r in (got[0], want[0])), strict=True
        ):
            np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


@pytest.mark.parametrize("dtype", DTYPES)
def test_decompositions(taken, dtype):
    a = definite(9, dtype)
    for side in "LU":
        w, v = (np.asarray(x) for x in np.linalg.eigh(hs.asarray(a), side))
        close(a @ v, v * w, scale=40)
    for full in (False, True):
        given_ = a[:, :6]
        u, s, vh = (np.asarray(x) for x in np.linalg.svd(hs.asarray(given_), full))
        close((u[:, :6] * s) @ vh, given_, scale=40)
        close(u.conj().T @ u, np.eye(len(u.T), dtype=dtype), scale=40)
    assert taken == ["eigh"] * 2 + ["svd"] * 2
    assert np.linalg.svd(hs.asarray(a), hermitian=True) is not None
    assert len(taken) == 4
    with pytest.raises(ValueError, match="UPLO"):
        np.linalg.eigh(hs.asarray(a), "X")


@pytest.mark.parametrize("axis", [None, 0, [0, 1], np.array([0, 1]), (0, 1), (1, 0), (0, 0), "x"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 4)], ids=str)
def test_norms_along_axes(taken, axis, shape):
    a = random(shape)
    want = outcome(lambda x: np.linalg.norm(x, 2, axis), a)
    got = outcome(lambda x: np.linalg.norm(x, 2, axis), hs.asarray(a))
    assert got[1:] == want[1:]
    if want[1] is None:
        np.testing.assert_allclose(np.asarray(got[0]), want[0], rtol=1e-12)


class TestCholesky:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("stack", [(), (3,), (2, 2)], ids=str)
    @pytest.mark.parametrize("upper", [False, True])
    def test_upper(self, taken, upper, stack, dtype):
        a = definite(7, dtype, 0, stack)
        found = np.linalg.cholesky(hs.asarray(a), upper=upper)
        close(np.asarray(found), np.linalg.cholesky(a, upper=upper), scale=4)
        assert taken

    def test_one_triangle(self, taken):
        a = definite(5)
        a[0, 3] = 100
        close(np.asarray(np.linalg.cholesky(hs.asarray(a))), np.linalg.cholesky(a))
        close(
            np.asarray(np.linalg.cholesky(hs.asarray(a.T), upper=True)),
            np.linalg.cholesky(a.T, upper=True),
        )


class TestQr:
    @given(
        m=st.integers(1, 20),
        n=st.integers(1, 20),
        dtype=dtypes,
        layout=layouts,
        seed=seeds,
        stack=st.sampled_from([(), (2,)]),
        mode=st.sampled_from(["reduced", "complete", "r", "raw"]),
    )
    def test_modes(self, m, n, dtype, layout, seed, stack, mode):
        few, hetsched.runners.array_linalg.FEW_ROWS = hetsched.runners.array_linalg.FEW_ROWS, 0
        try:
            plain = random((*stack, m, n), dtype, seed)
            a = hs.asarray(plain if stack else laid_out(plain, layout))
            found, expected = np.linalg.qr(a, mode), np.linalg.qr(plain, mode)
        finally:
            hetsched.runners.array_linalg.FEW_ROWS = few
        of_type(found, expected)
        bound = 20 * max(m, n) * eps(plain)
        if mode in ("reduced", "complete"):
            q, r = (np.asarray(x) for x in found)
            assert abs(q @ r - plain).max() < bound * abs(plain).max()
            assert abs(q.conj().swapaxes(-1, -2) @ q - np.eye(q.shape[-1])).max() < bound
            assert not np.tril(r, -1).any()
        else:
            r = np.asarray(
                found if mode == "r" else np.triu(found[0].swapaxes(-1, -2)[..., : min(m, n), :])
            )
            gram = plain.conj().swapaxes(-1, -2) @ plain
            assert abs(r.conj().swapaxes(-1, -2) @ r - gram).max() < bound * abs(gram).max()

    def test_unknown_modes(self, taken):
        for mode in ("nothing", "economic", "full", None):
            want, got = (
                outcome(lambda x, mode=mode: np.linalg.qr(x, mode), x)
                for x in (np.eye(3), hs.asarray(np.eye(3)))
            )
            assert got[1] == want[1]
        assert not taken


class TestLstsq:
    @given(
        m=st.integers(1, 20),
        n=st.integers(1, 20),
        types=st.tuples(dtypes, dtypes),
        k=st.integers(-1, 3),
        seed=seeds,
        rank=st.sampled_from([1, 2, 20]),
        rcond=st.sampled_from([None, None, -1, 1e-9, 1e-3]),
    )
    def test_as_numpy(self, m, n, types, k, seed, rank, rcond):
        """The rank too, which is that of double precision."""
        rank = min(rank, m, n)
        rng = np.random.default_rng(seed)
        u, v = (
            np.linalg.qr(rng.standard_normal((m, rank)))[0],
            np.linalg.qr(rng.standard_normal((n, rank)))[0],
        )
        a = (u * np.linspace(1, 2, rank) @ v.T).astype(types[0])
        b = random(m if k < 0 else (m, k), types[1], seed)
        few, hetsched.runners.array_linalg.FEW_ROWS = hetsched.runners.array_linalg.FEW_ROWS, 0
        try:
            found, expected = np.linalg.lstsq(hs.asarray(a), b, rcond), np.linalg.lstsq(a, b, rcond)
        finally:
            hetsched.runners.array_linalg.FEW_ROWS = few
        s = np.linalg.svd(a.astype(np.complex128), compute_uv=False)
        cut = {None: 2.2e-16 * max(m, n), -1: 2.2e-16}.get(rcond, rcond)
        if ((s > 1e-2 * cut * s[0]) & (s < 1e2 * cut * s[0])).any():
            return  # rounding decides
        assert found[2] == expected[2]
        of_type(tuple(found), tuple(expected))
        scale = (s[0] / s[found[2] - 1]) if found[2] else 1.0
        for i in (0, 1, 3):
            x, y = np.asarray(found[i]), np.asarray(expected[i])
            size = max(
                1e-300, abs(y).max(initial=0.0), abs(b).max(initial=0.0) ** 2 * m if i == 1 else 0.0
            )
            precision = 2.3e-16 * scale + eps(a, b)
            assert abs(x - y).max(initial=0.0) <= 1e4 * precision * size

    @pytest.mark.parametrize(
        "b",
        [
            np.ones(4),
            np.ones((4, 2)),
            np.ones((5, 2, 1)),
            np.ones((5, 0)),
            np.array(1.0),
            ["x"] * 5,
        ],
    )
    @pytest.mark.parametrize("rcond", [None, 1e-3, -1, "warn", np.float32(0.1)])
    def test_as_numpy_of_other_arguments(self, taken, b, rcond):
        want, got = (
            outcome(lambda a: np.linalg.lstsq(a, b, rcond), a)
            for a in (np.eye(5), hs.asarray(np.eye(5)))
        )
        assert got[1:] == want[1:]


class TestSizes:
    def test_small_ones_are_numpys(self, monkeypatch):
        monkeypatch.setattr(hetsched.runners.array_linalg, "shared_resources", None)
        a = hs.asarray(definite(255) / 400)
        for name, call in CALLS.items():
            if not name.startswith("lstsq"):
                call(a)
        np.linalg.lstsq(hs.asarray(np.ones((1000, 100))), np.ones(1000))
        np.linalg.inv(hs.asarray(np.ones((20, 50, 50)) + np.eye(50)))

    @pytest.mark.slow
    def test_for_real(self):
        """A stack, a tall matrix and a square one, of the size from which they are taken."""
        a = definite(260)
        ours = hs.asarray(a)
        for name in ("inv", "cholesky", "solve", "slogdet", "det"):
            np.testing.assert_allclose(
                np.asarray(CALLS[name](ours / 260)),
                np.asarray(CALLS[name](a / 260)),
                rtol=1e-8,
                atol=1e-10,
            )
        tall = random((2000, 100))
        for x, y in zip(
            np.linalg.lstsq(hs.asarray(tall), tall[:, 0]),
            np.linalg.lstsq(tall, tall[:, 0]),
            strict=True,
        ):
            np.testing.assert_allclose(np.asarray(x), y, atol=1e-10)
        stack = definite(8, stack=(40000,))
        np.testing.assert_allclose(
            np.asarray(np.linalg.inv(hs.asarray(stack))),
            np.linalg.inv(stack),
            rtol=1e-8,
            atol=1e-12,
        )
