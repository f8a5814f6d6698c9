"""Relations between the plans of related inputs: what must hold though nobody knows the best plan.

`check` calls the planner again: as before, with all times scaled by 2^k, with the workers in
another order, with a worker who is of no use, and by the other methods. It compares what the plans
claim of each other: a bound holds for every plan of the same problem, two optima are equal, and so
are two plans that are the best of the same class.
"""

from .calls import CALLS
from .claims import agree, follows, unchanged
from .relations import check, in_order

__all__ = ["CALLS", "agree", "check", "follows", "in_order", "unchanged"]
