"""Runs of the 2008 paper's plans on emulated workers, with data, in a fraction of a second each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..planners.star import StarPlan
from ..platform import Platform
from ..runners.pool import Pool

_SLOWEST = 8  # how many times longer a run may take


class Run(NamedTuple):
    """A product by a plan on emulated workers: predicted and measured makespan, in plan units."""

    predicted: float
    measured: float

    @property
    def late(self) -> float:
        """Measured over predicted makespan, less 1."""
        return self.measured / self.predicted - 1


def emulated(plan: StarPlan, seconds: float) -> Run:
    """Run a plan with blocks of one element, so that it should take this many seconds.

    It takes up to eight times as long on a host that is too slow, or too busy, for the workers.
    Raises ArithmeticError if the product is wrong.
    """
    rng = np.random.default_rng(0)
    r, s, t = plan.shape
    A, B = (rng.integers(-9, 10, shape).astype(np.float64) for shape in ((r, t), (t, s)))
    platform = Platform.star(plan.cycle_times, plan.link_costs, plan.memory.tolist())
    slower = 1
    while True:
        scale = slower * seconds / plan.makespan
        with Pool(platform, emulate=True, time_scale=scale) as pool:
            try:
                C, trace = pool.run(plan, A, B, trace=True)
            except ValueError:  # the workers are too fast for the host
                if slower == _SLOWEST:
                    raise
                slower *= 2
                continue
        if not (C == A @ B).all():
            raise ArithmeticError(f"the product by {plan.method} is wrong")
        return Run(trace.predicted / scale, trace.makespan / scale)
