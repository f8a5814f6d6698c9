"""Platforms: workers, their links, and the files that describe them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._base import check
from ._base.drawn import Drawn
from ._base.frozen import Frozen
from ._base.later import later
from ._base.regular import read_text
from ._base.replace import replace_file
from ._base.schema import require_unicode
from ._base.table import Table
from ._base.toml import read_toml
from ._engine.dtypes import DTYPES, flops_per_update
from ._engine.kernels import Blocking

#: Flops in a gigaflop, bytes in a gigabyte.
UNIT = 1e9
_UNNAMED = "unnamed units"


@dataclass(frozen=True)
class Unit:
    """Units of a platform's numbers.

    Cycle-times are seconds per unit of work, link costs are seconds per unit of data.

    Parameters
    ----------
    work, data : str
        Names of the two units, such as "gigaflop" and "gigabyte", "block update" and "block",
        "task" and "message".
    flops, bytes : float, optional
        Flops of the unit of work, and bytes of the unit of data, > 0. Without them nothing can be
        converted.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.Unit.block_update(80)
    Unit(work='block update', data='block', flops=1024000.0, bytes=51200.0)
    >>> old = hs.Platform.star([0.76e-3], link_costs=[5.12e-3], unit=hs.Unit.block_update(80))
    >>> new = old.to(hs.Unit.gigaflop())
    >>> new.cycle_times.round(3).tolist(), new.link_costs.round(3).tolist()
    ([0.742], [100.0])
    """

    work: str = "gigaflop"
    data: str = "gigabyte"
    flops: float | None = None
    bytes: float | None = None

    def __post_init__(self) -> None:
        for name in ("work", "data"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise TypeError(f"{name} must be the name of a unit, got {getattr(self, name)!r}")
        for name in ("flops", "bytes"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, check.number(name, value, above=0.0))

    @classmethod
    def gigaflop(cls) -> Unit:
        """Unit of products, factorisations and stencils: 1e9 flops, 1e9 bytes."""
        return cls("gigaflop", "gigabyte", UNIT, UNIT)

    @classmethod
    def block_update(cls, q: int, dtype: DTypeLike = np.float64) -> Unit:
        """Unit of products on a star: C += A B for blocks of q x q elements, and one such block.

        Memory is counted in these blocks.

        Parameters
        ----------
        q : int
            Rows and columns of a block.
        dtype : dtype_like
            Type of the elements.
        """
        q, kind = check.integer("q", q, low=1, high=2**31 - 1), check.dtype(dtype, DTYPES)
        return cls(
            "block update", "block", flops_per_update(kind) * q**3, float(q * q * kind.itemsize)
        )

    @classmethod
    def multiply_add(cls, dtype: DTypeLike = np.float64) -> Unit:
        """Unit of layers of a product: one multiplication with its addition, and one element.

        Parameters
        ----------
        dtype : dtype_like
            Type of the elements.
        """
        kind = check.dtype(dtype, DTYPES)
        return cls("multiply-add", "element", flops_per_update(kind), float(kind.itemsize))

    def __str__(self) -> str:
        flops, data = (
            "" if x is None else f" of {x:g} {name}"
            for x, name in ((self.flops, "flops"), (self.bytes, "bytes"))
        )
        return f"seconds per {self.work}{flops} and per {self.data}{data}"


@dataclass(frozen=True, init=False)
class Worker:
    """A processor.

    Parameters
    ----------
    cycle_time : float
        Time per unit of work, > 0 and finite. For products it is seconds per gigaflop, unless a
        plan says otherwise.
    link_cost : float
        Time per unit of data between the master and this worker, >= 0. For products it is seconds
        per gigabyte.
    memory : int, optional
        Buffers of q x q elements that the worker can hold; None for no limit.
    name : str, optional
    speed : float, optional
        1 / cycle_time, given instead of it.
    domain : int or str, optional
        Number or name of the worker's domain: workers of one kind that share a cache.
    """

    cycle_time: float
    link_cost: float
    memory: int | None
    name: str | None
    domain: int | str | None

    def __init__(
        self,
        cycle_time: float | None = None,
        link_cost: float = 0.0,
        memory: int | None = None,
        name: str | None = None,
        *,
        speed: float | None = None,
        domain: int | str | None = None,
    ) -> None:
        if (cycle_time is None) == (speed is None):
            raise TypeError("give either cycle_time or speed")
        if speed is not None:
            rate = check.number("speed", speed, above=0.0)
            if rate * sys.float_info.max <= 1.0:
                raise ValueError(f"speed is too small: the cycle-time of {rate!r} overflows")
            cycle_time = 1.0 / rate
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a string, got {name!r}")
        assign = object.__setattr__
        assign(self, "cycle_time", check.number("cycle_time", cycle_time, above=0.0))
        assign(self, "link_cost", check.number("link_cost", link_cost, low=0.0))
        assign(self, "memory", None if memory is None else check.integer("memory", memory, low=0))
        assign(self, "name", name)
        assign(self, "domain", _domain(domain))

    @property
    def speed(self) -> float:
        """1 / cycle_time; infinite if the cycle-time is too small for that."""
        if self.cycle_time < 1.0 / sys.float_info.max:
            return float("inf")
        return 1.0 / self.cycle_time


def _domain(given: Any, argument: str = "domain") -> int | str | None:
    if given is None or (isinstance(given, str) and given):
        return given
    if isinstance(given, str):
        raise ValueError(f"{argument} must be a name, got ''")
    return check.integer(argument, given, low=0)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Platform(Frozen, Drawn):
    """Workers and the links between them.

    Parameters
    ----------
    workers : iterable of Worker
    links : (p, p) array_like, optional
        links[i][j] is the time per unit of data from worker i to worker j. Without links, the
        platform is a star: a master with one link to each worker (its link_cost).
    shape, right, down : optional
        For a mesh, instead of links: see `Platform.mesh`. shape is (X, Y), and the workers are
        given row by row.
    unit : Unit, optional
        Units of the numbers. A function that needs other units converts them, or raises an error.
        Without a unit, the numbers are taken in the units that a function needs: products and
        factorisations take them per gigaflop and gigabyte, `plan_product` takes them per block
        update and block.
    nodes : (p,) sequence of str, optional
        Computer of each worker, or NUMA node of a computer, if there are several: see
        `Platform.join`.
    blocks : mapping, optional
        Domain of workers -> the `Blocking` with which they multiply, as `measure` finds it. The
        domain None means the workers in no domain.

    Attributes
    ----------
    workers, links, shape, right, down, unit, nodes :
        The parameters, as tuples and read-only arrays; None if not given. The workers of a mesh are
        numbered row by row.
    blocks : dict
        The parameter; empty if not given.

    Examples
    --------
    >>> import hetsched as hs
    >>> platform = hs.Platform.star([3, 5, 8])
    >>> len(platform), platform.cycle_times.tolist()
    (3, [3.0, 5.0, 8.0])
    """

    workers: tuple[Worker, ...]
    links: NDArray[np.float64] | None
    shape: tuple[int, int] | None
    right: NDArray[np.float64] | None
    down: NDArray[np.float64] | None
    unit: Unit | None
    nodes: tuple[str, ...] | None
    blocks: dict[int | str | None, Blocking]

    def __init__(
        self,
        workers: Iterable[Worker],
        links: ArrayLike | None = None,
        *,
        shape: Sequence[int] | None = None,
        right: ArrayLike | None = None,
        down: ArrayLike | None = None,
        unit: Unit | None = None,
        nodes: Sequence[str] | None = None,
        blocks: Mapping[int | str | None, Blocking] | None = None,
    ) -> None:
        if unit is not None and not isinstance(unit, Unit):
            raise TypeError(f"unit must be a Unit, got {type(unit).__name__}")
        members = tuple(check.entries("workers", workers, "a sequence of Workers"))
        if not members:
            raise ValueError("workers is empty: a platform needs at least one worker")
        for i, worker in enumerate(members):
            if not isinstance(worker, Worker):
                raise TypeError(
                    f"workers[{i}] must be a Worker, got {type(worker).__name__}:"
                    " Platform.star takes cycle-times"
                )
        p = len(members)
        if shape is None and (right is not None or down is not None):
            raise TypeError("right and down need shape: the rows and columns of the mesh")
        if shape is not None and links is not None:
            raise TypeError("a mesh has right and down, not links")
        grid = None if shape is None else _mesh_shape(shape, p)
        along = (None, None) if grid is None else map(check.frozen, mesh_links(right, down, grid))
        assign = object.__setattr__
        assign(self, "workers", members)
        assign(self, "unit", unit)
        assign(self, "nodes", None if nodes is None else _node_names("nodes", nodes, p, "worker"))
        assign(
            self,
            "blocks",
            _blocks_of({} if blocks is None else blocks, {worker.domain for worker in members}),
        )
        assign(self, "links", None if links is None else check.frozen(link_matrix(links, p)))
        assign(self, "shape", grid)
        for name, costs in zip(("right", "down"), along, strict=True):
            assign(self, name, costs)

    @classmethod
    def star(
        cls,
        cycle_times: ArrayLike | None = None,
        link_costs: ArrayLike | None = None,
        memory: Sequence[int | None] | int | None = None,
        *,
        speeds: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        unit: Unit | None = None,
        domains: Sequence[int | str | None] | None = None,
    ) -> Platform:
        """Make a platform of a master and p workers, each on its own link.

        Parameters
        ----------
        cycle_times : (p,) array_like
            Time per unit of work, > 0 and finite.
        link_costs : (p,) array_like or float, optional
            Time per unit of data, >= 0; default 0.
        memory : (p,) sequence of int, or int, optional
            Buffers of each worker.
            Buffers of each worker.
        speeds : (p,) array_like, optional
            1 / cycle_times, given instead of them.
        names : sequence of str, optional
        unit : Unit, optional
        domains : (p,) sequence of int or str, optional
            Domain of each worker; None for a worker in no domain.
        """
        times = check.cycle_times(cycle_times, speeds)
        p = len(times)
        bad = np.isinf(times)
        if bad.any():
            name, wanted = ("cycle_times", "finite") if speeds is None else ("speeds", "positive")
            raise ValueError(f"{name}[{int(np.argmax(bad))}] must be {wanted} in a Platform")
        costs = check.each("link_costs", 0.0 if link_costs is None else link_costs, p)
        buffers = check.as_many(
            "memory", list(memory) if isinstance(memory, Sequence | np.ndarray) else [memory] * p, p
        )
        labels = [None] * p if names is None else check.names(p, names)
        given = (
            check.entries("domains", domains, "a sequence of numbers or names")
            if domains is not None
            else [None] * p
        )
        of = [
            _domain(own, f"domains[{i}]")
            for i, own in enumerate(check.as_many("domains", given, p))
        ]
        columns = zip(times.tolist(), costs.tolist(), buffers, labels, of, strict=True)
        return cls((Worker(*own, domain=domain) for *own, domain in columns), unit=unit)

    @classmethod
    def complete(
        cls,
        cycle_times: ArrayLike | None = None,
        links: ArrayLike | None = None,
        *,
        speeds: ArrayLike | None = None,
        unit: Unit | None = None,
    ) -> Platform:
        """Make a platform of workers with a link between every two of them.

        Parameters
        ----------
        cycle_times : (p,) array_like
        links : (p, p) array_like
            Time per unit of data from each worker to each.
        speeds : (p,) array_like, optional
            1 / cycle_times, given instead of them.
        unit : Unit, optional
        """
        if links is None:
            raise TypeError("a complete platform needs links")
        return cls(cls.star(cycle_times, speeds=speeds).workers, links, unit=unit)

    @classmethod
    def mesh(
        cls,
        cycle_times: ArrayLike | None = None,
        right: ArrayLike | None = None,
        down: ArrayLike | None = None,
        *,
        speeds: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        unit: Unit | None = None,
    ) -> Platform:
        """Make a mesh of X rows and Y columns of workers, each linked to its neighbours.

        The neighbours of a worker are beside, above and below it.

        Parameters
        ----------
        cycle_times : (X, Y) array_like
            Time per unit of work, > 0 and finite.
        right : (X, Y - 1) array_like
            Time per unit of data between each worker and the one to its right, >= 0; may be left
            out if there is one column.
        down : (X - 1, Y) array_like
            Time per unit of data between each worker and the one below it, >= 0; may be left out if
            there is one row.
        speeds, names, unit :
            See `star`; speeds are (X, Y), names are row by row.
        """
        name, given = ("cycle_times", cycle_times) if speeds is None else ("speeds", speeds)
        if (cycle_times is None) == (speeds is None):
            raise TypeError("give either cycle_times or speeds")
        grid = check.reals(f"{name} must be an array of real numbers, got {given!r}", given)
        if grid.ndim != 2 or grid.size == 0:
            raise ValueError(f"{name} must have rows and columns, got shape {grid.shape}")
        star = cls.star(**{name: grid.ravel()}, names=names)  # type: ignore[arg-type]
        return cls(star.workers, shape=grid.shape, right=right, down=down, unit=unit)

    @classmethod
    def join(
        cls,
        platforms: Iterable[Platform],
        names: Sequence[str] | None = None,
        *,
        links: ArrayLike | None = None,
    ) -> Platform:
        """Make one platform of the workers of several computers, named "node/core".

        Parameters
        ----------
        platforms : iterable of Platform
            Platforms of k nodes. A platform that was itself joined keeps its nodes:
            "rack/node/core".
        names : (k,) sequence of str, optional
            Names of the nodes, all different; default node0, node1, ...
        links : float or (k, k) array_like, optional
            Time per unit of data between workers of two nodes. Between workers of one node, it is
            the time of the node's own links, or 0 if it has none. Without `links`, all workers form
            one star, and keep their link costs.

        Returns
        -------
        Platform
            `nodes` says which node each worker is in.

        Raises
        ------
        ValueError
            If names of nodes or workers are not unique, for a mesh, for links within a node without
            links between the nodes, and for units that differ from the first node's and cannot be
            converted.

        Examples
        --------
        >>> import hetsched as hs
        >>> node = hs.Platform.star([1, 2])
        >>> both = hs.Platform.join([node, node], ["left", "right"])
        >>> both.names, both.nodes
        (('left/P0', 'left/P1', 'right/P0', 'right/P1'), ('left', 'left', 'right', 'right'))
        """
        parts = check.entries("platforms", platforms, "a sequence of Platforms")
        if not parts:
            raise ValueError("platforms is empty: at least one node is needed")
        for i, part in enumerate(parts):
            if not isinstance(part, Platform):
                raise TypeError(f"platforms[{i}] must be a Platform, got {type(part).__name__}")
            if part.shape is not None:
                raise ValueError(
                    f"platforms[{i}] is a mesh: a mesh cannot be part of a larger platform"
                )
            if part.links is not None and links is None:
                raise ValueError(
                    f"platforms[{i}] has links between its workers:"
                    " links between the nodes are needed too"
                )
        unit = parts[0].unit
        for i, part in enumerate(parts):
            if (unit is None) != (part.unit is None):
                raise ValueError(
                    f"platforms[0] is in {unit or _UNNAMED}, platforms[{i}] in"
                    f" {part.unit or _UNNAMED}"
                )
            if unit is not None:
                parts[i] = part.per(unit, f"platforms[0], to which platforms[{i}] is joined,")
        labels = _node_names(
            "names",
            [f"node{i}" for i in range(len(parts))] if names is None else names,
            len(parts),
            "node",
        )
        if twice := check.repeated(labels):
            raise ValueError(f"names must be unique, got {twice!r} twice")
        workers, nodes = [], []
        blocks: dict[int | str | None, Blocking] = {}
        for label, part in zip(labels, parts, strict=True):
            if twice := check.repeated(part.names):
                raise ValueError(f"names of workers must be unique, {label} has {twice!r} twice")
            nodes += (
                [label] * len(part)
                if part.nodes is None
                else [f"{label}/{node}" for node in part.nodes]
            )
            workers += [
                Worker(
                    w.cycle_time, w.link_cost, w.memory, f"{label}/{name}",
                    domain=None if w.domain is None else f"{label}/{w.domain}",
                )
                for w, name in zip(part.workers, part.names, strict=True)
            ]  # fmt: skip
            blocks |= {
                f"{label}/{domain}": own
                for domain, own in part.blocks.items()
                if domain is not None
            }
        return cls(
            workers,
            None if links is None else _joined_links(parts, links),
            unit=unit,
            nodes=nodes,
            blocks=blocks,
        )

    def replace(
        self, cycle_times: Mapping[str, float | Worker] | None = None, /, **named: float | Worker
    ) -> Platform:
        """The same platform with other cycle-times of some workers: what if?

        Parameters
        ----------
        cycle_times : mapping, optional
            Name of a worker, see `names`, -> its cycle-time, or a `Worker` in its place.
        **named : float or Worker
            The same, for names that are identifiers.

        Returns
        -------
        Platform
            Memory, links, unit and nodes stay. So do the names, unless a Worker has another one.

        Raises
        ------
        ValueError, TypeError
            For a name that no worker has, or that is given twice, and for bad cycle-times.

        Examples
        --------
        >>> import hetsched as hs
        >>> platform = hs.Platform.star([3, 5, 8], names=["n0", "n1", "gpu-0"])
        >>> platform.replace({"gpu-0": 1}, n1=10).cycle_times.tolist()
        [3.0, 10.0, 1.0]
        """
        if not (cycle_times is None or isinstance(cycle_times, Mapping)):
            raise TypeError(
                f"cycle_times must map names to cycle-times, got {check.shown(cycle_times)}"
            )
        given = dict(cycle_times or {})
        twice = sorted(given.keys() & named.keys())
        if twice:
            raise TypeError(f"the worker {twice[0]!r} is given twice")
        given |= named
        places = {name: i for i, name in enumerate(self.names)}
        workers = list(self.workers)
        for name, new in given.items():
            if name not in places:
                known = check.shown(list(places))
                raise ValueError(f"no worker has the name {name!r}; the names are {known}")
            old = workers[places[name]]
            if not isinstance(new, Worker):
                time = check.number(f"the cycle-time of {name}", new, above=0.0)
                new = Worker(time, old.link_cost, old.memory, old.name, domain=old.domain)
            workers[places[name]] = new
        return self._with(workers=workers)

    def _with(self, **changed: Any) -> Platform:
        """The platform with some of its parameters changed."""
        names = ("workers", "links", "shape", "right", "down", "unit", "nodes", "blocks")
        return Platform(**{name: getattr(self, name) for name in names} | changed)

    def to(self, unit: Unit) -> Platform:
        """The same platform in other units.

        Parameters
        ----------
        unit : Unit
            Must have flops and bytes.

        Returns
        -------
        Platform
            Memory, counted in blocks, changes with the bytes of a block, and is rounded down.

        Raises
        ------
        ValueError
            If this platform's unit is not known, or one of the two units has no flops or bytes.
        """
        own = self.unit
        if not isinstance(unit, Unit):
            raise TypeError(f"unit must be a Unit, got {type(unit).__name__}")
        if own == unit:
            return self
        if (
            own is None
            or own.flops is None
            or own.bytes is None
            or unit.flops is None
            or unit.bytes is None
        ):
            raise ValueError(
                f"the platform is in {own or _UNNAMED}, which cannot be converted to {unit}"
            )
        work, data = unit.flops / own.flops, unit.bytes / own.bytes
        workers = [
            Worker(
                w.cycle_time * work,
                w.link_cost * data,
                None if w.memory is None else int(w.memory / data),
                w.name,
                domain=w.domain,
            )
            for w in self.workers
        ]
        costs = (self.links, self.right, self.down)
        links, right, down = (None if x is None else x * data for x in costs)
        return self._with(workers=workers, links=links, right=right, down=down, unit=unit)

    def per(self, unit: Unit, what: str) -> Platform:
        """The platform in the unit that `what` needs.

        A platform that does not name its unit is returned as it is.

        Parameters
        ----------
        unit : Unit
            The unit that is needed.
        what : str
            What the unit is needed for, as the error message names it.

        Raises
        ------
        ValueError
            If this platform's unit cannot be converted; the message names both units.
        """
        if not isinstance(unit, Unit):
            raise TypeError(f"unit must be a Unit, got {unit!r}")
        own = self.unit
        if (
            own is None
            or own == unit
            or (own.work, own.data) == (unit.work, unit.data)
            and None in (own.flops, unit.flops)
        ):
            return self
        try:
            return self.to(unit)
        except ValueError:
            raise ValueError(f"{what} needs {unit}, but the platform is in {own}") from None

    @property
    def cycle_times(self) -> NDArray[np.float64]:
        """(p,) time per unit of work."""
        return np.array([w.cycle_time for w in self.workers])

    @property
    def speeds(self) -> NDArray[np.float64]:
        """(p,) 1 / cycle_times."""
        return np.array([w.speed for w in self.workers])

    @property
    def link_costs(self) -> NDArray[np.float64]:
        """(p,) time per unit of data from the master."""
        return np.array([w.link_cost for w in self.workers])

    @property
    def memory(self) -> tuple[int | None, ...]:
        """Buffers of each worker; None for no limit."""
        return tuple(w.memory for w in self.workers)

    @property
    def domains(self) -> tuple[int | str | None, ...]:
        """Domain of each worker; None for a worker in no domain."""
        return tuple(w.domain for w in self.workers)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the workers; P0, P1, ... if not given, with a prime if another worker has it."""
        given = {w.name for w in self.workers}
        return tuple(
            (f"P{i}'" if f"P{i}" in given else f"P{i}") if w.name is None else w.name
            for i, w in enumerate(self.workers)
        )

    def __len__(self) -> int:
        return len(self.workers)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Platform):
            return NotImplemented
        costs: Any = ((self.links, other.links), (self.right, other.right), (self.down, other.down))
        own, its = ((x.workers, x.shape, x.unit, x.nodes, x.blocks) for x in (self, other))
        return own == its and all(np.array_equal(mine, theirs) for mine, theirs in costs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        times = ", ".join(f"{t:g}" for t in self.cycle_times[:6])
        if len(self) > 6:
            times += ", ..."
        if self.links is not None:
            kind = "complete"
        elif self.shape is None:
            kind = "star"
        else:
            kind = "{} x {} mesh".format(*self.shape)
        return f"<Platform: {kind}, {len(self)} workers, cycle-times {times}>"

    def _repr_html_(self) -> str:
        star = self.links is None and self.shape is None
        rows = Table(
            {
                "name": name,
                "cycle-time": worker.cycle_time,
                **({"link cost": worker.link_cost} if star else {}),
                "memory": "no limit" if worker.memory is None else worker.memory,
            }
            for name, worker in zip(self.names, self.workers, strict=True)
        )
        return super()._repr_html_() + rows._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """The plain Python values that `save` writes."""
        workers = [
            {key: value for key, value in vars(worker).items() if value is not None}
            for worker in self.workers
        ]
        content: dict[str, Any] = {"format": "hetsched-platform", "version": 1, "worker": workers}
        if self.unit is not None:
            content["unit"] = {
                key: value for key, value in vars(self.unit).items() if value is not None
            }
        if self.nodes is not None:
            content["nodes"] = list(self.nodes)
        if self.blocks:
            content["blocks"] = [_blocks_table(domain, own) for domain, own in self.blocks.items()]
        if self.links is not None:
            content["links"] = self.links.tolist()
        if self.shape is not None and self.right is not None and self.down is not None:
            content |= {
                "shape": list(self.shape),
                "right": self.right.tolist(),
                "down": self.down.tolist(),
            }
        return content

    @classmethod
    def from_dict(cls, content: Any) -> Platform:
        """The inverse of `to_dict`; a worker may have speed instead of cycle_time.

        Parameters
        ----------
        content : mapping
            See `to_dict`.
        """
        if not isinstance(content, dict):
            raise ValueError("a platform needs a list 'worker' of tables")
        if (
            content.get("format", "hetsched-platform") != "hetsched-platform"
            or content.get("version", 1) != 1
        ):
            raise ValueError(
                "it is a plan, not a platform"
                if content.get("format") == "hetsched-plan"
                else f"unknown format {content.get('format')!r}, version {content.get('version')!r}"
            )
        places = ("links", "shape", "right", "down", "nodes")
        check.keys(
            content, ("format", "version", "worker", *places, "unit", "blocks"), " in a platform"
        )
        if not isinstance(content.get("worker"), list):
            raise ValueError("a platform needs a list 'worker' of tables")
        workers = []
        for i, table in enumerate(content["worker"]):
            try:
                if not isinstance(table, dict):
                    raise TypeError(f"a worker must be a table, got {table!r}")
                check.keys(table, ("cycle_time", "link_cost", "memory", "name", "speed", "domain"))
                workers.append(Worker(**table))
            except (TypeError, ValueError) as error:
                raise ValueError(f"worker {i}: {error}") from error
        unit, blocks = _unit_of(content.get("unit")), _blocks_from(content.get("blocks", []))
        return cls(
            workers, **{name: content.get(name) for name in places}, unit=unit, blocks=blocks
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the platform to a .toml or .json file (first beside it, then renamed).

        Parameters
        ----------
        path : path
            The suffix says which of the two formats is written.

        Raises
        ------
        ValueError
            For another suffix. For .toml, also if a name has half of a surrogate pair, which UTF-8
            cannot hold.
        """
        if file_kind(path) == ".json":
            text = json.dumps(self.to_dict(), indent=2) + "\n"
        else:
            for name in (*self.names, *(self.nodes or ())):
                require_unicode("names", name)
            text = _toml(self.to_dict())
        with replace_file(path) as file:
            file.write(text.encode())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Platform:
        """Read a .toml or .json file written by `save` or by hand.

        Parameters
        ----------
        path : path
            The suffix says which of the two formats is read.

        Raises
        ------
        OSError
            If the file cannot be read.
        ValueError
            If the file is not a platform; the message names the file and the entry.
        """
        kind = file_kind(path)
        try:
            return cls.from_dict(
                json.loads(read_text(path)) if kind == ".json" else read_toml(path)
            )
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"{path}: {error}") from error


def as_platform(name: str, given: Any) -> Platform:
    """The Platform itself, or a star of workers with the given cycle-times."""
    if isinstance(given, Platform):
        return given
    if isinstance(given, list | tuple | np.ndarray):
        return Platform.star(check.cycle_times(given, None, name=name))
    raise TypeError(
        f"{name} must be a Platform, or the cycle-times of its workers, got {type(given).__name__}"
    )


def require_star(name: str, given: Any) -> None:
    """Raise ValueError for a Platform with other links than those of a master to each worker."""
    if isinstance(given, Platform) and (given.shape is not None or given.links is not None):
        kind = "a mesh" if given.links is None else "complete"
        raise ValueError(
            f"{name} must be a star, with a link from the master to each worker, but it is {kind}"
        )


def file_kind(path: str | PathLike[str]) -> str:
    """The suffix of a platform's file, .toml or .json; ValueError for another one."""
    name = check.path("path", path)
    kind = Path(name).suffix
    if kind not in (".toml", ".json"):
        raise ValueError(f"path must end in .toml or .json, got {name!r}")
    return kind


def names_of(platform: Any, p: int) -> tuple[str, ...]:
    """The names of a Platform's workers; P0, P1, ... if it is something else."""
    names: tuple[str, ...] | None = getattr(platform, "names", None)
    # a generator, because Ctrl-C can end it
    return tuple(f"P{i}" for i in range(p)) if names is None else names


def _unit_of(table: Any) -> Unit | None:
    """The Unit of a file, if it has one."""
    if table is None:
        return None
    try:
        if not isinstance(table, dict):
            raise TypeError(
                f"it must be a table with work, data, flops and bytes, got {table!r:.60}"
            )
        check.keys(table, [f.name for f in fields(Unit)])
        return Unit(**table)
    except (TypeError, ValueError) as error:
        raise ValueError(f"unit: {error}") from error


def _blocks_of(given: Any, domains: set[int | str | None]) -> dict[int | str | None, Blocking]:
    """The given blocks of some of the domains, checked."""
    if not isinstance(given, Mapping):
        raise TypeError(f"blocks must map domains to Blockings, got {given!r:.60}")
    for domain, own in given.items():
        if domain not in domains:
            raise ValueError(f"blocks has the domain {domain!r}, but no worker is in that domain")
        if not isinstance(own, Blocking):
            raise TypeError(f"blocks[{domain!r}] must be a Blocking, got {type(own).__name__}")
    return dict(given)


def _blocks_table(domain: int | str | None, own: Blocking) -> dict[str, Any]:
    """Table of blocks for a file, without the values that are None."""
    table = {"domain": domain, **vars(own)}
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in table.items()
        if value is not None
    }


def _blocks_from(tables: Any) -> dict[int | str | None, Blocking]:
    """Blocks from the tables of a file."""
    if not isinstance(tables, list):
        raise ValueError(f"blocks must be tables, got {tables!r:.60}")
    found: dict[int | str | None, Blocking] = {}
    for i, table in enumerate(tables):
        try:
            if not isinstance(table, dict):
                raise TypeError(
                    "it must be a table with domain, kernel, depth, rows and cols, got"
                    f" {table!r:.60}"
                )
            check.keys(table, ("domain", *(f.name for f in fields(Blocking))))
            domain = _domain(table.get("domain"))
            if domain in found:
                raise ValueError(f"domain {domain!r} occurs twice")
            found[domain] = Blocking(
                **{key: value for key, value in table.items() if key != "domain"}
            )
        except (TypeError, ValueError) as error:
            raise ValueError(f"blocks {i}: {error}") from error
    return found


def whose(given: Any, p: int, *, lazily: bool = False) -> dict[str, Any]:
    """The fields of a plan about its workers, from a Platform or from numbers.

    These are `names` (computed later for a `Lazy` plan) and `unit`.
    """
    if isinstance(given, Platform):
        return {"names": given.names, "unit": given.unit}
    return {"names": later(lambda: names_of(None, p)) if lazily else names_of(None, p)}


def relative_speeds(cycle_times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Speeds relative to the fastest worker; 0 for an infinite cycle-time. Never overflows."""
    speeds: NDArray[np.float64] = cycle_times.min() / cycle_times
    return speeds


def divided_time(work: float, cycle_times: NDArray[np.float64]) -> float:
    """Time of the work divided perfectly over the speeds. It does not overflow before it has to."""
    return work / float(relative_speeds(cycle_times).sum()) * float(cycle_times.min())


def link_matrix(links: ArrayLike, p: int, name: str = "links") -> NDArray[np.float64]:
    if type(links) is np.ndarray and links.dtype == np.float64 and links.ndim == 2:
        matrix: NDArray[np.float64] = np.empty(links.shape)
        for first, rows in check.row_blocks(matrix):  # new memory takes longest
            rows[:] = links[first : first + len(rows)]
    else:
        matrix = check.reals(f"{name} must be a matrix of real numbers", links)
    if matrix.shape != (p, p):
        raise ValueError(f"{name} must have shape ({p}, {p}), got {matrix.shape}")
    np.fill_diagonal(matrix, 0.0)  # no worker sends to itself
    return check.not_negative(name, matrix)


def _node_names(argument: str, given: Sequence[str], count: int, of: str) -> tuple[str, ...]:
    """One name for each worker or node, not empty; only names of nodes of nodes may contain "/"."""
    found = check.as_many(
        argument, check.entries(argument, given, "a sequence of strings"), count, of
    )
    for i, name in enumerate(found):
        if not isinstance(name, str):
            raise TypeError(f"{argument}[{i}] must be a string, got {name!r}")
        if not name or (argument == "names" and "/" in name):
            raise ValueError(f"{argument}[{i}] must be a name without /, got {name!r}")
    return tuple(found)


def _joined_links(parts: Sequence[Platform], links: ArrayLike) -> NDArray[np.float64]:
    """(p, p) link costs between the workers of all nodes, from the costs between the nodes."""
    k = len(parts)
    between = link_matrix(
        np.full((k, k), check.number("links", links, low=0.0)) if np.isscalar(links) else links, k
    )
    of = np.repeat(np.arange(k), [len(part) for part in parts])
    joined: NDArray[np.float64] = between[of][:, of]  # 0 within a node
    first = 0
    for part in parts:
        last = first + len(part)
        if part.links is not None:
            joined[first:last, first:last] = part.links
        first = last
    return joined


def _mesh_shape(shape: Any, p: int) -> tuple[int, int]:
    try:
        rows, columns = shape
    except (TypeError, ValueError):
        raise TypeError(f"shape must be the rows and columns of a mesh, got {shape!r}") from None
    x, y = check.integer("shape[0]", rows, low=1), check.integer("shape[1]", columns, low=1)
    if x * y != p:
        raise ValueError(f"shape must be rows and columns of {p} workers, got {x} x {y}")
    return x, y


def mesh_links(
    right: ArrayLike | None, down: ArrayLike | None, shape: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Link costs along the rows and the columns of a mesh of that shape.

    If a mesh of that shape has no such links, None or [] is allowed.
    """
    x, y = shape
    found = []
    for name, given, wanted in (("right", right, (x, y - 1)), ("down", down, (x - 1, y))):
        costs = check.reals(
            f"{name} must be an array of real numbers, got {given!r}",
            [] if given is None else given,
        )
        if 0 in wanted and costs.size == 0:
            costs = np.zeros(wanted)
        if costs.shape != wanted:
            was = "None" if given is None else f"shape {costs.shape}"
            raise ValueError(
                f"{name} must have shape {wanted} for a mesh of {x} x {y} nodes, got {was}"
            )
        found.append(check.not_negative(name, costs))
    return found[0], found[1]


def _toml(content: dict[str, Any]) -> str:
    """TOML of a platform; strings, numbers and lists of JSON are also TOML, except for U+007F."""

    def line(key: str, value: Any) -> str:
        return f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")

    lines = [
        line(key, value)
        for key, value in content.items()
        if key not in ("worker", "unit", "blocks")
    ]
    if "unit" in content:
        lines += ["", "[unit]"] + [line(key, value) for key, value in content["unit"].items()]
    for name in ("worker", "blocks"):
        for table in content.get(name, []):
            lines += ["", f"[[{name}]]"] + [line(key, value) for key, value in table.items()]
    return "\n".join(lines) + "\n"
