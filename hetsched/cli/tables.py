"""Tables that several commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..planners.product import ProductPlan
    from ..trace import Trace


def worker_table(plan: ProductPlan, trace: Trace) -> str:
    """Predicted against measured ends, one line per worker."""
    predicted = trace.predicted_finish or (0.0,) * len(plan.names)
    whole = float(plan.flops.sum()) or 1.0
    width = max(6, *(len(name) for name in plan.names))
    lines = [f"{'worker':<{width}}  cycle-time   share  predicted   measured  difference"]
    for i, name in enumerate(plan.names):
        p, m = predicted[i], trace.finish[i]
        difference = f"{m / p - 1:+10.2%}" if p > 0 else f"{'-':>10}"
        share, time = plan.flops[i] / whole, plan.cycle_times[i]
        lines.append(f"{name:<{width}}  {time:10.4g}  {share:6.1%}  {p:7.4f} s  {m:7.4f} s  {difference}")
    return "\n".join(lines)
