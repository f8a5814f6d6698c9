"""Tables that several commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._base.table import table

if TYPE_CHECKING:
    from ..planners.product import ProductPlan
    from ..trace import Trace


def worker_table(plan: ProductPlan, trace: Trace) -> str:
    """Predicted against measured ends, one line per worker."""
    predicted = trace.predicted_finish or (0.0,) * len(plan.names)
    whole = float(plan.flops.sum()) or 1.0
    rows = [("worker", "cycle-time", "share", "predicted", "measured", "difference")]
    for i, name in enumerate(plan.names):
        p, m = predicted[i], trace.finish[i]
        difference = f"{m / p - 1:+.2%}" if p > 0 else "-"
        share, time = plan.flops[i] / whole, plan.cycle_times[i]
        rows.append((name, f"{time:.4g}", f"{share:.1%}", f"{p:.4f} s", f"{m:.4f} s", difference))
    return table(rows, "<>")
