"""What every plan has, whatever made it: a certificate, a file, equality, a picture, a trace, and the same run again."""

import dataclasses
import importlib
import json
import pickle
import pkgutil

import matplotlib as mpl
import numpy as np
import pytest
from instances import INSTANCES

import hetsched as hs
from hetsched.plan import KINDS

mpl.use("Agg")


def every_kind():
    """All classes of plans that there are."""
    for module in pkgutil.walk_packages(hs.__path__, "hetsched."):
        if not module.name.endswith(("__main__", "emit_wrapper")) and "._hetsched" not in module.name:
            importlib.import_module(module.name)
    found, todo = set(), [hs.Plan]
    while todo:
        kinds = todo.pop().__subclasses__()
        todo += kinds
        found |= {kind for kind in kinds if "_value" in vars(kind)}
    return found


def made():
    """Plans of every kind: small ones, and some with infinite cycle-times, empty parts, one worker, nothing to do."""
    star = hs.Platform.star([3.0, 5.0, 8.0], link_costs=[0.5, 0.25, 1.0], memory=[30, 40, 60], names=["a", "b", "c"])
    yield hs.distribute(10, star)
    yield hs.distribute(0, [1.0, np.inf])
    yield hs.distribute([[3, 4], [0, 9]], np.ones((2, 2, 3)))
    yield hs.distribute([], np.ones((0, 3)))
    yield hs.distribute_profile(7, [2.0, [0.0, 3.0, 1.0, 2.0, 4.0, 5.0, 6.0, 9.0]])
    yield hs.lu_pattern(12, [3, 5, 8])
    yield hs.lu_grid(6, [1, 2, 3, 4], link_cost=0.5)
    yield hs.plan_lu(60, 60, star, block=8)
    yield hs.plan_lu(60, 40, hs.Platform.complete([3.0, 5.0], [[0, 1], [2, 0]]), block=8)
    yield hs.plan_lu(0, 0, [1.0])
    yield hs.wavefront(4, 6, [1.0, 2.0])
    for method in ("columns", "guillotine", "nonrectangular", "contiguous"):
        yield hs.partition([5, 3, 0, 2, 1], method, shape=(12, 9) if method == "contiguous" else None)
    yield hs.partition([5, 3, 2], shape=(7, 5), groups=[0, 0, 1], link_costs=[1, 2, 1])
    yield hs.partition(star)
    yield hs.cuboids([5, 3, 2, 0])
    yield hs.cuboids([5, 3, 2], shape=(7, 9, 4))
    yield hs.max_tasks(28, [5, 9, 30], send=[3, 1, 1], receive=[1, 2, 1])
    yield hs.min_time(9, [5, 9], send=1)
    yield hs.divisible_load(7.0, [5, 9, 4], [0.5, 0.25, 1.0], return_ratio=0.5)
    yield hs.slice_ring([1.0, 2.0, 3.0], np.ones((3, 3)), 9.0, 0.5)
    yield hs.layers_star(20, [1.0, 2.0], [0.1, 0.2])
    yield hs.layers_mesh(8, np.ones((2, 2)), np.full((2, 1), 0.1), np.full((1, 2), 0.1))
    yield hs.plan_product(4, 8, 3, star)
    with hs.Pool(hs.Platform.star([3.0, 5.0]), emulate=True) as pool:
        yield pool.plan(9, 8, 7, method="columns")
        yield pool.plan(9, 8, 7, method="layers")
        yield pool.plan(0, 8, 7, method="cuboids")
        yield pool.plan_stencil(9, 8, 3)
    yield hs.workers_worth(500, 400, 300, star)
    yield hs.plan_files(np.ones((90, 80)), np.ones((80, 70)), np.empty((90, 70)), memory="16M")


PLANS = list(made())
each = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: f"{type(plan).__name__}-{plan.method}")


def test_every_kind_is_here():
    kinds = every_kind()
    assert {type(plan) for plan in PLANS} == kinds
    assert {kind.__name__: kind.__module__ for kind in kinds} == {name: f"hetsched.{module}" for name, module in KINDS.items()}


@each
def test_certificate(plan):
    objective, sense, value, bound, gap, optimal, scope, method = certificate = plan.certificate
    assert np.max(getattr(plan, objective), initial=0.0) == value == plan.value
    assert bound == plan.bound == (plan.lower_bound if sense == "min" else plan.upper_bound)
    assert (bound <= value) if sense == "min" else (value <= bound)
    assert gap == plan.gap == (abs(value - bound) / bound if bound else 0.0 if value == bound else np.inf)
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
            for x, y in [(a[name], b[name]) for name in a.dtype.names] if a.dtype.names else [(a, b)]:
                assert x.tobytes() == y.tobytes(), field.name
        else:
            assert repr(a) == repr(b), field.name
    assert plan == other
    assert hash(plan) == hash(other)


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
        assert (trace.events, trace.workers, trace.predicted) == (other.events, other.workers, other.predicted)


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
        plans = [pool.plan(48, 60, 36, method=method) for method in ("columns", "rectangles", "layers", "cuboids")]
        plans += [hs.partition([5, 3, 2], shape=(48, 60)), hs.cuboids([5, 3, 2], shape=(48, 60, 36))]
        plans += [hs.layers_star(36, [1.0, 2.0, 3.0], [0.1] * 3), hs.plan_product(4, 5, 3, star)]
        for plan in plans:
            assert np.array_equal(pool.run(plan, a, b), pool.run(kept(plan), a, b)), plan
        square = rng.standard_normal((40, 40))
        plan = hs.plan_lu(40, 40, star, block=8)
        for x, y in zip(pool.lu_factor(square, owner=plan), pool.lu_factor(square, owner=kept(plan)), strict=True):
            assert np.array_equal(x, y)
        weights = hs.Stencil([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
        wave = hs.wavefront(4, 6, star)
        assert np.array_equal(pool.sweep(wave, square, weights), pool.sweep(kept(wave), square, weights))


@each
def test_equality(plan):
    assert plan == dataclasses.replace(plan)
    assert plan != dataclasses.replace(plan, method="another")
    assert plan != "a plan"
    for other in PLANS:
        assert (plan == other) == (plan is other)


class TestBadFiles:
    PLAN = hs.distribute(10, [3, 5, 8])

    def read(self, tmp_path, change):
        content = json.loads(json.dumps({"format": "hetsched-plan", "version": 1, **self.PLAN.to_dict()}))
        change(content)
        path = tmp_path / "plan.json"
        path.write_text(json.dumps(content))
        return hs.Plan.load(path)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda c: c.update(format="another"), "no file of a plan"),
            (lambda c: c.update(version=2), "later version"),
            (lambda c: c.update(type="Plan"), r"\['type'\] must be one of"),
            (lambda c: c.update(type=["Partition"]), r"\['type'\] must be one of"),
            (lambda c: c.update(type="os"), r"\['type'\] must be one of"),
            (lambda c: c.pop("counts"), "needs the key 'counts'"),
            (lambda c: c.update(count=3), "unknown key 'count'"),
            (lambda c: c.update(counts=[1, "x"]), r"content\['counts'\] is not what"),
            (lambda c: c.update(counts={"type": "system"}), r"content\['counts'\] is not what"),
            (lambda c: c.update(counts={"a": 1}), r"content\['counts'\] is not what"),
            (lambda c: c.update(makespan="Infinity"), "overflows"),
        ],
    )
    def test_is_named(self, tmp_path, change, message):
        with pytest.raises(ValueError, match=message) as caught:
            self.read(tmp_path, change)
        assert str(caught.value).startswith(str(tmp_path / "plan.json"))

    @pytest.mark.parametrize("content", [b"", b"[", b"[]", b"null", b"\xff", b"[" * 10**5, b'{"format": "hetsched-plan"}'])
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


@pytest.mark.parametrize("name", [name for name in INSTANCES if hasattr(hs, name)])
def test_random_plans(name, tmp_path):
    """Of every planner, from its file."""
    for seed in range(12):
        rng = np.random.default_rng([seed, len(name)])
        arguments, options = INSTANCES[name](rng)
        try:
            plan = getattr(hs, name)(*arguments, **options)
        except ValueError:
            continue
        if isinstance(plan, hs.Plan):
            plan.save(tmp_path / "plan.json")
            same(plan, hs.Plan.load(tmp_path / "plan.json"))


class TestOtherWorkers:
    """simulate(plan, platform): the same decisions, other speeds."""

    STAR = hs.Platform.star([3.0, 5.0, 8.0])
    OTHER = hs.Platform.star([6.0, 2.0, 4.0], names=["x", "y", "z"])
    PLANS = (
        hs.distribute(20, STAR), hs.lu_pattern(12, STAR), hs.lu_grid(6, STAR, link_cost=0.5), hs.plan_lu(60, 40, STAR, block=8),
        hs.plan_lu(60, 60, STAR, block=8, panel_times=[6.0, 9.0, 10.0], look_ahead=False), hs.wavefront(5, 9, STAR),
        hs.wavefront(5, 9, STAR, order="along", axis=0), hs.partition(STAR, shape=(9, 8)), hs.cuboids(STAR, shape=(5, 6, 7)),
    )  # fmt: skip

    @pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
    def test_the_same_workers_change_nothing(self, plan):
        again = plan.on(self.STAR)
        assert again.value == plan.value
        assert again.bound == plan.bound
        assert hs.simulate(plan, self.STAR).events == hs.simulate(plan).events
        assert hs.simulate(plan, platform=None).events == hs.simulate(plan).events

    @pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
    def test_scaled_times_scale_the_trace(self, plan):
        twice = hs.Platform.star(2.0 * self.STAR.cycle_times, names=self.STAR.names)
        assert hs.simulate(plan, twice).makespan == pytest.approx(2.0 * hs.simulate(plan).makespan, rel=1e-12)

    @pytest.mark.parametrize("plan", PLANS, ids=lambda plan: type(plan).__name__)
    def test_who_does_what_stays(self, plan):
        other = hs.simulate(plan, self.OTHER)
        assert other.workers == ("x", "y", "z")
        for name in ("owner", "counts", "pieces", "boxes"):
            if hasattr(plan, name):
                assert np.array_equal(getattr(plan.on(self.OTHER), name), getattr(plan, name))
        before, after = (np.array(trace.total("compute")) for trace in (hs.simulate(plan), other))
        if not (isinstance(plan, hs.LuPlan) and not plan.look_ahead):
            np.testing.assert_allclose(after / self.OTHER.cycle_times, before / self.STAR.cycle_times, rtol=1e-9)

    def test_counted(self):
        plan = hs.distribute(20, self.STAR)
        assert hs.simulate(plan, self.OTHER).makespan == max((plan.counts * self.OTHER.cycle_times).tolist())
        assert plan.on(self.OTHER).lower_bound == hs.distribute(20, self.OTHER).makespan

    def test_refused(self):
        plan = hs.distribute(20, self.STAR)
        with pytest.raises(TypeError, match="platform must be a Platform"):
            hs.simulate(plan, [1, 2, 3])
        with pytest.raises(ValueError, match="platform has 2 workers, the plan is for 3"):
            hs.simulate(plan, hs.Platform.star([1, 2]))
        with pytest.raises(TypeError, match="a MinTime cannot"):
            hs.simulate(hs.min_time(9, [5, 9, 3], send=1), self.STAR)
