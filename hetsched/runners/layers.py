"""Layers of a product that stay on disk, one file for each worker. Reading adds them up."""

from __future__ import annotations

import errno
import math
import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from .._base import check
from .._base.frozen import Frozen
from .._base.regular import require_regular
from .._base.replace import replace_file
from ..planners.product import COMMUNICATION, ProductPlan, without_sum
from . import product

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .._base.progress import Progress
    from ..trace import Trace
    from .operands import Array, Operands
    from .workers import Resources

#: Bytes of the rows of C that a worker completes before it goes on to the next rows, and the least
#: number of these rows. With fewer rows, packing B again for each strip would take too long.
_STRIP, _LEAST = 2**24, 64
#: Elements that are added up between two checks for Ctrl-C.
_BAND = 2**22


@dataclass(frozen=True, init=False, eq=False)
class LayerFiles(Frozen):
    """Layers of a product C, one in each .npy file. C is their sum, computed when it is read.

    Parameters
    ----------
    files : sequence of path
        Files written by `Pool.run` with `layers=`.

    Attributes
    ----------
    files : tuple of Path
    shape : (int, int)
        Shape of C and of each layer.
    dtype : dtype

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If there is no file, or a file is not a matrix with the shape and dtype of the first one.

    Examples
    --------
    >>> import numpy as np, tempfile, hetsched as hs
    >>> plan = hs.layers_star(300, cycle_times=[2.0, 3.0], disk=True)
    >>> with tempfile.TemporaryDirectory() as folder, hs.Pool(2) as pool:
    ...     layers = pool.run(plan, np.ones((200, 300)), np.ones((300, 100)), layers=folder)
    ...     again = hs.LayerFiles([f"{folder}/layer-0.npy", f"{folder}/layer-1.npy"])
    ...     layers.shape, again == layers, again.sum(slice(50, 60)).mean()
    ((200, 100), True, np.float64(300.0))
    """

    files: tuple[Path, ...]
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def __init__(self, files: Sequence[str | os.PathLike[str]]) -> None:
        paths = tuple(
            Path(check.path(f"files[{i}]", path))
            for i, path in enumerate(check.entries("files", files, "a sequence of paths"))
        )
        if not paths:
            raise ValueError("files must name at least one layer, got none")
        first = None
        for i, path in enumerate(paths):
            layer = _opened(f"files[{i}]", path)
            if layer.dtype.kind not in "biufc":
                raise ValueError(
                    f"files[{i}] ({path}) must be a matrix of numbers, it has dtype {layer.dtype}"
                )
            if layer.ndim != 2:
                raise ValueError(
                    f"files[{i}] ({path}) must be a matrix, it has shape {layer.shape}"
                )
            first = layer if first is None else first
            if (layer.shape, layer.dtype) != (first.shape, first.dtype):
                raise ValueError(
                    f"files[{i}] ({path}) must be a matrix as the first layer: it is {layer.shape}"
                    f" {layer.dtype}, the first layer is {first.shape} {first.dtype}"
                )
        assert first is not None
        self.__dict__.update(files=paths, shape=first.shape, dtype=first.dtype)

    def sum(self, rows: slice | None = None) -> NDArray[Any]:
        """Return some or all rows of C.

        The layers are read and added up one after the other. No memory besides the result is
        needed.

        Parameters
        ----------
        rows : slice, optional
            A slice without a step; by default all rows.

        Returns
        -------
        (rows, n) ndarray
            Bitwise the same as these rows of the whole sum.
        """
        if rows is not None and not isinstance(rows, slice):
            raise TypeError(f"rows must be a slice, got {rows!r}")
        wanted = slice(None) if rows is None else rows
        try:
            first, last, step = wanted.indices(self.shape[0])
        except (TypeError, ValueError) as error:
            raise type(error)(f"rows: {error}") from None
        if step != 1:
            raise ValueError(f"rows must be a slice without a step, got {rows!r}")
        result = np.zeros((max(last - first, 0), self.shape[1]), self.dtype)
        band = max(1, _BAND // max(self.shape[1], 1))
        for i, path in enumerate(self.files):
            layer = _opened(f"files[{i}]", path)
            if (layer.shape, layer.dtype) != (self.shape, self.dtype):
                raise ValueError(
                    f"files[{i}] ({path}) has changed:"
                    f" it must be a matrix of {self.shape} {self.dtype}"
                )
            for row in range(0, len(result), band):
                part = result[row : row + band]
                part += layer[first + row : first + row + len(part)]
        return result


def _opened(name: str, path: Path) -> Array:
    require_regular(path, path)
    with open(path, "rb") as file:
        if file.read(6) != np.lib.format.MAGIC_PREFIX:
            raise ValueError(f"{name} ({path}) is not a .npy file")
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
    except OSError:
        raise
    except Exception as error:  # any error of NumPy for a damaged file
        raise ValueError(f"{name} ({path}) is not a complete .npy file: {error}") from error


def run(
    resources: Resources,
    plan: ProductPlan,
    x: Operands,
    folder: Any,
    progress: Progress | None,
) -> tuple[LayerFiles, Trace]:
    """Compute the boxes of a plan of layers, with one file for each worker.

    When all boxes are done, all files appear. If the run fails, none does.
    """
    plan = without_sum(plan)
    owners = np.unique(plan.boxes[:, 0]).tolist() or [0]
    paths = _paths(folder, owners, x.c.shape, x.c.dtype)
    with ExitStack() as opened:
        layers: list[Array | None] = [None] * len(resources.workers)
        for worker, path in paths.items():
            layers[worker] = _mapped(opened.enter_context(replace_file(path)), x.c.shape, x.c.dtype)
        kept = product.Kept(layers, *_strips(plan, x.c.itemsize))
        done = product.run(resources, plan, (x.a, x.b, x.c, x.alpha, x.beta), progress, kept=kept)
        for layer in layers:
            if isinstance(layer, np.memmap):
                layer.flush()
    return LayerFiles(list(paths.values())), done


def _paths(
    folder: Any, owners: list[int], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> dict[int, Path]:
    """The path of each worker's file; OSError or ValueError if the files cannot be written."""
    where = Path(check.path("layers", folder))
    if not where.is_dir():
        raise FileNotFoundError(errno.ENOENT, "layers must be a folder that exists", str(where))
    paths = {worker: where / f"layer-{worker}.npy" for worker in owners}
    if others := sorted(set(where.glob("layer-*.npy")) - set(paths.values())):
        raise ValueError(
            f"layers: {where} holds {others[0].name}, which is of another product:"
            " give an empty folder"
        )
    needed, free = len(owners) * math.prod(shape) * dtype.itemsize, shutil.disk_usage(where).free
    if needed > free:
        raise OSError(
            errno.ENOSPC, f"no space left: {needed} bytes are needed, {free} are free", str(where)
        )
    return paths


def _mapped(file: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Map a matrix of zeros to the file.

    The disk space is reserved first, because writing to a mapping on a full disk raises a signal.
    """
    np.lib.format.write_array_header_1_0(
        file, {"descr": dtype.str, "fortran_order": False, "shape": shape}
    )
    offset, size = file.tell(), math.prod(shape) * dtype.itemsize
    file.flush()
    if size == 0:
        return np.empty(shape, dtype)
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), offset, size)
    else:
        file.truncate(offset + size)
    return np.memmap(file, dtype, "r+", offset, shape)


def _strips(
    plan: ProductPlan, itemsize: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Cut the boxes of a plan into strips of rows; return (strips, box of each strip, transfers).

    A worker completes a strip before the next one, so that its file is written once from the first
    row to the last. Each strip has the transfer that it waits for. The first strip of a box has the
    transfer of the whole box. With simultaneous start, each strip has the transfer of its own part.
    """
    m, n, _ = plan.shape
    height = max(_LEAST, _STRIP // max(n * itemsize, 1))
    count = max(1, -(-m // height))
    box = np.repeat(np.arange(len(plan.boxes)), count)
    cuts = np.linspace(0, m, count + 1).astype(np.int64)
    boxes, first = plan.boxes[box], np.tile(cuts[:-1], len(plan.boxes))
    boxes[:, 1], boxes[:, 4] = first, np.tile(np.diff(cuts), len(plan.boxes))
    start, end = plan.receive[box].T
    if COMMUNICATION[plan.communication][2]:
        parts = np.stack((first, first + boxes[:, 4])) / max(m, 1)
        return boxes, box, (start + (end - start) * parts).T
    return boxes, box, np.where((first == 0)[:, None], plan.receive[box], 0.0)
