"""Matrices in files: every format, read and written, and what is wrong with them."""

import os
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import hetsched as hs
from hetsched.cli.main import main as cli
from hetsched.files import matrices as files

h5py = pytest.importorskip("h5py")
io = pytest.importorskip("scipy.io")

MEMORY = "16M"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda file: None)


def numbers(shape, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 9, shape) + (
        1j * rng.integers(-9, 9, shape) if np.dtype(dtype).kind == "c" else 0
    )
    return values.astype(dtype)


def load(path, name="C"):
    """The matrix as the user of that format sees it."""
    if path.endswith(".npy"):
        return np.load(path)
    with h5py.File(path) as file:
        data = file[name][()]
    if data.dtype.names:
        data = data["real"] + 1j * data["imag"]
    return data.T if path.endswith(".mat") else data


def save_v73(path, name, array):
    """As MATLAB does: columns first, complex numbers as pairs, a header in the user block."""
    stored = np.ascontiguousarray(array.T)
    if stored.dtype.kind == "c":
        part = np.dtype(f"f{stored.itemsize // 2}")
        stored = stored.view([("real", part), ("imag", part)])
    with h5py.File(path, "w", userblock_size=512) as file:
        file.create_dataset(name, data=stored, chunks=True, compression="gzip").attrs[
            "MATLAB_class"
        ] = np.bytes_("double")
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def save(kind, name, array):
    """A file of that kind; returns what is given to matmul_files."""
    if kind == "npy":
        np.save(f"{name}.npy", array)
    elif kind == "npy-fortran":
        np.save(f"{name}.npy", np.asfortranarray(array))
    elif kind == "npy-foreign":
        np.save(f"{name}.npy", array.astype(array.dtype.newbyteorder(">")))
    elif kind in ("h5", "h5-chunked"):
        with h5py.File(f"{name}.h5", "w") as file:
            file.create_dataset(
                f"deep/{name}", data=array, chunks=(3, 5) if kind == "h5-chunked" else None
            )
            file.create_dataset("other", data=np.ones((2, 2)))
        return f"{name}.h5:/deep/{name}"
    elif kind == "mat73":
        save_v73(f"{name}.mat", name, array)
        return f"{name}.mat"
    elif kind == "mat5":
        io.savemat(f"{name}.mat", {name: array, "text": "abc"})
        return f"{name}.mat:{name}"
    elif kind == "array":
        return array
    elif kind == "strided":
        return np.repeat(array, 2, axis=1)[:, ::2]
    return f"{name}.npy"


KINDS = [
    "npy",
    "npy-fortran",
    "npy-foreign",
    "h5",
    "h5-chunked",
    "mat73",
    "mat5",
    "array",
    "strided",
]


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int16])
@pytest.mark.parametrize("kind", KINDS)
def test_inputs(kind, dtype):
    A, B = numbers((17, 23), dtype), numbers((23, 11), np.float64, 1)
    hs.matmul_files(save(kind, "A", A), save("npy", "B", B), "C.npy", memory=MEMORY)
    C = np.load("C.npy")
    assert C.dtype == (np.complex128 if dtype == np.complex128 else np.float64)
    np.testing.assert_array_equal(C, A @ B)
    hs.matmul_files(
        save("npy", "T", B.T.copy()),
        save(kind, "A", np.ascontiguousarray(A.T)),
        "D.npy",
        memory=MEMORY,
    )
    np.testing.assert_array_equal(np.load("D.npy"), (A @ B).T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("out", ["C.npy", "C.h5", "C.h5:/some/where", "C.mat", "C.mat:product"])
def test_outputs(out, dtype):
    A, B = numbers((17, 23), dtype), numbers((23, 11), dtype, 1)
    hs.matmul_files(A, B, out, memory=MEMORY)
    path, _, name = out.partition(":")
    C = load(path, name or "C")
    assert C.dtype == dtype
    np.testing.assert_array_equal(C, A @ B)
    assert sorted(os.listdir(".")) == [path]
    # what is written can be read
    hs.matmul_files(out, np.eye(11, dtype=dtype), "D.npy", memory=MEMORY)
    np.testing.assert_array_equal(np.load("D.npy"), A @ B)


def test_mat_file_for_matlab():
    """The user block, the class of the variable and the order of the parts are what MATLAB
    expects."""
    hs.matmul_files(
        np.eye(3, dtype=np.complex64), np.ones((3, 2), np.complex64), "C.mat", memory=MEMORY
    )
    head = Path("C.mat").read_bytes()
    assert head.startswith(b"MATLAB 7.3 MAT-file")
    assert head[124:128] == b"\x00\x02IM"
    assert head[512:516] == b"\x89HDF"
    with h5py.File("C.mat") as file:
        assert file["C"].attrs["MATLAB_class"] == b"single"
        assert file["C"].shape == (2, 3)
        assert file["C"].dtype.names == ("real", "imag")
    hs.matmul_files(np.ones((3, 2)), np.ones((2, 0)), "E.mat", memory=MEMORY)
    with h5py.File("E.mat") as file:
        assert file["C"].attrs["MATLAB_empty"] == 1
        assert file["C"][()].tolist() == [3, 0]
    hs.matmul_files(np.ones((2, 3)), "E.mat", "F.npy", memory=MEMORY)
    assert np.load("F.npy").shape == (2, 0)


def test_open_datasets_and_maps():
    A, B = numbers((17, 23)), numbers((23, 11), seed=1)
    np.save("A.npy", A)
    mapped = np.load("A.npy", mmap_mode="r")
    with h5py.File("X.h5", "w") as file:
        b = file.create_dataset("b", data=B, chunks=(4, 4))
        c = file.create_dataset("c", (17, 11), "f8")
        with pytest.raises(ValueError, match="out and B are the same file"):
            hs.matmul_files(mapped, b, c, memory=MEMORY)
        with h5py.File("Y.h5", "w") as other:
            c = other.create_dataset("c", (17, 11), "f8")
            hs.matmul_files(mapped, b, c, memory=MEMORY)
            np.testing.assert_array_equal(c[()], A @ B)
    part = np.empty((8, 11))
    # rows of a map lie further on in the file
    hs.matmul_files(mapped[4:12], B, part, memory=MEMORY)
    np.testing.assert_array_equal(part, A[4:12] @ B)
    private = np.load("A.npy", mmap_mode="c")
    private[0] = 0
    hs.matmul_files(private[:8], B, part, memory=MEMORY)
    np.testing.assert_array_equal(part, np.vstack([np.zeros(23), A[1:8]]) @ B)
    with files.ExitStack() as opened:
        assert isinstance(files.open_matrix("A", mapped.T, 0, opened), files.Raw)
        assert isinstance(files.open_matrix("A", mapped[:, ::2], 0, opened), files.Held)


def test_names():
    assert files.split_name("a.h5:/x/y") == ("a.h5", "/x/y")
    assert files.split_name("dir.h5/a.npy") == ("dir.h5/a.npy", None)
    assert files.split_name("a.mat:x:y.h5:z") == ("a.mat", "x:y.h5:z")
    Path("odd.h5:name").touch()
    assert files.split_name("odd.h5:name") == ("odd.h5:name", None)


def bad(case):
    """A, B and out with something wrong."""
    np.save("A.npy", np.ones((4, 5)))
    np.save("B.npy", np.ones((5, 3)))
    A, B, C = "A.npy", "B.npy", "C.npy"
    match case:
        case "missing":
            os.unlink("B.npy")
        case "vector":
            np.save("A.npy", np.ones(5))
        case "shapes":
            B = "A.npy"
        case "short":
            os.truncate("A.npy", 200)
        case "header":
            os.truncate("A.npy", 20)
        case "objects":
            np.save("A.npy", np.ones((4, 5), object))
        case "text":
            np.save("A.npy", np.full((4, 5), "a"))
        case "long":
            np.save("A.npy", np.ones((4, 5), np.longdouble))
        case "negative":
            content = Path("A.npy").read_bytes()
            Path("A.npy").write_bytes(content.replace(b"(4, 5)", b"(-4,5)"))
        case "junk":
            Path("A.npy").write_text("hello")
        case "number":
            A = 3
        case "npy name":
            A = "A.npy:x"
        case "dataset" | "several":
            save("h5", "A", np.ones((4, 5)))
            A = "A.h5:/nothing" if case == "dataset" else "A.h5"
        case "variable":
            A = save("mat5", "A", np.ones((4, 5))).replace(":A", ":B")
        case "characters":
            A = save("mat5", "A", np.ones((4, 5))).replace(":A", ":text")
        case "broken mat":
            A = save("mat5", "A", np.ones((4, 5)))
            os.truncate("A.mat", 150)
        case "old and large":
            A = save("mat5", "A", np.ones((1500, 1000)))
        case "input":
            C = "A.npy"
        case "linked":
            os.link("A.npy", "L.npy")
            C = "L.npy"
        case "partial":
            os.rename("A.npy", "C.npy.partial")
            A = "C.npy.partial"
        case "overlap":
            A = np.ones((5, 5))
            C = A[:, :3]
        case "folder":
            C = "no/C.npy"
        case "is a folder":
            os.mkdir("C.npy")
        case "suffix":
            C = "C.txt"
        case "others":
            save("h5", "C", np.ones((4, 5)))
            C = "C.h5:/deep/C"
        case "MATLAB name":
            C = "C.mat:1x"
        case "out shape":
            C = np.ones((4, 4))
        case "out dtype":
            C = np.ones((4, 3), np.float32)
        case "out read-only":
            C = np.broadcast_to(1.0, (4, 3))
        case "out kind":
            C = [1, 2]
        case "in the way":
            Path("C.npy.partial").touch()
    return A, B, C


@pytest.mark.parametrize(
    ("case", "error", "words"),
    [
        ("missing", FileNotFoundError, "B.npy"),
        ("vector", ValueError, "A (A.npy) has 1 dimensions, a matrix has 2"),
        ("shapes", ValueError, "A (A.npy) has 5 columns and B (A.npy) has 4 rows"),
        ("short", ValueError, "A (A.npy) is cut short: 288 bytes were expected, it has 200"),
        ("header", ValueError, "A (A.npy) is not a complete .npy file"),
        (
            "negative",
            ValueError,
            "A (A.npy) is not a complete .npy file: it says that its shape is (-4, 5)",
        ),
        ("objects", TypeError, "A (A.npy) has dtype object"),
        ("text", TypeError, "A (A.npy) has dtype <U1"),
        ("long", TypeError, "give dtype, one of float32, float64"),
        ("junk", ValueError, "A (A.npy) is not a complete .npy file, nor HDF5 or .mat"),
        ("number", TypeError, "A must be a path, an array or an HDF5 dataset, got int"),
        ("npy name", ValueError, "holds one array without a name"),
        ("dataset", ValueError, "there is no dataset /nothing; its matrices are deep/A, other"),
        (
            "several",
            ValueError,
            "say which dataset, as in A.h5:name; its matrices are deep/A, other",
        ),
        ("variable", ValueError, "there is no variable B; its variables are A, text"),
        ("characters", TypeError, "text is of class char"),
        ("broken mat", ValueError, "is not a .mat file that SciPy can read"),
        (
            "old and large",
            ValueError,
            "must fit in memory twice: 24000000 bytes; save it with MATLAB's -v7.3",
        ),
        ("input", ValueError, "out and A are the same file"),
        ("linked", ValueError, "out and A are the same file"),
        ("partial", ValueError, "out and A are the same file"),
        ("overlap", ValueError, "out overlaps A"),
        ("folder", FileNotFoundError, "its folder does not exist"),
        ("is a folder", IsADirectoryError, "C.npy"),
        ("suffix", ValueError, "out (C.txt) must end in .npy"),
        ("others", ValueError, "exists and also holds other, which would be lost"),
        ("MATLAB name", ValueError, "'1x' is not the name of a MATLAB variable"),
        ("out shape", ValueError, "out has shape (4, 4), the product has (4, 3)"),
        ("out dtype", TypeError, "out has dtype float32, the product has float64"),
        ("out read-only", ValueError, "out is read-only"),
        ("out kind", TypeError, "out must be a path, an array or an HDF5 dataset, got list"),
        ("in the way", FileExistsError, "no earlier call wrote it"),
    ],
)
def test_errors_change_nothing(case, error, words):
    A, B, C = bad(case)

    def state():
        return sorted(
            (name, os.path.getsize(name), os.stat(name).st_mtime_ns) for name in os.listdir(".")
        )

    before = state()
    with pytest.raises(error) as caught:
        hs.matmul_files(A, B, C, memory=MEMORY)
    assert words in str(caught.value)
    assert state() == before


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"memory": "lots"}, ValueError, "memory must be a number of bytes or a text"),
        ({"memory": 0}, ValueError, "memory must be in"),
        (
            {"memory": 1000},
            hs.InfeasibleError,
            "memory of 1000 bytes is too little for this product: at least",
        ),
        ({"dtype": "int32"}, TypeError, "dtype int32 is not one of float32"),
        ({"alpha": "x"}, TypeError, "alpha must be a number"),
        ({"alpha": 1j}, TypeError, "alpha is complex"),
        (
            {"progress": 3},
            TypeError,
            "progress must be a function of the fraction done, True or False, got 3",
        ),
        ({"pool": 3}, TypeError, "pool must be a Pool, got int"),
    ],
)
def test_bad_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        hs.matmul_files(
            np.ones((2, 2)), np.ones((2, 2)), "C.npy", **{"memory": MEMORY, **arguments}
        )
    assert os.listdir(".") == []


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "u8", ">i2", "f2", ">f2", "f4", ">f8", "c8", ">c16", "g", "G"]
)
@pytest.mark.parametrize("order", "CF")
def test_npy_dtypes(dtype, order):
    """Also those that are not computed in, if they are converted; products in memory are in any
    dtype of numbers."""
    A = np.asarray(numbers((17, 23), dtype), order=order)
    np.save("A.npy", A)
    np.save("I.npy", np.eye(23))
    wide = np.complex128 if A.dtype.kind == "c" else np.float64
    hs.matmul_files("A.npy", "I.npy", "C.npy", memory=MEMORY, dtype=wide)
    np.testing.assert_array_equal(np.load("C.npy"), A.astype(wide))
    if A.dtype.itemsize > np.dtype(wide).itemsize:
        with pytest.raises(TypeError, match="give dtype, one of float32"):
            hs.matmul_files("A.npy", "I.npy", "D.npy", memory=MEMORY)
    assert cli(["run", "A.npy", "I.npy", "-o", "D.npy"]) == 0
    np.testing.assert_array_equal(np.load("D.npy"), A @ np.eye(23))


@pytest.mark.parametrize("dtype", ["M8[D]", "m8[s]", "S3", "U2", "V8", "O", "f4,f8"])
def test_npy_dtypes_that_are_no_numbers(capsys, dtype):
    np.save("A.npy", np.ones((3, 4), dtype))
    words = f"A (A.npy) has dtype {np.load('A.npy', allow_pickle=True).dtype}; numbers are needed"
    with pytest.raises(TypeError, match=re.escape(words)):
        hs.matmul_files("A.npy", np.eye(4), "C.npy", memory=MEMORY)
    assert cli(["run", "A.npy", "A.npy", "-o", "C.npy"]) == 1
    assert words in capsys.readouterr().err


HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (4, 5)}\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *[("(4, 5)", shape) for shape in ("(True, 50)", "(4, False)", "(-4, 5)", "(4.0, 5)")],
        *[("(4, 5)", shape) for shape in (f"({2**200}, 5)", "[4, 5]", "20", "None")],
        *[("False", order) for order in ("0", "1", "None", "'False'")],
        *[("'<f8'", descr) for descr in ("()", "5", "None", "''", "'<f1'", "b'<f8'")],
        *[("'<f8'", descr) for descr in ("[('a',)]", "[" * 90 + "]" * 90)],
        (HEADER, "-" * 9000 + "1\n"), (HEADER, "(" * 5000 + "\n"), (HEADER, "[4, 5]\n"),
        (HEADER, "exit()\n"), (HEADER, "\0\n"), (HEADER, ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", [1, 2, 3])
def test_strange_npy_headers(old, new, version):
    """Every field; in files and in products in memory of the command."""
    from hetsched.files.matrices import read_matrix

    text = HEADER.replace(old, new).encode()
    start = (
        b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(2 if version == 1 else 4, "little")
    )
    Path("A.npy").write_bytes(start + text + bytes(4000))
    with (
        warnings.catch_warnings(action="error"),
        pytest.raises(ValueError, match=r"^A \(A.npy\) is not a complete .npy file: ."),
    ):
        hs.matmul_files("A.npy", np.ones((5, 3)), "C.npy", memory=MEMORY)
    with pytest.raises(ValueError, match=r"^A \(A.npy\) is not a complete .npy file: ."):
        read_matrix("A", "A.npy")
    assert os.listdir(".") == ["A.npy"]


@pytest.mark.parametrize("version", [(0, 0), (1, 1), (4, 0), (255, 255)])
def test_unknown_npy_versions(version):
    Path("A.npy").write_bytes(
        b"\x93NUMPY"
        + bytes(version)
        + len(HEADER).to_bytes(4, "little")
        + HEADER.encode()
        + bytes(160)
    )
    with pytest.raises(ValueError, match=f"its version is {version[0]}.{version[1]}"):
        hs.matmul_files("A.npy", np.ones((5, 3)), "C.npy", memory=MEMORY)


@pytest.mark.parametrize(
    "stored",
    [
        [10**9, 10**9],
        [1, 50],
        [-1, 0],
        [0, 2**62],
        [0.0, 4.0],
        [np.nan, 0],
        [3, 0, 0],
        0,
        [b"a", b"b"],
        [[0, 4]],
        np.zeros(10**6),
    ],
    ids=lambda value: str(np.shape(value)),
)
def test_strange_empty_matrices(stored):
    """MATLAB stores the shape of what is empty; as a matrix of zeros it could be of any size."""
    h5py = pytest.importorskip("h5py")
    with h5py.File("A.mat", "w") as file:
        file.create_dataset("A", data=stored).attrs["MATLAB_empty"] = np.uint8(1)
    with pytest.raises(
        ValueError, match=r"^A \(A.mat:A\): MATLAB_empty says that it is empty, but"
    ):
        hs.matmul_files("A.mat:A", np.ones((4, 3)), "C.npy", memory=MEMORY)


@pytest.mark.parametrize("case", ["cut short", "link to itself", "link to no file", "no shape"])
def test_broken_hdf5(case):
    h5py = pytest.importorskip("h5py")
    with h5py.File("A.h5", "w") as file:
        if case == "cut short":
            file["A"] = np.ones((40, 50))
        elif case == "link to itself":
            file["A"] = h5py.SoftLink("/A")
        elif case == "link to no file":
            file["A"] = h5py.ExternalLink("none.h5", "/A")
        else:
            file["A"] = h5py.Empty("f8")
    if case == "cut short":
        os.truncate("A.h5", 5000)
    with pytest.raises(ValueError, match=r"^A \(A.h5:/A\)"):
        hs.matmul_files("A.h5:/A", np.ones((50, 3)), "C.npy", memory=MEMORY)


@pytest.mark.parametrize(("rows", "columns"), [(-10, 5), (-4, -5), (7, 5), (0, 5), (2**31 - 1, 5)])
def test_strange_shapes_of_old_mat_files(rows, columns):
    scipy_io = pytest.importorskip("scipy.io")
    scipy_io.savemat("A.mat", {"A": np.ones((4, 5))})
    content = bytearray(Path("A.mat").read_bytes())
    assert content[160:168] == np.array([4, 5], "<i4").tobytes()
    content[160:168] = np.array([rows, columns], "<i4").tobytes()
    Path("A.mat").write_bytes(content)
    with pytest.raises(ValueError, match=r"^A \(A.mat\)"):
        hs.matmul_files("A.mat", np.ones((5, 3)), "C.npy", memory=MEMORY)


def test_imaginary_parts_are_not_lost():
    with pytest.raises(TypeError, match="the imaginary parts would be lost"):
        hs.matmul_files(
            np.ones((2, 2), complex), np.ones((2, 2)), "C.npy", memory=MEMORY, dtype=float
        )


def test_closed_pool():
    pool = hs.Pool(1)
    pool.close()
    with pytest.raises(ValueError, match="the pool is closed"):
        hs.matmul_files(np.ones((2, 2)), np.ones((2, 2)), "C.npy", memory=MEMORY, pool=pool)
    assert os.listdir(".") == []


class BytesPath:
    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path


@pytest.mark.parametrize("path", [os.fsencode, Path, lambda name: BytesPath(os.fsencode(name))])
def test_kinds_of_paths(path):
    np.save("A.npy", np.ones((4, 5)))
    hs.matmul_files(path("A.npy"), np.ones((5, 3)), path("C.npy"), memory=MEMORY)
    np.testing.assert_array_equal(np.load("C.npy"), np.full((4, 3), 5.0))


def test_emulated_pool():
    with (
        hs.Pool(hs.Platform.star([3, 5]), emulate=True) as pool,
        pytest.raises(ValueError, match="pool is emulated"),
    ):
        hs.matmul_files(np.ones((2, 2)), np.ones((2, 2)), "C.npy", memory=MEMORY, pool=pool)


@pytest.mark.parametrize(("module", "name"), [("h5py", "A.h5"), ("scipy.io", "A.mat")])
def test_missing_module(module, name, monkeypatch):
    save("h5" if module == "h5py" else "mat5", "A", np.ones((2, 2)))
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"needs {module.split('.')[0]}: pip install"):
        hs.matmul_files(f"{name}:A", np.ones((2, 2)), "C.npy", memory=MEMORY)


@pytest.mark.parametrize(
    ("a", "b", "given", "want"),
    [
        ("i4", "f4", None, "f8"),
        ("i2", "f4", None, "f4"),
        ("i8", "u1", None, "f8"),
        ("?", "?", None, "f8"),
        ("f2", "f2", None, "f4"),
        ("f4", "c8", None, "c8"),
        ("f8", "c8", None, "c16"),
        ("i8", "c8", "c8", "c8"),
        ("f8", "f8", "f4", "f4"),
        ("g", "f8", "f8", "f8"),
    ],
)
def test_dtypes(a, b, given, want):
    A, B = numbers((5, 7), a), numbers((7, 6), b, 1)
    hs.matmul_files(A, B, "C.npy", memory=MEMORY, dtype=given)
    C = np.load("C.npy")
    assert C.dtype == want
    np.testing.assert_array_equal(C, A.astype(want) @ B.astype(want))


def test_alpha():
    hs.matmul_files(np.ones((3, 4)), np.ones((4, 2)), "C.npy", memory=MEMORY, alpha=-0.5)
    np.testing.assert_array_equal(np.load("C.npy"), np.full((3, 2), -2.0))


@pytest.mark.parametrize(
    ("text", "value"),
    [("2G", 2**31), ("512m", 2**29), ("1.5GiB", 3 * 2**29), ("1 KB", 1024), ("77", 77)],
)
def test_memory_texts(text, value):
    from hetsched.files.plan import parse_memory

    assert parse_memory(text) == value
