"""When speeds change: whether it is time to move to new zones."""

from __future__ import annotations

from .._base import check


class RentOrBuy:
    """When to remap: go on with the old plan until what it has lost adds up to what moving costs.

    The ski-rental rule, for one change of speeds. The time lost and spent moving is at most twice that of the best decision made
    knowing the future, plus what the last run before moving lost: a loss is known only after the run.

    Parameters
    ----------
    move_cost : float
        Time to move everything that changes its owner, >= 0.

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
        """Count a run of the old plan; True if it is time to move. Then start again with a new rule.

        Parameters
        ----------
        makespan : float
            What the run took.
        after : float
            What it would have taken after moving.
        """
        self.lost += max(0.0, check.number("makespan", makespan, low=0.0) - check.number("after", after, low=0.0))
        return self.lost >= self.move_cost and self.lost > 0.0
