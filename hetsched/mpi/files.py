"""Matrix products of files that the root reads and writes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

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
from .linalg import product_of
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
        Time of the product, without reading and writing.
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
    with call.ranks as ranks:
        ranks.agree(lambda: _writable(out, {"a": a, "b": b}) if call.at_root else None)
        arrays: list[Any] = [None, None]

        def read() -> int:
            arrays[:] = (_matrix(name, path) for name, path in (("A", a), ("B", b)))
            return arrays[0].shape[1]  # type: ignore[no-any-return]

        k = ranks.agree(lambda: read() if call.at_root else None)[root]
        start = time.perf_counter()
        options: dict[str, Any] = {
            "method": method,
            "platform": platform,
            "block": block,
            "order": order,
            "pool": pool,
            "trace": trace,
            "progress": progress,
            "timeout": timeout,
        }
        done = product_of(comm, arrays[0], arrays[1], plan, root, **options)
        seconds = time.perf_counter() - start
        told = ranks.agree(lambda: _write(out, done.value) if call.at_root else None)[root]
    (m, n), dtype = told
    flops = flops_per_update(np.dtype(dtype)) * m * n * k
    return RanksProduct(
        plan=done.plan, trace=done.trace, shape=(m, n), dtype=dtype, flops=flops, seconds=seconds
    )


def _matrix(name: str, path: str | PathLike[str]) -> Any:
    found = read_matrix(name, str(path))
    if found.ndim != 2:
        raise ValueError(f"{name} ({path}) must be a matrix, its shape is {found.shape}")
    return found


def _writable(out: str | PathLike[str], inputs: dict[str, str | PathLike[str]]) -> None:
    path = Path(out)
    if path.suffix.lower() != ".npy":
        raise ValueError(f"out ({path}) must end in .npy")
    if not path.parent.is_dir():
        raise ValueError(f"out: there is no folder {str(path.parent)!r}")
    require_replaceable(path)
    require_others("out", path, {name: split_name(given)[0] for name, given in inputs.items()})


def _write(out: str | PathLike[str], product: Any) -> tuple[tuple[int, int], str]:
    with replace_file(out) as file:
        np.lib.format.write_array(file, product, allow_pickle=False)
    return product.shape, product.dtype.name
