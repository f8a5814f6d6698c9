"""Matrices in HDF5 files and in MATLAB files of version 7.3.

A dataset is read as plain bytes of its file only if these bytes are certain to be its elements:

- HDF5 has opened the file with its usual driver, and the file of that name is still the opened one;
- the layout is contiguous, without filters and in this file alone, and its space is allocated;
- the stored type is, bit for bit, the type that HDF5 makes of the NumPy dtype. HDF5 has many types
  of numbers that NumPy lacks (bfloat16, integers with unused bits, complex numbers in another
  order). For these h5py names the dtype to which they are converted.

HDF5 reads and converts all other datasets.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._base.need import need
from .matlab import CLASSES, class_of, meant_dtype, require_stored_as
from .stored import STRETCH, Array, Held, Matrix, Raw, open_file

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_FIRST = 512  # bytes of the smallest user block before the signature; each further one doubles it
#: Most bytes of elements that may be missing in a dataset that is read whole.
_MADE_UP = 2**26


def is_hdf5(file: BinaryIO) -> bool:
    """Whether a file has the signature of HDF5 at one of its possible places."""
    size, place = os.fstat(file.fileno()).st_size, 0
    while place < size:
        file.seek(place)
        if file.read(len(_SIGNATURE)) == _SIGNATURE:
            return True
        place = max(2 * place, _FIRST)
    return False


def is_dataset(given: Any) -> bool:
    h5py = sys.modules.get("h5py")
    return h5py is not None and isinstance(given, h5py.Dataset)


def open_hdf5(name: str, path: str, inner: str | None, matlab: bool, opened: ExitStack) -> Matrix:
    """Open the dataset `inner`, or the only matrix. matlab: rows and columns are exchanged."""
    h5py = need("h5py", name)
    with refusing(name), ExitStack() as here:
        file = here.enter_context(h5py.File(path, "r", rdcc_nbytes=2**20))
        matrix = open_dataset(name, _find_dataset(name, file, inner), matlab, opened)
        if isinstance(matrix, Dataset):
            opened.push(here.pop_all())
        return matrix


def open_dataset(name: str, dataset: Any, matlab: bool, opened: ExitStack) -> Matrix:
    """Open a dataset of an open file."""
    require_open(name, dataset)
    with refusing(name):
        if dataset.shape is None:
            raise ValueError(f"{name} has no elements, not even a shape")
        kind, path = class_of(name, dataset), _own_path(dataset)
        # For an empty matrix MATLAB stores the shape as the elements.
        if matlab and np.ravel(dataset.attrs.get("MATLAB_empty", 0)).tolist() == [1]:
            return Held(
                name, np.zeros(_empty_shape(name, dataset), CLASSES[kind or "double"]), path
            )
        elements = _find_elements(name, dataset)
        if kind is not None:
            require_stored_as(name, dataset, kind, elements.parts)
        matrix = _open_raw(name, dataset, elements, matlab, opened) or Dataset(
            name, dataset, elements, matlab, path
        )
        if kind is not None:
            matrix.meant = meant_dtype(kind, matrix.dtype)
        return matrix


@contextmanager
def refusing(name: str) -> Iterator[None]:
    """Convert errors of HDF5 for a damaged file to a ValueError with the argument's name."""
    try:
        yield
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        if isinstance(error, OSError) and error.errno is not None or str(error).startswith(name):
            raise
        raise ValueError(f"{name} is not HDF5 that can be read: {error}") from error


def _find_dataset(name: str, file: Any, inner: str | None) -> Any:
    matrices: list[str] = []

    def visit(path: str, item: Any) -> None:
        matrix = len(getattr(item, "shape", None) or ()) == 2 or "MATLAB_empty" in item.attrs
        if matrix and not path.startswith("#"):  # MATLAB keeps the contents of cells in #refs#
            matrices.append(path)

    if inner is None or inner.strip("/") not in file or not hasattr(file[inner], "read_direct"):
        if inner is not None and inner.strip("/") in file:
            class_of(name, file[inner])  # a sparse matrix and a struct are groups
        file.visititems(visit)
        there = f"its matrices are {', '.join(matrices[:20]) or 'none'}"
        if inner is not None:
            raise ValueError(f"{name}: there is no dataset {inner}; {there}")
        if len(matrices) != 1:
            raise ValueError(f"{name}: say which dataset, as in {file.filename}:name; {there}")
        return file[matrices[0]]
    return file[inner]


class _Elements(NamedTuple):
    """Types of a dataset's elements.

    dtype : of the matrix.
    asked : requested from HDF5.
    parts : stored types by h5py, of the elements or of their real and imaginary parts.
    """

    dtype: np.dtype[Any]
    asked: np.dtype[Any]
    parts: tuple[np.dtype[Any], ...]


def dtype_of(name: str, dataset: Any) -> np.dtype[Any]:
    """The NumPy dtype of a dataset; TypeError if NumPy has none for it."""
    try:
        own: np.dtype[Any] = dataset.dtype
    except (TypeError, ValueError, KeyError) as error:
        raise TypeError(f"{name} has a type of HDF5 that NumPy has not: {error}") from error
    return own


def _find_elements(name: str, dataset: Any) -> _Elements:
    own = dtype_of(name, dataset)
    if own.kind == "c":
        return _Elements(own, own, (own.type().real.dtype, own.type().imag.dtype))
    for names in (("real", "imag"), ("r", "i")):  # complex numbers of MATLAB, and of other programs
        if own.names is not None and set(own.names) == set(names):
            parts = own[names[0]], own[names[1]]
            if all(part.kind in "iuf" for part in parts):
                part = _common_part(*parts)
                return _Elements(
                    np.dtype(f"{part.byteorder}c{2 * part.itemsize}"),
                    np.dtype([(n, part) for n in names]),
                    parts,
                )
    if own.kind not in "biuf":
        raise TypeError(f"{name} has dtype {own}; numbers are needed")
    return _Elements(own, own, (own,))


def _common_part(real: np.dtype[Any], imag: np.dtype[Any]) -> np.dtype[Any]:
    """The type of both parts of complex numbers with parts stored in these types."""
    if real == imag and real.kind == "f" and real.itemsize > 2:
        return real
    return (
        np.result_type(real, imag, np.float32)
        if real.kind == imag.kind == "f"
        else np.dtype(np.float64)
    )


def _own_path(dataset: Any) -> str | None:
    """Name of the file of a dataset; None if it has none, for instance in memory."""
    from h5py import h5fd

    path, own = os.fsdecode(dataset.file.filename), dataset.file.id.get_access_plist()
    if own.get_driver() == h5fd.CORE and not own.get_fapl_core()[1]:  # the name belongs to no file
        return None
    return path if _handle(dataset) is not None or os.path.exists(path) else None


def _handle(dataset: Any) -> int | None:
    """Descriptor by which HDF5 reads a dataset's file; None unless the driver is the usual one."""
    from h5py import h5fd

    own = dataset.file.id
    return int(own.get_vfd_handle()) if own.get_access_plist().get_driver() == h5fd.SEC2 else None


def _open_raw(
    name: str, dataset: Any, elements: _Elements, matlab: bool, opened: ExitStack
) -> Raw | None:
    """Open the dataset as plain bytes of its file; None if these may not be its elements."""
    from h5py import h5t

    dataset.file.flush()
    # There is an offset only if the elements are contiguous in this file and their space is
    # allocated.
    handle, offset = _handle(dataset), dataset.id.get_offset()
    if (
        handle is None
        or offset is None
        or elements.dtype.kind not in "iufc"
        or h5t.py_create(elements.asked) != dataset.id.get_type()
    ):
        return None
    path = os.fsdecode(dataset.file.filename)
    try:
        file = open_file(path, opened)
    except OSError:  # it has lost its name, or was opened from another working folder
        return None
    if not os.path.samestat(os.fstat(file), os.fstat(handle)):
        return None
    return Raw(name, dataset.shape, elements.dtype, matlab, path, file, offset)


class Dataset(Matrix):
    """A dataset that is read by HDF5."""

    def __init__(
        self, name: str, dataset: Any, elements: _Elements, transposed: bool, path: str | None
    ) -> None:
        from h5py import h5t, h5z

        if h5t.find(dataset.id.get_type(), h5t.py_create(elements.asked)) is None:
            raise TypeError(f"{name} has a type of HDF5 that it cannot convert to {elements.asked}")
        if dataset.external and dataset.size:  # whose files may be elsewhere
            _ = dataset[0, 0], dataset[-1, -1]
        layout = dataset.id.get_create_plist()
        for number, _, _, filter_name in map(layout.get_filter, range(layout.get_nfilters())):
            if not h5z.filter_avail(number):
                raise ValueError(
                    f"{name} has the filter {number} ({filter_name.decode()}),"
                    " which HDF5 cannot find here"
                )
        handle = _handle(dataset)
        places = tuple(
            place
            for place in (path if handle is None else handle, *_other_files(dataset))
            if place is not None
        )
        super().__init__(name, dataset.shape, elements.dtype, transposed, path, places)
        self._dataset, self._asked = dataset, elements.asked
        self.identity |= {"inner": dataset.name, "transposed": transposed}
        self.extra = 2**20  # HDF5's buffer for conversions
        if dataset.chunks:
            self.chunk = dataset.chunks[::-1] if transposed else dataset.chunks
            chunk = math.prod(dataset.chunks) * self.dtype.itemsize
            count = math.prod(
                -(-length // edge)
                for length, edge in zip(dataset.shape, dataset.chunks, strict=True)
            )
            cache = min(dataset.id.get_access_plist().get_chunk_cache()[1], count * chunk)
            self.extra += cache + 2 * chunk  # with the memory of filters

    def require_stored(self) -> None:
        """Raise ValueError if the file holds far fewer elements than the shape says.

        HDF5 would return zeros for the missing ones.
        """
        own = self._dataset
        if own.is_virtual or own.external:  # the elements are in other files
            return
        if own.chunks:
            count = own.id.get_num_chunks() * math.prod(own.chunks)
        else:
            count = own.id.get_storage_size() // own.id.get_type().get_size()
        there = count * self.dtype.itemsize
        if self.nbytes - there > _MADE_UP:
            raise ValueError(
                f"{self.name} is cut short: {self.nbytes} bytes were expected, it has {there}"
            )

    def _fetch(self, line: int, at: int, block: Array, stop: Callable[[], bool]) -> None:
        if not block.size:
            return
        grain = self._dataset.chunks[0] if self._dataset.chunks else 1
        step = max(1, STRETCH // (block[0].nbytes * grain)) * grain
        place = line
        while place < line + len(block):
            if stop():
                raise InterruptedError
            end = min(line + len(block), (place // step + 1) * step)  # ends at whole chunks
            part = block[place - line : end - line]
            # Without a fill value HDF5 leaves elements that were never written as they are in
            # memory. h5py reads zeros.
            part[...] = 0
            try:
                self._dataset.read_direct(
                    part.view(self._asked), np.s_[place:end, at : at + block.shape[1]]
                )
            except (OSError, RuntimeError) as error:  # a damaged chunk
                raise ValueError(f"{self.name} is not HDF5 that can be read: {error}") from error
            place = end


def _other_files(dataset: Any) -> set[str]:
    """Existing files, other than the dataset's own, that hold elements of the dataset."""
    names = [name for name, _, _ in dataset.external or ()]
    if dataset.is_virtual:
        names += [source.file_name for source in dataset.virtual_sources()]
    folder = os.path.dirname(os.fsdecode(dataset.file.filename))
    return {
        path
        for name in names
        for path in (name, os.path.join(folder, name))
        if os.path.isfile(path)
    }


def files_of(dataset: Any) -> set[str | int]:
    """All files that hold elements of a dataset: its own by the descriptor where HDF5 has one, else
    by name."""
    handle = _handle(dataset)
    own = _own_path(dataset) if handle is None else handle
    return {*_other_files(dataset), *(() if own is None else (own,))}


def require_open(name: str, dataset: Any) -> None:
    """ValueError unless a dataset's file is open."""
    if not dataset:
        raise ValueError(f"{name} is a dataset of a file that is closed")


def _empty_shape(name: str, dataset: Any) -> tuple[int, ...]:
    lengths = dataset[()].tolist() if dataset.dtype.kind in "ui" and dataset.shape == (2,) else []
    if 0 not in lengths or not all(0 <= length < 2**40 for length in lengths):
        raise ValueError(
            f"{name}: MATLAB_empty says that it is empty,"
            " but it is not the shape of an empty matrix"
        )
    return tuple(lengths)
