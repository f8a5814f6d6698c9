"""Datasets of HDF5 as h5py reads them: every type of numbers, layout, driver and place of the file;
or refused with a reason."""

import io
import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

import hetsched as hs
from hetsched.files import hdf5, matrices
from hetsched.files.hdf5 import Dataset
from hetsched.files.stored import STAGE, Raw

h5py = pytest.importorskip("h5py")
from h5py import h5d, h5f, h5p, h5s, h5t  # noqa: E402

A = np.array([[1.0, 2, 3, 4], [-1, -2, -3, -4], [5, 6, 7, 8]])
COMPLEX = A - 0.5j * A[::-1]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def read(given):
    """The matrix as products read it, and how; in the dtype as stored, and converted piece by
    piece."""
    with ExitStack() as opened:
        matrix = matrices.open_matrix("A", given, 2**24, opened)
        (rows, cols), stage = matrix.shape, np.empty(STAGE, np.uint8)
        whole = matrix.read(
            (0, rows), (0, cols), np.empty(rows * cols, matrix.dtype), stage, lambda: False
        ).copy()
        kind = np.complex128 if matrix.dtype.kind == "c" else np.float64
        part = matrix.read(
            (1, rows), (1, cols), np.empty((rows - 1) * (cols - 1), kind), stage, lambda: False
        )
        np.testing.assert_array_equal(part, whole[1:, 1:].astype(kind))
        assert matrix.unchanged()
        return whole, type(matrix)


# ---- types ----


def floating(size, exponent, mantissa, bias, order=h5t.ORDER_LE):
    kind = h5t.IEEE_F64LE.copy()
    kind.set_size(max(size, 8))
    kind.set_precision(8 * max(size, 8))
    kind.set_fields(exponent + mantissa, mantissa, exponent, 0, mantissa)
    kind.set_size(size)
    kind.set_ebias(bias)
    kind.set_order(order)
    return kind


def integer(base, size, precision, offset):
    kind = base.copy()
    kind.set_size(size)
    kind.set_precision(precision)
    kind.set_offset(offset)
    return kind


def pair(real, imag, names=(b"real", b"imag"), places=None, size=None):
    """A compound of two parts."""
    places = places or (0, real.get_size())
    kind = h5t.create(h5t.COMPOUND, size or real.get_size() + imag.get_size())
    for name, place, part in sorted(
        zip(names, places, (real, imag), strict=True), key=lambda member: member[1]
    ):
        kind.insert(name, place, part)
    return kind


def enum(base, **values):
    kind = h5t.enum_create(base)
    for name, value in values.items():
        kind.enum_insert(name.encode(), value)
    return kind


BFLOAT = floating(2, 8, 7, 127)
#: Types that NumPy has, stored as it has them: read as plain bytes where the layout is contiguous.
PLAIN = {
    **{
        name: getattr(h5t, f"IEEE_{name}")
        for name in ("F16LE", "F16BE", "F32LE", "F32BE", "F64LE", "F64BE")
    },
    **{
        f"{s}{n}{o}": getattr(h5t, f"STD_{s}{n}{o}")
        for s in "IU"
        for n in (16, 32, 64)
        for o in ("LE", "BE")
    },
    "I8LE": h5t.STD_I8LE,
    "U8LE": h5t.STD_U8LE,
    "long double": h5t.NATIVE_LDOUBLE,
}
#: Real numbers that h5py converts; some it refuses.
OTHERS = {
    "bfloat16": BFLOAT,
    "bfloat16, big-endian": floating(2, 8, 7, 127, h5t.ORDER_BE),
    "fp8 e5m2": floating(1, 5, 2, 15),
    "fp8 e4m3": floating(1, 4, 3, 7),
    "24 bits": floating(3, 7, 16, 63),
    "another bias": floating(4, 8, 23, 100),
    "16 bits, another bias": floating(2, 5, 10, 12),
    "quad": floating(16, 15, 112, 16383),
    "float in more bytes": floating(8, 8, 23, 127),
    "I8BE": h5t.STD_I8BE,
    "U8BE": h5t.STD_U8BE,
    "12 of 16 bits": integer(h5t.STD_I16LE, 2, 12, 0),
    "12 of 16 bits, shifted": integer(h5t.STD_I16LE, 2, 12, 4),
    "40 of 64 bits, shifted": integer(h5t.STD_I64BE, 8, 40, 8),
    "7 of 8 bits": integer(h5t.STD_I8LE, 1, 7, 1),
    "3 bytes": integer(h5t.STD_I32LE, 3, 24, 0),
    "5 bytes": integer(h5t.STD_I64LE, 5, 40, 0),
    "enum": enum(h5t.STD_I16LE, **{f"v{i}".replace("-", "m"): i for i in range(-4, 9)}),
}
#: Complex numbers: what is written is COMPLEX as a compound of doubles with the same names.
F4, F8 = h5t.IEEE_F32LE, h5t.IEEE_F64LE
PAIRS = {
    "MATLAB's": pair(F8, F8),
    "MATLAB's single": pair(F4, F4),
    "big-endian": pair(h5t.IEEE_F64BE, h5t.IEEE_F64BE),
    "imaginary first": pair(F8, F8, places=(8, 0)),
    "with gaps": pair(F8, F8, places=(4, 16), size=32),
    "of two types": pair(F4, F8),
    "of two orders": pair(F8, h5t.IEEE_F64BE),
    "half": pair(h5t.IEEE_F16LE, h5t.IEEE_F16LE),
    "long double": pair(h5t.NATIVE_LDOUBLE, h5t.NATIVE_LDOUBLE),
    "h5py's": pair(F8, F8, (b"r", b"i")),
    "h5py's with a gap": pair(F8, F8, (b"r", b"i"), size=24),
    "h5py's, imaginary first": pair(F8, F8, (b"r", b"i"), (8, 0)),
    "h5py's half": pair(h5t.IEEE_F16LE, h5t.IEEE_F16LE, (b"r", b"i")),
    "h5py's bfloat": pair(BFLOAT, BFLOAT, (b"r", b"i")),
}
INTEGERS = {
    f"{name}, {'MATLAB' if names[0] == b'real' else 'h5py'}": pair(kind, kind, names)
    for names in ((b"real", b"imag"), (b"r", b"i"))
    for name, kind in (
        ("int8", h5t.STD_I8LE),
        ("int16", h5t.STD_I16BE),
        ("uint32", h5t.STD_U32LE),
        ("int64", h5t.STD_I64LE),
    )
}
NATIVE = {
    name: getattr(h5t, name)
    for name in dir(h5t)
    if name.startswith("COMPLEX_IEEE") or name == "NATIVE_LDOUBLE_COMPLEX"
}  # of HDF5 2.0
REFUSED = {
    "opaque": h5t.create(h5t.OPAQUE, 8),
    "reference": h5t.STD_REF_OBJ,
    "region": h5t.STD_REF_DSETREG,
    "time": h5t.UNIX_D64LE,
    "string": h5t.C_S1,
    "strings": h5t.py_create(h5py.string_dtype(), logical=True),
    "array": h5t.array_create(F8, (2,)),
    "sequence": h5t.vlen_create(F8),
    "dates": h5t.py_create(h5py.opaque_dtype(np.dtype("M8[s]")), logical=True),
    "three parts": h5t.py_create(np.dtype([("real", "f8"), ("imag", "f8"), ("mask", "f8")])),
    "other names": pair(F8, F8, (b"x", b"y")),
    "one part": h5t.py_create(np.dtype([("real", "f8")])),
    "words": pair(h5t.C_S1, h5t.C_S1),
    "bfloat": pair(BFLOAT, BFLOAT),
    "half and bfloat": pair(h5t.IEEE_F16LE, BFLOAT, (b"r", b"i")),
}


def contiguous(plist):
    pass


LAYOUTS = {
    "contiguous": contiguous,
    "early": lambda plist: plist.set_alloc_time(h5d.ALLOC_TIME_EARLY),
    "chunked": lambda plist: plist.set_chunk((2, 3)),
    "compressed": lambda plist: [
        plist.set_chunk((2, 3)),
        plist.set_shuffle(),
        plist.set_deflate(4),
        plist.set_fletcher32(),
    ],
    "compact": lambda plist: plist.set_layout(h5d.COMPACT),
    "external": lambda plist: plist.set_external(b"outside.bin", 3, h5f.UNLIMITED),
}


def create(kind, layout, values=None):
    """The file a.h5 with the dataset A, and others around it."""
    if layout == "external":
        Path("outside.bin").write_bytes(bytes(2000))
    with h5py.File("a.h5", "w") as file:
        file["before"] = np.ones(9)
        plist = h5p.create(h5p.DATASET_CREATE)
        LAYOUTS[layout](plist)
        dataset = h5d.create(file.id, b"A", kind, h5s.create_simple(A.shape), plist)
        if values is not None:
            dataset.write(h5s.ALL, h5s.ALL, values)
        file["after"] = np.ones(100)


@pytest.mark.few(5)
@pytest.mark.parametrize("name", [*PLAIN, *OTHERS])
def test_real_numbers(name):
    values = A.astype(np.int16) if name == "enum" else np.abs(A) if name[0] == "U" else A
    for layout in LAYOUTS:
        create({**PLAIN, **OTHERS}[name], layout, values)
        try:
            with h5py.File("a.h5") as file:
                want = file["A"][()]
        except (TypeError, ValueError):  # h5py has no dtype for it
            with pytest.raises(
                TypeError, match=r"^A \(a.h5:A\) has a type of HDF5 that NumPy has not: "
            ):
                read("a.h5:A")
            assert name in ("quad", "3 bytes", "5 bytes")
            continue
        np.testing.assert_array_equal(want.astype(float), values)
        with h5py.File("a.h5") as file:
            for given in ("a.h5:A", file["A"]):
                found, how = read(given)
                np.testing.assert_array_equal(found, want)
                assert how is (
                    Raw if name in PLAIN and layout in ("contiguous", "early") else Dataset
                )


def pairs_of(kind):
    """COMPLEX, in memory with the names of a compound type; whole numbers for whole parts."""
    first = kind.get_member_name(0)
    names = ("real", "imag") if first in (b"real", b"imag") else ("r", "i")
    values = np.empty(A.shape, [(name, "f8") for name in names])
    values[names[0]], values[names[1]] = COMPLEX.real, COMPLEX.imag
    return values


@pytest.mark.few(5)
@pytest.mark.parametrize("name", PAIRS)
def test_complex_numbers(name):
    for layout in ("contiguous", "chunked", "external"):
        create(PAIRS[name], layout, pairs_of(PAIRS[name]))
        found, how = read("a.h5:A")
        assert found.dtype.kind == "c"
        np.testing.assert_array_equal(found, COMPLEX)
        plain = name in ("MATLAB's", "MATLAB's single", "big-endian", "long double", "h5py's")
        assert how is (Raw if plain and layout == "contiguous" else Dataset)


@pytest.mark.parametrize("name", INTEGERS)
def test_complex_integers(name):
    """NumPy has none: they become complex128, as SciPy makes of MATLAB's."""
    kind = INTEGERS[name]
    values = pairs_of(kind)
    for part in values.dtype.names:
        values[part] = np.abs(np.round(values[part]))
    real, imag = values.dtype.names
    for layout in ("contiguous", "compressed"):
        create(kind, layout, values)
        found, _ = read("a.h5:A")
        assert found.dtype == np.complex128
        np.testing.assert_array_equal(found, values[real] + 1j * values[imag])


@pytest.mark.parametrize("layout", ["contiguous", "chunked"])
@pytest.mark.parametrize("name", NATIVE)
def test_native_complex_numbers(name, layout):
    create(NATIVE[name], layout)
    try:
        with h5py.File("a.h5", "r+") as file:
            file["A"][...] = COMPLEX.astype(file["A"].dtype)
            want = file["A"][()]
    except TypeError:  # of half precision
        with pytest.raises(TypeError, match=r"A \(a.h5:A\) has a type of HDF5 that NumPy has not"):
            read("a.h5:A")
        return
    np.testing.assert_array_equal(want, COMPLEX)
    np.testing.assert_array_equal(read("a.h5:A")[0], COMPLEX)


@pytest.mark.parametrize("layout", ["contiguous", "chunked"])
@pytest.mark.parametrize("name", REFUSED)
def test_no_numbers(name, layout):
    create(REFUSED[name], layout)
    with h5py.File("a.h5") as file:
        for given, argument in (("a.h5:A", r"A \(a.h5:A\)"), (file["A"], "A")):
            with pytest.raises(
                TypeError,
                match=(
                    rf"^{argument} has (dtype .*; numbers are needed|a type of HDF5 that NumPy has"
                    r" not)"
                ),
            ):
                hs.matmul_files(given, np.eye(4), "C.npy", memory="16M")
    assert not list(Path(".").glob("C.npy*"))


@pytest.mark.parametrize("bits", ["B8LE", "B8BE", "B16LE", "B32BE", "B64LE"])
def test_bit_fields(bits):
    """As h5py reads them, or refused before anything is written where it cannot."""
    create(getattr(h5t, f"STD_{bits}"), "early")
    try:
        with h5py.File("a.h5") as file:
            want = file["A"][()]
    except OSError:
        want = None
    if want is None:
        with pytest.raises(
            TypeError, match=r"^A \(a.h5:A\) has a type of HDF5 that it cannot convert to uint8"
        ):
            hs.matmul_files("a.h5:A", np.eye(4), "C.npy", memory="16M")
        assert os.listdir() == ["a.h5"]
    else:
        np.testing.assert_array_equal(read("a.h5:A")[0], want)


@pytest.mark.parametrize("value", [True, np.array([[True, False], [False, True]])])
def test_boolean_values(value):
    value = np.broadcast_to(value, (2, 2))
    with h5py.File("a.h5", "w") as file:
        file["A"] = value
    found, _ = read("a.h5:A")
    assert found.dtype == bool
    np.testing.assert_array_equal(found, value)


def test_the_order_of_a_vax():
    with h5py.File("a.h5", "w", libver="latest") as file:
        h5d.create(
            file.id, b"A", floating(8, 11, 52, 1023, h5t.ORDER_BE + 1), h5s.create_simple(A.shape)
        )
        with pytest.raises(TypeError, match="^A has a type of HDF5 that NumPy has not"):
            read(file["A"])


def test_a_committed_type():
    with h5py.File("a.h5", "w") as file:
        file["kind"] = np.dtype("<f4")
        file.create_dataset("A", data=A, dtype=file["kind"])
    found, how = read("a.h5:A")
    assert how is Raw
    np.testing.assert_array_equal(found, A)


# ---- layouts, files and drivers ----


def test_virtual_datasets():
    """Over contiguous and chunked parts, of other types; also of other files."""
    with h5py.File("part.h5", "w") as file:
        file["x"] = A[:, :2].astype(">i4")
    with h5py.File("a.h5", "w") as file:
        file.create_dataset("y", data=A[:, 2:].astype(np.float32), chunks=(2, 1))
        layout = h5py.VirtualLayout(A.shape, float)
        layout[:, :2] = h5py.VirtualSource("part.h5", "x", (3, 2))
        layout[:, 2:] = h5py.VirtualSource(file["y"])
        file.create_virtual_dataset("A", layout, fillvalue=7)
    found, how = read("a.h5:A")
    assert how is Dataset
    np.testing.assert_array_equal(found, A)
    for out in ("part.h5", "a.h5"):
        with h5py.File("a.h5") as file, pytest.raises(ValueError, match="same file|also holds"):
            hs.matmul_files(
                file["A"], np.eye(4), f"{out}:C" if out == "a.h5" else "part.h5:x", memory="16M"
            )


def test_links():
    """A dataset behind a link is in the file that the link points to, in another folder and at
    another place."""
    os.makedirs("there/deep")
    with h5py.File("there/deep/b.h5", "w") as file:
        file["B"] = A
        file["soft"] = h5py.SoftLink("/B")
        file["hard"] = file["B"]
    with h5py.File("there/a.h5", "w") as file:
        file["first"] = np.full((50, 50), 9.0)
        file["A"] = h5py.ExternalLink("deep/b.h5", "/B")
        file["again"] = h5py.ExternalLink("deep/b.h5", "/soft")
        file["soft"] = h5py.SoftLink("/A")
    with h5py.File("top.h5", "w") as file:
        file["A"] = h5py.ExternalLink("there/a.h5", "/A")
    os.symlink("b.h5", "there/deep/b.npy")
    for given in (
        "there/a.h5:A",
        "there/a.h5:again",
        "there/a.h5:soft",
        "there/deep/b.h5:soft",
        "there/deep/b.h5:hard",
        "top.h5:A",
    ):
        found, how = read(given)
        assert how is Raw
        np.testing.assert_array_equal(found, A)
        with pytest.raises(ValueError, match="out and A are the same file, .*b.h5"):
            hs.matmul_files(given, np.eye(4), "there/deep/b.npy", memory="16M")


@pytest.mark.parametrize("block", [512, 1024, 2048, 4096, 2**16, 2**20])
@pytest.mark.parametrize("chunks", [None, (2, 2)])
@pytest.mark.parametrize("by", ["HDF5", "hand"])
def test_blocks_of_the_user(block, chunks, by):
    """Before the signature, at any power of two; HDF5 counts from there, also where another program
    has put the bytes before."""
    with h5py.File("a.h5", "w", userblock_size=block if by == "HDF5" else 0) as file:
        file["before"] = np.ones(9)
        file.create_dataset("A", data=A, chunks=chunks)
    content = Path("a.h5").read_bytes()
    text = b"not \x89HDF, nor MATLAB".ljust(block, b"\xff")
    Path("a.h5").write_bytes(text + (content[block:] if by == "HDF5" else content))
    with h5py.File("a.h5") as file:
        for given in ("a.h5:A", file["A"]):
            found, how = read(given)
            assert how is (Dataset if chunks else Raw)
            np.testing.assert_array_equal(found, A)


def test_signatures_elsewhere():
    with h5py.File("a.h5", "w") as file:
        file["A"] = A
    content = Path("a.h5").read_bytes()
    for before in (1, 8, 256, 511, 513, 1536):
        Path("b.h5").write_bytes(bytes(before) + content)
        with pytest.raises(
            ValueError, match=r"A \(b.h5\) is not a complete .npy file, nor HDF5 or .mat"
        ):
            read("b.h5")


DRIVERS = {
    "sec2": lambda stack: stack.enter_context(h5py.File("a.h5")),
    "stdio": lambda stack: stack.enter_context(h5py.File("a.h5", driver="stdio")),
    "core": lambda stack: stack.enter_context(h5py.File("a.h5", driver="core")),
    "core, in memory alone": lambda stack: stack.enter_context(
        h5py.File("a.h5", driver="core", backing_store=False)
    ),
    "bytes": lambda stack: stack.enter_context(h5py.File(io.BytesIO(Path("a.h5").read_bytes()))),
    "file object": lambda stack: stack.enter_context(
        h5py.File(stack.enter_context(Path("a.h5").open("rb")))  # noqa: SIM115
    ),
    "family": lambda stack: stack.enter_context(
        h5py.File("a%d.h5", "w", driver="family", memb_size=2048)
    ),
    "split": lambda stack: stack.enter_context(h5py.File("s.h5", "w", driver="split")),
    "written": lambda stack: stack.enter_context(h5py.File("w.h5", "w")),
    "written in memory": lambda stack: stack.enter_context(
        h5py.File("w.h5", "w", driver="core", backing_store=False)
    ),
    "SWMR": lambda stack: stack.enter_context(h5py.File("a.h5", "r", libver="latest", swmr=True)),
    "pages": lambda stack: stack.enter_context(
        h5py.File("w.h5", "w", fs_strategy="page", page_buf_size=2**16)
    ),
}


@pytest.mark.parametrize("chunks", [None, (2, 3)])
@pytest.mark.parametrize("driver", DRIVERS)
def test_drivers(driver, chunks):
    with h5py.File("a.h5", "w", libver="latest") as file:
        file.create_dataset("A", data=A, chunks=chunks)
    want = A
    with ExitStack() as stack:
        file = DRIVERS[driver](stack)
        if file.mode == "r+":
            file["before"] = np.ones(300)
            dataset = file.create_dataset("A", data=A, chunks=chunks)
            dataset[1] = 3.5  # is perhaps not in the file yet
            want = np.vstack([A[0], np.full(4, 3.5), A[2]])
        if driver == "written in memory":  # the file of that name is another one
            Path("w.h5").write_bytes(Path("a.h5").read_bytes())
        found, how = read(file["A"])
        np.testing.assert_array_equal(found, want)
        assert how is (
            Raw if driver in ("sec2", "written", "SWMR", "pages") and chunks is None else Dataset
        )
        hs.matmul_files(file["A"], np.eye(4), "C.npy", memory="16M")
        np.testing.assert_array_equal(np.load("C.npy"), want)


@pytest.mark.parametrize("chunks", [None, (2, 3)])
@pytest.mark.parametrize(
    "how", ["replaced", "removed", "renamed", "another folder", "a folder there", "a pipe there"]
)
def test_an_open_file_that_lost_its_name(monkeypatch, how, chunks):
    """The dataset is that of the file that is open, whatever has its name now."""
    for name, values in (("a.h5", A), ("next.h5", A + 100)):
        with h5py.File(name, "w") as file:
            file.create_dataset("A", data=values, chunks=chunks)
    with h5py.File("a.h5") as file:
        if how == "replaced":
            os.replace("next.h5", "a.h5")
        elif how in ("removed", "a folder there", "a pipe there"):
            os.remove("a.h5")
            if how == "a folder there":
                os.mkdir("a.h5")
        elif how == "renamed":
            os.rename("a.h5", "old.h5")
        else:
            os.mkdir("other")
            os.rename("next.h5", "other/a.h5")
            monkeypatch.chdir("other")
        if how == "a pipe there":
            os.mkfifo("a.h5")
        np.testing.assert_array_equal(read(file["A"])[0], A)
        hs.matmul_files(file["A"], np.eye(4), "C.npy", memory="16M")
        np.testing.assert_array_equal(np.load("C.npy"), A)


def test_a_mounted_file():
    """Its datasets say that they are in the file that it is mounted in."""
    with h5py.File("child.h5", "w") as file:
        file["A"] = A
    with h5py.File("parent.h5", "w") as file:
        file["before"] = np.full(2000, 9.0)
        file.create_group("here")
    with h5py.File("parent.h5") as parent, h5py.File("child.h5") as child:
        h5f.mount(parent.id, b"here", child.id)
        np.testing.assert_array_equal(read(parent["here/A"])[0], A)
        h5f.unmount(parent.id, b"here")


def test_a_closed_dataset():
    with h5py.File("a.h5", "w") as file:
        dataset = file.create_dataset("A", data=A)
    with pytest.raises(ValueError, match="^A is a dataset of a file that is closed"):
        read(dataset)


@pytest.mark.parametrize("made", ["anonymous", "unlinked"])
@pytest.mark.parametrize("chunks", [None, (2, 2)])
def test_a_dataset_without_a_name(made, chunks):
    with h5py.File("a.h5", "w") as file:
        dataset = file.create_dataset(None if made == "anonymous" else "A", data=A, chunks=chunks)
        if made == "unlinked":
            del file["A"]
        np.testing.assert_array_equal(read(dataset)[0], A)
        dataset.attrs["MATLAB_class"] = np.bytes_("cell")
        with pytest.raises(TypeError, match="^A: a dataset without a name is of class cell"):
            read(dataset)


@pytest.mark.parametrize("chunks", [None, (2, 2), (3, 1)])
@pytest.mark.parametrize("written", [np.s_[:0], np.s_[:1, :2]])
@pytest.mark.parametrize("through", ["itself", "a virtual dataset"])
def test_no_fill_value(monkeypatch, chunks, written, through):
    """What was never written is zero, as h5py reads it, and not what the buffer held."""
    plist = h5p.create(h5p.DATASET_CREATE)
    plist.set_fill_time(h5d.FILL_TIME_NEVER)
    if chunks:
        plist.set_chunk(chunks)
    with h5py.File("a.h5", "w", libver="latest") as file:
        h5d.create(file.id, b"A", h5t.IEEE_F64LE, h5s.create_simple(A.shape), plist)
        file["A"][written] = A[written]
        layout = h5py.VirtualLayout(A.shape, "f8")
        layout[...] = h5py.VirtualSource(file["A"])
        file.create_virtual_dataset("V", layout)
        want = file["A"][()]
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float, **_: np.full(shape, 77, dtype))
    np.testing.assert_array_equal(read("a.h5:A" if through == "itself" else "a.h5:V")[0], want)


@pytest.mark.parametrize("there", [[], ["1.raw"], ["2.raw"]])
def test_external_files_that_are_elsewhere(there):
    """They are missed before anything is written."""
    with h5py.File("a.h5", "w") as file:
        file.create_dataset("A", A.shape, "f8", external=[("1.raw", 0, 48), ("2.raw", 0, 48)])
    for path in there:
        Path(path).write_bytes(A.tobytes()[:48])
    before = sorted(os.listdir())
    with pytest.raises(ValueError, match="^A .*external"):
        hs.matmul_files("a.h5:A", np.ones((4, 1)), "C.npy", memory="16M")
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("number", [307, 32001, 32015, 40000])
def test_filters_that_are_not_installed(monkeypatch, number):
    """They are missed before anything is written."""
    known = h5py.h5z.filter_avail
    monkeypatch.setattr(
        h5py.h5z, "filter_avail", lambda code: code != h5py.h5z.FILTER_SHUFFLE and known(code)
    )
    with h5py.File("a.h5", "w") as file:
        file.create_dataset("shuffled", data=A, chunks=(2, 2), shuffle=True)
        plist = h5p.create(h5p.DATASET_CREATE)
        plist.set_chunk((2, 2))
        plist.set_filter(number, h5py.h5z.FLAG_OPTIONAL)
        h5d.create(file.id, b"other", h5t.IEEE_F64LE, h5s.create_simple(A.shape), plist)
    for name, code in (("shuffled", h5py.h5z.FILTER_SHUFFLE), ("other", number)):
        with pytest.raises(ValueError, match=f"^A .* has the filter {code} .*cannot find"):
            hs.matmul_files(f"a.h5:{name}", np.ones((4, 1)), "C.npy", memory="16M")
    assert os.listdir() == ["a.h5"]


@pytest.mark.parametrize("suffix", [".h5ad", ".nc4", ".jld2", ".loom", ""])
def test_names_of_files_that_are_there(suffix):
    """What is there before a colon is the file, whatever its suffix."""
    path = f"a{suffix}"
    with h5py.File(path, "w") as file:
        file["X"] = A
        file["layers/x:y"] = 2 * A
    np.testing.assert_array_equal(read(f"{path}:X")[0], A)
    np.testing.assert_array_equal(read(f"{path}:/layers/x:y")[0], 2 * A)
    with pytest.raises(ValueError, match="there is no dataset nope.*layers/x:y"):
        read(f"{path}:nope")
    with pytest.raises(FileNotFoundError):
        read(f"b{suffix}:X")


def test_a_small_dataset_takes_no_whole_cache():
    """HDF5's cache holds no more than there is, so little memory is enough for a small dataset."""
    with h5py.File("a.h5", "w", rdcc_nbytes=2**30) as file:
        dataset = file.create_dataset("A", data=A, chunks=(2, 2))
        hs.matmul_files(dataset, np.eye(4), "C.npy", memory="8M")
    np.testing.assert_array_equal(np.load("C.npy"), A)


def test_nothing_written_yet():
    """Room that is not allocated has the fill value."""
    with h5py.File("a.h5", "w") as file:
        file.create_dataset("A", (3, 4), "f8", fillvalue=2.5)
    found, how = read("a.h5:A")
    assert how is Dataset
    np.testing.assert_array_equal(found, np.full((3, 4), 2.5))


def test_a_chunk_larger_than_the_memory(monkeypatch):
    """It is refused before it is read."""
    with h5py.File("a.h5", "w") as file:
        file.create_dataset("A", (2**14, 2**13), ">f8", chunks=(2**14, 2**13))  # 1 GiB, not written
    monkeypatch.setattr(Dataset, "_fetch", lambda *_: pytest.fail("was read"))
    with pytest.raises(hs.InfeasibleError):
        hs.matmul_files("a.h5:A", np.ones((2**13, 1)), "C.npy", memory="64M")


@pytest.mark.parametrize("layout", ["contiguous", "chunked", "compact"])
def test_elements_that_are_stored_in_fewer_bytes(monkeypatch, layout):
    """They are all there, however many bytes they have in memory."""
    monkeypatch.setattr(hdf5, "_MADE_UP", 0)
    create(BFLOAT, layout, A)
    np.testing.assert_array_equal(matrices.read_matrix("A", "a.h5:A"), A)
