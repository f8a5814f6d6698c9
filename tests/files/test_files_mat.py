"""MATLAB's files of all versions: full matrices of numbers as SciPy and h5py read them; other
variables are refused."""

import io
import struct
import zlib
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import hetsched as hs
from hetsched.files import matrices
from hetsched.files.matrices import read_matrix
from hetsched.files.stored import STAGE

h5py = pytest.importorskip("h5py")
scipy_io = pytest.importorskip("scipy.io")

A = np.array([[1.0, 2, 3, 4], [-1, -2, -3, -4], [5, 6, 7, 8]])
NUMERIC = (
    "double",
    "single",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read(given):
    """The matrix as products of files read it."""
    with ExitStack() as opened:
        matrix = matrices.open_matrix("A", given, 2**24, opened)
        rows, cols = matrix.shape
        found = matrix.read(
            (0, rows),
            (0, cols),
            np.empty(rows * cols, matrix.dtype),
            np.empty(STAGE, np.uint8),
            lambda: False,
        )
        return found.copy()


def of_class(kind, array=A):
    """A matrix that a class can hold."""
    if kind == "logical":
        return array > 0
    return (np.abs(array) if kind[0] == "u" else array).astype(
        {"double": "f8", "single": "f4"}.get(kind, kind)
    )


# ---- version 5 to 7.2 ----

CODES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 9, "i8": 12, "u8": 13}
CLASSES = {
    "double": 6,
    "single": 7,
    "int8": 8,
    "uint8": 9,
    "int16": 10,
    "uint16": 11,
    "int32": 12,
    "uint32": 13,
    "int64": 14,
    "uint64": 15,
    "function": 16,
    "opaque": 17,
    "char": 4,
    "sparse": 5,
    "object": 3,
    "struct": 2,
    "cell": 1,
}


class Writer:
    """Elements of a file of version 5 in a byte order."""

    def __init__(self, order="<", small=True):
        self.order, self.small = order, small

    def part(self, code, data):
        if self.small and 0 < len(data) <= 4:
            return struct.pack(f"{self.order}I", len(data) << 16 | code) + data.ljust(4, b"\0")
        return struct.pack(f"{self.order}II", code, len(data)) + data + bytes(-len(data) % 8)

    def element(self, *parts, compressed=False):
        body = b"".join(parts)
        whole = struct.pack(f"{self.order}II", 14, len(body)) + body
        if compressed:
            packed = zlib.compress(whole)
            return struct.pack(f"{self.order}II", 15, len(packed)) + packed
        return whole

    def head(self, kind, shape, name, flags=0):
        shape = struct.pack(f"{self.order}{len(shape)}i", *shape)
        return (
            self.part(6, struct.pack(f"{self.order}II", CLASSES[kind] | flags, 0))
            + self.part(5, shape)
            + self.part(1, name)
        )

    def matrix(self, name, array, kind=None, stored=None, compressed=False, flags=0):
        """A full matrix of numbers; stored: the types of its parts."""
        kind = kind or {"f8": "double", "f4": "single"}.get(array.dtype.str[1:], array.dtype.name)
        parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
        stored = np.dtype(stored or parts[0].dtype)
        data = [
            self.part(CODES[stored.str[1:]], x.astype(stored.newbyteorder(self.order)).tobytes("F"))
            for x in parts
        ]
        flags |= 0x800 * (len(parts) - 1)
        return self.element(self.head(kind, array.shape, name, flags), *data, compressed=compressed)

    def opaque(self, name, kind, compressed=False):
        """A string, datetime, table ...: no dimensions, and a reference to what is in the
        subsystem's data."""
        reference = self.matrix(b"", np.array([[0xDD000000], [2], [1], [1], [1], [1]], np.uint32))
        flags = self.part(6, struct.pack(f"{self.order}II", CLASSES["opaque"], 0))
        return self.element(
            flags,
            self.part(1, name),
            self.part(1, b"MCOS"),
            self.part(1, kind),
            reference,
            compressed=compressed,
        )

    def handle(self, name, compressed=False):
        """A function handle."""
        return self.element(
            self.head("function", (1, 1), name),
            self.element(self.head("struct", (1, 1), b"")),
            compressed=compressed,
        )

    def subsystem(self, compressed=False):
        return self.matrix(
            b"", np.frombuffer(bytes(range(200)), np.uint8).reshape(1, -1), compressed=compressed
        )

    def file(self, path, *elements):
        version = struct.pack(f"{self.order}H", 0x0100) + {"<": b"IM", ">": b"MI"}[self.order]
        Path(path).write_bytes(
            b"MATLAB 5.0 MAT-file".ljust(116) + bytes(8) + version + b"".join(elements)
        )


def alone(path, *elements, writer):
    """What SciPy makes of a file that has this variable alone."""
    writer.file(path, *elements)
    return scipy_io.loadmat(path, variable_names=["A"])["A"]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("compressed", [False, True])
def test_numbers_beside_objects(order, compressed):
    """The variable that is asked for, first, last or between others that no reader lists; the
    others are refused."""
    writer = Writer(order)
    rest = [
        writer.opaque(b"when", b"datetime", compressed),
        writer.opaque(b"text", b"string", compressed),
        writer.opaque(b"people", b"table", not compressed),
        writer.handle(b"f", compressed),
        writer.element(writer.head("cell", (0, 0), b"empty"), compressed=compressed),
        writer.element(
            writer.head("char", (1, 2), b"word"),
            writer.part(4, b"\0a\0b" if order == ">" else b"a\0b\0"),
        ),
        writer.matrix(b"cube", np.ones((2, 3, 4))),
        writer.element(writer.head("double", (1,) * 40, b"deep")),
        writer.matrix(b"B", A + 9, compressed=compressed),
    ]
    own = writer.matrix(b"A", A, compressed=compressed)
    for place in range(len(rest) + 1):
        writer.file("a.mat", *rest[:place], own, *rest[place:], writer.subsystem(compressed))
        np.testing.assert_array_equal(read("a.mat:A"), A)
        np.testing.assert_array_equal(read("a.mat:/B"), A + 9)
    hs.matmul_files("a.mat:A", np.eye(4), "C.npy", memory="16M")
    np.testing.assert_array_equal(np.load("C.npy"), A)
    for name, words in {
        "when": "of class opaque",
        "text": "of class opaque",
        "people": "of class opaque",
        "f": "of class function",
        "empty": "of class cell",
        "word": "of class char",
        "cube": r"shape \(2, 3, 4\), a matrix has 2 dimensions",
    }.items():
        with pytest.raises(
            (TypeError, ValueError), match=rf"^A \(a.mat:{name}\): {name} (is|has) {words}"
        ):
            read(f"a.mat:{name}")
    with pytest.raises(
        ValueError,
        match=(
            "there is no variable C; its variables are when, text, people, f, empty, word, cube,"
            " deep, B, A"
        ),
    ):
        read("a.mat:C")
    with pytest.raises(ValueError, match="say which variable"):
        read("a.mat")


@pytest.mark.few(4)
@pytest.mark.parametrize("kind", NUMERIC)
@pytest.mark.parametrize("imaginary", [False, True])
def test_classes(kind, imaginary):
    """In both orders, also in the smaller types in which MATLAB stores whole numbers, with few
    elements and many: as SciPy."""
    for shape in ((3, 4), (1, 1), (1, 2), (4, 1), (0, 3), (1, 5)):
        own = np.resize(np.abs(A), shape).astype(of_class(kind).dtype)
        array = own + 2j * own if imaginary else own
        for stored in (own.dtype, "u1" if np.can_cast("u1", own.dtype) else own.dtype):
            for order, compressed, small in (
                ("<", False, True),
                (">", False, False),
                ("<", True, False),
                (">", True, True),
            ):
                writer = Writer(order, small)
                element = writer.matrix(b"A", array, kind, stored, compressed)
                want = alone("alone.mat", element, writer=writer)
                writer.file("a.mat", writer.opaque(b"x", b"string"), element)
                found, whole = read("a.mat:A"), read_matrix("A", "a.mat:A")
                np.testing.assert_array_equal(found, want)
                np.testing.assert_array_equal(whole, array)
                complex_of_class = (
                    np.complex64 if kind == "single" and stored != "u1" else np.complex128
                )
                assert whole.dtype == (complex_of_class if imaginary else own.dtype)


@pytest.mark.parametrize("order", "<>")
def test_logical_values(order):
    writer = Writer(order)
    writer.file(
        "a.mat",
        writer.opaque(b"x", b"string"),
        writer.matrix(b"A", (A > 0).astype("u1"), flags=0x200),
    )
    np.testing.assert_array_equal(read("a.mat:A"), A > 0)
    assert read_matrix("A", "a.mat:A").dtype == bool


@pytest.mark.parametrize("length", [1, 2, 4, 5, 8, 31, 63])
@pytest.mark.parametrize("compressed", [False, True])
def test_names(length, compressed):
    name = ("v_" * 40)[:length]
    for writer in (Writer("<"), Writer(">", small=False)):
        element = writer.matrix(name.encode(), A, compressed=compressed)
        writer.file("a.mat", element, writer.opaque(b"x", b"string"), writer.subsystem())
        np.testing.assert_array_equal(read(f"a.mat:{name}"), A)
        writer.file("a.mat", element, writer.subsystem())  # the only variable with a name
        np.testing.assert_array_equal(read("a.mat"), A)


def test_no_name_and_the_same_name():
    writer = Writer()
    writer.file("a.mat", writer.subsystem(), writer.matrix(b"", A))
    with pytest.raises(
        ValueError, match="say which variable, as in a.mat:name; its variables are none"
    ):
        read("a.mat")
    writer.file("a.mat", writer.matrix(b"A", A), writer.opaque(b"A", b"string"))
    with pytest.raises(ValueError, match=r"^A \(a.mat:A\): there are 2 variables A"):
        read("a.mat:A")


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("parts", ["fewer", "more", "one imaginary", "no imaginary"])
def test_parts_of_another_size(parts, compressed):
    """SciPy believes it: one imaginary part would be that of all elements."""
    writer = Writer()
    real, count = A.tobytes("F"), {"fewer": 11, "more": 13}.get(parts, 12)
    data = [writer.part(9, (real + real)[: 8 * count])]
    if parts == "one imaginary":
        data.append(writer.part(9, real[:8]))
    head = writer.head("double", A.shape, b"A", 0x800 * ("imaginary" in parts))
    writer.file("a.mat", writer.element(head, *data, compressed=compressed))
    with pytest.raises(ValueError, match=r"^A \(a.mat\) is not a .mat file that SciPy can read: "):
        read("a.mat")


def test_other_heads():
    """The text is the writer's own; the version comes after it."""
    writer = Writer()
    writer.file("a.mat", writer.matrix(b"A", A))
    content = Path("a.mat").read_bytes()
    Path("a.mat").write_bytes(b"by another program".ljust(116) + content[116:])
    np.testing.assert_array_equal(read("a.mat"), A)
    for version in (b"\x00\x03IM", b"\x00\x02IM", b"\x00\x01XX", b"\x00\x00\x00\x00"):
        Path("a.mat").write_bytes(content[:124] + version + content[128:])
        with pytest.raises(
            ValueError, match=r"^A \(a.mat\) is not a .mat file that SciPy can read"
        ):
            read("a.mat")


def test_a_file_of_hdf5_inside_a_variable():
    """Its signature where a file of HDF5 could begin."""
    signature, writer = b"\x89HDF\r\n\x1a\n", Writer()
    for place in (512, 1024, 4096):
        bytes_of = np.zeros((1, 8000), np.uint8)
        writer.file("a.mat", writer.matrix(b"A", bytes_of))
        start = len(Path("a.mat").read_bytes()) - 8000
        bytes_of[0, place - start : place - start + 8] = np.frombuffer(signature, np.uint8)
        writer.file("a.mat", writer.matrix(b"A", bytes_of))
        assert Path("a.mat").read_bytes()[place : place + 8] == signature
        np.testing.assert_array_equal(read("a.mat"), bytes_of)


# ---- version 4 ----


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i2", "u2", "u1", "c16"])
def test_version_4(dtype):
    array = np.abs(A).astype(dtype)
    scipy_io.savemat("a.mat", {"A": array, "text": "abc", "B": A}, format="4")
    want = scipy_io.loadmat("a.mat")["A"]
    np.testing.assert_array_equal(read("a.mat:A"), want)
    np.testing.assert_array_equal(want, array)
    with pytest.raises(TypeError, match="text is of class char"):
        read("a.mat:text")
    content = io.BytesIO(Path("a.mat").read_bytes()).getvalue()
    Path("a.mat").write_bytes(content + content)
    with pytest.raises(ValueError, match="there are 2 variables A"):
        read("a.mat:A")


# ---- version 7.3 ----


def save_v73(data, kind, path="a.mat", **attributes):
    """A variable as it is stored, with columns first."""
    with h5py.File(path, "w", userblock_size=512) as file:
        file["s"] = data
        if kind is not None:
            file["s"].attrs["MATLAB_class"] = np.bytes_(kind)
        for name, value in attributes.items():
            file["s"].attrs[name] = value
    with open(path, "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


@pytest.mark.parametrize("kind", [*NUMERIC, "logical"])
def test_classes_of_version_73(kind):
    array = of_class(kind)
    decode = {"MATLAB_int_decode": np.int32(1)} if kind == "logical" else {}
    save_v73(array.T.astype("u1") if kind == "logical" else array.T, kind, **decode)
    np.testing.assert_array_equal(read("a.mat:s"), array)
    whole = read_matrix("A", "a.mat")
    assert whole.dtype == array.dtype
    np.testing.assert_array_equal(whole, array)
    hs.matmul_files("a.mat", np.eye(4), "C.npy", memory="16M")
    np.testing.assert_array_equal(np.load("C.npy"), array)


@pytest.mark.parametrize("kind", NUMERIC)
def test_complex_classes_of_version_73(kind):
    array = of_class(kind)
    pairs = np.empty(array.T.shape, [("real", array.dtype), ("imag", array.dtype)])
    pairs["real"], pairs["imag"] = array.T, 2 * array.T
    save_v73(pairs, kind)
    found = read("a.mat")
    np.testing.assert_array_equal(found, array + 2j * array)
    assert found.dtype == (np.complex64 if kind == "single" else np.complex128)
    assert read_matrix("A", "a.mat").dtype == found.dtype


# as MATLAB stores a string, datetime, table ...
REFERENCE = np.array([[0xDD000000, 2, 1, 1, 1, 1]], np.uint32).T
OBJECT = {"MATLAB_object_decode": np.int32(3)}
TEXT = np.frombuffer("hello".encode("utf-16-le"), np.uint16).reshape(5, 1)


@pytest.mark.parametrize(
    ("kind", "data", "attributes"),
    [
        *((kind, REFERENCE, OBJECT) for kind in ("string", "datetime", "duration", "table")),
        *((kind, REFERENCE, OBJECT) for kind in ("categorical", "affine2d", "double")),
        ("char", TEXT, {"MATLAB_int_decode": np.int32(2)}), ("char", TEXT, {}),
        ("string", REFERENCE, {}),
        ("function_handle", np.ones((1, 1), np.uint8), {"MATLAB_object_decode": np.int32(1)}),
        ("struct", REFERENCE, {}), ("cell", np.ones((2, 2), np.uint64), {}),
        ("cell", np.array([0, 0], np.uint64), {"MATLAB_empty": np.uint8(1)}),
        ("char", np.array([0, 0], np.uint64), {"MATLAB_empty": np.uint8(1)}), ("my.class", A, {}),
        ("", A, {}), ("Double", A, {}), ("double", A, {"MATLAB_sparse": np.uint64(3)}),
    ],
)  # fmt: skip
def test_other_classes_of_version_73(kind, data, attributes):
    save_v73(data, kind, **attributes)
    with h5py.File("a.mat") as file:
        for given, argument in (
            ("a.mat:s", r"A \(a.mat:s\)"),
            ("a.mat", r"A \(a.mat\)"),
            (file["s"], "A"),
        ):
            with pytest.raises(
                TypeError,
                match=rf"^{argument}: s is of class {kind}.*; a full matrix of numbers is needed",
            ):
                hs.matmul_files(given, np.eye(max(data.shape)), "C.npy", memory="16M")
    assert not list(Path(".").glob("C.npy*"))


@pytest.mark.parametrize(
    ("kind", "data", "attributes"),
    [
        ("int8", A, {}), ("int8", A.astype("i2"), {}), ("uint8", A.astype("i1"), {}),
        ("single", A, {}), ("int32", A + 1j, {}), ("logical", A, {}), ("logical", TEXT, {}),
        ("logical", np.ones((2, 2), "u1"), {"MATLAB_int_decode": np.int32(2)}),
        ("double", np.ones((2, 2), np.longdouble), {}), ("uint64", np.ones((2, 2), "f4"), {}),
        ("single", np.ones((2, 2), "i4"), {}),
    ],
)  # fmt: skip
def test_elements_that_are_not_of_their_class(kind, data, attributes):
    save_v73(data, kind, **attributes)
    with pytest.raises(
        TypeError, match=rf"^A \(a.mat:s\): s is of class {kind}, but its elements are stored as "
    ):
        read("a.mat:s")


def test_attributes_that_do_not_fit():
    save_v73(A, "double", MATLAB_int_decode=np.int32(2))
    with pytest.raises(TypeError, match="s is of class double, but has a MATLAB_int_decode"):
        read("a.mat:s")
    save_v73(A, None, MATLAB_class=np.frombuffer(b"double", "S1"))
    with pytest.raises(TypeError, match="s has a MATLAB_class that is not one text"):
        read("a.mat:s")


@pytest.mark.parametrize(
    "given", [b"double", "double", np.array([b"double"]), np.array(["double"], object)]
)
def test_attributes_of_other_writers(given):
    save_v73(
        A.T,
        None,
        MATLAB_class=(
            given if not isinstance(given, np.ndarray) or given.dtype != object else list(given)
        ),
    )
    np.testing.assert_array_equal(read("a.mat"), A)


def test_groups_of_version_73():
    """A sparse matrix and a struct are groups; a field of a struct is a matrix."""
    with h5py.File("a.mat", "w") as file:
        sparse = file.create_group("sparse")
        sparse.attrs["MATLAB_class"], sparse.attrs["MATLAB_sparse"] = (
            np.bytes_("double"),
            np.uint64(3),
        )
        sparse["data"] = np.ones(3)
        record = file.create_group("record")
        record.attrs["MATLAB_class"] = np.bytes_("struct")
        record["field"] = A.T
        record["field"].attrs["MATLAB_class"] = np.bytes_("double")
        file.create_group("plain")
    np.testing.assert_array_equal(read("a.mat:record/field"), A)
    for name, words in (("sparse", "double, sparse"), ("record", "struct")):
        with pytest.raises(
            TypeError,
            match=(
                rf"^A \(a.mat:{name}\): {name} is of class {words}; a full matrix of numbers is"
                r" needed"
            ),
        ):
            read(f"a.mat:{name}")
    with pytest.raises(
        ValueError, match="there is no dataset plain; its matrices are record/field"
    ):
        read("a.mat:plain")


@pytest.mark.parametrize("kind", [*NUMERIC, "logical", None])
def test_empty_matrices_of_version_73(kind):
    save_v73(np.array([0, 4], np.uint64), kind, MATLAB_empty=np.uint8(1))
    found = read("a.mat:s")
    assert found.shape == (0, 4)
    assert found.dtype == (float if kind is None else of_class(kind).dtype)


def test_files_without_classes():
    """Written by another program: rows and columns are exchanged in a .mat file, and not in others,
    as before."""
    for path, want in (("a.mat", A), ("a.h5", A.T)):
        with h5py.File(path, "w") as file:
            file["A"] = A.T
        np.testing.assert_array_equal(read(path), want)
