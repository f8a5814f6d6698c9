"""Products of matrices in files that are larger than memory."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from .._base import check
from .._base.progress import Progress, reporting, share_of
from .._base.waits import PIECE, take
from .._engine import run as engine
from .._engine.dtypes import DTYPES, flops_per_update
from ..machine.linux import memory_room
from ..runners.operands import SUPPORTED, scalar
from ..runners.pool import Pool, accumulate
from ..runners.shared import shared_pool
from .journal import Blocks, Journal
from .matrices import open_matrix
from .output import Output, OutputFile, open_output
from .plan import FilesPlan, Problem, Side, buffers, make_plan, parse_memory, plan_tiles
from .stored import STAGE, Array, Matrix, Raw, checksum

#: Seconds between two reports of progress, if updates are too short to report it themselves.
_BEAT = 0.1


@dataclass(frozen=True, kw_only=True)
class FilesProduct:
    """The result of `matmul_files`.

    Attributes
    ----------
    plan : FilesPlan
    seconds : float
    flops : float
        Flops of this call. For a resumed product they are fewer than for the whole product.
    bytes_read, bytes_written : int
        Bytes of this call. They include what a resumed product reads to recognise its inputs.
    tiles, resumed : int
        Number of tiles of C, and number of tiles done by an earlier call.
    """

    plan: FilesPlan
    seconds: float
    flops: float
    bytes_read: int
    bytes_written: int
    tiles: int
    resumed: int


def plan_files(
    a: Any,
    b: Any,
    out: Any,
    *,
    memory: int | str,
    dtype: DTypeLike | None = None,
    pool: Pool | None = None,
) -> FilesPlan:
    """Return the plan that `matmul_files` would follow, with its certificate. Nothing is changed.

    Parameters
    ----------
    a, b, out, memory, dtype, pool :
        See `matmul_files`.

    Returns
    -------
    FilesPlan
        Its tiles, and the bytes that it reads and writes.

    Raises
    ------
    InfeasibleError
        If the memory is too little; the message says how much is needed.
    """
    with ExitStack() as opened:
        return _Job(a, b, out, memory, dtype, shared_pool() if pool is None else pool, opened).plan


def matmul_files(
    a: Any,
    b: Any,
    out: Any,
    *,
    memory: int | str,
    dtype: DTypeLike | None = None,
    alpha: complex = 1.0,
    pool: Pool | None = None,
    progress: bool | Progress | None = False,
) -> FilesProduct:
    """Compute alpha a b of matrices that need not fit into memory, and write it to a file.

    Parameters
    ----------
    a, b : path, array, or HDF5 dataset
        A .npy, HDF5 or MATLAB .mat file. A matrix inside a file is named as in
        "file.h5:/group/name" or "file.mat:name". The name may be left out if the file has only one
        matrix. HDF5 and .mat files of version 7.3 need h5py. Older .mat files need SciPy, and must
        fit into memory twice. Anything except a full matrix of numbers is refused. An open dataset
        or a memory map keeps its own numbers, even if another file has its name by now.
    out : path, array, or HDF5 dataset
        A .npy, HDF5 or .mat file (version 7.3). The matrix inside a file is named "C" unless a name
        is given. A file is written beside its place, as out.partial with out.journal, and moved to
        its place when it is complete. A file that is read-only, a mount point or an operand is
        refused. An array is written in place.
    memory : int or str
        Bytes that this call may use beyond what the process has: 2_000_000_000, "2G", "512M",
        "1.5GiB" (powers of 1024).
    dtype : dtype_like, optional
        Dtype of the computation and of out: float32, float64, complex64 or complex128. By default
        the common type of a and b, and float64 for integers.
    alpha : number
    pool : Pool, optional
        Pool with the workers that multiply, by default all cores. It must not be emulated.
    progress : callable or bool
        Called with the fraction done, and with 1.0 when the output is in its place. True shows a
        progress bar on the terminal.

    Returns
    -------
    FilesProduct
        The plan, and the bytes read and written.

    Raises
    ------
    InfeasibleError
        If the memory is too little; the message says how much is needed.
    ValueError, TypeError, OSError, ImportError
        If an argument or a file is wrong. Nothing has been changed then.
    OSError
        If the disk is full. The completed part is kept.
    BlockingIOError
        If another process is writing to out.
    KeyboardInterrupt
        On Ctrl-C, within 0.2 s.

    Notes
    -----
    An interrupted product continues when it is called again with the same inputs. Tiles with the
    right checksums are kept. The tiling of the first call is kept, provided that it fits into
    memory. Inputs are recognised by their content: the journal has a checksum of every block that
    was read, and the next call reads these blocks once more before it continues. If one of these
    blocks, a path, a shape or a dtype is different now, the completed part is discarded. So a file
    that was touched, copied or restored from a backup counts as the same as long as its content is
    the same. A file with another content that `cp -p`, `rsync -t` or `mv` put in its place does
    not, whatever its times say.

    A file that changes during a call is noticed at the end of the call, by inode, size and times.
    Then there is an OSError and no output. Some changes are not noticed:

    - a change that is undone before the next call, if the call in which it happened was stopped,
    - writes through a memory map that the system has not yet dated,
    - arrays in memory that change during a call,
    - another block with the same CRC-32 (one of 4e9).

    One thread reads ahead and another thread writes behind while the pool multiplies. The system's
    file cache is not counted as memory of this call.

    Examples
    --------
    >>> import numpy as np, hetsched as hs
    >>> np.save("A.npy", np.ones((500, 300)))
    >>> done = hs.matmul_files("A.npy", np.ones((300, 400)), "C.npy", memory="8M")
    >>> np.load("C.npy")[0, 0], done.bytes_written, done.plan.peak <= 8 * 2**20
    (np.float64(300.0), 1600000, True)
    """
    with reporting(progress) as tell, ExitStack() as opened:
        return _Job(a, b, out, memory, dtype, shared_pool() if pool is None else pool, opened).run(
            alpha, tell
        )


class _Update(NamedTuple):
    """Tile number `tile` of C (+)= a b. Then the buffers in `give_back` are no longer needed."""

    tile: int
    chunk: int
    a: Array
    b: Array
    give_back: tuple[tuple[int, Array], ...]


class _Job:
    """A product with open and checked inputs."""

    def __init__(
        self,
        a: Any,
        b: Any,
        out: Any,
        memory: int | str,
        dtype: DTypeLike | None,
        pool: Pool,
        opened: ExitStack,
    ) -> None:
        allowed = parse_memory(memory)
        self.pool = pool
        if not isinstance(pool, Pool):
            raise TypeError(f"pool must be a Pool, got {type(pool).__name__}")
        if pool.emulated:
            raise ValueError("pool is emulated; products of files run on real cores")
        self.a, self.b = open_matrix("A", a, allowed, opened), open_matrix("B", b, allowed, opened)
        (m, k), (rows, n) = self.a.shape, self.b.shape
        if k != rows:
            raise ValueError(
                f"{self.a.name} has {k} columns and {self.b.name} has {rows} rows "
                f"(shapes {self.a.shape} and {self.b.shape}): they must be equal"
            )
        self.dtype = _common(self.a, self.b, dtype)
        self.out: Output = open_output(
            out, (m, n), self.dtype, {"A": (a, self.a), "B": (b, self.b)}
        )
        a_side = _side(self.a)
        b_side = _side(self.b)
        c_side = Side(self.dtype.itemsize, self.out.transposed, None, 0)
        self.problem = Problem((m, n, k), self.dtype, a_side, b_side, c_side, allowed, len(pool))
        self.plan = plan_tiles(self.problem)
        self.known: Blocks = {}
        self._opened = opened

    # ---- resuming an earlier call ----

    def run(self, alpha: complex, progress: Progress | None) -> FilesProduct:
        start = time.perf_counter()
        alpha = scalar("alpha", alpha, self.dtype)
        if self.pool.closed:
            raise ValueError("the pool is closed")
        if not isinstance(self.out, OutputFile):
            return self._multiply(alpha, progress, self.out, None, set(), start)
        self.out.require_space()
        journal = Journal(self.out.journal, self.out.path)
        self._opened.callback(journal.close)
        try:
            target, done = self._resume(journal, alpha) or (self._begin(journal, alpha), set())
        except BaseException:
            if journal.read()[0] is None or not os.path.exists(self.out.partial):
                journal.remove()
            raise
        try:
            result = self._multiply(alpha, progress, target, journal, done, start)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                text = "no space left; what is done is kept: make room and run the same again"
                raise OSError(error.errno, text, self.out.partial) from error
            raise
        self.out.finish(target.file)
        journal.remove()
        return result

    def _product(self, alpha: complex) -> dict[str, Any]:
        """The description of the computation in the journal, with the version of the journal."""
        assert isinstance(self.out, OutputFile)
        scale = [complex(alpha).real, complex(alpha).imag]
        sides = {"a": self.a.identity, "b": self.b.identity, "out": self.out.identity}
        return {"version": 2, **sides, "dtype": self.dtype.str, "alpha": scale}

    def _begin(self, journal: Journal, alpha: complex) -> Raw:
        assert isinstance(self.out, OutputFile)
        with suppress(FileNotFoundError):
            os.unlink(self.out.partial)
        journal.start()
        tiling = {
            "stationary": self.plan.stationary,
            "tile": list(self.plan.tile),
            "depth": self.plan.depth,
        }
        try:
            offset = self.out.create()
            made = {"offset": offset, "frame": self.out.frame(offset)}
            journal.describe({"product": self._product(alpha), "tiling": tiling, **made})
            return self.out.open(offset, self._opened)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(self.out.partial)
            raise

    def _resume(self, journal: Journal, alpha: complex) -> tuple[Raw, set[int]] | None:
        """The file and the completed tiles of an earlier call for the same product, or None."""
        assert isinstance(self.out, OutputFile)
        header, blocks = journal.read()
        if header is None and os.path.exists(self.out.partial):
            raise FileExistsError(
                errno.EEXIST,
                "is in the way, and no earlier call wrote it; remove it",
                self.out.partial,
            )
        if (
            header is None
            or header.get("product") != self._product(alpha)
            or not os.path.exists(self.out.partial)
        ):
            return None
        tiling = header["tiling"]
        plan = make_plan(
            self.problem,
            tiling["stationary"],
            (tiling["tile"][0], tiling["tile"][1]),
            tiling["depth"],
        )
        if plan.peak > self.problem.memory:
            raise ValueError(
                f"{self.out.partial} was begun with tiles that need {plan.peak} bytes, memory is"
                f" {self.problem.memory}: give as much, or remove {self.out.partial} to begin anew"
            )
        try:
            target = self.out.open(header["offset"], self._opened)
            if self.out.frame(header["offset"]) != header["frame"]:
                return None
        except ValueError:  # the partial file was cut short
            return None
        began, self.plan = self.plan, plan
        stage = np.empty(STAGE, np.uint8)
        if not self._same_inputs(blocks, stage):
            self.plan = began
            return None
        self.known = blocks
        tiles = {number: known for (matrix, number), known in blocks.items() if matrix == "C"}
        done = {
            tile
            for tile, known in tiles.items()
            if target.checksum(*self._block(tile), stage) == known
        }
        return target, {tile for tile in done if self._sources(tile) <= blocks.keys()}

    def _same_inputs(self, blocks: Blocks, stage: Array) -> bool:
        """Whether the blocks of A and B are still the ones that earlier calls read."""
        (h, v), d = self.plan.tile, self.plan.depth
        buffer = np.empty(max(h, v) * min(d, self.plan.shape[2]), self.dtype)
        for (name, number), known in blocks.items():
            if name != "C":
                which, (place, chunk) = "AB".index(name), divmod(number, self.plan.grid[2])
                rows, cols = self._input(which, place, chunk)
                (self.a, self.b)[which].read(rows, cols, buffer, stage, lambda: False)
                size = (rows[1] - rows[0]) * (cols[1] - cols[0])
                if checksum(buffer[:size], lambda: False) != known:
                    return False
        return True

    def _sources(self, tile: int) -> set[tuple[str, int]]:
        """The input blocks that a tile is made of, in the form of the journal."""
        _, cols, chunks = self.plan.grid
        places = zip("AB", divmod(tile, cols), strict=True)
        return {(name, place * chunks + chunk) for name, place in places for chunk in range(chunks)}

    # ---- the product ----

    def _input(self, which: int, place: int, chunk: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Rows and columns of a block of A (which = 0) or B (which = 1).

        place : row of tiles for A, column of tiles for B.
        chunk : number of the chunk of the inner dimension.
        """
        (m, n, k), (h, v), d = self.plan.shape, self.plan.tile, self.plan.depth
        depth = (chunk * d, min(k, (chunk + 1) * d))
        if which == 0:
            return (place * h, min(m, (place + 1) * h)), depth
        return depth, (place * v, min(n, (place + 1) * v))

    def _block(self, tile: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Rows and columns of a tile of C."""
        (m, n, _), (h, v) = self.plan.shape, self.plan.tile
        i, j = divmod(tile, self.plan.grid[1])
        return (i * h, min(m, i * h + h)), (j * v, min(n, j * v + v))

    def _order(self, done: set[int]) -> list[int]:
        """Tiles that are left. Tiles that need the same stationary blocks follow each other."""
        rows, cols, _ = self.plan.grid
        by_columns = self.plan.stationary == "B"
        order = (
            (i * cols + j for j in range(cols) for i in range(rows))
            if by_columns
            else range(rows * cols)
        )
        return [tile for tile in order if tile not in done]

    def _multiply(
        self,
        alpha: complex,
        progress: Progress | None,
        target: Any,
        journal: Journal | None,
        done: set[int],
        start: float,
    ) -> FilesProduct:
        order = self._order(done)
        run = _Run(self, order, target, journal)
        sizes = {tile: self._block(tile) for tile in order}
        areas = {tile: float((r1 - r0) * (c1 - c0)) for tile, ((r0, r1), (c0, c1)) in sizes.items()}
        m, n, k = self.plan.shape
        whole, left = float(max(m * n, 1)), sum(areas.values())
        before = whole - left if order else whole
        if progress is not None and done:
            progress(before / whole)
        told = time.monotonic()
        with run:
            for update, c in run.updates():
                part = areas[update.tile] / self.plan.grid[2]
                poll = engine.Poll(share_of(progress, before / whole, part / whole))
                accumulate(self.pool, update.a, update.b, c, alpha, update.chunk > 0, poll)
                before += part
                if progress is not None and (now := time.monotonic()) - told >= _BEAT:
                    progress(before / whole)
                    told = now
        for name, matrix in (("A", self.a), ("B", self.b)):
            if not matrix.unchanged():
                raise OSError(
                    f"{name} ({matrix.path}) was changed while it was read;"
                    " the product is not written"
                )
        return FilesProduct(
            plan=self.plan,
            seconds=time.perf_counter() - start,
            flops=flops_per_update(self.dtype) * k * left,
            bytes_read=self.a.bytes_read + self.b.bytes_read,
            bytes_written=int(left) * self.dtype.itemsize,
            tiles=self.plan.grid[0] * self.plan.grid[1],
            resumed=len(done),
        )


def _side(matrix: Matrix) -> Side:
    return Side(matrix.dtype.itemsize, matrix.transposed, matrix.chunk, matrix.extra)


def _common(a: Matrix, b: Matrix, given: DTypeLike | None) -> np.dtype[Any]:
    """The dtype of the computation."""
    if given is not None:
        dtype = check.dtype(given, DTYPES)
        for matrix in (a, b):
            if matrix.dtype.kind == "c" and dtype.kind != "c":
                raise TypeError(
                    f"{matrix.name} is {matrix.dtype}, dtype is {dtype}:"
                    " the imaginary parts would be lost"
                )
        return dtype
    dtype = np.promote_types(a.dtype, b.dtype).newbyteorder("=")
    if dtype.kind in "bui":
        dtype = np.dtype(np.float64)
    elif dtype == np.float16:
        dtype = np.dtype(np.float32)
    if dtype not in DTYPES:
        raise TypeError(
            f"{a.name} is {a.dtype} and {b.name} is {b.dtype}: give dtype, one of {SUPPORTED}"
        )
    return dtype


class _Run:
    """A reader thread and a writer thread around the multiplication.

    Buffers circulate: full ones wait in a queue, used ones are returned.
    """

    def __init__(self, job: _Job, order: list[int], target: Any, journal: Journal | None) -> None:
        plan = job.plan
        (h, v), d, k = plan.tile, plan.depth, plan.shape[2]
        self._job, self._order, self._target, self._journal = job, order, target, journal
        self._stopped = threading.Event()
        self._ready: SimpleQueue[_Update | BaseException] = SimpleQueue()
        self._free: tuple[SimpleQueue[Array | None], ...] = (
            SimpleQueue(),
            SimpleQueue(),
            SimpleQueue(),
        )
        self._full: SimpleQueue[tuple[int, Array] | None] = SimpleQueue()
        self._error: BaseException | None = None
        counts = buffers(plan.grid, ("C", "A", "B").index(plan.stationary))
        sizes = (h * min(d, k), min(d, k) * v, h * v)
        for queue, count, size in zip(self._free, counts, sizes, strict=True):
            for _ in range(int(count)):
                queue.put(np.empty(size, job.dtype))
        # If the system's file cache cannot keep the inputs until they are read again, they should
        # not push other files out of it.
        job.a.drop_behind = job.b.drop_behind = 2 * (job.a.nbytes + job.b.nbytes) > memory_room()
        self._threads = [
            (
                threading.Thread(
                    target=self._guarded, args=(work, ended), name=f"hetsched {name}", daemon=True
                ),
                ended,
            )
            for work, name, ended in (
                (self._read, "reader", threading.Event()),
                (self._write, "writer", threading.Event()),
            )
        ]

    def __enter__(self) -> None:
        started = 0
        try:
            for thread, _ in self._threads:
                thread.start()
                started += 1
        except BaseException:  # for example, no memory for the stack of a thread
            self._stop()
            self._join(started)
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for all writes; after an error or Ctrl-C only until both threads have stopped."""
        if kind is not None:
            self._stop()
        self._full.put(None)
        try:
            self._join()
        except BaseException:  # Ctrl-C while the last tiles are written
            self._stop()
            self._join()
            raise
        if kind is None and self._error is not None:
            raise self._error

    def _stop(self) -> None:
        self._stopped.set()
        for queue in self._free:
            queue.put(None)
        self._full.put(None)

    def _join(self, count: int | None = None) -> None:
        """Wait for the first `count` threads.

        Thread.join alone is not enough: up to Python 3.12 it takes a thread for ended after Ctrl-C.
        """
        for thread, ended in self._threads[:count]:
            while not ended.wait(PIECE):
                pass
            thread.join()

    def _guarded(self, work: Callable[[], None], ended: threading.Event) -> None:
        try:
            work()
        except InterruptedError:
            pass
        except BaseException as error:
            self._error = self._error or error
            self._ready.put(error)
            self._free[2].put(None)
        finally:
            ended.set()

    def _take(self, which: int) -> Array:
        buffer = self._free[which].get()
        if buffer is None:
            raise InterruptedError
        return buffer

    def updates(self) -> Iterator[tuple[_Update, Array]]:
        """Yield the updates in order, each with its tile of C."""
        chunks = self._job.plan.grid[2]
        for tile in self._order:
            flat = take(self._free[2])
            if flat is None:
                raise self._error or InterruptedError
            c = self._shaped(tile, flat)
            for _ in range(chunks):
                update = take(self._ready)
                if isinstance(update, BaseException):
                    raise update
                yield update, c
                for which, buffer in update.give_back:
                    self._free[which].put(buffer)
            self._full.put((tile, flat))

    def _shaped(self, tile: int, flat: Array) -> Array:
        (r0, r1), (c0, c1) = self._job._block(tile)
        height, width = r1 - r0, c1 - c0
        if self._target.transposed:
            return flat[: height * width].reshape(width, height).T
        return flat[: height * width].reshape(height, width)

    def _read(self) -> None:
        """Read the chunks of all updates in order, each as soon as a buffer is free."""
        job, plan = self._job, self._job.plan
        rows, cols, chunks = plan.grid
        stage = np.empty(STAGE, np.uint8)
        stays = {"C": None, "A": 0, "B": 1}[plan.stationary]
        held: dict[int, tuple[Array, Array]] = {}
        recorded = set(job.known)
        journal = self._journal if rows * cols > 1 else None  # a single tile cannot be resumed
        for at, tile in enumerate(self._order):
            places = divmod(tile, cols)
            following = divmod(self._order[at + 1], cols) if at + 1 < len(self._order) else (-1, -1)
            for chunk in range(chunks):
                views, give_back = [], []
                for which, matrix in enumerate((job.a, job.b)):
                    if which == stays and chunk in held:
                        view, buffer = held.pop(chunk)
                    else:
                        buffer = self._take(which)
                        view = matrix.read(
                            *job._input(which, places[which], chunk),
                            buffer,
                            stage,
                            self._stopped.is_set,
                        )
                        source = "AB"[which], places[which] * chunks + chunk
                        if journal is not None and source not in recorded:
                            recorded.add(source)
                            journal.add(
                                *source, checksum(buffer[: view.size], self._stopped.is_set)
                            )
                    if which == stays and following[which] == places[which]:
                        held[chunk] = view, buffer
                    else:
                        give_back.append((which, buffer))
                    views.append(view)
                self._ready.put(_Update(tile, chunk, views[0], views[1], tuple(give_back)))

    def _write(self) -> None:
        """Write tiles, record them and return their buffers."""
        job = self._job
        while (item := self._full.get()) is not None:
            tile, flat = item
            rows, cols = job._block(tile)
            data = flat[: (rows[1] - rows[0]) * (cols[1] - cols[0])]
            self._target.write(rows, cols, data, self._stopped.is_set)
            if self._journal is not None:
                self._journal.add("C", tile, checksum(data, self._stopped.is_set))
            self._free[2].put(flat)
