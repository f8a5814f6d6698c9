"""What every plan has, whatever made it: a certificate, a file, equality, a picture, a trace, and
the same run again."""

import dataclasses
import html
import importlib
import json
import math
import pickle
import pkgutil
from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest
from inputs import many
from instances import INSTANCES
from validators import validate

import hetsched as hs
from hetsched.plan import KINDS

mpl.use("Agg")


def every_kind():
    """All classes of plans that there are."""
    for module in pkgutil.walk_packages(hs.__path__, "hetsched."):
        if (
            not module.name.endswith(("__main__", "emit_wrapper"))
            and "._hetsched" not in module.name
        ):
            importlib.import_module(module.name)
    found, todo = set(), [hs.Plan]
    while todo:
        kinds = todo.pop().__subclasses__()
        todo += kinds
        found |= {kind for kind in kinds if not kind.__name__.startswith("_")}
    return found


def made():
    """Plans of every kind: small ones, and some with infinite cycle-times, empty parts, one worker,
    nothing to do."""
    star = hs.Platform.star(
        [3.0, 5.0, 8.0], link_costs=[0.5, 0.25, 1.0], memory=[30, 40, 60], names=["a", "b", "c"]
    )
    yield hs.distribute(10, star)
    yield hs.distribute(0, [1.0, np.inf])
    yield hs.distribute(7, hs.Platform.star([1.0, 2.0], unit=hs.Unit("tâche", "message", bytes=5)))
    yield hs.plan_lu(60, 40, hs.Platform.star([3.0, 5.0], unit=hs.Unit.block_update(80)), block=8)
    yield hs.distribute([[3, 4], [0, 9]], np.ones((2, 2, 3)))
    yield hs.distribute([], np.ones((0, 3)))
    yield hs.distribute_profile(7, [2.0, [0.0, 3.0, 1.0, 2.0, 4.0, 5.0, 6.0, 9.0]])
    yield hs.partition_profile((3, 4), [2.0, [[0.0] * 3, [0.0, 3.0, 1.0], [0.0, 2.0, 4.0]], 9.0])
    yield hs.lu_pattern(12, [3, 5, 8])
    yield hs.lu_grid(6, [1, 2, 3, 4], link_cost=0.5)
    yield hs.plan_lu(60, 60, star, block=8)
    yield hs.plan_lu(60, 40, hs.Platform.complete([3.0, 5.0], [[0, 1], [2, 0]]), block=8)
    yield hs.plan_lu(0, 0, [1.0])
    yield hs.plan_reduction(40, star, block=8)
    yield hs.plan_reduction(0, [1.0])
    yield hs.wavefront(4, 6, [1.0, 2.0])
    for method in ("columns", "guillotine", "nonrectangular", "contiguous"):
        yield hs.partition(
            [5, 3, 0, 2, 1], method, shape=(12, 9) if method == "contiguous" else None
        )
    yield hs.partition([5, 3, 2], shape=(7, 5), groups=[0, 0, 1], link_costs=[1, 2, 1])
    yield hs.partition(star)
    yield hs.cuboids([5, 3, 2, 0])
    yield hs.cuboids([5, 3, 2], shape=(7, 9, 4))
    yield hs.dynamic_product(6, [5, 9, 4])
    yield hs.dynamic_product(3, [5, 9, np.inf], kind="matrix", method="sorted")
    yield hs.max_tasks(28, [5, 9, 30], send=[3, 1, 1], receive=[1, 2, 1])
    yield hs.min_time(9, [5, 9], send=1)
    yield hs.divisible_load(7.0, [5, 9, 4], [0.5, 0.25, 1.0], return_ratio=0.5)
    yield hs.slice_ring([1.0, 2.0, 3.0], np.ones((3, 3)), 9.0, 0.5)
    yield hs.redistribute([5, 1, 3], [2, 4, 3], 0.5)
    yield hs.layers_star(20, [1.0, 2.0], [0.1, 0.2])
    yield hs.layers_mesh(8, np.ones((2, 2)), np.full((2, 1), 0.1), np.full((1, 2), 0.1))
    yield hs.layers_mesh(
        8, np.ones((2, 2)), np.full((2, 1), 0.1), np.full((1, 2), 0.1), installments=2
    )
    yield hs.plan_product(4, 8, 3, star, budget=0)
    yield hs.plan_star_lu(6, star, "oddoml", width=2)
    with hs.Pool(hs.Platform.star([3.0, 5.0]), emulate=True) as pool:
        yield pool.plan(9, 8, 7, method="columns")
        yield pool.plan(9, 8, 7, method="domains")
        yield pool.plan(9, 8, 7, method="layers")
        yield pool.plan(0, 8, 7, method="cuboids")
        yield pool.plan_stencil(9, 8, 3)
    yield hs.workers_worth(500, 400, 300, star)
    yield hs.plan_files(np.ones((90, 80)), np.ones((80, 70)), np.empty((90, 70)), memory="16M")


PLANS = list(made())
each = pytest.mark.parametrize(
    "plan", PLANS, ids=lambda plan: f"{type(plan).__name__}-{plan.method}"
)


def test_every_kind_is_here():
    kinds = every_kind()
    assert {type(plan) for plan in PLANS} == kinds
    assert {kind.__name__: kind.__module__ for kind in kinds} == {
        name: f"hetsched.{module}" for name, module in KINDS.items()
    }


@each
def test_certificate(plan):
    objective, sense, value, bound, gap, optimal, scope, method = certificate = plan.certificate
    assert np.max(getattr(plan, objective), initial=0.0) == value == plan.value
    assert bound == plan.bound == (plan.lower_bound if sense == "min" else plan.upper_bound)
    assert (bound <= value) if sense == "min" else (value <= bound)
    assert (
        gap
        == plan.gap
        == (abs(value - bound) / bound if bound else 0.0 if value == bound else np.inf)
    )
    assert (optimal, scope, method) == (plan.optimal, plan.scope, plan.method)
    assert str(certificate).startswith(f"{objective} ")
    assert f"gap {gap:.2%}" in str(certificate)


def test_what_is_maximised_has_no_lower_bound():
    plan = hs.max_tasks(28, [5, 9], send=1)
    assert plan.certificate.sense == "max"
    assert not hasattr(plan, "lower_bound")
    assert plan.upper_bound == plan.tasks == plan.value == 8


def same(plan, other):
    """Both say the same, to the type of every field."""
    assert type(plan) is type(other)
    for field in dataclasses.fields(plan):
        a, b = getattr(plan, field.name), getattr(other, field.name)
        assert type(a) is type(b), field.name
        if isinstance(a, np.ndarray):
            assert (a.dtype, a.shape) == (b.dtype, b.shape), field.name
            assert not b.flags.writeable, field.name
            for x, y in (
                [(a[name], b[name]) for name in a.dtype.names] if a.dtype.names else [(a, b)]
            ):
                assert x.tobytes() == y.tobytes(), field.name
        else:
            assert repr(a) == repr(b), field.name
    assert plan == other
    assert hash(plan) == hash(other)


def work_of(plan):
    """All work, in the unit of the plan's cycle-times."""
    name, shape = type(plan).__name__, getattr(plan, "shape", None)
    n = len(plan.owner) if name in ("LuPattern", "LuGrid") else getattr(plan, "n", 0)
    works = {
        "Distribution": lambda: plan.counts.sum(),
        "DistributionStack": lambda: plan.counts.sum(),
        "ProfileDistribution": lambda: plan.counts.sum(),
        "ProfilePartition": lambda: np.prod(shape),
        "LuPattern": lambda: n * (n - 1) // 2,
        "LuGrid": lambda: sum(k * k for k in range(n)),
        "FactorPlan": lambda: sum(plan.tasks["flops"]) / 1e9,
        "ReductionPlan": lambda: sum(plan.tasks["flops"]) / 1e9,
        "Wavefront": lambda: np.prod(shape),
        "Partition": lambda: np.prod(shape or 1),
        "Cuboids": lambda: np.prod(shape or 1),
        "DynamicProduct": lambda: len(plan.tasks),
        "MaxTasks": lambda: plan.tasks,
        "MinTime": lambda: plan.tasks,
        "DivisibleLoad": lambda: plan.amount,
        "SliceRing": lambda: plan.work,
        "Redistribution": lambda: plan.before.sum(),
        "StencilPlan": lambda: 7.0 * (shape[0] - 2) * shape[1] * plan.iterations / 1e9,
        "LayersPlan": lambda: n**3,
        "MeshPlan": lambda: n**3,
        "InstallmentPlan": lambda: n**3,
        "StarPlan": lambda: np.prod(shape),
        "StarLuPlan": lambda: sum(np.prod(product.shape) for product in plan.products),
    }
    return works.get(name, lambda: 2 * np.prod(shape) / 1e9)()


@each
def test_load(plan):
    """Of each worker, all work together; a worker that cannot work gets none."""
    load = plan.load
    assert load.shape == (len(plan.names),)
    assert load.dtype.kind in "if"
    assert not load.flags.writeable
    assert (load >= 0).all()
    assert load.sum() == pytest.approx(work_of(plan), rel=1e-12)
    times = getattr(plan, "cycle_times", None)
    if times is not None and times.ndim == 1:
        assert not load[np.isinf(times)].any()
    assert np.array_equal(pickle.loads(pickle.dumps(plan)).load, load)


def test_a_useless_worker_gets_nothing():
    times = [3.0, np.inf, 5.0]
    plans = [
        hs.distribute(9, times),
        hs.lu_pattern(9, times),
        hs.lu_grid(5, times),
        hs.plan_lu(60, 60, times, block=8),
        hs.plan_reduction(60, times, block=8),
        hs.wavefront(5, 9, times),
        hs.partition([3, 0, 2]),
        hs.partition([3, 0, 2], shape=(4, 5)),
        hs.cuboids([3, 0, 2]),
        hs.max_tasks(30, times),
        hs.min_time(9, times),
        hs.divisible_load(9, times),
        hs.layers_star(9, times),
        hs.slice_ring(times, 1.0, 9.0, 0.1),
        hs.layers_mesh(9, [[1.0, np.inf, 1.0]], [[0.1, 0.1]], source_computes=True),
    ]
    for plan in plans:
        assert plan.load[1] == 0 < plan.load[0], plan
        assert plan.table()[1]["share"] == 0.0


@each
def test_table(plan):
    rows = plan.table()
    assert isinstance(rows, list)
    assert [row["worker"] for row in rows] == list(plan.names)
    assert [row["load"] for row in rows] == plan.load.tolist()
    assert sum(row["share"] for row in rows) == pytest.approx(1.0 if plan.load.any() else 0.0)
    lines = str(rows).splitlines()
    assert len(lines) == len(rows) + 1
    assert lines[0].split()[:3] == ["worker", "load", "share"]
    for name, line in zip(plan.names, lines[1:], strict=True):
        assert line.startswith(name)
    assert repr(rows) == str(rows)
    assert rows._repr_html_() == f"<pre>{html.escape(str(rows))}</pre>"


@pytest.mark.parametrize(
    ("plan", "words", "column"),
    [
        (
            hs.distribute(78, [3, 5, 8]),
            "; cycle-times 3, 5, 8 get shares 51.3%, 30.8%, 17.9%, imbalance 1.013>",
            "cycle-time",
        ),
        (hs.partition([3, 5, 8]), "; areas 0.188, 0.312, 0.5 get shares 18.8%, 31.2%, ", "area"),
        (
            hs.cuboids([1, 3]),
            "; volumes 0.25, 0.75 get shares 25.0%, 75.0%, imbalance 1>",
            "volume",
        ),
        (
            hs.distribute(8, [1] * 8),
            "; cycle-times 1, 1, 1, 1, 1, 1, ... get shares "
            "12.5%, 12.5%, 12.5%, 12.5%, 12.5%, 12.5%, ..., imbalance 1>",
            "cycle-time",
        ),
    ],
)
def test_it_is_said_what_a_list_was_taken_for(plan, words, column):
    assert words in repr(plan)
    assert column in plan.table()[0]


def test_imbalance_is_the_largest_time_over_the_balanced_time():
    assert hs.distribute(8, [1, 1], counts=[2, 6]).imbalance == 1.5
    assert hs.distribute(8, [1, 1], counts=[0, 8]).imbalance == 2.0
    assert hs.distribute(0, [1, 1]).imbalance == 1.0
    assert hs.distribute(1, [1e-320, 5e-324, 5e-324]).imbalance >= 1.0  # not normal numbers
    product = hs.plan_matmul(300, 200, 100, hs.Platform.star([1, 2]), method="rows")
    assert product.imbalance == pytest.approx(product.makespan / product.lower_bound)
    with pytest.raises(TypeError, match="the imbalance of a DistributionStack is not defined"):
        hs.distribute([4, 5], [[1, 2], [1, 2]]).imbalance  # noqa: B018


def test_without_work_there_are_no_shares():
    assert repr(hs.distribute(0, [3, 5])).endswith("(distribute)>")


def test_a_long_table_is_cut():
    rows = hs.distribute(10**6, np.ones(1000)).table()
    assert len(rows) == 1000
    lines = str(rows).splitlines()
    assert [line.split()[0] for line in (lines[1], lines[40], lines[41], lines[-1])] == [
        "P0",
        "P39",
        "...",
        "P999",
    ]
    assert lines[41] == "... 955 more"
    assert len(lines) == 1 + 40 + 1 + 5
    assert str(type(rows)()) == ""


@each
def test_asked(plan):
    assert plan.asked
    if type(plan).__name__ in ("LuGrid", "StarPlan", "MaxTasks", "MinTime", "DivisibleLoad"):
        assert plan.asked == "best" != plan.method
    assert plan.unit is None or isinstance(plan.unit, hs.Unit)


def test_a_certificate_that_cannot_be_true():
    content = hs.distribute(10, cycle_times=[3, 5, 8]).to_dict()
    for changes, words in (
        ({"bound": 1.0}, "optimal must be False: the makespan is 16, the bound 1"),
        ({"bound": 1e9}, "bound must be at most the makespan, 16, got 1e"),
        ({"bound": 1e9, "optimal": False}, "bound must be at most the makespan"),
    ):
        with pytest.raises(ValueError, match=words):
            hs.Plan.from_dict({**content, **changes})
    assert hs.Plan.from_dict({**content, "bound": 15.0, "optimal": False}).gap > 0
    most = hs.max_tasks(20, [1.0, 2.0], send=1.0)
    with pytest.raises(ValueError, match="bound must be at least the tasks"):
        hs.Plan.from_dict({**most.to_dict(), "bound": 1.0, "optimal": False})


def test_asked_and_found():
    assert (
        hs.slice_ring([1, 2], 1.0, 9.0, 0.1, method="best").asked,
        hs.distribute(3, [1, 2]).asked,
    ) == ("best", "distribute")
    zones = hs.partition([5, 3, 2, 1, 1])
    assert (zones.asked, zones.method) == ("best", "guillotine")
    assert zones.cost == hs.partition([5, 3, 2, 1, 1], method=zones.method).cost
    assert (zones.recut([5, 3, 2, 1, 2]).plan.asked, zones.recut([5, 3, 2, 1, 2]).fresh.asked) == (
        "best",
        "best",
    )
    many = hs.partition(1.0 / np.arange(1, 30))
    assert (many.asked, many.method) == ("best", "search")
    assert many.cost < min(
        hs.partition(1.0 / np.arange(1, 30), method=m).cost
        for m in ("interval", "columns", "nonrectangular")
    )
    assert (hs.cuboids([1, 2, 3]).asked, hs.cuboids([1, 2, 3]).method) == ("best", "guillotine")
    assert (hs.cuboids(range(1, 13)).method, hs.cuboids([1, 2], method="rectangles").method) == (
        "search",
        "rectangles",
    )
    assert hs.plan_matmul(9, 9, 9, STAR).asked in ("best", "auto")
    grid = hs.lu_grid(6, [1, 2, 3, 4])
    assert (grid.asked, grid.method) == ("best", "nested")
    assert hs.lu_grid(6, [1, 2, 3, 4], owner=grid.owner).asked == "given"
    assert grid.on(hs.Platform.star([1, 2, 3, 4])).asked == "given"


class TestUnit:
    """A plan keeps the unit of its platform, and other workers are converted to it."""

    GIGAFLOP = hs.Unit.gigaflop()
    UPDATE = hs.Unit.block_update(80)

    @pytest.mark.parametrize("unit", [None, GIGAFLOP, hs.Unit("task", "message")])
    def test_is_that_of_the_platform(self, unit):
        star = hs.Platform.star([3.0, 5.0], unit=unit)
        ring = hs.Platform.complete([3.0, 5.0], np.ones((2, 2)), unit=unit)
        mesh = hs.Platform.mesh([[1, 2]], [[0.1]], unit=unit)
        plans = [
            hs.distribute(9, star),
            hs.distribute_profile(9, star),
            hs.partition_profile((3, 3), star),
            hs.lu_pattern(9, star),
            hs.lu_grid(5, star),
            hs.wavefront(5, 9, star),
            hs.partition(star),
            hs.cuboids(star),
            hs.partition(star).recut(star).plan,
            hs.divisible_load(9, star),
            hs.slice_ring(ring, work=9.0, volume=0.1),
        ]
        if unit != self.GIGAFLOP:
            plans += [hs.max_tasks(30, star), hs.min_time(9, star)]
        if unit is None:
            plans += [hs.layers_star(9, star), hs.layers_mesh(9, mesh)]
        if unit != hs.Unit("task", "message"):
            plans += [
                hs.plan_lu(60, 60, star, block=8),
                hs.plan_matmul(9, 9, 9, star),
                hs.workers_worth(9, 9, 9, star),
            ]
            with hs.Pool(ring, emulate=True) as pool:
                plans += [pool.plan(9, 8, 7), pool.plan_stencil(9, 8, 3)]
        for plan in plans:
            assert plan.unit == unit, plan
            assert type(plan).from_dict(plan.to_dict()).unit == unit
        assert hs.distribute(9, [3.0, 5.0]).unit is None

    def test_in_which_it_was_planned(self):
        """Of a product in gigaflops, whatever the platform was per."""
        updates = hs.Platform.star([3.0, 5.0], unit=self.GIGAFLOP).to(self.UPDATE)
        assert hs.plan_lu(60, 60, updates, block=8).unit == self.GIGAFLOP
        assert hs.plan_matmul(9, 9, 9, updates).unit == self.GIGAFLOP
        mesh = hs.Platform.mesh([[1, 2]], [[0.1]], unit=self.GIGAFLOP)
        assert (
            hs.layers_star(9, updates).unit
            == hs.layers_mesh(9, mesh).unit
            == hs.Unit.multiply_add()
        )

    def test_other_workers_are_converted(self):
        own = hs.Platform.star([3.0, 5.0], link_costs=[1.0, 2.0], unit=self.GIGAFLOP)
        for plan in (
            hs.distribute(9, own),
            hs.plan_lu(60, 60, own, block=8),
            hs.plan_matmul(9, 9, 9, own),
        ):
            moved = plan.on(own.to(self.UPDATE))
            assert moved.value == pytest.approx(plan.value, rel=1e-12)
            assert moved.unit == self.GIGAFLOP
            with pytest.raises(
                ValueError, match=r"the plan needs .*gigaflop.*, but the platform is in .*task"
            ):
                plan.on(hs.Platform.star([3.0, 5.0], unit=hs.Unit("task", "message")))
        assert hs.distribute(9, [3.0, 5.0]).on(own).unit == self.GIGAFLOP

    def test_files_without_a_part(self):
        content = hs.distribute(
            9, hs.Platform.star([3.0], unit=hs.Unit("task", "message"))
        ).to_dict()
        assert content["unit"] == {"work": "task", "data": "message"}
        with pytest.raises(ValueError, match=r"content\['unit'\] is not valid for a Distribution"):
            hs.Plan.from_dict({**content, "unit": {"work": 3}})


@each
def test_file(plan, tmp_path):
    path = tmp_path / "plan.json"
    plan.save(path)
    text = path.read_text()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    for kind in (type(plan), hs.Plan):
        same(plan, kind.load(path))
    again = hs.Plan.load(path)
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == text
    same(plan, type(plan).from_dict(plan.to_dict()))


def test_names_that_look_like_numbers():
    platform = hs.Platform.star([3.0, 4.0, 5.0], names=["Infinity", "NaN", "-Infinity"])
    plan = dataclasses.replace(hs.distribute(10, [3.0, math.inf, 5.0]), names=platform.names)
    again = hs.Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    same(plan, again)
    assert again.names == ("Infinity", "NaN", "-Infinity")
    assert again.cycle_times.tolist() == [3.0, math.inf, 5.0]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("counts", "abc"), ("counts", ["a"]), ("counts", 3), ("counts", None), ("makespan", "abc"),
        ("makespan", None), ("makespan", True), ("makespan", [1.0]), ("optimal", 1),
        ("optimal", "yes"), ("method", 3), ("method", None), ("names", "ab"), ("names", [1, 2, 3]),
        ("names", 3), ("cycle_times", ["Infinity", "x", 1]), ("bound", {}), ("unit", 3),
        ("unit", "gigaflop"),
    ],
)  # fmt: skip
def test_values_of_another_type(key, value):
    content = hs.distribute(10, [3, 5, 8]).to_dict()
    with pytest.raises(ValueError, match=rf"content\['{key}'\] is not valid for a Distribution"):
        hs.Plan.from_dict({**content, key: value})


@each
def test_pickle(plan):
    same(plan, pickle.loads(pickle.dumps(plan)))


@each
def test_simulated_again(plan, tmp_path):
    plan.save(tmp_path / "plan.json")
    again = hs.Plan.load(tmp_path / "plan.json")
    try:
        trace = hs.simulate(plan)
    except TypeError:
        with pytest.raises(TypeError, match="cannot be simulated"):
            hs.simulate(again)
    else:
        other = hs.simulate(again)
        assert (trace.events, trace.workers, trace.predicted) == (
            other.events,
            other.workers,
            other.predicted,
        )


@pytest.mark.slow
@each
def test_drawn_again(plan, tmp_path):
    from matplotlib import pyplot

    plan.save(tmp_path / "plan.json")
    pictures = []
    for one in (plan, hs.Plan.load(tmp_path / "plan.json")):
        ax = one.plot()
        ax.figure.canvas.draw()
        pictures.append(np.asarray(ax.figure.canvas.buffer_rgba()).copy())
        pyplot.close("all")
    assert np.array_equal(*pictures)


def test_run_again(tmp_path):
    """Every plan that runs, from its file, gives the same bits."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((48, 36)), rng.standard_normal((36, 60))

    def kept(plan):
        plan.save(tmp_path / "plan.json")
        return hs.Plan.load(tmp_path / "plan.json")

    star = hs.Platform.star([1e-3, 2e-3, 3e-3], link_costs=[1e-4] * 3, memory=[30, 40, 60])
    with hs.Pool(star) as pool:
        plans = [
            pool.plan(48, 60, 36, method=method)
            for method in ("columns", "rectangles", "layers", "cuboids")
        ]
        plans += [
            hs.partition([5, 3, 2], shape=(48, 60)),
            hs.cuboids([5, 3, 2], shape=(48, 60, 36)),
        ]
        plans += [
            hs.layers_star(36, [1.0, 2.0, 3.0], [0.1] * 3),
            hs.plan_product(4, 5, 3, star, budget=0),
        ]
        for plan in plans:
            assert np.array_equal(pool.run(plan, a, b), pool.run(kept(plan), a, b)), plan
        square = rng.standard_normal((40, 40))
        plan = hs.plan_lu(40, 40, star, block=8)
        for x, y in zip(
            pool.lu_factor(square, owner=plan),
            pool.lu_factor(square, owner=kept(plan)),
            strict=True,
        ):
            assert np.array_equal(x, y)
        weights = hs.Stencil([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
        wave = hs.wavefront(4, 6, star)
        assert np.array_equal(
            pool.sweep(wave, square, weights), pool.sweep(kept(wave), square, weights)
        )


@each
def test_equality(plan):
    assert plan == dataclasses.replace(plan)
    assert plan != dataclasses.replace(plan, method="another")
    assert plan != "a plan"
    for other in PLANS:
        assert (plan == other) == (plan is other)


def test_load_of_a_type_and_of_a_plan(tmp_path):
    """Of a type of plan it reads files, in other processes too; of a plan it is what each worker
    gets."""
    plan = hs.distribute(10, [3, 5, 8])
    plan.save(tmp_path / "plan.json")
    for read in (hs.Plan.load, type(plan).load, pickle.loads(pickle.dumps(hs.Plan.load))):
        assert read(tmp_path / "plan.json") == plan
        assert read.__doc__.startswith("Read a plan that `save` wrote")
    assert plan.load.tolist() == [5, 3, 2]


@pytest.mark.parametrize(
    "plan",
    [
        hs.layers_star(20, [3, 5], [1, 2]),
        hs.layers_mesh(20, [[3, 5], [8, 2]], [[1], [1]], [[2, 2]]),
    ],
    ids=["star", "mesh"],
)
def test_layers_of_files_from_before_memory_limited_them(plan):
    content = {key: value for key, value in plan.to_dict().items() if key not in ("memory", "disk")}
    assert type(plan).from_dict(content) == plan
    with pytest.raises(ValueError, match="needs the key 'memory'"):
        type(plan).from_dict({**content, "disk": True})


def test_a_product_of_a_file_from_before_there_were_domains():
    plan = hs.plan_matmul(30, 10, 20, hs.Platform.star([3, 5]))
    assert (
        hs.Plan.from_dict({key: value for key, value in plan.to_dict().items() if key != "domains"})
        == plan
    )


class TestBadFiles:
    PLAN = hs.distribute(10, [3, 5, 8])

    def read(self, tmp_path, change):
        content = json.loads(
            json.dumps({"format": "hetsched-plan", "version": 1, **self.PLAN.to_dict()})
        )
        change(content)
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(content))
        return hs.Plan.load(path)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda c: c.update(format="another"), "not a hetsched plan file"),
            (lambda c: c.update(version=2), "written by a newer hetsched"),
            (lambda c: c.update(type="Plan"), r"\['type'\] must be one of"),
            (lambda c: c.update(type=["Partition"]), r"\['type'\] must be one of"),
            (lambda c: c.update(type="os"), r"\['type'\] must be one of"),
            (lambda c: c.pop("counts"), "needs the key 'counts'"),
            (lambda c: c.update(count=3), "unknown key 'count'"),
            (lambda c: c.update(counts=[1, "x"]), r"content\['counts'\] is not valid for"),
            (
                lambda c: c.update(counts={"type": "system"}),
                r"content\['counts'\] is not valid for",
            ),
            (lambda c: c.update(counts={"a": 1}), r"content\['counts'\] is not valid for"),
            (lambda c: c.update(makespan="Infinity"), "overflows"),
        ],
    )
    def test_is_named(self, tmp_path, change, message):
        with pytest.raises(ValueError, match=message) as caught:
            self.read(tmp_path, change)
        assert str(caught.value).startswith(str(tmp_path / "plan.json"))

    @pytest.mark.parametrize(
        "content",
        [b"", b"[", b"[]", b"null", b"\xff", b"[" * 10**5, b'{"format": "hetsched-plan"}'],
    )
    def test_is_no_plan(self, tmp_path, content):
        (tmp_path / "plan.json").write_bytes(content)
        with pytest.raises(ValueError, match=r"plan\.json: "):
            hs.Plan.load(tmp_path / "plan.json")

    def test_of_another_kind(self, tmp_path):
        self.PLAN.save(tmp_path / "plan.json")
        with pytest.raises(ValueError, match="must be Partition, got Distribution"):
            hs.Partition.load(tmp_path / "plan.json")

    def test_suffix(self, tmp_path):
        with pytest.raises(ValueError, match=r"path must end in \.json"):
            self.PLAN.save(tmp_path / "plan.toml")

    def test_every_cut(self, tmp_path):
        """A file cut short anywhere is refused."""
        path = tmp_path / "plan.json"
        self.PLAN.save(path)
        whole = path.read_bytes()
        for end in range(len(whole) - 1):
            path.write_bytes(whole[:end])
            with pytest.raises(ValueError, match="plan"):
                hs.Plan.load(path)


def random_plans(name):
    """(rng, plan) of random arguments of a planner, of those that it takes."""
    for seed in range(12):
        rng = np.random.default_rng([seed, len(name)])
        arguments, options = INSTANCES[name](rng)
        try:
            plan = getattr(hs, name)(*arguments, **options)
        except ValueError:
            continue
        if isinstance(plan, hs.Plan):
            yield rng, plan


@pytest.mark.parametrize("name", [name for name in INSTANCES if hasattr(hs, name)])
def test_random_plans(name, tmp_path):
    """Of every planner, from its file."""
    for _, plan in random_plans(name):
        plan.save(tmp_path / "plan.json")
        same(plan, hs.Plan.load(tmp_path / "plan.json"))


STAR = hs.Platform.star([3.0, 5.0, 8.0])
LINKED = hs.Platform.star([3.0, 5.0, 8.0], link_costs=[0.5, 0.25, 1.0], memory=[30, 40, 60])
BUS = hs.Platform.star([3.0, 5.0, 8.0], link_costs=[0.5, 0.25, 1.0])
RING = hs.Platform.complete([3.0, 5.0, 8.0], [[0, 1, 2], [2, 0, 1], [1, 3, 0]])
MESH = hs.Platform.mesh([[1, 2, 3], [2, 3, 4]], [[0.1, 0.2], [0.3, 0.1]], [[0.2, 0.1, 0.3]])
OTHER = hs.Platform.star([6.0, 2.0, 4.0], names=["x", "y", "z"])


def ring_of_columns(platform):
    with hs.Pool(platform, emulate=True) as pool:
        return pool.plan_stencil(9, 20, 5)


def pruned(platform):
    """Links that differ much: some are left out."""
    return hs.layers_mesh(60, platform, method="pmft", prune=True)


PLANNERS = (
    ("distribute", STAR, lambda p: hs.distribute(20, p)),
    ("distribute_profile", STAR, lambda p: hs.distribute_profile(20, p)),
    ("partition_profile", STAR, lambda p: hs.partition_profile((6, 5), p)),
    ("lu_pattern", STAR, lambda p: hs.lu_pattern(12, p)),
    ("lu_grid", STAR, lambda p: hs.lu_grid(6, p, link_cost=0.5)),
    ("plan_lu", STAR, lambda p: hs.plan_lu(60, 40, p, block=8)),
    ("plan_reduction", STAR, lambda p: hs.plan_reduction(60, p, block=8)),
    ("plan_lu, linked", RING, lambda p: hs.plan_lu(60, 60, p, block=8)),
    ("wavefront", STAR, lambda p: hs.wavefront(5, 9, p)),
    ("wavefront along", STAR, lambda p: hs.wavefront(5, 9, p, order="along", axis=0)),
    ("partition", STAR, lambda p: hs.partition(p, shape=(9, 8))),
    ("cuboids", STAR, lambda p: hs.cuboids(p, shape=(5, 6, 7))),
    ("dynamic_product", STAR, lambda p: hs.dynamic_product(7, p)),
    ("dynamic_product, matrix", STAR, lambda p: hs.dynamic_product(4, p, kind="matrix")),
    ("max_tasks", STAR, lambda p: hs.max_tasks(40, p, send=[3, 1, 1], receive=[1, 2, 1])),
    ("max_tasks, equal links", STAR, lambda p: hs.max_tasks(40, p, send=1)),
    ("min_time", STAR, lambda p: hs.min_time(17, p, send=1, receive=2)),
    ("divisible_load", LINKED, lambda p: hs.divisible_load(7.0, p, return_ratio=0.5)),
    (
        "divisible_load, lifo",
        LINKED,
        lambda p: hs.divisible_load(7.0, p, return_ratio=0.5, method="lifo"),
    ),
    ("divisible_load, no results", LINKED, lambda p: hs.divisible_load(7.0, p)),
    ("slice_ring", RING, lambda p: hs.slice_ring(p, work=90.0, volume=0.5)),
    ("slice_ring, all", RING, lambda p: hs.slice_ring(p, work=90.0, volume=0.5, method="all")),
    ("redistribute", RING, lambda p: hs.redistribute([9, 1, 5], [2, 7, 6], p)),
    ("plan_stencil", RING, ring_of_columns),
    ("plan_stencil, no links", STAR, ring_of_columns),
    *(
        (f"layers_star, {mode}", LINKED, lambda p, mode=mode: hs.layers_star(30, p, mode=mode))
        for mode in ("scss", "sccs", "pccs", "pcss")
    ),
    ("layers_mesh", MESH, lambda p: hs.layers_mesh(40, p)),
    ("layers_mesh, installments", MESH, lambda p: hs.layers_mesh(40, p, installments=3)),
    ("layers_mesh, pcss", MESH, lambda p: hs.layers_mesh(40, p, mode="pcss")),
    ("layers_mesh, scss", MESH, lambda p: hs.layers_mesh(40, p, mode="scss")),
    (
        "layers_mesh, relaxed",
        MESH,
        lambda p: hs.layers_mesh(40, p, method="relaxed", source=(1, 2), source_computes=True),
    ),
    (
        "layers_mesh, pruned",
        hs.Platform.mesh([[1, 2, 1], [2, 1, 1]], [[9, 0.2], [0.3, 9]], [[0.2, 9, 0.3]]),
        pruned,
    ),
    ("plan_product", LINKED, lambda p: hs.plan_product(4, 8, 3, p)),
    ("plan_product, het", LINKED, lambda p: hs.plan_product(4, 8, 3, p, method="het")),
    ("plan_product, bmm", LINKED, lambda p: hs.plan_product(4, 8, 3, p, method="bmm")),
    ("plan_star_lu", LINKED, lambda p: hs.plan_star_lu(7, p, "oddoml", width=2)),
    *(
        (
            f"plan_matmul, {method}",
            BUS,
            lambda p, method=method: hs.plan_matmul(50, 60, 40, p, method=method),
        )
        for method in ("columns", "best", "layers", "cuboids", "domains")
    ),
    (
        "plan_matmul in steps",
        BUS,
        lambda p: hs.plan_matmul(
            50, 60, 40, p, method="rectangles", block=7, communication="sequential"
        ),
    ),
    ("workers_worth", LINKED, lambda p: hs.workers_worth(500, 400, 300, p)),
    ("workers_worth, quota", STAR, lambda p: hs.workers_worth(500, 400, 300, p, quota=1.5)),
)


def some_platform(plan, rng):
    """Of workers that a random plan can be put on."""
    p, work = len(plan.names), np.asarray(getattr(plan, "cycle_times", 1.0))
    times = np.where(np.isfinite(work), work, work[np.isfinite(work)].min()) * rng.uniform(
        0.3, 3.0, p
    )
    if isinstance(plan, hs.MeshPlan) and plan.shape is not None:
        x, y = plan.shape
        return hs.Platform.mesh(
            times.reshape(x, y),
            rng.random((x, y - 1)) * times.min(),
            rng.random((x - 1, y)) * times.min(),
        )
    if isinstance(plan, hs.SliceRing | hs.Redistribution | hs.MeshPlan) or (
        isinstance(plan, hs.ProductPlan) and plan.messages is not None
    ):
        links = np.zeros((p, p)) if isinstance(plan, hs.MeshPlan) else np.array(plan.links)
        if isinstance(plan, hs.MeshPlan):
            links[tuple(plan.links.T)] = plan.link_costs
        return hs.Platform.complete(times, 1.3 * links)
    linked = isinstance(
        plan, hs.StarPlan | hs.StarLuPlan | hs.LayersPlan | hs.ProductPlan | hs.DivisibleLoad
    )
    memory = plan.memory.tolist() if isinstance(plan, hs.StarPlan | hs.StarLuPlan) else None
    return hs.Platform.star(
        times, link_costs=plan.link_costs * 1.3 if linked else None, memory=memory
    )


@pytest.mark.parametrize("name", [name for name in INSTANCES if hasattr(hs, name)])
def test_random_plans_on_other_workers(name):
    """Of every planner: what is carried over is right by the replays of the validators."""
    for rng, plan in random_plans(name):
        if not isinstance(plan, hs.DistributionStack | hs.FilesPlan | hs.FactorPlan):
            validate(plan.on(some_platform(plan, rng)))


def test_a_worker_whose_panel_times_are_not_known():
    plan = hs.plan_lu(60, 60, [3.0, np.inf], block=8, panel_times=[4.0, 5.0])
    with pytest.raises(ValueError, match="its panel time is not known"):
        plan.on(hs.Platform.star([3.0, 5.0]))


#: Planners by whom the order of the workers does not matter.
PERMUTED = (
    "distribute",
    "distribute_profile",
    "partition_profile",
    "lu_pattern",
    "lu_grid",
    "plan_lu",
    "wavefront",
    "wavefront along",
    "partition",
    "cuboids",
    "max_tasks, equal links",
    "min_time",
    "divisible_load",
    "divisible_load, lifo",
    "divisible_load, no results",
    "slice_ring",
    "slice_ring, all",
    "plan_stencil",
    "plan_stencil, no links",
    "plan_product",
    "plan_product, het",
    "workers_worth",
    "workers_worth, quota",
)


class TestOtherWorkers:
    """simulate(plan, platform): the same decisions, other speeds. An own platform, a planner's
    arguments, and how it plans."""

    each = pytest.mark.parametrize(
        ("own", "planned"), [case[1:] for case in PLANNERS], ids=[case[0] for case in PLANNERS]
    )
    # whose messages, or master, take what they take
    FIXED = ("LuGrid", "MaxTasks", "MinTime", "StarLuPlan")
    # by a linear program in units of its own
    ROUNDED = ("DivisibleLoad", "MeshPlan", "InstallmentPlan")
    # whose value is no time
    GEOMETRY = ("Partition", "Cuboids", "DynamicProduct", "MaxTasks")

    @staticmethod
    def changed(platform, work, data):
        """The platform with all cycle-times times `work`, and all links times `data`."""
        links, right, down = (
            None if x is None else x * data for x in (platform.links, platform.right, platform.down)
        )
        workers = [
            hs.Worker(w.cycle_time * f, w.link_cost * data, w.memory, w.name)
            for w, f in zip(
                platform.workers, np.broadcast_to(work, len(platform)).tolist(), strict=True
            )
        ]
        return hs.Platform(workers, links, shape=platform.shape, right=right, down=down)

    @staticmethod
    def same_steps(plan, other):
        ends = max(step.end for step in plan.steps())
        for one, two in zip(plan.steps(), other.steps(), strict=True):
            assert (one.worker, one.kind, one.what) == (two.worker, two.kind, two.what)
            assert (one.start, one.end) == pytest.approx(
                (two.start, two.end), rel=1e-13, abs=1e-13 * ends
            )

    @each
    def test_the_same_workers_change_nothing(self, own, planned):
        plan = planned(own)
        again = plan.on(own)
        assert again.value == pytest.approx(
            plan.value, rel=0.0 if type(plan).__name__ not in self.ROUNDED else 1e-14
        )
        self.same_steps(again, plan)
        assert hs.simulate(plan, own).events == hs.simulate(again).events
        assert hs.simulate(plan, platform=None).events == hs.simulate(plan).events
        if type(plan).__name__ not in (
            "LayersPlan",
            "MeshPlan",
            "InstallmentPlan",
        ):  # theirs may need the search that has planned
            assert plan.sense == "max" or again.bound >= plan.bound * (1 - 1e-12)
            assert again.optimal >= plan.optimal

    @each
    def test_there_and_back(self, own, planned):
        plan = planned(own)
        back = plan.on(self.changed(own, [0.3, 1.7, 0.9, 1.1, 0.6, 2.0][: len(own)], 0.7)).on(own)
        assert back.value == pytest.approx(plan.value, rel=1e-14)
        self.same_steps(back, plan)

    @each
    def test_scaled_times_scale_the_trace(self, own, planned):
        plan = planned(own)
        twice = self.changed(own, 2.0, 2.0)
        if type(plan).__name__ in self.FIXED:
            assert hs.simulate(plan, twice).makespan >= hs.simulate(plan).makespan
        else:
            assert hs.simulate(plan, twice).makespan == 2.0 * hs.simulate(plan).makespan
            assert hs.simulate(plan, twice).makespan > 0
        if type(plan).__name__ not in (*self.FIXED, *self.GEOMETRY):
            assert plan.on(twice).value == 2.0 * plan.on(own).value
            assert plan.on(twice).bound == pytest.approx(2.0 * plan.on(own).bound, rel=1e-9)

    @each
    def test_who_does_what_stays(self, own, planned):
        plan = planned(own)
        work = np.array([0.3, 1.7, 0.9, 1.1, 0.6, 2.0][: len(own)])
        named = hs.Platform(
            [
                hs.Worker(w.cycle_time, w.link_cost, w.memory, f"n{i}")
                for i, w in enumerate(self.changed(own, work, 0.7).workers)
            ],
            *(None if own.links is None else 0.7 * own.links,),
            shape=own.shape,
            right=own.right,
            down=own.down,
        )
        moved, other = plan.on(named), hs.simulate(plan, named)
        assert moved.names == tuple(f"n{i}" for i in range(len(own)))
        master = ("master",) if isinstance(plan, hs.StarLuPlan) else ()  # it works, too
        assert other.workers == (*moved.names, *master)
        names = (
            "owner",
            "counts",
            "pieces",
            "boxes",
            "shares",
            "ring",
            "chunks",
            "enrolled",
            "flows",
            "send_order",
            "updates",
        )
        for name in names:
            if hasattr(plan, name) and (name, type(plan)) != ("shares", hs.LayersPlan):
                assert np.array_equal(getattr(moved, name), getattr(plan, name))
        if not isinstance(plan, hs.Partition | hs.Cuboids | hs.DynamicProduct):
            assert moved.method == "given"
        before, after = (
            np.array(trace.total("compute"))[: len(own)] for trace in (hs.simulate(plan), other)
        )
        if not isinstance(plan, hs.WorkersWorth) and getattr(plan, "mode", "pccs")[1:] != "scss":
            np.testing.assert_allclose(after, before * work, rtol=1e-9)

    @each
    def test_a_slower_worker_makes_nothing_faster(self, own, planned):
        """Each worker's order is fixed, and so is the port's: every time is a maximum of sums of
        times."""
        plan, rng = planned(own), np.random.default_rng(3)
        for _ in range(many(8, 2)):
            work = rng.uniform(0.2, 3.0, len(own))
            slower = np.where(
                rng.random(len(own)) < 0.5, work * rng.uniform(1.0, 3.0, len(own)), work
            )
            data = rng.uniform(0.2, 3.0)
            fast, slow = (self.changed(own, factors, data) for factors in (work, slower))
            assert hs.simulate(plan, fast).makespan <= hs.simulate(plan, slow).makespan * (
                1 + 1e-14
            )
            longer = self.changed(own, slower, 1.5 * data)
            assert hs.simulate(plan, slow).makespan <= hs.simulate(plan, longer).makespan * (
                1 + 1e-14
            )

    @each
    def test_certificates_are_true(self, own, planned):
        """By the replay of the validators; and what is planned for the other workers is not below
        the bound."""
        plan, rng = planned(own), np.random.default_rng(4)
        for _ in range(many(8, 2)):
            other = self.changed(own, rng.uniform(0.2, 3.0, len(own)), rng.uniform(0.2, 3.0))
            moved = plan.on(other)
            validate(moved)
            if not isinstance(plan, hs.Partition | hs.Cuboids | hs.DynamicProduct):
                fresh = (
                    hs.max_tasks(moved.T, other, plan.send, plan.receive)
                    if isinstance(plan, hs.MaxTasks)
                    else planned(other)
                )
                assert (
                    fresh.value <= moved.bound
                    if plan.sense == "max"
                    else fresh.value >= moved.bound * (1 - 1e-9)
                )
                assert not moved.optimal or moved.value == pytest.approx(fresh.value, rel=1e-9)

    @each
    def test_load_is_the_time_for_it(self, own, planned):
        """Load times cycle-time is how long a worker computes, in the table as in the schedule."""
        plan = planned(own)
        if isinstance(plan, hs.Redistribution):  # its load is items, with which no worker computes
            assert not any(hs.simulate(plan).total("compute"))
            return
        busy = [row["busy"] for row in plan.table()]
        wanted = hs.simulate(plan).total("compute")[: len(busy)]
        if getattr(plan, "mode", "pccs")[1:] != "scss":  # where work lasts as long as its message
            assert busy == pytest.approx(wanted, rel=1e-9)
        if not isinstance(plan, hs.WorkersWorth) and getattr(plan, "layers", None) is None:
            assert busy == pytest.approx(
                (plan.load * np.where(plan.load > 0, plan.cycle_times, 0.0)).tolist(), rel=1e-12
            )

    @pytest.mark.parametrize("order", [[1, 2, 0], [2, 1, 0]])
    @pytest.mark.parametrize(
        "case", [case for case in PLANNERS if case[0] in PERMUTED], ids=lambda case: case[0]
    )
    def test_permuted_workers_permute_the_load(self, case, order):
        _, own, planned = case
        own = self.changed(own, [1.03, 0.97, 1.13], 1.0)  # no two ways are equally good
        links = None if own.links is None else own.links[np.ix_(order, order)]
        plan, permuted = planned(own), planned(hs.Platform([own.workers[i] for i in order], links))
        assert permuted.value == pytest.approx(plan.value, rel=1e-12)
        assert permuted.load == pytest.approx(plan.load[order], rel=1e-9)

    def test_any_network(self):
        links = [(0, 1, 0.1), (0, 2, 0.3), (1, 2, 0.2)]
        plan = hs.layers_network(30, [1.0, 2.0, 3.0], links)
        costs = np.zeros((3, 3))
        for tail, head, cost in links:
            costs[tail, head] = cost
        own = hs.Platform.complete([1.0, 2.0, 3.0], costs)
        assert plan.on(own).makespan == plan.makespan
        assert plan.on(own).bound == pytest.approx(plan.bound)
        moved = plan.on(hs.Platform.complete([2.0, 3.0, 1.0], 2 * costs))
        validate(moved)
        assert np.array_equal(moved.flows, plan.flows)

    def test_links_left_out_stay_so(self):
        _, own, planned = next(case for case in PLANNERS if case[0].endswith("pruned"))
        plan = planned(own)
        waits = plan.start.ravel()[plan.links[:, 1]] >= plan.start.ravel()[plan.links[:, 0]]
        assert not (waits | (plan.flows > 0)).all()
        assert plan.on(own).bound < hs.layers_mesh(60, own).bound  # which waits for them

    def test_counted(self):
        plan = hs.distribute(20, STAR)
        assert hs.simulate(plan, OTHER).makespan == max((plan.counts * OTHER.cycle_times).tolist())
        assert plan.on(OTHER).lower_bound == hs.distribute(20, OTHER).makespan

    def test_longer_than_there_is_time(self):
        """Tasks that slower workers cannot do in time: T is what they need, and the bound is for
        that."""
        plan = hs.max_tasks(28, [5, 9], send=1)
        slow = plan.on(hs.Platform.star([10, 9]))
        assert (slow.tasks, slow.T, slow.makespan) == (8, 52.0, 52.0)
        assert slow.upper_bound == hs.max_tasks(52, [10, 9], send=1).tasks == 10
        fast = plan.on(hs.Platform.star([4, 9]))
        assert (fast.tasks, fast.T, fast.makespan, fast.upper_bound) == (8, 28, 28.0, 9)
        third = plan.on(hs.Platform.star([5.1, 9.3]))
        assert Fraction(third.T) >= 2 + 5 * Fraction(5.1)
        assert third.upper_bound >= third.tasks

    @pytest.mark.parametrize(
        ("plan", "platform", "error", "message"),
        [
            (hs.distribute(20, STAR), "123", TypeError, "platform must be a Platform"),
            (hs.distribute(20, STAR), hs.Platform.star([1, 2]), ValueError,
             "platform has 2 workers, the plan is for 3"),
            (hs.distribute([3, 4], np.ones((2, 3))), STAR, TypeError,
             r"take one, such as stack\[0\]"),
            (next(p for p in PLANS if isinstance(p, hs.FilesPlan)), STAR, TypeError,
             "plan, a FilesPlan, .* on speeds"),
            (hs.slice_ring(RING, work=9.0, volume=0.5), STAR, ValueError,
             "links between every two workers .* it is a star"),
            (hs.layers_mesh(8, MESH), hs.Platform.star(np.ones(6)), ValueError,
             "must be a mesh of 2 x 3 nodes"),
            (hs.divisible_load(7.0, LINKED), RING, ValueError, "must be a star, .* it is complete"),
            (hs.layers_star(7, LINKED), RING, ValueError, "must be a star, .* it is complete"),
            (hs.plan_matmul(9, 9, 9, BUS), RING, ValueError, "must be a star, .* it is complete"),
            (hs.plan_product(4, 8, 3, LINKED, "het"), RING, ValueError, "platform must be a star"),
            (hs.plan_product(4, 8, 3, LINKED, "het"), hs.Platform.star([1] * 3, memory=[3] * 3),
             ValueError, "blocks of memory"),
            (hs.max_tasks(28, STAR), hs.Platform.star([1e-300, 1, 1]), ValueError,
             r"at most 2\*\*53 times"),
        ],
    )  # fmt: skip
    def test_refused(self, plan, platform, error, message):
        with pytest.raises(error, match=message):
            hs.simulate(plan, platform)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_plans_that_are_not_checked_are_the_same(monkeypatch):
    """Planners make their plans unchecked: with the same fields, read-only, and an error where the
    value overflows."""
    checked = list(made())
    monkeypatch.setattr(hs.Plan, "checks_own", False)
    for own, plan in zip(made(), checked, strict=True):
        assert type(own) is type(plan)
        assert pickle.loads(pickle.dumps(own)) == own  # checked whole
        for field in dataclasses.fields(plan):
            ours, theirs = getattr(own, field.name), getattr(plan, field.name)
            if isinstance(theirs, np.ndarray):
                assert not ours.flags.writeable
                np.testing.assert_array_equal(ours, theirs)
            assert type(ours) is type(theirs)
        assert own.asked == plan.asked
    with pytest.raises(ValueError, match="makespan overflows"):
        hs.distribute(2**53, [1e308])
