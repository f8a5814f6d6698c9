"""Common parts of all plans: the method, the certificate, the predicted schedule, and files.

A certificate is the plan's value beside a proven bound.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import MethodType
from typing import Any, ClassVar, NamedTuple, NoReturn, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._base import check, schema
from ._base.drawn import Drawn
from ._base.frozen import Frozen
from ._base.later import Lazy, split
from ._base.regular import read_text
from ._base.replace import replace_file
from ._base.table import Table
from ._engine.certificate import certificate_of
from .drifted import Drifted, changes_of, ideal_end
from .platform import Platform, Unit, as_platform, relative_speeds, require_star
from .trace import Trace

P = TypeVar("P", bound="Plan")

_FEW = 6  # workers whose shares are in a repr
_COLUMNS = {"cycle_times": "cycle-time", "areas": "area", "volumes": "volume"}

#: Most entries of a predicted schedule; each takes some 200 bytes.
MOST_STEPS = 3_000_000

#: The module of each kind of plan, for plans that are read from a file.
KINDS = {
    "Cuboids": "planners.cuboids",
    "Distribution": "planners.distribute",
    "DistributionStack": "planners.distribute",
    "DivisibleLoad": "planners.divisible",
    "DynamicProduct": "planners.dynamic",
    "FilesPlan": "files.plan",
    "InstallmentPlan": "planners.mesh",
    "LayersPlan": "planners.layers",
    "LuGrid": "planners.lu_grid",
    "LuPattern": "planners.lu_pattern",
    "FactorPlan": "planners.factor",
    "MaxTasks": "planners.tasks",
    "MeshPlan": "planners.mesh",
    "MinTime": "planners.tasks",
    "Partition": "planners.partition",
    "ProductPlan": "planners.product",
    "ProfileDistribution": "planners.profile",
    "ProfilePartition": "planners.profile_zones",
    "Redistribution": "planners.redistribute",
    "ReductionPlan": "planners.reduction",
    "SliceRing": "planners.ring",
    "StarLuPlan": "planners.star_lu",
    "StarPlan": "planners.star",
    "StencilPlan": "planners.stencil",
    "Wavefront": "planners.wavefront",
    "WorkersWorth": "planners.worth",
}

#: First entries of a plan file.
FORMAT = {"format": "hetsched-plan", "version": 1}


class Step(NamedTuple):
    """An interval of one worker's predicted time; kind is "compute" or "transfer"."""

    worker: int
    kind: str
    start: float
    end: float
    what: str


#: (worker, begin, time that the work takes at the plan's speeds) -> when it ends.
Finish = Callable[[int, float, float], float]


def undisturbed(worker: int, begin: float, time: float) -> float:
    """The end of work at the plan's speeds."""
    return begin + time


class Certificate(NamedTuple):
    """How good a plan is, and what is proven about it. As a string it is one sentence.

    Attributes
    ----------
    objective : str
        Name of the plan's attribute that is minimised or maximised, such as "makespan", "cost" or
        "tasks".
    sense : {"min", "max"}
    value : float
        Value of the plan.
    bound : float
        Proven bound: no plan has a smaller value (a larger one, if it is maximised). This holds for
        all plans, not only for those plans that the method searches.
    gap : float
        abs(value - bound) / bound; 0.0 is a proof of optimality.
    optimal : bool
        True only if optimality among all plans is proven.
    scope : str
        The class of plans within which this plan is proven optimal; "" for a heuristic.
    method : str
        How the plan was found.
    """

    objective: str
    sense: str
    value: float
    bound: float
    gap: float
    optimal: bool
    scope: str
    method: str

    def __str__(self) -> str:
        if self.optimal:
            proof = "optimal"
        elif self.scope:
            proof = f"optimal among {self.scope}"
        else:
            proof = "not proven optimal"
        side = "upper" if self.sense == "max" else "lower"
        numbers = (self.value, self.bound)
        value, bound = (str(x) if isinstance(x, int) else f"{x:.6g}" for x in numbers)
        return (
            f"{self.objective} {value}, {side} bound {bound}, gap {self.gap:.2%}, {proof}"
            f" ({self.method})"
        )


class _Load:
    """`Plan.load(path)` reads a file; on a plan, `load` is the work of each worker."""

    @overload
    def __get__(self, plan: None, kind: type[P]) -> Callable[[str | PathLike[str]], P]: ...
    @overload
    def __get__(self, plan: P, kind: type[P]) -> NDArray[Any]: ...
    def __get__(self, plan: P | None, kind: type[P]) -> Any:
        return MethodType(_Load.load, kind) if plan is None else check.frozen(plan._load())

    @staticmethod
    def load(kind: type[P], path: str | PathLike[str]) -> P:
        """Read a plan that `save` wrote. It plots, simulates and runs like the original.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If the file is not such a plan; the message names the file and the key.
        """
        path = check.path("path", path)
        try:
            content = json.loads(
                read_text(path), object_pairs_hook=_object, parse_constant=_constant
            )
            if not isinstance(content, dict) or not {"format", "version"} <= set(content):
                raise ValueError("not a hetsched plan file, or written by a newer hetsched")
            return kind.from_dict(content)
        except (ValueError, RecursionError) as error:
            if _is_platform(path):
                raise ValueError(f"{path} is a platform, not a plan") from error
            if isinstance(error, json.JSONDecodeError):
                raise ValueError(f"{path}: not the JSON file of a plan: {error}") from error
            raise ValueError(f"{path}: {error}") from error


def _is_platform(path: str | PathLike[str]) -> bool:
    try:
        Platform.load(path)
    except (OSError, ValueError):
        return False
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object with unique keys."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(
            f"the key {schema.shown(check.repeated(key for key, _ in pairs))} occurs twice"
        )
    return found


def _constant(name: str) -> NoReturn:
    raise ValueError(
        f'{name} is not a JSON number: write infinities as the strings "Infinity" and "-Infinity"'
    )


_UNIT = {
    "work": schema.Text(),
    "data": schema.Text(),
    "flops": schema.Real(),
    "bytes": schema.Real(),
}


class _Unit(schema.Field):
    """A Unit; it checks its own fields."""

    def check(self, name: str, value: Any, sizes: schema.Sized) -> Any:
        if type(value) is not Unit:
            raise TypeError(f"{name} must be a Unit, got {schema.shown(value)}")
        for key in ("work", "data"):
            schema.require_unicode(f"{name}.{key}", getattr(value, key))
        return value

    def read(self, given: Any) -> Unit:
        if not isinstance(given, dict):
            raise TypeError(f"it must be an object, got {schema.shown(given)}")
        check.keys(given, _UNIT)
        return Unit(**{key: _UNIT[key].read(value) for key, value in given.items()})


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Plan(Frozen, Drawn):
    """Base of all plans. Two plans are equal if all fields but the planning time are equal.

    Attributes
    ----------
    method : str
        How the plan was found.
    bound : float
        Proven bound on `value` over all plans, not only over the plans that the method searches.
    optimal : bool
        True only if optimality among all plans is proven.
    scope : str
        The class of plans within which this plan is proven optimal; "" for a heuristic.
    asked : str
        The method asked for, such as "best"; equal to `method` if none was asked for.
    unit : Unit or None
        The units of the platform's numbers; None if the platform does not say.
    names : tuple of str
        Names of the workers: the platform's, or P0, P1, ...
    sense : {"min", "max"}
        Whether `value` is minimised or maximised. A maximised plan has an `upper_bound` instead of
        a `lower_bound`.
    load : (p,) array
        The work of each worker, in the unit of the cycle-times; the sum is all the work. On a type
        of plan, `load(path)` reads a file that `save` wrote; `Plan.load` reads a plan of any type.
    """

    method: str
    bound: float
    optimal: bool
    scope: str = ""
    asked: str = ""
    unit: Unit | None = None
    names: tuple[str, ...]

    _value: ClassVar[str] = "makespan"  # name of the attribute that the bound is for
    _scale: ClassVar[str] = "cycle_times"  # the arguments that can make it too large for a double
    _derived: ClassVar[tuple[str, ...]] = ()  # the keys of `to_dict` besides the fields
    _fixed: ClassVar[str] = ""  # why the plan has no meaning on other workers
    #: the attribute with the numbers of the workers that the planner was given
    _given: ClassVar[str] = "cycle_times"
    sense: ClassVar[str] = "min"

    #: Every field of this type; together with the tables of its bases, all fields of a plan.
    _table: ClassVar[dict[str, schema.Field]] = {
        "method": schema.Text(),
        "bound": schema.Real(),
        "optimal": schema.Flag(),
        "scope": schema.Text(),
        "asked": schema.Text(),
        "unit": schema.Maybe(_Unit()),
        "names": schema.Tuple(schema.Text(), "p"),
    }
    # the fields in the order in which they are checked
    _checks: ClassVar[list[tuple[str, schema.Field]]] = []

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._table = {
            name: field
            for kind in reversed(cls.__mro__)
            for name, field in vars(kind).get("_table", {}).items()
        }
        cls._checks = schema.ordered(cls._table)

    #: Whether also the plans of our own planners are checked; the tests do so.
    checks_own: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self._hold()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._hold()

    def _hold(self) -> None:
        """Check the plan, however it was made.

        Raises TypeError or ValueError with a message that names the field.
        """
        content = self.__dict__
        for value in (content.get(self._value), content.get("bound")):
            if isinstance(value, float) and value == math.inf:
                raise self._overflow()
        schema.check_fields(self._checks, content, content.get("_waiting", {}))
        if not math.isfinite(self.value):
            raise self._overflow()
        content["asked"] = self.asked or self.method
        self._check()
        self._require_possible_bound()

    def _require_possible_bound(self) -> None:
        """Raise ValueError if the value is better than the bound, or not optimal as it claims."""
        value, bound = self.value, self.bound
        low, high = (bound, value) if self.sense == "min" else (value, bound)
        if low > high + 1e-9 * abs(high):
            side = "at most" if self.sense == "min" else "at least"
            raise ValueError(
                f"bound must be {side} the {self._value}, {value:.6g}, got {bound:.6g}"
            )
        if self.optimal and high - low > 1e-9 * abs(high):
            raise ValueError(
                f"optimal must be False: the {self._value} is {value:.6g}, the bound {bound:.6g}"
            )

    def _overflow(self) -> ValueError:
        """The error for an infinite value or bound."""
        return ValueError(f"the {self._value} overflows: give {self._scale} in a larger unit")

    def _check(self) -> None:
        """Raise an error if fields do not fit together.

        The table has their types, shapes and ranges. A field that is computed later must not be
        computed for this check.
        """

    @property
    def value(self) -> float:
        """The number that is minimised or maximised: the makespan, the cost, the tasks."""
        return float(getattr(self, self._value))

    @property
    def lower_bound(self) -> float:
        """Lower bound on a value that is minimised."""
        if self.sense != "min":
            raise AttributeError(
                f"the {self._value} of a {type(self).__name__} are maximised: use upper_bound"
            )
        return self.bound

    @property
    def gap(self) -> float:
        """abs(value - bound) / bound; 0.0 is a proof of optimality."""
        if self.value == self.bound:
            return 0.0
        return abs(self.value - self.bound) / self.bound if self.bound > 0 else float("inf")

    @property
    def certificate(self) -> Certificate:
        """The value, the bound, the gap, and what is proven about the plan."""
        return Certificate(
            self._value,
            self.sense,
            self.value,
            self.bound,
            self.gap,
            self.optimal,
            self.scope,
            self.method,
        )

    def steps(self) -> list[Step]:
        """The predicted schedule, in the plan's unit of time; `simulate` makes a Trace of it."""
        return self._steps(undisturbed)

    def _steps(self, finish: Finish) -> list[Step]:
        """The schedule, in which `finish` gives the end of each computation. A kind of plan that
        overrides `steps` instead cannot be simulated with drift."""
        raise TypeError(f"a {type(self).__name__} cannot be simulated: it has no cycle-times")

    def on(self, platform: Platform | ArrayLike) -> Plan:
        """The same decisions on other workers: what if the speeds change?

        Each worker does the same work in the same order. The times and the bound are computed for
        the other platform. The method is "given" if the certificate is about times.

        Parameters
        ----------
        platform : Platform or (p,) array_like
            A platform with as many workers, with links if the plan has messages; or cycle-times
            alone. Message times that were given to the planner directly (`send`, `receive` and
            `link_cost`) stay the same.

        Raises
        ------
        TypeError
            For a kind of plan that cannot be evaluated this way: a DistributionStack, a FilesPlan.
        ValueError
            For another number of workers, or another kind of links; also if the memory of a worker
            is too small for the plan.
        """
        platform = as_platform("platform", platform)
        if self._fixed:
            raise TypeError(
                f"plan, a {type(self).__name__}, cannot be put on another platform: {self._fixed}"
            )
        if len(platform) != len(self.names):
            raise ValueError(
                f"platform has {len(platform)} workers, the plan is for {len(self.names)}:"
                " `replan` plans for any number"
            )
        return self._on(platform if self.unit is None else platform.per(self.unit, "the plan"))

    def _on(self, platform: Platform) -> Plan:
        raise NotImplementedError

    def _rows(self) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """Names and cycle-times of the rows of a trace.

        One row for each worker, then the further rows that `steps` numbers after the workers.
        Without cycle-times all workers count as equally fast.
        """
        return self.names, getattr(self, "cycle_times", np.ones(len(self.names)))

    def _star_links(self, platform: Platform) -> NDArray[np.float64]:
        """(p,) time per unit of data from the master, read-only.

        ValueError if the platform has other links than those of a star, unless they cost nothing.
        """
        if platform.links is None or platform.links.any():
            require_star("platform", platform)
        return check.frozen(platform.link_costs)

    def _carried(self, platform: Platform, value: float, bound: float, **changed: Any) -> Self:
        """The plan on another platform: names, cycle-times, other changed fields, certificate."""
        proof = certified(bound, maximised=self.sense == "max", **{self._value: value})
        given = proof | {"method": "given", "asked": "given", "scope": ""}
        return replace(self, **{**self._workers(platform), **given, **changed})

    def _workers(self, platform: Platform) -> dict[str, Any]:
        """The fields that come from a platform in every kind of plan."""
        own = {
            "names": platform.names,
            "unit": platform.unit,
            "cycle_times": check.frozen(platform.cycle_times),
        }
        return {f.name: own[f.name] for f in fields(self) if f.name in own}

    # ---- work of each worker ----

    def _load(self) -> Any:
        """The value of `load`; the counts by default."""
        return self.counts  # type: ignore[attr-defined]

    def _busy(self) -> NDArray[np.float64] | None:
        """(p,) time that each worker computes, or None if it is not known."""
        times: NDArray[np.float64] | None = getattr(self, "cycle_times", None)
        if times is None or times.ndim > 1:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(self.load > 0, self.load * times, 0.0)

    @property
    def imbalance(self) -> float:
        """Largest time that a worker computes / time of all work divided perfectly over all
        workers; 1.0 is perfect balance.

        TypeError if the plan has no cycle-times, and for a stack of plans.
        """
        busy = self._busy()
        if busy is None:
            raise TypeError(f"the imbalance of a {type(self).__name__} is not defined")
        speeds = relative_speeds(self.cycle_times)  # type: ignore[attr-defined]
        work = float((speeds * busy).sum())
        return float(busy.max()) * float(speeds.sum()) / work if work > 0.0 else 1.0

    def table(self) -> Table:
        """One row for each worker: name, load, share of all work, cycle-time (or area, or volume),
        and time that it computes.

        Times are left out if they are not known.

        Returns
        -------
        Table
            A list of dicts. It is shown as a table in text and in a notebook.

        Examples
        --------
        >>> import hetsched as hs
        >>> print(hs.distribute(78, cycle_times=[3, 5, 8]).table())
        worker  load   share  cycle-time  busy
        P0        40  51.28%           3   120
        P1        24  30.77%           5   120
        P2        14  17.95%           8   112
        """
        load, busy = self.load, self._busy()
        columns = {
            "worker": self.names,
            "load": load.tolist(),
            "share": (load / max(load.sum(), 1e-300)).tolist(),
        }
        if busy is not None:
            columns[_COLUMNS[self._given]] = getattr(self, self._given).tolist()
            columns["busy"] = busy.tolist()
        return Table(
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        )

    # ---- files and comparison ----

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain Python values, for JSON; docs/plan-format.md describes them.

        Infinities are the strings "Infinity" and "-Infinity".
        """
        content = {f.name: plain(getattr(self, f.name)) for f in fields(self)}
        return {
            "type": type(self).__name__,
            **content,
            "gap": plain(self.gap),
            "certificate": str(self.certificate),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`, for a plan of this type; `Plan.from_dict` takes any type.

        Parameters
        ----------
        content : mapping
            See `to_dict`.

        Raises
        ------
        ValueError
            If content is not such a plan; the message names the key.
        """
        if not isinstance(content, Mapping):
            raise ValueError(
                f"content must be a table of names and values, got {schema.shown(content)}"
            )
        for key, wanted in FORMAT.items():
            if type(found := content.get(key, wanted)) is not type(wanted) or found != wanted:
                raise ValueError(
                    f"content[{key!r}] must be {wanted!r}, got {schema.shown(found)}: "
                    "not a hetsched plan file, or written by a newer hetsched"
                )
        name = content.get("type")
        if not isinstance(name, str) or name not in KINDS:
            raise ValueError(
                f"content['type'] must be one of {', '.join(KINDS)}, got {schema.shown(name)}"
            )
        kind: type[Self] = getattr(import_module(f"hetsched.{KINDS[name]}"), name)
        if not issubclass(kind, cls):
            raise ValueError(
                f"content['type'] must be {cls.__name__}, got {name}: Plan.load reads any type"
            )
        content = kind._completed(content)
        known = {*kind._table, *kind._derived, "type", "gap", "certificate", *FORMAT}
        if unknown := set(content) - known:
            raise ValueError(
                f"content has an unknown key {schema.shown(min(unknown, key=str))}:"
                f" a {name} does not have it"
            )
        if missing := {f.name for f in fields(kind) if f.default is MISSING} - set(content):
            raise ValueError(f"content needs the key {min(missing)!r} of a {name}")
        given = {}
        for key, field in kind._table.items():
            try:
                if key in content:
                    given[key] = field.read(content[key])
            except (TypeError, ValueError) as error:
                raise ValueError(f"content[{key!r}] is not valid for a {name}: {error}") from error
        try:
            return kind(**given)
        except TypeError as error:
            raise ValueError(f"content is not valid for a {name}: {error}") from error

    @classmethod
    def _completed(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The content with the keys that files of earlier versions do not have."""
        return content

    def save(self, path: str | PathLike[str]) -> None:
        """Write the plan to a .json file (first beside it, then renamed).

        Parameters
        ----------
        path : path
            Must end in .json.
        """
        name = check.path("path", path)
        if Path(name).suffix != ".json":
            raise ValueError(f"path must end in .json, got {name!r}")
        content = {**FORMAT, **self.to_dict()}
        text = json.dumps(content, allow_nan=False, ensure_ascii=False)
        with replace_file(name) as file:
            file.write(f"{text}\n".encode())

    load = _Load()

    def __hash__(self) -> int:
        return hash((type(self), self.method, self.value, self.bound))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.certificate}{self._shares_text()}>"

    def _shares_text(self) -> str:
        """What the planner was given, the share of each worker, and how even the shares are."""
        given = getattr(self, self._given, None)
        if given is None or given.ndim != 1 or self._busy() is None or not self.load.sum() > 0:
            return ""
        shares = self.load / self.load.sum()
        first = slice(0, _FEW)
        more = ", ..." if len(given) > _FEW else ""
        numbers = ", ".join(f"{x:.3g}" for x in given[first].tolist())
        parts = ", ".join(f"{x:.1%}" for x in shares[first].tolist())
        return (
            f"; {self._given.replace('_', '-')} {numbers}{more} get shares {parts}{more}"
            f", imbalance {self.imbalance:.4g}"
        )


def plain(value: Any) -> Any:
    """The value for JSON: arrays, records and tuples as lists, infinities as strings."""
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Plan):
        return value.to_dict()
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {
            "type": type(value).__name__,
            **{key: plain(inner) for key, inner in value._asdict().items()},
        }
    if isinstance(value, Unit):
        return {key: plain(inner) for key, inner in vars(value).items() if inner is not None}
    if isinstance(value, tuple | list):
        return [plain(inner) for inner in value]
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    return value


def _plain_array(value: NDArray[Any]) -> Any:
    if value.dtype.names:
        return plain(value.tolist())
    if value.size == 0:
        return {"shape": list(value.shape), "dtype": value.dtype.name}
    found = value.tolist()
    return plain(found) if value.dtype.kind == "f" and not np.isfinite(value).all() else found


def certified(bound: float, *, maximised: bool = False, **value: float) -> dict[str, Any]:
    """The fields of a certificate: the value by its name, its bound, and whether it is optimal."""
    ((name, own),) = value.items()
    return certificate_of(name, own, bound, maximised)


def trusted(kind: type[P], /, **given: Any) -> P:
    """The plan of a planner, with frozen arrays: it is valid, so most checks are left out.

    They would take longer than the planner of a few workers.
    """
    if Plan.checks_own:
        return kind(**given)
    plan, own = object.__new__(kind), cast(Any, kind)
    content = plan.__dict__
    content.update(_defaults(own))
    content.update(given)
    if issubclass(kind, Lazy):
        split(content)
    for value in (content[kind._value], content["bound"]):
        if not math.isfinite(value):
            raise plan._overflow()
    content["asked"] = content["asked"] or content["method"]
    return plan


@cache
def _defaults(kind: type[Plan]) -> dict[str, Any]:
    return {f.name: f.default for f in fields(kind) if f.default is not MISSING}


def require_plan(plan: Any) -> None:
    """Raise TypeError unless the argument `plan` is a plan of any kind."""
    if not isinstance(plan, Plan):
        raise TypeError(f"plan must be a plan, such as distribute makes, got {type(plan).__name__}")


def simulate(
    plan: Plan,
    platform: Platform | ArrayLike | None = None,
    *,
    drift: Sequence[tuple[float, Platform]] | None = None,
) -> Trace:
    """The trace that a plan predicts, in the plan's unit of time.

    Parameters
    ----------
    plan : Plan
        Any plan with cycle-times: from `distribute`, `distribute_profile`, `lu_pattern`, from
        `partition` with a Platform, from `Pool.plan`. A Redistribution has only messages.
    platform : Platform or (p,) array_like, optional
        Other workers that do the same: what if the speeds change? See `Plan.on`.
    drift : sequence of (time, Platform), optional
        The speeds change while the workers compute: from each time on, they are the workers of
        the platform. Times increase, in the plan's unit of time. Each worker does the same work in
        the same order, and messages take as long as planned. For plans from `distribute`,
        `distribute_profile`, `divisible_load`, `lu_grid`, `lu_pattern`, `max_tasks`, `min_time`,
        `partition`, `partition_profile`, `cuboids`, `dynamic_product`, `slice_ring`, `shared_ring`,
        and for boxes of `Pool.plan` and `plan_matmul`.

    Returns
    -------
    Trace
        With kind "simulated"; its makespan is the plan's, unless there is drift.

    Raises
    ------
    TypeError, ValueError
        The message names the argument.

    Examples
    --------
    >>> import hetsched as hs
    >>> plan = hs.distribute(10, cycle_times=[3, 5, 8])
    >>> hs.simulate(plan).makespan
    16.0
    >>> hs.simulate(plan, hs.Platform.star([3, 5, 16])).makespan
    32.0
    >>> hs.simulate(plan, drift=[(8.0, hs.Platform.star([3, 5, 16]))]).makespan
    24.0
    """
    require_plan(plan)
    if platform is not None:
        plan = plan.on(platform)
    steps = plan.steps()
    names, times = plan._rows()
    speeds = relative_speeds(times).tolist()
    if drift is None:
        ideal = _ideal(steps, speeds)
    else:
        if type(plan)._steps is Plan._steps:
            raise TypeError(
                f"drift cannot be simulated for a {type(plan).__name__}; the documentation of"
                " simulate lists the plans for which it can"
            )
        changes = changes_of(drift, len(times), plan.unit)
        work = np.zeros(len(times))
        for step in steps:
            if step.kind == "compute":
                work[step.worker] += step.end - step.start
        ideal = ideal_end(work, times, changes)
        steps = plan._steps(Drifted(times, changes))
    return Trace.from_steps(
        steps,
        names,
        kind="simulated",
        speeds=speeds,
        unit="",
        predicted=max((step.end for step in steps), default=0.0),
        ideal=ideal,
    )


def _ideal(steps: list[Step], speeds: list[float]) -> float:
    """The time of all computation, divided perfectly among the workers."""
    total = sum(speeds)
    done = [
        (speeds[step.worker], step.end - step.start) for step in steps if step.kind == "compute"
    ]
    work = sum(speed * time for speed, time in done)
    if math.isfinite(work):
        return work / total
    return sum(speed / total * time for speed, time in done)
