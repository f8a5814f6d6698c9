"""What plans with a table of timed tasks have in common."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import check
from ..platform import UNIT


class TimedTasks:
    """Sums over `tasks`, a table with worker, start, end and flops of each task."""

    tasks: NDArray[Any]
    names: tuple[str, ...]
    makespan: float
    ideal: float
    cycle_times: NDArray[np.float64]
    panel_times: NDArray[np.float64]

    @property
    def efficiency(self) -> float:
        """Time of perfectly divided work / makespan."""
        return self.ideal / self.makespan if self.makespan > 0 else 1.0

    @cached_property
    def flops(self) -> NDArray[np.float64]:
        """(p,) flops of each worker."""
        return check.frozen(self._of_each_worker(self.tasks["flops"]))

    def _of_each_worker(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """(p,) sums of a value of each task."""
        return np.bincount(self.tasks["worker"], values, len(self.names)).astype(np.float64)

    def _load(self) -> Any:
        """Gigaflops of each worker."""
        return self.flops / UNIT

    def _busy(self) -> NDArray[np.float64]:
        return self._of_each_worker(self.tasks["end"] - self.tasks["start"])

    def _panel_times_on(self, times: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Panel times of workers with other cycle-times, in the old ratios; None if panels have no
        times of their own."""
        if np.array_equal(self.panel_times, self.cycle_times):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            panels: NDArray[np.float64] = times * (self.panel_times / self.cycle_times)
        if not (panels > 0.0).all():
            raise ValueError(
                "platform gives work to a worker that had none, but its panel time is not known"
            )
        return panels
