"""Tables, pictures and traces that several commands write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .._base.need import need
from .._base.replace import require_replaceable
from .._base.table import table
from ..plots.canvas import FORMATS

if TYPE_CHECKING:
    from ..planners.product import ProductPlan
    from ..trace import Trace

_TRACES = {".json": "to_chrome", ".html": "to_html", ".paje": "to_paje", ".csv": "to_csv"}


def require_folder(option: str, path: str) -> None:
    """Raise ValueError if the folder of a file does not exist; called before the work begins."""
    if not (folder := Path(path).parent).is_dir():
        raise ValueError(f"{option}: there is no folder {str(folder)!r}")


def require_output(option: str, path: str) -> None:
    """See `require_folder`. Also raise if the file exists and cannot be replaced."""
    require_folder(option, path)
    require_replaceable(path)


def require_picture(option: str, path: str, *others: str) -> None:
    """See `require_output`. Also raise if no picture of this suffix can be drawn.

    others : other suffixes that are allowed.
    """
    require_output(option, path)
    if Path(path).suffix not in FORMATS:
        names = (*others, *FORMATS)
        raise ValueError(
            f"{option} must end in {', '.join(names[:-1])} or {names[-1]}, got {path!r}"
        )
    need("matplotlib.figure", option)


def require_trace(option: str, path: str) -> None:
    """See `require_output` for a trace, and `require_picture` for a picture of it."""
    if Path(path).suffix in _TRACES:
        require_output(option, path)
    else:
        require_picture(option, path, *_TRACES)


def write_trace(trace: Trace, path: str) -> None:
    """Write a trace, or a picture of it, in the format of the file's suffix."""
    suffix = Path(path).suffix
    getattr(trace, "save_plot" if suffix in FORMATS else _TRACES[suffix])(path)


def worker_table(plan: ProductPlan, trace: Trace) -> str:
    """Table of predicted and measured ends, one line per worker."""
    predicted = trace.predicted_finish or (0.0,) * len(plan.names)
    whole = float(plan.flops.sum()) or 1.0
    rows = [("worker", "cycle-time", "share", "predicted", "measured", "difference")]
    for i, name in enumerate(plan.names):
        p, m = predicted[i], trace.finish[i]
        difference = f"{m / p - 1:+.2%}" if p > 0 else "-"
        share, time = plan.flops[i] / whole, plan.cycle_times[i]
        rows.append((name, f"{time:.4g}", f"{share:.1%}", f"{p:.4f} s", f"{m:.4f} s", difference))
    return table(rows, "<>")
