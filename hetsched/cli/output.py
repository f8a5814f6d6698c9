"""What several commands print and draw."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._base.replace import replace_file, require_replaceable
from .._base.table import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..planners.product import ProductPlan
    from ..trace import Trace

_TRACES = {".json": "to_chrome", ".html": "to_html", ".paje": "to_paje", ".csv": "to_csv"}
_PICTURES = (".png", ".svg", ".pdf")


def require_folder(option: str, path: str) -> None:
    """Refuse the name of a file in a folder that is not there; before the work begins."""
    if not (folder := Path(path).parent).is_dir():
        raise ValueError(f"{option}: there is no folder {str(folder)!r}")


def require_output(option: str, path: str) -> None:
    """The same, and the name of a file that cannot be replaced."""
    require_folder(option, path)
    require_replaceable(path)


def require_picture(option: str, path: str, *others: str) -> None:
    """The same, and the name of a picture that would be of another kind; others may stand there too."""
    require_output(option, path)
    if Path(path).suffix not in _PICTURES:
        names = (*others, *_PICTURES)
        raise ValueError(f"{option} must end in {', '.join(names[:-1])} or {names[-1]}, got {path!r}")


def write_picture(figure: Figure, path: str | Path, **options: Any) -> None:
    """A figure as the file's name says, whole or not at all, with fonts that journals take; options as of its savefig."""
    from matplotlib import rc_context

    if Path(path).suffix != ".png":
        options.setdefault("dpi", 300)  # of what is too much for lines, such as 10^5 bars
    with replace_file(path) as file, rc_context({"pdf.fonttype": 42}):
        figure.savefig(file, format=Path(path).suffix[1:], **options)


def require_trace(option: str, path: str) -> None:
    """Refuse the name of a trace of a kind that is not written, or that `require_output` refuses."""
    require_output(option, path)
    if Path(path).suffix not in _TRACES:
        raise ValueError(f"{option} must end in {', '.join(_TRACES)}, got {path!r}")


def write_trace(trace: Trace, path: str) -> None:
    """As the file's name says."""
    getattr(trace, _TRACES[Path(path).suffix])(path)


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
