"""When speeds change: whether it is time to move to new zones, and the messages for the move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._base import check


class RentOrBuy:
    """When to remap: keep the old plan until its losses add up to the cost of moving.

    The ski-rental rule, for one change of speeds. The time lost and spent on moving is at most
    twice the time of the best decision made with knowledge of the future, plus the loss of the last
    run before moving: a loss is known only after the run.

    Parameters
    ----------
    move_cost : float
        Time to move everything that changes its owner, >= 0. The attribute may be set again if
        another move has become the best one.

    Examples
    --------
    >>> import hetsched as hs
    >>> rule = hs.RentOrBuy(move_cost=1.0)
    >>> [rule.should_move(makespan, 2.0) for makespan in (2.4, 2.4, 2.4)]
    [False, False, True]
    """

    def __init__(self, move_cost: float) -> None:
        self.move_cost = check.number("move_cost", move_cost, low=0.0)
        self.lost = 0.0

    def should_move(self, makespan: float, after: float) -> bool:
        """Count a run of the old plan; True if it is time to move.

        After a move, start again with a new rule.

        Parameters
        ----------
        makespan : float
            Time that the run took.
        after : float
            Time that it would have taken after moving.
        """
        self.lost += max(
            0.0, check.number("makespan", makespan, low=0.0) - check.number("after", after, low=0.0)
        )
        return self.lost >= self.move_cost and self.lost > 0.0


def messages(times: NDArray[np.float64]) -> list[tuple[int, int, float, float]]:
    """Schedule messages between workers that send or receive one message at a time.

    Parameters
    ----------
    times : (p, p) array
        Time of the message from row to column; 0 if there is none.

    Returns
    -------
    list of (sender, receiver, start, end)
        Sorted by end. Whenever two workers are free that have a message for each other, the longest
        such message starts. So the last message ends before twice the time of the busiest worker,
        and no schedule is shorter than that time. O(m^2) for m messages.
    """
    waiting = sorted(
        ((float(times[i, j]), int(i), int(j)) for i, j in np.argwhere(times > 0.0)), reverse=True
    )
    free, now, found = [0.0] * len(times), 0.0, []
    while waiting:
        later = []
        for length, i, j in waiting:
            if free[i] <= now and free[j] <= now:
                free[i] = free[j] = now + length
                found.append((i, j, now, now + length))
            else:
                later.append((length, i, j))
        waiting = later
        now = min((t for t in free if t > now), default=now)
    return sorted(found, key=lambda message: message[3])


def transfers(before: NDArray[np.int64], after: NDArray[np.int64], p: int) -> NDArray[np.int64]:
    """(p, p) number of items that go from row to column; each has an owner before and after."""
    moved = before != after
    found = np.zeros((p, p), np.int64)
    np.add.at(found, (before[moved], after[moved]), 1)
    return found
