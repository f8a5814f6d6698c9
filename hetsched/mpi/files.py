"""Matrix products of files that the root reads and writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._base.progress import Progress
from .._base.replace import replace_file, require_others, require_replaceable
from .._engine.dtypes import flops_per_update
from ..files.matrices import read_matrix, split_name
from ..plan import Plan
from ..platform import Platform
from ..runners.pool import Pool
from ..trace import Trace
from .arguments import Call
from .linalg import Given, product_of
from .ranks import TIMEOUT


@dataclass(frozen=True, kw_only=True)
class RanksProduct:
    """The outcome of `hs.mpi.matmul_files`.

    Attributes
    ----------
    plan : ProductPlan or StarPlan, or None
        The plan that was followed. Only the root knows it if it is a StarPlan.
    trace : Trace or None
        The trace at the root, if it was wanted.
    shape : (int, int)
    dtype : str
    flops : float
    seconds : float
        Time of the product at the root, without reading and writing.
    """

    plan: Plan | None
    trace: Trace | None
    shape: tuple[int, int]
    dtype: str
    flops: float
    seconds: float


def matmul_files(
    comm: Any,
    a: str | PathLike[str],
    b: str | PathLike[str],
    out: str | PathLike[str],
    plan: Any = None,
    root: int = 0,
    *,
    method: str = "best",
    platform: Platform | None = None,
    block: int | None = None,
    order: str = "plan",
    pool: Pool | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    timeout: float = TIMEOUT,
) -> RanksProduct:
    """Multiply two files that the root reads, and write the product to a file at the root.

    The product is written beside its place and then renamed.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
        All ranks must call it.
    a, b : path
        .npy, HDF5 or .mat, as in `hs.matmul_files`. They and the product must fit into the memory
        of the root.
    out : path
        A .npy file other than a and b.
    plan, root, method, platform, block, order, pool, trace, progress, timeout :
        See `matmul`.

    Returns
    -------
    RanksProduct
        On every rank.

    Raises
    ------
    OSError, ValueError, TypeError
        On every rank, if something is wrong on any, such as a truncated file or a full disk. The
        file out is then unchanged.
    """
    call = Call(comm, root, pool, timeout)
    given = Given(None, None, plan, method, platform, block, order, trace)
    with call.ranks:
        return product_of_files(call, Files(a, b, out), lambda: given, progress)


class Files(NamedTuple):
    """The paths of the operands and of the product."""

    a: str | PathLike[str]
    b: str | PathLike[str]
    out: str | PathLike[str]


def product_of_files(
    call: Call, files: Files, find: Callable[[], Given], progress: bool | Progress | None
) -> RanksProduct:
    """Do the same as `matmul_files` in a call that has begun.

    find : what this rank gives, apart from A and B; see `product_of`.
    """
    read: list[tuple[int, float]] = []  # at the root: the inner dimension, and the time after that

    def with_matrices() -> Given:
        given = find()
        if not call.at_root:
            return given
        _require_writable(files.out, {"a": files.a, "b": files.b})
        a, b = _matrix("A", files.a), _matrix("B", files.b)
        read.append((a.shape[1], time.perf_counter()))
        return given._replace(A=a, B=b)

    done = product_of(call, with_matrices, progress)
    end = time.perf_counter()

    def written() -> dict[str, Any] | None:
        if not call.at_root:
            return None
        with replace_file(files.out) as file:
            np.lib.format.write_array(file, done.value, allow_pickle=False)
        ((k, start),), c = read, done.value
        return {
            "shape": c.shape,
            "dtype": c.dtype.name,
            "flops": flops_per_update(c.dtype) * c.size * k,
            "seconds": end - start,
        }

    told = call.ranks.agree(written)[call.root]
    return RanksProduct(plan=done.plan, trace=done.trace, **told)


def _matrix(name: str, path: str | PathLike[str]) -> Any:
    found = read_matrix(name, str(path))
    if found.ndim != 2:
        raise ValueError(f"{name} ({path}) must be a matrix, its shape is {found.shape}")
    return found


def _require_writable(out: str | PathLike[str], inputs: dict[str, str | PathLike[str]]) -> None:
    path = Path(out)
    if path.suffix.lower() != ".npy":
        raise ValueError(f"out ({path}) must end in .npy")
    if not path.parent.is_dir():
        raise ValueError(f"out: there is no folder {str(path.parent)!r}")
    require_replaceable(path)
    require_others("out", path, {name: split_name(given)[0] for name, given in inputs.items()})
