"""Sweeps over a matrix by a wavefront on the ranks of a communicator: arguments and agreement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._base import check
from .._base.progress import Progress
from .._engine import run as engine
from ..planners.wavefront import Wavefront
from ..platform import Platform
from ..runners.pool import Pool, update
from ..runners.recurrence import Stencil
from ..runners.sweep import require_stencil, require_tiles
from . import pools
from .arguments import Call, agreed, as_text, columns, described, held, travelled
from .kinds import wrong_kind
from .ranks import TIMEOUT, Ranks
from .wavefront import Function, WavefrontRun
from .zones import Zone, require_ranks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_SAMPLE = 1 << 20  # elements, at most, of the tile with which a rank measures its speed


def sweep(
    comm: Any,
    plan: Wavefront | None = None,
    image: ArrayLike | Zone | None = None,
    kernel: Stencil | Function | None = None,
    *,
    root: int = 0,
    pool: Pool | None = None,
    trace: bool = False,
    progress: bool | Progress | None = None,
    timeout: float = TIMEOUT,
) -> Any:
    """Compute the recurrence of `Pool.sweep` on the ranks of a communicator.

    All ranks must call it. Each rank is one worker of the plan and keeps its columns or rows.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    plan : Wavefront
        A plan of `wavefront` for as many workers as there are ranks. Its tiles divide the image as
        evenly as integers allow. Ranks other than the root may leave it out.
    image : (m, n) array_like at the root and None elsewhere; or on every rank its Zone
        At least one element per tile. With a Stencil float32 or float64; with a function any
        numbers or booleans. `scatter` with the plan makes zones that need not be moved.
    kernel : Stencil or function
        What a tile does. Ranks other than the root may leave out a Stencil. A function must be
        given on every rank. As in `Pool.sweep` it is called with (array, row, column, height,
        width), and changes the array in place. The array has the shape and the indices of the
        image. Only the rank's own chunks and the lines of elements beside them are defined; see
        Notes.
    root : int
    pool : Pool, optional
        The pool with which this rank computes a tile of a Stencil; see `matmul`. If an element
        waits for a neighbour at a corner ("NE" in `Stencil.mask`), one core computes it. A function
        is called by one thread.
    trace, progress :
        See `Pool`. The trace is at the root. It has a worker for each rank and one event for each
        tile. Its prediction is for the measured speeds of the ranks with a Stencil. With a function
        it is the plan's makespan, in seconds if the plan's cycle-times are seconds per tile. The
        root reports the progress.
    timeout : float
        See `matmul`.

    Returns
    -------
        The swept image at the root and None elsewhere, or if the image is a Zone, on every rank its
        Zone, which has the chunks of the plan. With trace=True a pair, the second item of which is
        the Trace at the root and None elsewhere.

    Raises
    ------
    ValueError, TypeError
        On every rank, before anything is sent, if an argument on any rank is invalid.
    Exception
        The error of a kernel on its rank; see `agree` for the other ranks.
    LostRank
        See `matmul`.

    Notes
    -----
    The bits are the same as with `Pool.sweep`. Between two chunks there is one message for each
    tile of a line. Together these messages carry m elements (n if rows are dealt). If the kernel
    uses a neighbour on the right (below, if rows are dealt), a chunk also gets so many elements of
    the chunk after it, together with its own. A function always gets them.

    What a function can read besides the rank's own chunks, if columns are dealt: the column of
    elements before the chunk of the tile, which has its new values down to the last row of the tile
    (with "SW" in the plan's mask, of the tile below it); and the column after the chunk, which has
    its old values from the first row of the tile on. If rows are dealt, the same holds with rows
    and columns exchanged, and "NE". The array takes memory only for lines that are used.

    Examples
    --------
    >>> import hetsched as hs
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> plan = hs.wavefront(40, 40, cycle_times=[3, 5, 8])
    >>> image = hs.mpi.sweep(MPI.COMM_WORLD, plan, image, stencil)  # doctest: +SKIP
    """
    call = Call(comm, root, pool, timeout)
    with call.ranks, call.reporting(progress) as tell:
        run, stays, traced = _agreed(call, plan, image, kernel, trace, progress)
        value, record = run.result(stays, traced, tell)
    return (value, record) if traced else value


def _agreed(
    call: Call,
    plan: Wavefront | None,
    image: ArrayLike | Zone | None,
    kernel: Stencil | Function | None,
    trace: bool,
    progress: bool | Progress | None,
) -> tuple[WavefrontRun, bool, bool]:
    """The run, whether the result stays with the ranks, and whether a trace is wanted."""
    ranks, root = call.ranks, call.root
    mine: list[Any] = []

    def checked() -> tuple[Any, ...]:
        if plan is not None:
            if not isinstance(plan, Wavefront):
                raise wrong_kind(plan, "a plan of wavefront")
            require_ranks(plan, ranks.size)
        what = _kernel_of(kernel)
        array, of_image = described("image", image, ranks.rank, root, any_number=True)
        mine.append(array)
        call.require_progress(progress)
        watched = progress is not None and progress is not False
        wishes = check.flag("trace", trace), watched
        return of_image, as_text(plan), what, wishes, pools.here(), root

    images, texts, kernels, wishes, places, roots = columns(ranks.agree(checked))
    call.require_one_root(roots)
    shape = agreed("image", images, root)
    followed = travelled(plan, texts, root)
    assert isinstance(followed, Wavefront)
    agreed_kernel = _agreed_kernel(kernel, kernels, root)
    require_tiles(followed, shape.shape)
    (traced, watched), own_pool = wishes[root], call.pool(places)
    if isinstance(agreed_kernel, Stencil):
        dtype = np.dtype(shape.dtype)
        require_stencil(followed, agreed_kernel, shape.shape, dtype)
        if traced:
            followed = _timed(ranks, own_pool, followed, agreed_kernel, shape.shape, dtype)
    given = held(shape, mine[0], root)
    run = WavefrontRun(call, followed, agreed_kernel, given, shape.shape, own_pool, watched)
    return run, shape.kind == "zone", traced


def _kernel_of(kernel: Any) -> Any:
    """What other ranks need to know of a kernel: rule and weights, or that it is a function."""
    if kernel is None:
        return None
    if isinstance(kernel, Stencil):
        return kernel.rule, kernel.weights.tolist()
    if isinstance(kernel, tuple):
        raise TypeError(
            f"kernel must be a Stencil or a function, got {kernel!r}: addresses are for Pool.sweep,"
            " on one machine"
        )
    if not callable(kernel):
        raise TypeError(f"kernel must be a Stencil or a function, got {kernel!r}")
    return "function"


def _agreed_kernel(kernel: Any, found: list[Any], root: int) -> Stencil | Function:
    """The kernel of the root. Other ranks may leave out a Stencil, but not a function."""
    first = found[root]
    if first is None:
        raise ValueError(f"kernel must be given at the root, rank {root}")
    for rank, other in enumerate(found):
        if first == "function" and other != first:
            raise ValueError(
                f"kernel is a function at the root, rank {root}: rank {rank} must also give it"
            )
        if other is not None and other != first:
            raise ValueError(f"kernel on rank {rank} is not the same as at the root, rank {root}")
    if kernel is None:
        rule, weights = first
        return Stencil(np.array(weights), rule)
    agreed_kernel: Stencil | Function = kernel
    return agreed_kernel


def _timed(
    ranks: Ranks,
    pool: Pool,
    plan: Wavefront,
    stencil: Stencil,
    shape: tuple[int, int],
    dtype: np.dtype[Any],
) -> Wavefront:
    """The plan with the seconds that each rank takes for a tile. All measure together."""
    (m, n), (rows, cols) = shape, plan.shape
    height, width = -(-m // rows), -(-n // cols)
    used = max(min(height, _SAMPLE // width), 1)

    def measured() -> list[float]:
        array, box = np.ones((used, width), dtype), (0, 0, used, width)
        found = pools.timed(ranks, lambda: update(pool, array, stencil, box, engine.Poll()))
        return [float(np.median(own)) * height / used for own in found]

    key = "sweep", dtype, stencil.rule, stencil.used.tobytes(), len(pool), height, width
    times = ranks.kept(key, measured)
    # seconds per tile, whatever the unit in which the plan was made
    timed = plan.on(Platform.star(times, names=plan.names, unit=plan.unit))
    assert isinstance(timed, Wavefront)
    return timed
