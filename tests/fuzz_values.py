"""Arguments for tests/fuzz.py: Python expressions, drawn from what the public functions declare of
their parameters.

A declaration is the type in the numpydoc section "Parameters" (`(p,) array_like`, `{"best",
"fifo"}`, `Platform or ...`), else the annotation, else what another function declares of a
parameter of that name. So a new function needs no edit here.
"""

from __future__ import annotations

import datetime
import inspect
import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np

import hetsched as hs
from hetsched.plan import Plan

#: What the expressions are made of, and how a program gets it.
SPACE = {
    "np": np,
    "hs": hs,
    "nan": math.nan,
    "inf": math.inf,
    "Fraction": Fraction,
    "Decimal": Decimal,
    "datetime": datetime,
    "frozen": lambda array: (array.setflags(write=False), array)[1],
}
IMPORTS = (
    "import datetime; from decimal import Decimal; from fractions import Fraction; from math import"
    " inf, nan; import numpy as np; import hetsched as hs; frozen = lambda a:"
    " (a.setflags(write=False), a)[1]"
)
#: What no declaration says: benign values by name. Those of `_LIMITS` are seconds or work, so that
#: a large one is no fault.
_LIMITS = {
    "budget": ["0.01", "None"],
    "seconds": ["0.001"],
    "orders": ["0", "1", "10"],
    "sample": ["0.0", "0.001"],
    "time_scale": ["1.0", "1e-3"],
    "flops": ["None", "1.0"],
}
_HINTS = _LIMITS | {
    "lu_and_piv": ["hs.lu_factor(np.eye(<n>) + 1.0)", "(np.eye(<n>), range(<n>))"],
    "c_and_lower": ["hs.cho_factor(np.eye(<n>) + 1.0)", "(np.eye(<n>), True)"],
    "cond": ["None", "1e-10", "0.5"],
    "Pool.sweep.kernel": [
        "hs.Stencil([[0, 1, 0], [1, 0, 1], [0, 1, 0]])",
        "lambda a, i, j, h, w: None",
    ],
    "MeasuredPlatform.profile.kernel": ["'gemm'"],
    "MeasuredPlatform.chunk_profiles.kernel": ["'gemm'"],
    "worker": ["0", "1"],
    "function": ["abs", "str"],
    **{
        f"{name}.{p}": values
        for name in ("plan_files", "matmul_files")
        for p, values in {
            "a": ["np.ones((<m>, <k>))", "np.ones((<m> + 1, <k>))", "'missing.npy'"],
            "b": ["np.ones((<k>, <n>))"],
            "out": ["np.zeros((<m>, <n>))", "'out.npy'"],
            "memory": ["2**24", "'16 MiB'", "'1 MiB'", "1000"],
            "pool": ["hs.Pool(2)", "None"],
        }.items()
    },
    "path": ["'file.json'", "'file.toml'", "'file.csv'"],
    "Platform.load.path": ["'platform.json'", "'platform.toml'", "'missing.toml'"],
    "Pool.run.plan": [
        "hs.Pool(2).plan(<m>, <n>, <k>)",
        "hs.partition([1, 2], shape=(<m> + 1, <n> + 1))",
        "hs.partition_profile((<m> + 1, <n> + 1), [1, 2])",
        "hs.cuboids([1, 2])",
        "hs.layers_star(<k>, [1, 2])",
    ],
    "Pool.run.layers": ["None", "None", "'.'", "'missing'"],
    "LayerFiles.files": [
        "[np.save('layer.npy', np.ones((<m>, <n>))) or 'layer.npy']",
        "['missing.npy']",
    ],
    "LayerFiles.sum.rows": ["None", "slice(0, 2)", "slice(5, 1)"],
    "Pool.sweep.plan": ["hs.wavefront(1, 2, [1, 1])", "hs.wavefront(<m> + 1, <n> + 1, [1, 1])"],
    "Pool.sweep.image": ["np.ones((<m> + 1, <n> + 2))"],
    "FactorPlan.label.panel": ["0", "1"],
    "FactorPlan.label.block": ["0", "1"],
    "SpeedProfile.at.sizes": ["[10, 100]", "3.5"],
    # sums that are equal, mostly
    "redistribute.before": ["range(<p>)", "range(<p>)", "[3] * <p>"],
    "redistribute.after": ["range(<p>)[::-1]", "np.roll(range(<p>), 1)", "[3] * <p>"],
    "redistribute.ring": ["range(<p>)[::-1]", "None", "[0]"],
    "topology.source": ["'/'"],
    "layers_network.source": ["0"],
    "network": [
        "[(0, 1, 0.5)]",
        "[(i, i + 1, 0.5) for i in range(10)]",
        "[(i, 10, 1.0) for i in range(10)]",
        "[]",
    ],
    "routes": ["None", "{}", "{(0, 1): [0]}"],
    "shared_ring.ring": ["None", "[0]", "[0, 1]"],
    "layers_mesh.source": ["(0, 0)", "(<X> - 1, <Y> - 1)"],
    # a million blocks take minutes
    **{f"plan_product.{size}": ["1", "2", "3", "4", "10", "100"] for size in "rst"},
    "plan_star_lu.n": ["1", "2", "3", "6"],
    "plan_star_lu.method": ["'oddoml'", "'maxreuse'", "'overlap'", "'bmm'", "'best'"],
    "wavefront.rows": ["1", "2", "3", "10", "17", "100", "1000"],  # 100,000 take a minute
    "wavefront.cols": ["1", "2", "3", "10", "17", "100"],
    "map_tasks.workers": ["1", "2", "3", "None"],  # processes
    "start_method": ["'fork'", "None"],
    "progress": ["None", "lambda fraction: None"],
    "sizes": ["None", "{'gemm': [8]}"],
    "mask": ["('W', 'N')", "'W N'", "('W', 'N', 'NW')", "'W,N,NE'", "('W', 'N', 'SW')"],
    "Trace.from_steps.steps": [
        "[(0, 'compute', 0.0, 1.0, 'x')]",
        "hs.distribute(5, [1, 2]).steps()",
    ],
    "content": ["hs.Platform.star([1, 2]).to_dict()", "{'worker': [{'cycle_time': 1.0}]}"],
    "dtypes": ["('float64',)", "('float32', 'complex128')"],
    "profiles": [
        "[3, 5]",
        "[[0, 1, 2, 3], 4]",
        "[([1, 10, 60], [8, 10, 30]), 3, 4]",
        "[lambda x: 2.0 * x, 5]",
    ],
    **{
        f"{name}.profiles": [
            "[3, 5]",
            "[lambda h, w: 2.0 * h * w + h, 5]",
            "[[[0, 0, 0], [0, 1, 2]], 3, 4]",
            "[([1, 9], [2, 8], [[1, 9], [8, float('inf')]]), 3, 4]",
        ]
        for name in (
            "partition_profile",
            "plan_matmul",
            "lu_pattern",
            "plan_lu",
            "plan_factor",
            "Pool.plan",
            "Pool.plan_lu",
            "Pool.plan_factor",
        )
    },
    "map_tasks.tasks": ["[1, 2, 3]", "range(5)", "[]"],
    "Pool.map_tasks.tasks": ["[1, 2, 3]", "range(5)", "[]"],
    "ax": ["None"],
    "study.function": [
        "lambda x=1, seed=0: x",
        "lambda **cell: cell",
        "lambda x, y=1: 1 / 0",
        "hs.distribute",
    ],
    "grid": [
        "{'x': [1, 2.5]}",
        "{'x': ['a', None], 'y': (True, 1)}",
        "[{'x': 1}, {'x': [1, 2]}]",
        "{}",
        "{'n': [5], 'speeds': [[1, 2]]}",
    ],
    "samples": ["None", "2", "10"],
    "repeats": ["1", "3"],
    "n_jobs": ["1"],
    "study.path": ["None", "'table.csv'", "'table.parquet'", "'file.json'"],
}
#: Shapes of operands that are declared as array_like only, in the letters of the sizes of one call.
_SHAPES = {
    "A": "m, k",
    "B": "k, n",
    "out": "m, n",
    "a": "m, k",
    "plan_files.b": "k, n",
    "matmul_files.b": "k, n",
    "C": "m, n",
    "U": "m, n",
    "image": "m, n",
    "cycle_times": "p",
    "speeds": "p",
    "link_costs": "p",
    "panel_times": "p",
    "links": "p, p",
    "right": "X, Y - 1",
    "down": "X - 1, Y",
    "min_chunk": "p",
}
#: Of these functions A is square.
_SQUARE = {"det", "solve"}
_FLOATS = ["0.0", "0.25", "0.5", "1.0", "2.0", "3.5", "10.0", "1000.0"]
_SIZES = ["0", "1", "2", "3", "3", "4", "6", "10", "10", "17", "100", "1000", "100000"]
_HOSTILE_NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "0",
    "0.0",
    "-0.0",
    "5e-324",
    "1e-312",
    "2.3e-308",
    "1e308",
    "1.7e308",
    "-1e308",
    "1e-300",
    "2**31 - 1",
    "2**31",
    "2**53",
    "2**53 + 1",
    "2**63 - 1",
    "2**63",
    "2**64",
    "10**30",
    "10**400",
    "-1",
    "-2.5",
    "0.5",
    "1.5",
    "285.0",
    "np.float32(3)",
    "np.int8(100)",
    "np.uint64(2**63)",
    "np.float16(0.5)",
    "Fraction(1, 3)",
    "Decimal('1.5')",
    "1j",
    "True",
    "np.bool_(True)",
    "np.longdouble(2)",
]
_HOSTILE = [
    "None",
    "'x'",
    "''",
    "'auto'",
    "b'x'",
    "[]",
    "()",
    "{}",
    "set()",
    "object()",
    "[[1, 2], [3]]",
    "[1, [2, 3]]",
    "[1, None]",
    "['a', 'b']",
    "[True, False]",
    "np.array([])",
    "np.zeros((0, 3))",
    "np.zeros((3, 0))",
    "np.array(3.0)",
    "np.array([1, 2], object)",
    "np.array([[1, 'a'], [None, 2]], object)",
    "np.ones((2, 2, 2))",
    "np.array([1.0, 2.0], '>f8')",
    "np.array([1, 2], '>i4')",
    "np.array(['1', '2'])",
    "np.array([1 + 2j, 3])",
    "np.array([1, 2], np.longdouble)",
    "np.array([1, 2], 'M8[s]')",
    "lambda: 0",
    "range(3)",
    "iter([1, 2])",
    "(x for x in [1.0, 2.0])",
    "[nan, 1.0]",
    "[inf, 1.0]",
    "[inf, inf]",
    "[0.0, 0.0]",
    "[-1.0, 2.0]",
    "[1e308, 1e308]",
    "[5e-324, 1.0]",
    "[1e-320, 1e308]",
    "[10**400, 1]",
    "[2**63, 1]",
    "np.ma.masked_array([1.0, 2.0], [True, False])",
    "np.recarray((2,), [('a', float)])",
    "memoryview(b'ab')",
    "Ellipsis",
    "[np.ones(2), np.ones(3)]",
    "{'a': 1}",
    "{1.0, 2.0}",
    "slice(0, 3)",
    "datetime.date(2020, 1, 1)",
    "NotImplemented",
]


class Parameter(NamedTuple):
    name: str
    kind: Any  # of inspect
    optional: bool
    declared: str  # a type, numpydoc's or the annotation
    text: str  # its description


class Call(NamedTuple):
    """A call as expressions: what is called, and its arguments by position and by name."""

    callee: str
    positional: tuple[tuple[str, str], ...]  # (name, expression)
    named: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        words = [value for _, value in self.positional]
        words += [f"{name}={value}" for name, value in self.named]
        return f"{self.callee}({', '.join(words)})"


class Target(NamedTuple):
    """A public callable: `call` is its expression, with "self." first for a method of an instance
    of `owner`."""

    name: str
    owner: str | None
    call: str
    function: Any
    parameters: tuple[Parameter, ...]
    returns: str


def _section(function: Any) -> dict[str, tuple[str, str]]:
    """name -> (type, description) of the numpydoc section "Parameters"."""
    found = {}
    text = re.search(
        r"Parameters\n-+\n(.*?)(?=\n\n[A-Z][a-z]+\n-{3,}|\Z)", inspect.getdoc(function) or "", re.S
    )
    for entry in re.split(r"\n(?=\S)", text[1]) if text else ():
        head, _, description = entry.partition("\n")
        names, _, declared = head.partition(":")
        for name in names.replace("*", "").split(","):
            found[name.strip()] = (declared.strip(), description)
    return found


def _target(name: str, owner: str | None, call: str, function: Any) -> Target:
    section = _section(function)
    parameters = []
    for p in inspect.signature(function).parameters.values():
        if p.name == "self":
            continue
        annotation = "" if p.annotation is p.empty else str(p.annotation)
        declared, text = section.get(p.name, ("", ""))
        optional = p.default is not p.empty
        parameters.append(Parameter(p.name, p.kind, optional, declared or annotation, text))
    returns = (
        inspect.signature(function).return_annotation if not inspect.isclass(function) else name
    )
    return Target(name, owner, call, function, tuple(parameters), str(returns))


@cache
def targets() -> dict[str, Target]:
    """Every public function, constructor with declared parameters, and public method with
    parameters, by its name.

    What a class has from another public class is fuzzed there; methods without parameters are
    called on every result.
    """
    found = {}
    for name in hs.__all__:
        thing = getattr(hs, name)
        if inspect.ismodule(thing):
            for member in getattr(thing, "__all__", ()):
                if inspect.isfunction(function := getattr(thing, member)):
                    found[f"{name}.{member}"] = _target(
                        f"{name}.{member}", None, f"hs.{name}.{member}", function
                    )
        elif not inspect.isclass(thing):
            found[name] = _target(name, None, f"hs.{name}", thing)
        elif not issubclass(thing, Exception):
            if _section(thing):
                found[name] = _target(name, None, f"hs.{name}", thing)
            for member, value in vars(thing).items():
                if member.startswith("_") or not (
                    inspect.isfunction(value) or isinstance(value, classmethod | staticmethod)
                ):
                    continue
                full, own = f"{name}.{member}", inspect.isfunction(value)
                target = _target(
                    full,
                    name if own else None,
                    f"self.{member}" if own else f"hs.{full}",
                    getattr(thing, member),
                )
                if {p.name for p in target.parameters} - {"ax"}:
                    found[full] = target
    return found


@cache
def _elsewhere(name: str) -> tuple[str, str] | None:
    """What another function declares in numpydoc of a parameter of this name; the functions in
    their order."""
    for target in targets().values():
        declared, text = _section(target.function).get(name, ("", ""))
        if declared:
            return declared, text
    return None


def _refers(text: str) -> bool:
    """Whether a description only says where the parameter is described."""
    return re.match(r"\s*(As|See)\b", text) is not None


@cache
def declaration(target: Target, p: Parameter) -> tuple[str, str]:
    """Type and description: its own, that of a function which its docstring refers to, or of any
    parameter of that name."""
    if (
        p.declared
        and (p.text or re.search(r"[{(]", p.declared))
        and not _refers(p.text)
        and "ArrayLike" not in p.declared
    ):
        return p.declared, p.text
    for name in re.findall(
        r"`(?:hs\.)?([\w.]+)`", p.text + (inspect.getdoc(target.function) or "")
    ):
        for full in (f"{target.name.rpartition('.')[0]}.{name}", name):
            if full in targets() and full != target.name:
                for other in targets()[full].parameters:
                    if other.name == p.name and other.text and not _refers(other.text):
                        return other.declared, other.text
    if p.declared and "ArrayLike" not in p.declared and p.declared not in ("str", "Any"):
        return p.declared, p.text
    return _elsewhere(p.name) or (p.declared, p.text)


@cache
def makers(kind: str) -> tuple[str, ...]:
    """The targets that give an instance of this public class, or of any plan, by their return
    annotations."""
    classes = [n for n in hs.__all__ if inspect.isclass(getattr(hs, n))]
    kinds = {n for n in classes if issubclass(getattr(hs, n), Plan)} if kind == "Plan" else {kind}
    found = [
        t.name
        for t in targets().values()
        if kinds & set(re.findall(r"\w+", t.returns)) and not t.owner
    ]
    own = [
        t.name
        for t in targets().values()
        if kinds & set(re.findall(r"\w+", t.returns)) and t.owner and t.owner not in kinds
    ]
    return tuple(found or own)


class Draw:
    """One call's arguments: related sizes agree, and the magnitudes are of one style."""

    def __init__(self, rng: Random, outer: Draw | None = None) -> None:
        self.rng, self.depth, self.calm = rng, 1 + outer.depth if outer else 0, outer is not None
        few = rng.choice([1, 2, 2, 3, 3, 3, 4, 5, 6, 8, 12])
        sizes = [rng.choice([0, 1, 1, 2, 3, 4, 5, 8, 17]) for _ in range(3)]
        self.sizes = dict(zip("mnk", sizes, strict=True)) | {
            "p": few,
            "X": rng.randint(1, 3),
            "Y": rng.randint(1, 3),
            "b": few,
        }
        if outer and rng.random() < 0.8:
            self.sizes = outer.sizes
        self.style = (
            "plain"
            if outer
            else rng.choices(("plain", "spread", "wide", "huge", "tiny"), (60, 18, 10, 7, 5))[0]
        )

    # ---- numbers and arrays ----

    def real(self) -> str:
        rng = self.rng
        if self.style == "spread":
            return repr(10.0 ** rng.uniform(-4, 4))
        if self.style == "wide":
            return repr(10.0 ** rng.uniform(-320, 308))
        if self.style == "huge":
            return repr(rng.choice([1e308, 1.7e308, 1e307, 1e300, 1e290, 2.0**1000]))
        if self.style == "tiny":
            return repr(rng.choice([5e-324, 1e-320, 1e-312, 2.3e-308, 1e-300]))
        return rng.choice(
            [
                str(rng.randint(1, 9)),
                str(rng.randint(1, 9)),
                repr(round(rng.uniform(0.1, 10), 2)),
                "1.0",
                "0.5",
            ]
        )

    def integer(self) -> str:
        sizes = _SIZES[:9] if self.calm else _SIZES
        return self.rng.choice(sizes)

    def _extents(self, letters: str) -> list[int]:
        extents = []
        for part in letters.split(","):
            part = part.strip()
            if part == "...":
                extents += [self.rng.randint(0, 3) for _ in range(self.rng.randint(0, 2))]
            elif part:
                letter, _, less = part.partition("-")
                known = self.sizes.get(letter.strip())
                extents.append(
                    int(letter)
                    if letter.isdigit()
                    else max(0, (2 if known is None else known) - int(less or 0))
                )
        return extents

    def nested(self, extents: list[int], item: Any = None) -> str:
        if not extents:
            return (item or self.real)()
        if self.rng.random() < 0.15:  # all equal
            one = self.nested(extents[1:], item)
            return f"[{', '.join([one] * extents[0])}]"
        return f"[{', '.join(self.nested(extents[1:], item) for _ in range(extents[0]))}]"

    def array(self, letters: str, item: Any = None) -> str:
        extents = self._extents(letters)
        text = self.nested(extents, item)
        if 0 in extents:
            return f"np.zeros({tuple(extents)})"
        form = self.rng.random()
        if form < 0.75:
            return text
        if form < 0.85:
            return (
                f"np.array({text}, {self.rng.choice(_DTYPES)})"
                if self.style == "plain"
                else f"np.array({text})"
            )
        if form < 0.9 and extents:
            return f"np.repeat(np.array({text}), 2, axis=-1)[..., ::2]"
        if form < 0.93 and extents:
            return f"np.array({text})[..., ::-1]"
        return f"frozen(np.array({text}))"

    def instance(self, kind: str) -> str:
        """An expression for an instance of a public class: a calm call of one of its makers."""
        if kind == "Pool":
            return "hs.Pool(2)" if self.rng.random() < 0.4 else self.rng.choice(_POOLS)
        if kind == "MeasuredPlatform":
            return (
                "hs.measure(kernels=('gemm',), dtypes=('float64',), sizes={'gemm': [8]},"
                " seconds=0.001)"
            )
        if kind == "Topology":
            return "hs.topology()"
        if kind == "Trace":
            return "hs.simulate(hs.distribute(5, [1.0, 2.0]))"
        names = makers(kind) if self.depth < 3 else ()
        if not names:
            return "None"
        for _ in range(6):
            text = str(Draw(self.rng, self).call(targets()[self.rng.choice(names)]))
            try:
                eval(text, dict(SPACE))
            except Exception:  # not so calm
                continue
            return text
        return "None"

    def network(self) -> str:
        """Links away from node 0, of all p nodes."""
        ends = [(self.rng.randrange(i), i) for i in range(1, self.sizes["p"])]
        ends += [e for e in ((0, i) for i in range(2, self.sizes["p"])) if self.rng.random() < 0.3]
        return f"[{', '.join(f'[{a}, {b}, {self.real()}]' for a, b in ends)}]"

    # ---- parameters ----

    def value(self, target: Target, p: Parameter) -> str:
        hints = _HINTS.get(f"{target.name}.{p.name}", _HINTS.get(p.name))
        if hints:
            return re.sub(
                "<(.)>", lambda letter: str(self.sizes[letter[1]]), self.rng.choice(hints)
            )
        declared, text = declaration(target, p)
        if declared == "(m, 3) array_like":
            return self.network()
        choices = alternatives(declared, text, p.name)
        kind, content = self.rng.choice(choices)
        return self._of(target, p.name, kind, content)

    def _of(self, target: Target, name: str, kind: str, content: Any) -> str:
        rng = self.rng
        if kind == "choice":
            return str(rng.choice(content))
        if kind in ("array", "ndarray"):
            if content == "":
                content = (
                    _SHAPES.get(f"{target.name}.{name}")
                    or _SHAPES.get(name)
                    or (rng.choice(["p", "p", "m, n", "p, p", ""]))
                )
                if name in ("b", "A", "B") and target.name in _SQUARE | {"lu_solve"}:
                    content = {"A": "n, n"}.get(name, rng.choice(["n", "n, k"]))
            made = self.array(content)
            return f"np.array({made})" if kind == "ndarray" and made.startswith("[") else made
        if kind == "integers":
            return self.array(content, lambda: str(rng.randint(0, max(0, self.sizes["p"] - 1))))
        if kind == "tuple":
            known = self.sizes if rng.random() < 0.6 else {}
            return f"({''.join(f'{known.get(c.strip()) or self.integer()}, ' for c in content)})"
        if kind == "instance":
            return self.instance(content)
        if kind == "int":
            return (
                str(self.sizes[name])
                if name in self.sizes and rng.random() < (0.9 if self.calm else 0.5)
                else self.integer()
            )
        if kind == "float":
            return self.real() if rng.random() < 0.6 else rng.choice(_FLOATS)
        if kind == "sequence":
            items = [self._of(target, "", *rng.choice(content)) for _ in range(self.sizes["p"])]
            return f"[{', '.join(items)}]"
        return str(rng.choice(_SIMPLE[kind]))

    def call(self, target: Target) -> Call:
        """A call of the target, most often with arguments that it should accept."""
        rng = self.rng
        positional: list[tuple[str, str]] = []
        named: list[tuple[str, str]] = []
        listed = [p for p in target.parameters if p.kind is not p.kind.VAR_POSITIONAL]
        places = [p.name for p in listed]
        needed = {p.name for p in listed if not p.optional}
        if {"cycle_times", "speeds"} <= {p.name for p in listed}:
            needed |= {rng.choice(["cycle_times", "cycle_times", "speeds"])}
            if rng.random() > 0.05:
                listed = [
                    p for p in listed if p.name in needed or p.name not in ("cycle_times", "speeds")
                ]
        if {"cycle_time", "speed"} <= {p.name for p in listed}:
            needed |= {"cycle_time"}
            listed = [p for p in listed if p.name != "speed" or rng.random() < 0.05]
        if "links" in {p.name for p in listed} and not target.name.startswith("Platform"):
            needed |= {"links", "work", "volume"}
        if target.name == "shared_ring":
            needed |= {"network", "work", "volume"}
        if "right" in {p.name for p in listed} and target.name != "Platform":
            needed |= {"right", "down"}
        needed |= {"seconds"}  # of measuring: by default more than one
        listed = _with_options(listed)
        taken = [p for p in listed if p.name in needed or rng.random() < 0.3]
        values = {p.name: self.value(target, p) for p in taken}
        if not self.calm:
            for _ in range(rng.choices((0, 1, 2), (62, 30, 8))[0]):
                if values:
                    name = rng.choice(sorted(values))
                    values[name] = self.mutated(name, values[name])
        for p in listed:
            if p.name in values:
                by_name = (
                    named
                    or p.kind is p.kind.KEYWORD_ONLY
                    or p.name not in places
                    or len(positional) < places.index(p.name)
                )
                (named if by_name else positional).append((p.name, values[p.name]))
        callee = target.call
        if target.owner:
            callee = self.instance(target.owner) + callee.removeprefix("self")
        return Call(callee, tuple(positional), tuple(named))

    def mutated(self, name: str, value: str) -> str:
        """The same, hostile."""
        rng = self.rng
        form = rng.random()
        if name in _LIMITS and form < 0.6:
            return rng.choice(["nan", "-1", "'x'", "True", "0", "[1.0]", "-inf", "1e-320"])
        if name in _LIMITS:
            return rng.choice(_HOSTILE)
        if value.startswith("[") and form < 0.55:
            numbers = list(re.finditer(r"(?<![\w.*])-?\d[\w.+-]*+(?!\*)", value))
            if numbers and form < 0.3:  # one entry
                found = rng.choice(numbers)
                entry = rng.choice(
                    _HOSTILE_NUMBERS
                    if form < 0.25
                    else ["None", "'a'", "[1]", "[]", "np.array([1, 2])"]
                )
                return value[: found.start()] + entry + value[found.end() :]
            if form < 0.35:
                return (
                    f"np.array({value}) *"
                    f" {rng.choice(['1e308', '5e-324', '0', '-1', 'nan', '1j', '2.0**1000'])}"
                )
            if form < 0.38:
                return f"{value[:-1]}, 1.0]"
            return f"np.array({value}, {rng.choice(_STRANGE)})"
        return rng.choice(_HOSTILE_NUMBERS if form < 0.8 else _HOSTILE)


_DTYPES = ["np.float32", "np.int64", "np.float64", "np.uint8", "np.complex128"]
_STRANGE = [
    "object",
    "'>f8'",
    "'<f4'",
    "np.float16",
    "np.longdouble",
    "str",
    "bool",
    "np.int8",
    "complex",
]
_POOLS = [
    "hs.Pool(1)", "hs.Pool(2)", "hs.Pool(3)", "hs.Pool(hs.Platform.star([3, 5, 8]))",
    "hs.Pool(hs.Platform.star([1e-3, 2e-3], [1e-6, 1e-6], [100, 100]), emulate=True)",
    "hs.Pool(hs.Platform.star([3, 5, 8], [0.1, 0.2, 0.3]), emulate=True)",
]  # fmt: skip
_SIMPLE = {
    "bool": ["True", "False"],
    "str": ["'auto'", "'best'", "'exact'"],
    "none": ["None"],
    "callable": ["lambda x: 1.0", "lambda *x: None"],
    "dtype": ["np.float64", "'float32'", "np.complex128", "'complex64'", "float"],
    "path": ["'file.json'", "'file.toml'", "'file.csv'", "'file.npy'", "'missing.npy'"],
    "any": ["None", "1", "'x'", "[1, 2]"],
    "names": ["'a'", "'b'", "'P0'", "'\u00e4 \"'", "''"],
}


@cache
def alternatives(declared: str, text: str, name: str) -> tuple[tuple[str, Any], ...]:
    """What a declared type allows, as (kind, content)."""
    found: list[tuple[str, Any]] = []
    sequence = re.search(r"(?:[Ss]equence|[Ii]terable)(?: of |\[)(.*)", declared)
    if sequence:
        inside = sequence[1]
        found.append(("sequence", alternatives(inside.replace("| None", "None"), text, name)))
        declared = declared[: sequence.start()]
    choices = re.search(r"\{([^}]*)\}", declared)
    if choices:
        found += [("choice", [c.strip() for c in choices[1].split(",")])] * 3
        declared = declared.replace(choices[0], "")
    groups = re.findall(r"\(([^()]*)\)", declared)
    if (
        re.search(r"array(?!_like)", declared)
        or declared.startswith(("Array", "NDArray"))
        and "ArrayLike" not in declared
    ):
        found += [("ndarray", "")]
    elif "array_like" in declared or "Array" in declared:
        kind = "integers" if "of int" in declared else "array"
        found += [(kind, g) for g in groups] or [(kind, "")]
    elif groups and not sequence:
        found += [("tuple", g.split(",")) for g in groups]
    words = re.findall(r"\w+", declared)
    for word in words:
        if word == "Plan" or word in hs.__all__ and inspect.isclass(getattr(hs, word)):
            found.append(("instance", word))
        elif word in ("int", "float", "bool"):
            found.append((word, None))
        elif word in ("number", "complex"):
            found.append(("float", None))
        elif word in ("str", "string"):
            quoted = re.findall(r'"([a-z+\d-]+)"', text)
            found.append(("choice", [repr(q) for q in quoted]) if quoted else ("names", None))
        elif word in ("callable", "Callable"):
            found.append(("callable", None))
        elif word in ("dtype_like", "DTypeLike"):
            found.append(("dtype", None))
        elif word in ("path", "PathLike"):
            found.append(("path", None))
        elif word in ("optional", "None"):
            found.append(("none", None))
    return tuple(found) or (("any", None),)


def _with_options(listed: list[Parameter]) -> list[Parameter]:
    """Where a function passes **options on to `partition`, its keywords."""
    if not any(p.kind is p.kind.VAR_KEYWORD for p in listed):
        return listed
    own = [p for p in listed if p.kind is not p.kind.VAR_KEYWORD]
    more = [p for p in targets()["partition"].parameters if p.kind is p.kind.KEYWORD_ONLY]
    return own + [p for p in more if p.name not in {o.name for o in own}]
