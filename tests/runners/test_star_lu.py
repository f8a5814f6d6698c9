"""plan_star_lu: its widths against all of them, its runs against SciPy and the model."""

from __future__ import annotations

import itertools
import time
import warnings

import numpy as np
import pytest
import scipy.linalg
from interrupted import interrupted
from validators import validate

import hetsched as hs

PLATFORM = hs.Platform.star([2e-4, 3e-4], link_costs=[2e-5, 4e-5], memory=[21, 45])
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def matrix(n, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n))
    return (A + 1j * rng.standard_normal((n, n)) if np.dtype(dtype).kind == "c" else A).astype(
        dtype
    )


def right(A, lu, piv):
    """The factors are SciPy's, within what rounding may change."""
    wanted, pivots = scipy.linalg.lu_factor(A)
    assert lu.dtype == A.dtype
    assert piv.tolist() == pivots.tolist()
    assert abs(lu - wanted).max() <= 1000 * np.finfo(A.dtype).eps * max(
        1.0, abs(wanted).max()
    ) * len(A)


def follows_the_plan(trace, plan):
    """The master's work in the order and never before its time; workers after the rows."""
    p = len(plan.names)
    wanted = [event for event in hs.simulate(plan).events if event.kind != "wait"]
    found = [event for event in trace.events if event.kind != "wait"]
    master = [event for event in found if event.worker == p]
    # the exchange of rows left of the last panel takes no time of the plan
    assert [e.what for e in master] == [
        *(e.what for e in wanted if e.worker == p),
        f"step {len(plan.panels) - 1}: rows",
    ]
    for own, planned in zip(master[:-1], (e for e in wanted if e.worker == p), strict=True):
        assert own.end >= planned.end * (1 - 1e-9)
    for before, after in itertools.pairwise(master):
        assert after.start >= before.end
    when = {event.what: event for event in master}
    for event in found:
        if event.worker < p:
            k = int(event.what.partition(":")[0].removeprefix("step "))
            assert event.start >= when[f"step {k}: rows"].end
            if k + 2 < len(plan.panels):  # the last panel has no rows
                assert event.end <= when[f"step {k + 1}: rows"].start
    # every block update of the workers
    assert sorted(e.what for e in found if e.worker < p) == sorted(
        e.what for e in wanted if e.worker < p
    )


class TestPlan:
    @pytest.mark.parametrize("memory", [12, 60])
    @pytest.mark.parametrize("method", ["oddoml", "bmm", "maxreuse", "overlap"])
    @pytest.mark.parametrize("n", [1, 2, 5, 13])
    def test_the_best_width_is_taken(self, n, method, memory):
        platform = hs.Platform.star(
            [2.0, 3.0, 7.0], link_costs=[0.3, 0.1, 0.0], memory=[memory, 12, 5]
        )
        plans = [hs.plan_star_lu(n, platform, method, width=width) for width in range(1, n + 1)]
        for plan in plans:
            validate(plan)
        assert hs.plan_star_lu(n, platform, method).makespan == min(plan.makespan for plan in plans)

    def test_all_work_is_done(self):
        """The master's part and the workers' are n^3 / 3 block updates, whatever the width."""
        for width in (1, 2, 3, 7):
            plan = hs.plan_star_lu(7, PLATFORM, "oddoml", width=width, master_time=3e-4)
            master = hs.simulate(plan).total("compute")[-1] / 3e-4
            assert master + plan.updates.sum() == pytest.approx(7**3 / 3)
            assert plan.updates.sum() == sum(np.prod(product.shape) for product in plan.products)

    def test_nobody_has_memory(self):
        """The master does it all, also with a width that leaves something."""
        small = hs.Platform.star([2.0, 3.0], link_costs=[1.0, 1.0], memory=[2, 1])
        plan = hs.plan_star_lu(6, small, "oddoml", master_time=0.5)
        assert (plan.width, plan.products, plan.updates.tolist()) == (6, (), [0, 0])
        assert plan.makespan == pytest.approx(0.5 * 6**3 / 3)
        plan = hs.plan_star_lu(6, small, "oddoml", width=2, master_time=0.5)
        assert [panel.own for panel in plan.panels] == [4, 2, 0]
        assert plan.products == ()
        assert plan.makespan == pytest.approx(0.5 * 6**3 / 3)
        validate(plan)

    def test_memory_without_a_limit(self):
        """It holds any chunk, but not one more beside the only block of a small product."""
        free = hs.Platform.star([1.0, 2.0], link_costs=[1.0, 1.0])
        plan = hs.plan_star_lu(8, free, "overlap", master_time=100.0)
        assert all(product.method == "overlap" for product in plan.products)
        # the last product, of one block, has no memory for "overlap", so the master does it
        assert [p.own for p in hs.plan_star_lu(3, free, "overlap", width=1).panels][1:] == [1, 0]

    def test_the_bound_is_for_panels_of_any_width(self):
        bounds = {hs.plan_star_lu(7, PLATFORM, "oddoml", width=w).bound for w in range(1, 7)}
        assert bounds == {hs.plan_star_lu(7, PLATFORM, "oddoml").bound}

    def test_a_fast_master_and_slow_links_leave_nothing_to_workers(self):
        assert hs.plan_star_lu(8, PLATFORM, "oddoml", master_time=1e-9).products == ()

    @pytest.mark.slow
    @pytest.mark.parametrize("n", [2, 9, 40])
    def test_looking_ahead_is_never_later(self, n):
        """No columns of the master, in any step: the panels and the products one after the other.
        A master that may look ahead is done before, or at the same time."""
        platform = hs.Platform.star([2.0, 3.0], link_costs=[0.3, 0.1], memory=[60, 21])
        for width in {1, 3, n} & set(range(1, n + 1)):
            for master in (0.1, 2.0, 50.0):
                plan = hs.plan_star_lu(n, platform, "oddoml", width=width, master_time=master)
                validate(plan)
                apart = 0.0
                for h in range(n, 0, -width):
                    w = min(width, h)
                    apart += master * ((h * w * w - w**3 / 3) / 2 + w * w * (h - w) / 2)
                    if h > w:
                        apart += hs.plan_product(h - w, h - w, w, platform, "oddoml").makespan
                assert plan.makespan <= apart * (1 + 1e-12)

    def test_a_slow_master_leaves_all_columns_to_the_workers(self):
        plan = hs.plan_star_lu(9, PLATFORM, "oddoml", width=3, master_time=1.0)
        assert [panel.own for panel in plan.panels] == [0, 0, 0]
        assert plan.panels[1].start == plan.panels[0].end + plan.products[0].makespan

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["memory", "speeds", "ratio4"])
    def test_the_paper_s_platforms(self, name):
        """Without look-ahead, panels of a third of n took 220.8 s; the master alone 253.3 s."""
        platform = hs.datasets.ppopp2008(name)
        plan = hs.plan_star_lu(100, platform)
        assert plan.makespan < 156.0
        assert plan.bound == pytest.approx(147.7, abs=0.1)
        for width in (20, 25, 34, 50, 100):
            assert plan.makespan <= hs.plan_star_lu(100, platform, width=width).makespan

    def test_a_budget_is_for_all_widths(self):
        plan = hs.plan_star_lu(40, PLATFORM, budget=0.0)
        assert plan.makespan <= hs.plan_star_lu(40, PLATFORM, width=40).makespan

    def test_best_is_not_worse_than_its_parts(self):
        best = hs.plan_star_lu(8, PLATFORM, width=2)
        for method in ("het", "oddoml", "bmm", "maxreuse", "overlap"):
            assert best.makespan <= hs.plan_star_lu(8, PLATFORM, method, width=2).makespan
        assert best.makespan == hs.plan_star_lu(8, PLATFORM, width=2).makespan

    @pytest.mark.slow
    def test_files_and_pictures(self, tmp_path):
        plan = hs.plan_star_lu(7, PLATFORM, "oddoml", width=3)
        plan.save(tmp_path / "plan.json")
        again = hs.Plan.load(tmp_path / "plan.json")
        assert again == plan
        assert type(again.products[0]) is hs.StarPlan
        words = [text.get_text() for text in plan.plot().get_yticklabels()]
        assert words == ["master", "P0", "P1"]
        efficiency = f"{hs.simulate(plan).efficiency:.1%}"
        assert efficiency in plan.plot().get_title(loc="left")
        content = plan.to_dict()
        content["products"] = [hs.distribute(3, [1, 2]).to_dict()]
        with pytest.raises(
            ValueError, match=r"content\['products'\].*it must be a StarPlan, got a Distribution"
        ):
            hs.Plan.from_dict(content)

    @pytest.mark.parametrize(
        ("args", "options", "error", "message"),
        [
            ((0, PLATFORM), {}, ValueError, "n must be in"),
            ((2.5, PLATFORM), {}, ValueError, "n must be an integer"),
            ((3, [1, 2]), {}, TypeError, "platform must be a Platform"),
            (
                (3, hs.Platform.complete([1, 2], np.ones((2, 2)))),
                {},
                ValueError,
                "platform must be a star",
            ),
            ((3, PLATFORM, "exact"), {}, ValueError, "method must be one of"),
            ((3, PLATFORM), {"width": 4}, ValueError, "width must be in"),
            ((3, PLATFORM), {"width": 0}, ValueError, "width must be in"),
            ((3, PLATFORM), {"master_time": 0.0}, ValueError, "master_time must be greater than 0"),
            ((3, PLATFORM), {"master_time": np.nan}, ValueError, "master_time must be finite"),
            ((3, PLATFORM), {"returns": "never"}, ValueError, "returns must be one of"),
            ((3, PLATFORM), {"seed": -1, "width": 1}, ValueError, "seed must be in"),
            ((3, PLATFORM), {"budget": -1.0}, ValueError, "budget must be at least 0"),
        ],
    )
    def test_refused(self, args, options, error, message):
        with pytest.raises(error, match=message):
            hs.plan_star_lu(*args, **options)


class TestRun:
    @pytest.mark.parametrize("n", [1, 2, 5, 59, 60, 61, 119, 120])
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_as_scipy(self, n, dtype):
        """Also where the last block is not whole: 5 blocks of up to 24."""
        blocks = min(n, 5)
        platform = hs.Platform.star([2.0, 3.0], memory=[21, 45])
        A = matrix(n, dtype, n)
        for width in {1, min(2, blocks), blocks}:
            plan = hs.plan_star_lu(blocks, platform, "oddoml", width=width)
            with hs.Pool(2) as pool:
                right(A, *pool.lu_factor(A, owner=plan))

    @pytest.mark.parametrize("layout", ["C", "F", "backwards", "every second"])
    def test_layouts(self, layout):
        full = matrix(80, seed=3)
        A = {
            "C": full,
            "F": np.asfortranarray(full),
            "backwards": full[::-1, ::-1],
            "every second": full[::2, ::2],
        }[layout]
        kept = A.copy()
        plan = hs.plan_star_lu(6, PLATFORM, "oddoml", width=2)
        with hs.Pool(2) as pool:
            right(kept, *pool.lu_factor(A, owner=plan))
            assert (kept == A).all()
            lu, piv = pool.lu_factor(A, overwrite_a=True, owner=plan)
        right(kept, lu, piv)
        assert np.shares_memory(lu, A) == A.flags.f_contiguous

    @pytest.mark.parametrize("master_time", [None, 1.5e-3])
    def test_emulated(self, master_time):
        """What the plan says, by the master as by the workers, and never before its time."""
        plan = hs.plan_star_lu(6, PLATFORM, "oddoml", width=2, master_time=master_time)
        assert [panel.own for panel in plan.panels] == ([0] * 3 if master_time else [2, 2, 0])
        A = matrix(95)
        told: list[float] = []
        with hs.Pool(PLATFORM, emulate=True) as pool, warnings.catch_warnings():
            warnings.simplefilter("ignore", hs.EmulationWarning)  # a loaded machine
            begin = time.perf_counter()
            (lu, piv), trace = pool.lu_factor(A, owner=plan, trace=True, progress=told.append)
            wall = time.perf_counter() - begin
        right(A, lu, piv)
        assert trace.predicted == pytest.approx(plan.makespan)
        assert trace.kind == "emulated"
        assert trace.workers == ("P0", "P1", "master")
        assert plan.makespan * (1 - 1e-9) <= trace.makespan <= wall
        assert trace.peak[-1] == trace.predicted_peak[-1] == 36
        assert all(own <= room for own, room in zip(trace.peak, plan.memory.tolist(), strict=False))
        assert told == sorted(told)
        assert told[-1] == pytest.approx(1.0)
        simulated = hs.simulate(plan)
        assert trace.predicted_finish == pytest.approx(simulated.finish)
        assert trace.ideal == pytest.approx(simulated.ideal)
        follows_the_plan(trace, plan)

    def test_trace_of_real_cores(self):
        """The master's work is in it, and its CPU time; there is no prediction."""
        plan = hs.plan_star_lu(5, hs.Platform.star([2.0, 3.0], memory=[21, 45]), "oddoml", width=1)
        with hs.Pool(2) as pool:
            _, trace = pool.lu_factor(matrix(200), owner=plan, trace=True)
        done = [e.what for e in trace.events if e.worker == 2 and e.kind == "compute"]
        assert [what for what in done if what.startswith("panel")] == [
            f"panel {k}" for k in range(5)
        ]
        assert (trace.kind, trace.predicted, len(trace.core_share)) == ("real", None, 3)
        assert trace.makespan == trace.finish[2]

    @pytest.mark.filterwarnings("ignore::hetsched.EmulationWarning")  # a loaded machine
    def test_wall_time_of_the_master_alone(self):
        """It has no product: the trace has the master's work only."""
        platform = hs.Platform.star([1.0], memory=[21])
        plan = hs.plan_star_lu(4, platform, "oddoml", width=2, master_time=0.004)
        assert plan.products == ()
        with hs.Pool(platform, emulate=True) as pool:
            _, trace = pool.lu_factor(matrix(40), owner=plan, trace=True)
        assert trace.finish[0] == 0.0
        # Its deadlines count from the start of the run, so only the end says how long it took.
        assert trace.finish[1] >= plan.makespan == pytest.approx(0.004 * 4**3 / 3)
        follows_the_plan(trace, plan)

    def test_a_master_that_is_too_fast_for_the_host(self):
        platform = hs.Platform.star([1.0], memory=[21])
        plan = hs.plan_star_lu(4, platform, "oddoml", master_time=1e-9)
        with (
            hs.Pool(platform, emulate=True) as pool,
            pytest.warns(hs.EmulationWarning, match="could not keep up: the master was"),
        ):
            pool.lu_factor(matrix(1200), owner=plan)

    def test_singular(self):
        """The first zero on the diagonal is named, as by the other plans."""
        A = matrix(30)
        A[:, 17] = A[:, 3]
        A = np.round(A * 4)  # small integers: the elimination of equal columns is exact
        A[:, 17] = A[:, 3]
        plan = hs.plan_star_lu(5, PLATFORM, "oddoml", width=2)
        A[:] = 0
        with (
            hs.Pool(2) as pool,
            pytest.warns(scipy.linalg.LinAlgWarning, match="Diagonal number 1 is exactly zero"),
        ):
            pool.lu_factor(A, owner=plan)
        A = np.eye(30)
        A[20, 20] = 0
        with (
            hs.Pool(2) as pool,
            pytest.warns(scipy.linalg.LinAlgWarning, match="Diagonal number 21 is exactly zero"),
        ):
            pool.lu_factor(A, owner=plan)

    def test_refused(self):
        plan = hs.plan_star_lu(6, PLATFORM, "oddoml")
        A = matrix(60)
        with hs.Pool(2) as pool:
            with pytest.raises(ValueError, match="a must be square"):
                pool.lu_factor(A[:, :50], owner=plan)
            with pytest.raises(ValueError, match="no size of blocks makes the plan's n = 6 blocks"):
                pool.lu_factor(matrix(8), owner=plan)
            with pytest.raises(ValueError, match="block must be left out"):
                pool.lu_factor(A, owner=plan, block=10)
            with pytest.raises(ValueError, match="finite|infs or NaNs"):
                pool.lu_factor(np.full((60, 60), np.nan), owner=plan)
            with pytest.raises((TypeError, ValueError), match="owner"):
                pool.cholesky(A @ A.T, owner=plan)
        with hs.Pool(3) as pool, pytest.raises(ValueError, match="owner is a plan"):
            pool.lu_factor(A, owner=plan)

    @pytest.mark.slow
    def test_ctrl_c(self):
        """In the first panel, in the master's columns, and in the product beside them."""
        program = """
            import time
            import numpy as np, hetsched as hs
            planned, given = (
                hs.Platform.star([x], link_costs=[0.001], memory=[45]) for x in (0.1, {})
            )
            plan = hs.plan_star_lu(6, planned, "oddoml", width=1, master_time={})
            A = np.eye(60)
            with hs.Pool(given, emulate=True) as pool:
                print("ready", flush=True)
                try:
                    pool.lu_factor(A, owner=plan)
                except KeyboardInterrupt:
                    looks_ahead = plan.panels[0].own > 0 and len(plan.products) > 0
                    print("interrupted", time.monotonic(), (A == np.eye(60)).all(), looks_ahead)
        """
        assert interrupted(program.format(0.1, 10.0)) == ["True", "False"]
        assert interrupted(program.format(0.1, 0.1), after=1.0) == ["True", "True"]
        assert interrupted(program.format(10.0, 0.05), after=1.0) == ["True", "True"]
