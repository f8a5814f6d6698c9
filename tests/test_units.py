"""What a platform's numbers are per: kept, converted where it is known how, refused with both units
where it is not."""

import json
from dataclasses import replace

import numpy as np
import pytest

import hetsched as hs

GIGA, MEGA = hs.Unit.gigaflop(), hs.Unit("megaflop", "megabit", 1e6, 1.25e5)
TASKS = hs.Unit("task", "message")


def star(unit, factor=1.0):
    return hs.Platform.star(
        np.array([3.0, 5.0]) * factor, link_costs=np.array([0.5, 0.25]) * factor, unit=unit
    )


def test_names_and_sizes():
    assert str(GIGA) == "seconds per gigaflop of 1e+09 flops and per gigabyte of 1e+09 bytes"
    assert str(TASKS) == "seconds per task and per message"
    assert hs.Unit.block_update(80, "complex64") == hs.Unit(
        "block update", "block", 8.0 * 80**3, 8.0 * 80**2
    )
    assert star(GIGA).unit == GIGA
    assert hs.Platform.star([1]).unit is None


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"work": ""}, TypeError, "work must be"), ({"data": 3}, TypeError, "data must be"),
        ({"flops": 0}, ValueError, "flops must"),
        ({"bytes": float("nan")}, ValueError, "bytes must"),
        ({"flops": "1"}, TypeError, "flops must"),
    ],
)  # fmt: skip
def test_bad(arguments, error, message):
    with pytest.raises(error, match=message):
        hs.Unit(**arguments)
    with pytest.raises(TypeError, match="unit must be a Unit"):
        hs.Platform.star([1], unit="gigaflop")
    with pytest.raises(TypeError, match="unit must be a Unit"):
        star(GIGA).to("gigaflop")


@pytest.mark.parametrize("suffix", [".toml", ".json"])
@pytest.mark.parametrize("unit", [None, GIGA, MEGA, TASKS, hs.Unit('a "name"', "\x7f", None, 3.0)])
def test_in_files(tmp_path, unit, suffix):
    path = tmp_path / f"platform{suffix}"
    for platform in (
        star(unit),
        hs.Platform.complete([1, 2], [[0, 1], [1, 0]], unit=unit),
        hs.Platform.mesh([[1, 2]], [[3]], unit=unit),
    ):
        platform.save(path)
        assert hs.Platform.load(path) == platform
        assert hs.Platform.load(path).unit == unit
    path.write_text(json.dumps({"worker": [{"cycle_time": 1}], "unit": {"flop": 1}}))
    if suffix == ".json":
        with pytest.raises(ValueError, match="unit: .*flop"):
            hs.Platform.load(path)


def test_conversion():
    there = hs.Platform.mesh([[3.0, 5.0]], [[0.5]], unit=MEGA).to(GIGA)
    np.testing.assert_allclose(there.cycle_times, [3000, 5000], rtol=1e-15)
    np.testing.assert_allclose(there.right, [[4000]], rtol=1e-15)
    back = there.to(MEGA)
    np.testing.assert_allclose(back.cycle_times, [3, 5], rtol=1e-15)
    assert back.unit == MEGA
    blocks = hs.Platform.star(
        [1.0], link_costs=[1.0], memory=[100], unit=hs.Unit.block_update(80)
    ).to(hs.Unit.block_update(160))
    assert (blocks.cycle_times[0], blocks.link_costs[0], blocks.memory) == (8.0, 4.0, (25,))
    assert star(GIGA).to(GIGA) == star(GIGA)


@pytest.mark.parametrize("unit", [None, TASKS, hs.Unit("megaflop", "megabit", 1e6)])
def test_what_cannot_be_converted(unit):
    with pytest.raises(ValueError, match="cannot be converted to seconds per gigaflop"):
        star(unit).to(GIGA)


def test_planners_convert():
    """The same platform in other words gives the same plan."""
    mega = star(GIGA).to(MEGA)
    for plan in (
        lambda p: hs.plan_lu(200, 200, p, block=50),
        lambda p: hs.plan_matmul(90, 70, 80, p, method="columns"),
        lambda p: hs.workers_worth(300, 200, 100, p),
        lambda p: hs.Pool(p).plan(60, 50, 40, method="columns"),
        lambda p: hs.Pool(hs.Platform(p.workers, unit=p.unit)).plan_stencil(9, 8, 3),
    ):
        one, two, bare = plan(star(GIGA)), plan(mega), plan(star(None))
        assert one == replace(bare, unit=GIGA)
        assert two.makespan == pytest.approx(one.makespan, rel=1e-12)
        assert two.bound == pytest.approx(one.bound, rel=1e-12)


def test_both_units_are_in_the_message():
    for call in (
        lambda p: hs.plan_lu(200, 200, p),
        lambda p: hs.plan_matmul(9, 7, 8, p),
        lambda p: hs.workers_worth(9, 8, 7, p),
        lambda p: hs.Pool(p).plan(9, 8, 7),
        lambda p: hs.Pool(p).plan_stencil(9, 8, 3),
        lambda p: hs.Pool(p, emulate=True).matmul(np.ones((9, 9)), np.ones((9, 9))),
    ):
        with pytest.raises(
            ValueError, match="gigaflop.*but the platform is in seconds per task and per message"
        ):
            call(star(TASKS))
    with pytest.raises(
        ValueError,
        match=(
            "plan_product needs seconds per block update.*the platform is in seconds per gigaflop"
        ),
    ):
        hs.plan_product(4, 8, 3, hs.Platform.star([2, 3], [1, 2], memory=[12, 21], unit=GIGA))


def test_relative_planners_take_any_unit():
    assert hs.distribute(8, star(TASKS)) == replace(hs.distribute(8, star(None)), unit=TASKS)
    assert hs.partition(star(TASKS)).cost == hs.partition(star(None)).cost


def test_data_sets_and_measurements_have_theirs():
    assert hs.datasets.lyon().unit == hs.datasets.strasbourg().unit == MEGA
    assert hs.datasets.ppopp2008("memory").unit == hs.Unit.block_update(80)
    # "0.0291 s per megaflop" is 34 MFLOP/s; a link of 198 ms per megabit carries 5 Mbit/s
    lyon = hs.datasets.lyon().to(GIGA)
    assert 1e3 / lyon.cycle_times[0] == pytest.approx(34.4, abs=0.05)
    assert 8e3 / lyon.links[0, 1] == pytest.approx(5.05, abs=0.01)


@pytest.mark.slow
def test_the_same_platform_for_both_kinds_of_plans():
    """Emulated: what blocks take is what their flops and bytes take."""
    q = 16
    blocks = hs.Platform.star(
        [0.002, 0.003], link_costs=[0.001, 0.002], memory=[12, 21], unit=hs.Unit.block_update(q)
    )
    giga = blocks.to(GIGA)
    plan = hs.plan_matmul(4 * q, 8 * q, 3 * q, blocks)
    assert plan == hs.plan_product(4, 8, 3, blocks)
    a, b = np.ones((4 * q, 3 * q)), np.ones((3 * q, 8 * q))
    for platform in (
        blocks,
        hs.Platform.star(giga.cycle_times, giga.link_costs, memory=None, unit=GIGA),
    ):
        with hs.Pool(platform, emulate=True) as pool:
            c, trace = pool.run(plan, a, b, trace=True)
            assert (c == 3 * q).all()
            assert trace.predicted == pytest.approx(plan.makespan, rel=1e-9)
            boxes = pool.plan(4 * q, 8 * q, 3 * q, method="columns")
            assert boxes.makespan == pytest.approx(
                hs.Pool(giga).plan(4 * q, 8 * q, 3 * q, method="columns").makespan, rel=1e-9
            )


class TestPlanMatmul:
    def test_needs_no_threads(self, monkeypatch):
        from hetsched._engine import run

        monkeypatch.setattr(run, "Threads", None)
        # faster than any host: nothing is checked
        plan = hs.plan_matmul(300, 100, 200, hs.Platform.star([1e-9, 2e-9]))
        assert plan.shape == (300, 100, 200)

    @pytest.mark.parametrize("sizes", [(0, 0, 0), (1, 1, 1), (2, 0, 3), (65, 1, 2), (100, 90, 80)])
    @pytest.mark.parametrize("method", ["best", "columns", "layers", "cuboids", "guillotine"])
    def test_as_a_pool_plans(self, sizes, method):
        m, k, n = sizes
        platform = hs.Platform.star([3.0, 5.0], link_costs=[0.5, 0.25])
        kind = "auto" if method == "best" else method
        try:
            wanted = hs.Pool(platform, emulate=True).plan(m, n, k, method=kind)
        except hs.InfeasibleError:
            with pytest.raises(hs.InfeasibleError):
                hs.plan_matmul(m, n, k, platform, method=method)
        else:
            assert hs.plan_matmul(m, n, k, platform, method=method) == wanted

    def test_runs(self):
        rng = np.random.default_rng(0)
        a, b = rng.standard_normal((60, 50)), rng.standard_normal((50, 40))
        platform = hs.Platform.star([3.0, 5.0], memory=[40, 60])
        with hs.Pool(platform) as pool:
            for plan in (
                hs.plan_matmul(60, 40, 50, platform, block=10),
                hs.plan_matmul(60, 40, 50, platform, method="columns"),
            ):
                np.testing.assert_allclose(pool.run(plan, a, b), a @ b, atol=1e-12)

    @pytest.mark.parametrize(
        ("change", "error", "message"),
        [
            ({"m": -1}, ValueError, "m must be"),
            ({"k": 1.5}, ValueError, "k must be"),
            ({"n": "3"}, TypeError, "n must be"),
            ({"platform": [1, -2]}, ValueError, r"platform\[1\] must be positive"),
            ({"method": "bset"}, ValueError, "method must be one of"),
            ({"dtype": "int32"}, TypeError, "dtype"),
            ({"block": 0}, ValueError, "block must be"),
            ({"communication": "twice"}, ValueError, "communication must be"),
            (
                {"method": "het", "platform": hs.Platform.star([1, 2], memory=[12, 12])},
                ValueError,
                "block must be given: the memory of workers is counted in blocks",
            ),
            (
                {"method": "het", "block": 4, "communication": "pccs"},
                ValueError,
                "communication is for boxes",
            ),
        ],
    )
    def test_bad(self, change, error, message):
        given = {"m": 9, "k": 8, "n": 7, "platform": hs.Platform.star([1, 2]), **change}
        with pytest.raises(error, match=message):
            hs.plan_matmul(
                given.pop("m"), given.pop("n"), given.pop("k"), given.pop("platform"), **given
            )


@pytest.mark.parametrize(
    ("sizes", "blocks"),
    [((800, 900, 700), (10, 12, 9)), ((100, 90, 70), (12, 10, 8)), ((3, 4, 5), (3, 4, 5))],
)
def test_blocks_have_a_usual_side(sizes, blocks):
    """80, as in the 2008 paper, and at least ten of them on the shorter side of C."""
    star = hs.Platform.star([0.01, 0.02], [0.1, 0.2])
    assert hs.plan_matmul(*sizes, star, method="het").shape == blocks


def test_layers_are_converted():
    """Their times are per multiply-add and per element."""
    star = hs.Platform.star([3.0, 4.0], link_costs=[0.1, 0.2], unit=hs.Unit.gigaflop())
    plan = hs.layers_star(80, star)
    same = hs.layers_star(80, [6e-9, 8e-9], [0.8e-9, 1.6e-9])
    assert plan.counts.tolist() == same.counts.tolist()
    assert plan.makespan == pytest.approx(same.makespan, rel=1e-12)
    mesh = hs.Platform.mesh([[3.0, 4.0]], [[0.1]], unit=hs.Unit.gigaflop())
    assert hs.layers_mesh(80, mesh).makespan == pytest.approx(
        hs.layers_mesh(80, [[6e-9, 8e-9]], [[0.8e-9]], np.empty((0, 2))).makespan, rel=1e-12
    )
    with pytest.raises(ValueError, match="layers_star needs seconds per multiply-add .* per task"):
        hs.layers_star(80, hs.Platform.star([3.0], unit=hs.Unit("task", "message")))


@pytest.mark.parametrize("planner", [hs.max_tasks, hs.min_time])
def test_tasks_are_no_flops(planner):
    with pytest.raises(
        ValueError,
        match=rf"{planner.__name__} needs seconds per task .* but the platform is in .* gigaflop",
    ):
        planner(80, hs.Platform.star([3.0], unit=hs.Unit.gigaflop()))
    task = hs.Unit("task", "message", flops=2e9, bytes=1e6)
    assert planner(80, hs.Platform.star([3.0], unit=task)).unit == task


@pytest.mark.slow
def test_memory_does_not_change_the_unit():
    """Without a unit a platform is per gigaflop for products of elements; plan_product reads block
    updates."""
    times, costs = [3.0, 5.0, 8.0], [0.1, 0.2, 0.3]
    plain, limited = (
        hs.Platform.star(times, link_costs=costs, memory=memory) for memory in (None, [60, 70, 80])
    )
    named = hs.Platform.star(times, link_costs=costs, memory=[60, 70, 80], unit=hs.Unit.gigaflop())
    found = hs.plan_matmul(800, 800, 800, limited, block=80)
    assert found.makespan == hs.plan_matmul(800, 800, 800, named, block=80).makespan
    assert 0.5 < found.makespan / hs.plan_matmul(800, 800, 800, plain).makespan < 2
    assert hs.plan_product(10, 10, 10, limited).makespan > 100


def test_unit_tables(tmp_path):
    path = tmp_path / "p.toml"
    for text, message in [
        ('[unit]\nwork = "task"\nflop = 3\n', "unit: unknown key 'flop'; did you mean 'flops'"),
        (
            'unit = "gigaflop"\n',
            "unit: it must be a table with work, data, flops and bytes, got 'gigaflop'",
        ),
    ]:
        worker = "[[worker]]\ncycle_time = 1.0\n"
        path.write_text(f"{text}{worker}" if text.startswith("unit") else f"{worker}{text}")
        with pytest.raises(ValueError, match=message):
            hs.Platform.load(path)
    path.write_text("[[workers]]\ncycle_time = 1.0\n")
    with pytest.raises(
        ValueError, match="unknown key 'workers' in a platform; did you mean 'worker'"
    ):
        hs.Platform.load(path)


def test_messages_of_tasks_are_in_seconds():
    """Where there are none only the proportions of the speeds matter."""
    star = hs.Platform.star([3.0, 4.0], unit=hs.Unit.gigaflop())
    assert hs.map_tasks(abs, [-1, 2], star) == [1, 2]
    with pytest.raises(
        ValueError,
        match=r"map_tasks with send needs seconds per task .* but the platform is in .* gigaflop",
    ):
        hs.map_tasks(abs, [-1, 2], star, send=0.1)


def test_names_of_their_own():
    assert hs.Platform([hs.Worker(1, name="P1"), hs.Worker(2), hs.Worker(3)]).names == (
        "P1",
        "P1'",
        "P2",
    )
