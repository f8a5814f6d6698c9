"""Hostile calls of every public function: nothing but documented exceptions, and plans that hold
what they claim.

    .venv/bin/python tests/fuzz.py [--seconds N] [--calls N] [--seed S] [--only NAME]

Calls are drawn from what the functions declare (fuzz_values.py), and run in child processes with
limits of memory and of time per call, warnings as errors. A finding is any other exception than
those documented, an exception that the package did not mean to raise or whose message names no
argument, a warning, a signal, a call without end, an argument that is changed, or a plan that does
not hold. The line printed with a finding repeats it, after the line of imports at the end. Exit
status 1 on findings.
"""

from __future__ import annotations

import argparse
import builtins
import faulthandler
import inspect
import json
import linecache
import math
import numbers
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from fuzz_values import IMPORTS, SPACE, Call, Draw, Target, declaration, targets
from metamorphic import CALLS, check
from validators import validate

import hetsched as hs
from hetsched.plan import Plan

#: Public names that are not called, and why.
LEFT_OUT = {
    "Array.dot": "NumPy's, of a NumPy array; the products that it leads to are those of matmul",
    **dict.fromkeys(
        ("Array.var", "Array.std"),
        "NumPy's, of a NumPy array, with its arguments, errors and warnings",
    ),
    "thread_limit": "a context, whose one argument tests/runners/test_threads.py has",
    "coverage": "a context without arguments",
    "datasets": "a module, whose functions are fuzzed",
    **dict.fromkeys(
        (
            "Assignment",
            "AtOnce",
            "Cache",
            "Certificate",
            "Coverage",
            "Cpu",
            "Domain",
            "Cuboids",
            "Distribution",
            "DistributionStack",
            "DivisibleLoad",
            "DynamicProduct",
            "FilesPlan",
            "FactorPlan",
            "FilesProduct",
            "InstallmentPlan",
            "LayersPlan",
            "LuGrid",
            "LuPattern",
            "MaxTasks",
            "MeshPlan",
            "MinTime",
            "Partition",
            "Plan",
            "PlanStack",
            "ProductPlan",
            "ProfileDistribution",
            "ProfilePartition",
            "Recut",
            "Redistribution",
            "ReductionPlan",
            "RingMessage",
            "RingProfile",
            "SliceRing",
            "SpeedProfile",
            "StarLuPlan",
            "StarPlan",
            "StencilPlan",
            "Topology",
            "Trace",
            "Wavefront",
            "WorkersWorth",
            "MeasuredPlatform",
            "Array",
            "LeastSquares",
        ),
        "a result, which users are given; its methods and attributes are fuzzed",
    ),
    **dict.fromkeys(
        ("EmulationWarning", "InfeasibleError", "TaskError"), "an exception or a warning"
    ),
}
#: Chances: functions 3, methods 1, but less for what takes long or is small.
WEIGHTS = {
    "map_tasks": 0.1,
    "Pool.map_tasks": 0.03,
    "measure": 0.05,
    "measure_zones": 0.05,
    "MeasuredPlatform": 0.1,
    "SpeedProfile": 0.1,
    "Trace": 0.3,
    "Platform": 0.6,
    "ring_profile": 1.0,
    "plan_product": 1.5,
}
#: Computed by NumPy where it can: its errors and its warnings about data are then the right ones.
AS_NUMPY = {
    "asarray",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "cond",
    "det",
    "eigh",
    "eigvalsh",
    "gram",
    "inv",
    "lstsq",
    "matrix_rank",
    "norm",
    "null_space",
    "orth",
    "pinv",
    "qr",
    "slogdet",
    "solve_triangular",
    "svd",
    "svdvals",
    "lu_factor",
    "lu_solve",
    "matmul",
    "solve",
    "Pool.matmul",
    "Pool.lu_factor",
    "Pool.run",
    "Pool.stencil",
    "Pool.sweep",
}
#: Messages that say enough without the name of an argument.
KNOWN = (
    r"the system refused to start a thread",
    r"cannot be simulated",
    r"os\.PathLike object",  # Python's words
    r"array must not contain infs or NaNs",  # NumPy's and SciPy's words
    (
        r"-th leading minor of the array is not positive|^singular matrix: resolution failed at"
        r" diagonal|SVD did not converge"
    ),
    r"^file\.\w+: ",  # what is wrong with a file
    # and with what was read from it
    r"^a platform needs a list|in a platform$|^unknown format|^worker \d+: ",
    r"^link costs: the link from node",  # of a mesh, right and down
    r"^the (makespan|cost) overflows: give ",
    r"^task \d+ failed",
    r"^kernel \w+ in \w+ of worker \d+ was not measured",
)
_MEMORY = 3 << 30


# ---- what is called ----


@cache
def weighted(only: str | None) -> tuple[list[str], list[float]]:
    names = [
        n
        for n in targets()
        if n not in LEFT_OUT and (only is None or n == only or n.startswith(only + "."))
    ]
    if not names:
        raise SystemExit(f"nothing public is called {only!r}")
    return names, [
        WEIGHTS.get(n, WEIGHTS.get(n.partition(".")[0], 1.0 if "." in n else 3.0)) for n in names
    ]


def drawn(seed: int, number: int, only: str | None) -> tuple[Target, Call]:
    """The call of that number: it depends on nothing else, so that a batch can go on after a
    crash."""
    rng = Random(f"{seed}/{number}")
    names, weights = weighted(only)
    target = targets()[rng.choices(names, weights)[0]]
    return target, Draw(rng).call(target)


def public_names() -> set[str]:
    """All that must be fuzzed or left out with a reason."""
    return {*hs.__all__, *targets()}


# ---- one call, in a child ----


class Finding(Exception):
    """What is wrong, and where: the exception's type and the innermost line of the package."""

    def __init__(self, kind: str, where: str, text: str) -> None:
        super().__init__(text)
        self.kind, self.where = kind, where


def _documented(target: Target) -> tuple[type[BaseException], ...]:
    """What the docstring lists under "Raises", beside what everything may raise."""
    found: set[type[BaseException]] = {ValueError, TypeError, hs.InfeasibleError, MemoryError}
    section = re.search(
        r"Raises\n-+\n(.*?)(?=\n\n[A-Z][a-z]+\n-{3,}|\Z)",
        inspect.getdoc(target.function) or "",
        re.S,
    )
    for word in re.findall(r"^\S.*$", section[1], re.M) if section else ():
        for name in re.findall(r"\w+", word):
            kind = getattr(hs, name, getattr(builtins, name, getattr(np.linalg, name, None)))
            if inspect.isclass(kind) and issubclass(kind, BaseException):
                found.add(kind)
    return tuple(found)


@cache
def _has_path(target: Target) -> bool:
    return OSError in _documented(target) or any(
        "path" in declaration(target, p)[0].lower() for p in target.parameters
    )


_PACKAGE = str(Path(hs.__file__).parent) + os.sep


def _where(error: BaseException) -> tuple[str, bool, bool]:
    """The innermost line of the package, whether that line raised, and whether NumPy or the
    caller's function did."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [i for i, f in enumerate(frames) if f.filename.startswith(_PACKAGE)]
    if not own:
        return "outside", False, True
    frame = frames[own[-1]]
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    meant = own[-1] == len(frames) - 1 and line.startswith("raise")
    return (
        f"{frame.filename.removeprefix(_PACKAGE)}:{frame.lineno}",
        meant,
        not meant and own[-1] < len(frames) - 1,
    )


def judged(target: Target, error: BaseException) -> str:
    """ "refused" for an exception that is meant and says so; otherwise a Finding."""
    text, kind = str(error), type(error)
    if isinstance(error, Warning) and kind.__name__ in ("EmulationWarning", "LinAlgWarning"):
        return "warned"
    where, meant, _ = _where(error)
    if isinstance(error, MemoryError):
        return "refused"
    if "<lambda>() " in text or "<fuzz>" in "".join(
        f.filename for f in traceback.extract_tb(error.__traceback__)[1:][-1:]
    ):
        return "refused"  # the caller's own function is at fault
    theirs = (
        isinstance(error, RuntimeWarning | np.exceptions.ComplexWarning | ValueError | TypeError)
        and "truth value" not in text
    )
    if target.name in AS_NUMPY and not meant and theirs:
        return "refused"
    if any(re.search(known, text) for known in KNOWN):
        return "refused"
    if kind not in _documented(target) and not (isinstance(error, OSError) and _has_path(target)):
        raise Finding(kind.__name__, where, text)
    if isinstance(error, OSError):
        return "refused"
    if not meant:
        raise Finding(f"{kind.__name__} not meant", where, text)
    names = {p.name for p in target.parameters}
    names |= {
        word
        for p in target.parameters
        for word in re.findall(r"\w+", " ".join(re.findall(r"\(([^()]*)\)", p.declared)))
    }
    if target.owner:
        names |= {p.name for p in getattr(targets().get(target.owner), "parameters", ())} | {
            "self",
            target.owner.lower(),
        }
    if any(p.kind is p.kind.VAR_KEYWORD for p in target.parameters):
        names |= {p.name for p in targets()["partition"].parameters}
    if not any(
        re.search(rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])", text, re.I) for name in names
    ):
        raise Finding(f"{kind.__name__} names no argument", where, text)
    return "refused"


def _snapshot(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (
            value.dtype.str,
            value.shape,
            repr(value.tolist()) if value.dtype.hasobject else value.tobytes(),
        )
    return repr(value) if isinstance(value, list | tuple | dict | set) else None


def attempt(target: Target, call: Call) -> tuple[str, Any, dict[str, Any]]:
    """What became of the call, its result, and its arguments by name."""
    space = dict(SPACE)
    try:
        callee = eval(call.callee, space)
        positional = [eval(text, space) for _, text in call.positional]
        named = {name: eval(text, space) for name, text in call.named}
    except Exception:  # of a call that makes an argument, which is fuzzed by itself
        return "unbuilt", None, {}
    values = dict(zip((n for n, _ in call.positional), positional, strict=True)) | named
    kept = {
        n: _snapshot(v)
        for n, v in values.items()
        if n not in ("out", "C") and not any(values.get(o) for o in _overwritten(values))
    }
    try:
        result = callee(*positional, **named)
    except BaseException as error:
        outcome, result = judged(target, error), None
    else:
        outcome = "accepted"
    for name, before in kept.items():
        if _snapshot(values[name]) != before:
            raise Finding("argument changed", target.name, name)
    return outcome, result, values


def _overwritten(values: dict[str, Any]) -> list[str]:
    return [
        name
        for name in values
        if name.startswith("overwrite_") and isinstance(values[name], numbers.Real | np.bool_)
    ]


# ---- what is returned ----


def examine(target: Target, call: Call, result: Any, number: int) -> None:
    """Every attribute and every method without arguments of what is returned; of plans what they
    claim."""
    for item in (
        result
        if isinstance(result, tuple | list)
        else result.values()
        if isinstance(result, dict)
        else (result,)
    ):
        if type(item).__module__.startswith("hetsched.") and not isinstance(item, np.ndarray):
            _examine_one(target, item, small=_is_small(call), plot=number % 100 == 0)
            if isinstance(item, hs.Pool):
                item.close()


def _is_small(call: Call) -> bool:
    return not re.search(
        r"\d{4,}(?![\d.]*e)(?<!\.\d{4})|2\*\*|10\*\*",
        re.sub(r"\d*\.\d+(e[+-]?\d+)?|\d+e[+-]?\d+", "1", str(call)),
    )


def _examine_one(target: Target, item: Any, small: bool, plot: bool) -> None:
    kind = type(item)
    if isinstance(item, Plan):
        _claims(item)
    if isinstance(item, hs.Recut):
        _hold(item.moved_bound <= min(item.moved, item.fresh_moved), "moves less than its bound")
    repr(item)
    for name, member in inspect.getmembers_static(kind):
        if name.startswith("_") and name != "_repr_html_" or name in ("close", "record"):
            continue
        if name == "lower_bound" and item.sense == "max":
            continue
        if not small and name in (
            "steps",
            "to_dict",
            "plot",
            "_repr_html_",
            "starts",
            "describe",
            "label",
            "table",
        ):
            continue
        if name in ("plot", "_repr_html_"):
            if not plot:
                continue
        elif inspect.isfunction(member):
            if len(inspect.signature(member).parameters) > 1:
                continue
        elif isinstance(member, classmethod | staticmethod):
            continue
        try:
            value = getattr(item, name)
            value = value() if callable(value) else value
        except (TypeError, ValueError) as error:
            if not _where(error)[1]:
                raise
        else:
            if name == "to_dict":
                json.dumps(value)
    if plot and "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    if isinstance(item, Plan) and small:
        try:
            trace = hs.simulate(item)
        except TypeError as error:
            if not _where(error)[1]:
                raise
        else:
            if item._value == "makespan":
                _hold(
                    math.isclose(trace.makespan, item.value, rel_tol=1e-9, abs_tol=1e-300),
                    f"simulated {trace.makespan!r}, planned {item.value!r}",
                )
    if isinstance(item, Plan) and small:
        validate(item)


def _relates(target: Target, call: Call, values: dict[str, Any]) -> bool:
    """Whether the same call can be made again: not with what was used up, nor by what is measured
    anew."""
    if (
        target.name not in CALLS
        or not _is_small(call)
        or any(isinstance(value, Iterator) for value in values.values())
    ):
        return False
    return target.name != "workers_worth" or values.get("platform") is not None


def _claims(plan: Plan) -> None:
    value, bound = plan.value, plan.bound
    _hold(math.isfinite(value), f"value {value!r}")
    least, most = (bound, value) if plan.sense == "min" else (value, bound)
    _hold(least <= most * (1 + 1e-12) or least <= most, f"bound {bound!r} of value {value!r}")
    _hold(plan.gap >= -1e-12, f"gap {plan.gap!r}")
    if plan.optimal:
        _hold(plan.gap <= 1e-9 or plan._value != "makespan", f"optimal with gap {plan.gap!r}")
    _hold(plan.certificate.value == value and str(plan.certificate), "no certificate")


def _hold(condition: bool, text: str) -> None:
    if not condition:
        raise AssertionError(text)


# ---- children and their parent ----


def child(seed: int, start: int, stop: int, only: str | None, limit: float) -> None:
    """Run calls; a line of JSON for each on standard output, its number in advance."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    # says where, then ends the process
    faulthandler.register(signal.SIGPROF, all_threads=True, chain=True)
    warnings.simplefilter("error")
    warnings.filterwarnings("default", "the host could not keep up", RuntimeWarning)
    out, sys.stdout = sys.stdout, sys.stderr
    for name in ("platform.json", "platform.toml"):  # to be loaded
        hs.Platform.star([3, 5, 8], [1, 2, 3]).save(name)
    # what is loaded once, matplotlib and its list of fonts, is no call's time
    hs.distribute(3, [1, 2]).plot()
    sys.modules["matplotlib.pyplot"].close("all")
    for number in range(start, stop):
        # of processor time: other programs do not matter
        signal.setitimer(signal.ITIMER_PROF, limit)
        faulthandler.dump_traceback_later(10 * limit, exit=True)  # of what waits
        print(json.dumps({"number": number}), file=out, flush=True)
        target, call = drawn(seed, number, only)
        print(
            json.dumps({"number": number, "name": target.name, "call": str(call)}),
            file=out,
            flush=True,
        )
        began = time.perf_counter()
        report: dict[str, Any] = {}
        try:
            report["outcome"], result, values = attempt(target, call)
            if report["outcome"] == "accepted":
                try:
                    examine(target, call, result, number)
                    if _relates(target, call, values) and isinstance(result, Plan):
                        check(target.name, (), values, result)
                except MemoryError:
                    pass
                except BaseException as error:
                    raise Finding(
                        f"{type(error).__name__} in the result", _where(error)[0], str(error)
                    ) from error
        except Finding as finding:
            report |= {
                "outcome": "finding",
                "kind": finding.kind,
                "where": finding.where,
                "text": str(finding)[:300],
            }
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        faulthandler.cancel_dump_traceback_later()
        print(
            json.dumps(report | {"number": number, "seconds": time.perf_counter() - began}),
            file=out,
            flush=True,
        )


def batch(
    seed: int, start: int, stop: int, only: str | None, limit: float
) -> Iterator[dict[str, Any]]:
    """The reports of calls start .. stop - 1, by as many children as it takes."""
    while start < stop:
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {
                "XDG_CACHE_HOME": folder,
                "MPLBACKEND": "Agg",
                "OPENBLAS_NUM_THREADS": "1",
            }
            command = [
                sys.executable,
                __file__,
                "--child",
                str(start),
                str(stop),
                "--seed",
                str(seed),
                "--limit",
                str(limit),
            ]
            command += ["--only", only] if only else []
            with open(Path(folder, "errors"), "w+b") as errors:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    check=False,
                )
                errors.seek(0)
                said = errors.read().decode(errors="replace")
        report: dict[str, Any] = {}
        for line in done.stdout.decode().splitlines():
            if not line.startswith("{"):  # from C, and so out of order
                printed = {"name": "draw", "call": "?", "number": start, "seconds": 0.0}
                yield printed | {
                    "outcome": "finding",
                    "kind": "prints",
                    "where": "outside",
                    "text": line,
                }
                continue
            report = (report if '"outcome"' in line or '"call"' in line else {}) | json.loads(line)
            if "outcome" in report:
                yield report
        if not report:
            raise RuntimeError(
                f"the child for calls {start} to {stop} did not start:\n{said[-2000:]}"
            )
        if "outcome" not in report:
            kind = (
                "no end"
                if "Timeout (" in said or done.returncode == -signal.SIGPROF
                else (
                    f"signal {-done.returncode}"
                    if done.returncode < 0
                    else f"exit {done.returncode}"
                )
            )
            lines = re.findall(
                rf'File "{re.escape(_PACKAGE)}(\S+)", line (\d+)',
                said[said.rfind("most recent call first") :],
            )
            where = ":".join(lines[0]) if lines else "outside"
            yield (
                {"name": "draw", "call": "?"}
                | report
                | {
                    "outcome": "finding",
                    "kind": kind,
                    "where": where,
                    "text": said[-300:],
                    "seconds": limit,
                }
            )
        start = report["number"] + 1


def fuzz(
    seed: int,
    calls: int | None,
    seconds: float | None,
    only: str | None,
    limit: float,
    out: Any = None,
) -> dict[Any, Any]:
    """Run that many calls, or that long; prints a table and the findings. Returns (name, kind,
    line) -> reports."""
    counts: Counter[tuple[str, str]] = Counter()
    times: Counter[str] = Counter()
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    began, number = time.monotonic(), 0
    while (calls is None or number < calls) and (
        seconds is None or time.monotonic() - began < seconds
    ):
        size = 1000 if seconds is None else 250
        stop = number + size if calls is None else min(calls, number + size)
        for report in batch(seed, number, stop, only, limit):
            counts[report["name"], report["outcome"]] += 1
            times[report["name"]] += report["seconds"]
            if report["outcome"] == "finding":
                text = (
                    re.sub(r"[\d.]+(e[+-]?\d+)?", "#", report["text"])
                    if report["kind"].startswith("Assertion")
                    else ""
                )
                key = report["name"], report["kind"], report["where"] + text[:60]
                if key not in found:
                    print(
                        f"{key[0]}: {key[1]} at {report['where']}: {report['text'][:200]}\n   "
                        f" {report['call']}",
                        file=out,
                        flush=True,
                    )
                found.setdefault(key, []).append(report)
        number = stop
    outcomes = ("accepted", "refused", "warned", "unbuilt", "finding")
    print(f"{'':26}" + "".join(f"{o:>10}" for o in ("calls", *outcomes, "ms each")), file=out)
    for name in sorted({n for n, _ in counts}):
        row = [counts[name, o] for o in outcomes]
        print(
            f"{name:26}"
            + "".join(f"{c:10}" for c in (sum(row), *row))
            + f"{1e3 * times[name] / sum(row):10.1f}",
            file=out,
        )
    totals = [sum(c for (_, o), c in counts.items() if o == outcome) for outcome in outcomes]
    print(f"{'together':26}" + "".join(f"{c:10}" for c in (sum(totals), *totals)), file=out)
    print(
        f"seed {seed}: {len(found)} different findings, {time.monotonic() - began:.0f} s", file=out
    )
    if found:
        print(f"To repeat one: {IMPORTS}", file=out)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--calls", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one function, or the methods of one class")
    parser.add_argument(
        "--limit",
        type=float,
        default=10.0,
        help="seconds of processor time for one call; ten times as long if it waits",
    )
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.seed, *given.child, given.only, given.limit)
        return 0
    if given.seconds is None and given.calls is None:
        given.seconds = 60.0
    return 1 if fuzz(given.seed, given.calls, given.seconds, given.only, given.limit) else 0


if __name__ == "__main__":
    sys.exit(main())
