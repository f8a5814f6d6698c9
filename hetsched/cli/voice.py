"""Commands that all ranks of an MPI program run, and of which rank 0 reports the errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..mpi.arguments import Call
from ..mpi.ranks import TIMEOUT, LostRank, world


@contextmanager
def one_voice() -> Iterator[Call]:
    """A call of all ranks. An error that all ranks know of is reported by rank 0 only."""
    call = Call(world(), root=0, pool=None, timeout=TIMEOUT)
    try:
        with call.ranks:
            yield call
    except LostRank:
        raise
    except Exception:
        if not call.at_root:
            raise SystemExit(1) from None
        raise
    except KeyboardInterrupt:
        if not call.at_root:
            raise SystemExit(130) from None
        raise
