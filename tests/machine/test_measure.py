"""Measuring with a machine whose speeds are known, the cache, and pools that divide by what was
measured."""

import copy
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
import hetsched.runners.shared
import hetsched.runners.workers
from hetsched._engine import dtypes, kernels, run
from hetsched.cli import main as cli
from hetsched.machine import kept, linux
from hetsched.machine.cpus import Cpu
from hetsched.machine.kept import fingerprint
from hetsched.machine.measure import MeasuredPlatform, recent, typical
from hetsched.runners.pool import resources_of

HOUR = 3600.0
linux_ticks = linux.ticks
measuring = sys.modules["hetsched.machine.measure"]  # hetsched.measure is the function


def topology(p=3, **fields):
    cpus = tuple(
        Cpu(i, core=i, siblings=(i,), type="performance" if i == 0 else "efficiency")
        for i in range(p)
    )
    changes = dict(
        logical=cpus,
        online=p,
        quota=None,
        quota_source="",
        thread_limit=None,
        model="A",
        type_source="told",
    )
    return replace(hs.topology(), **(changes | fields))


class Machine:
    """Stands for the engine: worker i does 100 speed / (i + 1) GFLOP/s in gemm, else half of it;
    all at once a fifth less."""

    def __init__(self, speed=1.0, share=1.0, noise=0.0):
        self.speed, self.share, self.noise, self.calls = speed, share, noise, []
        self.held = None
        self.even = False

    def measure_kernel(
        self,
        threads,
        kernel,
        dtype,
        size,
        *,
        workers,
        worker=-1,
        seconds=0.0,
        least=1,
        capacity=1000,
    ):
        self.calls.append((kernel, dtype.name, size, worker))
        flops = dtypes.flops_per_update(dtype) * float(size) ** (3 if kernel == "gemm" else 2)
        speeds = np.array(
            [100 * self.speed if self.even else 100 * self.speed / (i + 1) for i in range(workers)]
        )
        speeds *= 1.0 if kernel == "gemm" else 0.5
        speeds *= 0.8 if worker < 0 else 1.0
        seconds_each = flops / (speeds * 1e9)
        # the last one is an outlier
        pattern = 1 + self.noise * np.array([0, 0, -1, 1, 0, 0, 0, 0, 0, 400.0])
        times = [
            seconds_each[i] * pattern if worker in (-1, i) else np.empty(0) for i in range(workers)
        ]
        share = np.broadcast_to(np.asarray(self.share, float), workers)
        elapsed = np.array(
            [10 * seconds_each[i] / share[i] if worker in (-1, i) else 0.0 for i in range(workers)]
        )
        return run.Measurement(
            times, np.ones(workers, np.int32), elapsed, elapsed * share, 0, flops
        )

    def pinned(self, threads, workers):
        return [True] * workers if self.held is None else self.held


class Hypervisor:
    """A /proc/stat that counts some ticks between two looks at it, of some cpus a part as
    stolen."""

    def __init__(self, root, taken, step=1000):
        self.root, self.taken, self.step = root, taken, step
        self.counts = np.zeros((8, 8), np.int64)
        (root / "proc").mkdir()

    def ticks(self):
        for cpu, counts in enumerate(self.counts):
            stolen = round(self.step * self.taken.get(cpu, 0.0))
            counts[[0, 7]] += self.step - stolen, stolen
        lines = [
            f"cpu{cpu} {' '.join(map(str, counts))} 0 0" for cpu, counts in enumerate(self.counts)
        ]
        (self.root / "proc/stat").write_text("\n".join(["cpu 1 1 1 1 1 1 1 1 0 0", *lines]) + "\n")
        return linux_ticks(str(self.root))

    def slowed(self, machine):
        """The machine's engine, of which CPU time says nothing."""

        def measure_kernel(*args, **kwargs):
            found = machine.measure_kernel(*args, **kwargs)
            left = np.array([1 - self.taken.get(i, 0.0) for i in range(len(found.elapsed))])
            return found._replace(elapsed=found.elapsed / left, busy=found.busy / left)

        return measure_kernel


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield tmp_path / "hetsched"
    hetsched.runners.shared.renew_shared_pool()


@pytest.fixture
def machine(cache, monkeypatch):
    """Three cores, one fast, and an engine of known speeds."""
    fake = Machine()
    monkeypatch.setattr(measuring, "topology", topology)
    monkeypatch.setattr(run, "measure_kernel", fake.measure_kernel)
    monkeypatch.setattr(run, "pinned", fake.pinned)
    monkeypatch.setattr(measuring, "_start_cost", lambda threads, p: 0.0)
    monkeypatch.setattr(linux, "ticks", lambda: {})
    return fake


class TestProfiles:
    def test_known_speeds(self, machine):
        found = hs.measure()
        assert isinstance(found, hs.Platform)
        assert found.names == ("cpu 0", "cpu 1", "cpu 2")
        assert found.cpus == (0, 1, 2)
        assert found.pinned
        np.testing.assert_allclose(found.speeds, [80, 40, 80 / 3])
        for worker in range(3):
            for dtype in ("float64", "float32"):
                profile = found.profile(worker, "gemm", dtype)
                assert profile.sizes.tolist() == [64, 128, 256, 512, 768]
                np.testing.assert_allclose(profile.gflops, 100 / (worker + 1))
                np.testing.assert_allclose(
                    profile.seconds, 2 * profile.sizes**3 * (worker + 1) / 1e11
                )
                np.testing.assert_allclose(
                    found.profile(worker, "panel", dtype).gflops, 50 / (worker + 1)
                )
                assert not profile.spread.any()
        for once in found.at_once.values():
            assert once.ratio == pytest.approx(0.8)
            np.testing.assert_allclose(once.share, 1)
        assert found.notes == ()
        np.testing.assert_allclose(found.platform(np.float32).cycle_times, found.cycle_times)
        with pytest.raises(ValueError, match="complex64 was not measured"):
            found.platform(np.complex64)
        with pytest.raises(ValueError, match="gemm in complex64 of worker 0 was not measured"):
            found.profile(0, dtype=np.complex64)

    def test_unsteady_speeds_are_warned_of(self, machine):
        steady = hs.measure(kernels=["gemm"])
        assert "warning" not in steady.table()
        record = copy.deepcopy(steady.record())
        record["profiles"][1]["spread"][2] = 0.75
        record["profiles"][0]["spread"][0] = 0.51
        (warning,) = [
            line for line in MeasuredPlatform(record).table().splitlines() if "warning" in line
        ]
        size = record["profiles"][1]["sizes"][2]
        assert f"warning: 2 of {sum(len(x['sizes']) for x in record['profiles'])} speeds" in warning
        assert f" {size} on " in warning
        assert "±75%" in warning

    def test_outliers_are_rejected(self, machine):
        machine.noise = 0.01
        profile = hs.measure(kernels=["gemm"]).profile(1)
        np.testing.assert_allclose(profile.gflops, 50)
        assert (profile.spread < 0.01).all()

    def test_planners_take_it(self, machine):
        found = hs.measure()
        assert hs.distribute(11, found).counts.tolist() == [6, 3, 2]
        assert hs.partition(found).actual_areas == pytest.approx(np.array([6, 3, 2]) / 11)
        assert hs.plan_lu(400, 400, found).names == found.names

    def test_chunks(self, machine):
        found = hs.measure(sizes={"gemm": [10, 100]})
        plan = hs.distribute_profile(11, found.chunk_profiles(1e6))
        assert plan.counts.tolist() == [6, 3, 2]
        assert plan.makespan == pytest.approx(6e-3 / 80)
        with pytest.raises(ValueError, match="flops"):
            found.chunk_profiles(0)
        with pytest.raises(ValueError, match="was not measured"):
            found.chunk_profiles(1, dtype=np.complex128)

    def test_panel_times(self, machine):
        found = hs.measure(kernels=["gemm", "panel"], sizes={"panel": [100]})
        times = found.panel_times(250, 200, 80)
        assert times.shape == (3, 3)
        widths, rows = np.array([80, 80, 40]), np.array([250, 170, 90])
        np.testing.assert_allclose(times[0], widths**2 * (rows - widths / 3) / 40e9)
        np.testing.assert_allclose(times[2], 3 * times[0])
        with pytest.raises(ValueError, match="block"):
            found.panel_times(10, 10, 0)

    def test_between_sizes(self):
        profile = hs.SpeedProfile(
            0, "gemm", "float64", np.array([10, 20]), np.ones(2), np.array([1.0, 3.0]), np.zeros(2)
        )
        assert profile.at([5, 15, 40]).tolist() == [1.0, 2.0, 3.0]

    def test_one_of_each_type(self, machine):
        found = hs.measure(cores="types")
        assert {worker for _, _, _, worker in machine.calls} == {-1, 0, 1}
        assert found.profile(2).gflops.tolist() == found.profile(1).gflops.tolist()
        np.testing.assert_allclose(found.speeds, [80, 40, 80 / 3])  # all at once is always measured
        assert "only one core of each type was profiled" in found.notes

    def test_many_cores(self, machine, monkeypatch):
        monkeypatch.setattr(measuring, "topology", lambda: topology(20))
        hs.measure(kernels=["gemm"])
        assert {worker for _, _, _, worker in machine.calls} == {-1, 0, 1}
        machine.calls.clear()
        hs.measure(kernels=["gemm"], cores="all", refresh=True)
        assert {worker for _, _, _, worker in machine.calls} == {-1, *range(20)}

    def test_slow_machine(self, machine):
        """What would take too long is left out."""
        machine.speed = 2e-3
        sizes = hs.measure(seconds=0.5).profile(2).sizes
        assert sizes.tolist() == [64, 128]

    def test_where_threads_are_not_held(self, machine):
        machine.held = [True, False, True]
        found = hs.measure()
        assert found.cpus == (0, None, 2)
        assert found.names[1] == "worker 1"
        assert not found.pinned
        assert "could not be pinned to cpus 1" in found.notes[0]

    @pytest.mark.parametrize("share", [0.5, [1.0, 0.49, 1.0]])
    def test_neighbour(self, machine, share):
        """Speeds are those of the cores to themselves, whoever had how much of them."""
        machine.share, machine.even = share, True
        found = hs.measure()
        assert found.disturbed
        for here in (found, found.platform(np.float32)):
            np.testing.assert_allclose(here.speeds, 80)
        assert hs.distribute(1000, found).counts.tolist() == [334, 333, 333]
        np.testing.assert_allclose(
            found.at_once["float64"].gflops, np.broadcast_to(80 * np.asarray(share), 3)
        )
        np.testing.assert_allclose(found.at_once["float64"].own, 80)
        plan = hs.distribute_profile(300, found.chunk_profiles(1e6))
        assert plan.counts.tolist() == [100, 100, 100]
        np.testing.assert_allclose(*found.panel_times(500, 500, 100)[:2])
        cpu, part = (0, "50%") if share == 0.5 else (1, "49%")
        assert found.notes == (
            (
                f"other programs were running: cpu {cpu} had its core for {part} of the time; the"
                " speeds do not count the lost time, and the next call measures again"
            ),
        )

    def test_hypervisor(self, machine, monkeypatch, tmp_path):
        """It takes half of cpu 1's time, which CPU time does not show: not its speed, and not for a
        week."""
        host = Hypervisor(tmp_path, {1: 0.5})
        monkeypatch.setattr(linux, "ticks", host.ticks)
        monkeypatch.setattr(run, "measure_kernel", host.slowed(machine))
        machine.even = True
        found = hs.measure()
        np.testing.assert_allclose(found.stolen, [0, 0.5, 0], atol=0.02)
        np.testing.assert_allclose(found.at_once["float64"].gflops, [80, 40, 80])
        np.testing.assert_allclose(found.at_once["float64"].share, [1, 0.5, 1], atol=0.02)
        np.testing.assert_allclose(found.speeds, 80, rtol=0.02)
        assert found.disturbed
        assert found.notes[0].startswith(
            "a hypervisor took time: cpu 1 had its core for 50% of the time; the speeds"
        )
        host.taken = {}
        assert not hs.measure().disturbed

    @pytest.mark.parametrize("taken", [{0: 0.05, 1: 0.05}, {7: 0.9}])
    def test_hypervisor_that_takes_little_or_from_others(
        self, machine, monkeypatch, tmp_path, taken
    ):
        monkeypatch.setattr(linux, "ticks", Hypervisor(tmp_path, taken).ticks)
        found = hs.measure()
        assert not found.disturbed
        assert found.notes == ()

    def test_hypervisor_beside_one_at_a_time(self, machine, monkeypatch, tmp_path):
        """What it takes from a core by itself counts as well: its profile is slow."""
        host = Hypervisor(tmp_path, {2: 0.3})

        def measure_kernel(*args, **kwargs):
            if "worker" not in kwargs:  # all at once
                host.taken = {}
            return machine.measure_kernel(*args, **kwargs)

        monkeypatch.setattr(linux, "ticks", host.ticks)
        monkeypatch.setattr(run, "measure_kernel", measure_kernel)
        found = hs.measure()
        assert found.at_once["float64"].share.tolist() == [1.0, 1.0, 1.0]
        assert found.disturbed
        assert found.notes[0].startswith(
            "a hypervisor took time: cpu 2 had its core for 70% of the time"
        )

    def test_a_single_tick_is_no_disturbance(self, machine, monkeypatch, tmp_path):
        """Of a window of three ticks it would be a third."""
        monkeypatch.setattr(linux, "ticks", Hypervisor(tmp_path, {0: 0.34}, step=3).ticks)
        found = measuring._Stolen([0, 1])
        with found.watching([0, 1]):
            pass
        assert found.part.tolist() == [0.0, 0.0]

    def test_without_counters(self, machine, monkeypatch, tmp_path):
        machine.held = [True, False, True]
        monkeypatch.setattr(linux, "ticks", Hypervisor(tmp_path, {1: 0.9}).ticks)
        # where a worker that is held nowhere was, nobody knows
        assert hs.measure().stolen.tolist() == [0.0, 0.0, 0.0]
        monkeypatch.setattr(linux, "ticks", lambda: {})
        assert hs.measure(refresh=True).stolen.tolist() == [0.0, 0.0, 0.0]

    def test_quota(self, machine, monkeypatch):
        monkeypatch.setattr(
            measuring, "topology", lambda: topology(quota=2.5, quota_source="cgroup")
        )
        found = hs.measure()
        assert found.quota == 2.5
        assert found.notes == ("measured under a quota of 2.5 cpus (cgroup)",)
        assert not found.disturbed

    def test_neighbours_under_a_quota(self, machine, monkeypatch):
        """Who is stopped by a quota when is chance: all lose as much. What they lose beside it is
        other programs'."""
        monkeypatch.setattr(
            measuring, "topology", lambda: topology(quota=2.5, quota_source="cgroup")
        )
        machine.share, machine.even = [0.7, 0.9, 0.9], True
        found = hs.measure()
        np.testing.assert_allclose(found.speeds, 200 / 3)
        assert not found.disturbed
        machine.share = [0.6, 0.7, 0.7]
        found = hs.measure(refresh=True)
        np.testing.assert_allclose(found.speeds, 160 / 3)
        assert found.disturbed
        assert found.notes[1].startswith(
            "other programs were running: the workers had 80% of the quota; the speeds"
        )

    def test_only_what_is_asked(self, machine):
        found = hs.measure(kernels=["trsm"], dtypes=[np.complex64], sizes={"trsm": [30, 10, 10]})
        assert set(found.profiles) == {(i, "trsm", "complex64") for i in range(3)}
        assert found.profile(0, "trsm", np.complex64).sizes.tolist() == [10, 30]
        assert list(found.at_once) == ["complex64"]
        assert found.at_once["complex64"].ratio == 1.0

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({"kernels": ["x"]}, ValueError, "kernels must be one of gemm, panel, trsm, got 'x'"),
            ({"kernels": "gemm"}, TypeError, "kernels must be a sequence"),
            ({"kernels": []}, ValueError, "kernels is empty"),
            ({"dtypes": []}, ValueError, "dtypes is empty"),
            ({"dtypes": [int]}, TypeError, "dtypes int64 is not one of"),
            ({"sizes": {"x": [1]}}, ValueError, "sizes must be one of"),
            ({"sizes": {"gemm": [0]}}, ValueError, "sizes"),
            ({"sizes": {"gemm": []}}, ValueError, "sizes"),
            ({"cores": "some"}, ValueError, "cores must be one of auto, all, types, got 'some'"),
            ({"seconds": 0}, ValueError, "seconds must be greater than 0"),
            ({"max_age": -1}, ValueError, "max_age must be at least 0"),
        ],
    )
    def test_bad_arguments(self, machine, arguments, error, words):
        with pytest.raises(error, match=words):
            hs.measure(**arguments)
        assert not machine.calls


@given(
    st.lists(st.floats(0.9, 1.1), min_size=8, max_size=40), st.floats(50, 1000), st.integers(0, 7)
)
def test_typical(times, outlier, at):
    """Near the plain median, whatever one outlier is; the spread is that of the others."""
    low, high = np.quantile(times, [0.25, 0.75])
    for given_times in (times, [*times[:at], outlier, *times[at:]]):
        median, spread = typical(given_times)
        assert min(times) <= median <= max(times)
        assert 0 <= spread <= (max(times) - min(times)) / min(times)
    assert typical([2.0]) == (2.0, 0.0)
    assert typical([1.0, 1.0, 1.0, 50.0]) == (1.0, 0.0)
    assert low <= high


class TestCache:
    def test_measured_once(self, machine, cache):
        first = hs.measure()
        calls = len(machine.calls)
        again = hs.measure()
        assert len(machine.calls) == calls
        assert again == first
        assert again.record() == json.loads(json.dumps(first.record()))
        assert again.age >= 0
        assert [path.name[:8] for path in cache.iterdir()] == ["measure-"]
        hs.measure(refresh=True)
        assert len(machine.calls) == 2 * calls

    def test_age(self, machine, monkeypatch):
        hs.measure()
        calls, now = len(machine.calls), time.time()
        monkeypatch.setattr(time, "time", lambda: now + 2 * HOUR)
        assert hs.measure(max_age=3 * HOUR).age == pytest.approx(2 * HOUR, abs=60)
        assert len(machine.calls) == calls
        assert recent(topology(), max_age=HOUR) is None
        hs.measure(max_age=HOUR)
        assert len(machine.calls) == 2 * calls
        monkeypatch.setattr(time, "time", lambda: now - HOUR)  # a clock that was set back
        assert recent(topology()) is None

    @pytest.mark.few(3)
    @pytest.mark.parametrize(
        "content",
        [
            "",
            "{",
            "[]",
            "null",
            '{"format": "hetsched-measure", "version": 1}',
            "\x00",
            "[" * 10**5,
        ],
    )
    def test_broken_file(self, machine, cache, content):
        first = hs.measure()
        (path,) = cache.iterdir()
        path.write_text(content)
        calls = len(machine.calls)
        assert recent(topology()) is None
        assert hs.measure() == first
        assert len(machine.calls) == 2 * calls
        assert recent(topology()) == first

    @pytest.mark.few(6)
    @pytest.mark.parametrize(
        "change",
        [
            lambda r: r.pop("cpus"),
            lambda r: r["at_once"].clear(),
            lambda r: r["at_once"]["float64"]["gflops"].pop(),
            lambda r: r["at_once"]["float64"]["gflops"].__setitem__(0, -1.0),
            lambda r: r["at_once"]["float64"]["share"].__setitem__(0, float("nan")),
            lambda r: r["at_once"]["float64"]["share"].pop(),
            lambda r: r["at_once"]["float64"]["alone"].pop(),
            lambda r: r["at_once"]["float64"].__setitem__("size", float("inf")),
            lambda r: r["stolen"].pop(),
            lambda r: r["stolen"].__setitem__(1, float("nan")),
            lambda r: r["stolen"].__setitem__(1, 1.5),
            lambda r: r["profiles"].__setitem__(0, 3),
            lambda r: r["profiles"][0].__setitem__("worker", 9),
            lambda r: r["profiles"][0].__setitem__("worker", -1),
            lambda r: r["profiles"][0]["spread"].pop(),
            lambda r: r["profiles"][0]["sizes"].__setitem__(0, 10**30),
            lambda r: r.__setitem__("measured", "yesterday"),
            lambda r: r["fingerprint"].__setitem__("model", "B"),
        ],
    )
    def test_damaged_record(self, machine, cache, change):
        hs.measure()
        (path,) = cache.iterdir()
        record = json.loads(path.read_text())
        change(record)
        path.write_text(json.dumps(record))
        assert recent(topology()) is None

    def test_fingerprint(self, machine, monkeypatch):
        """Another mask, quota, model, limit, kernel or version is another machine."""
        hs.measure()
        assert recent(topology()) is not None
        for other in (
            topology(2),
            topology(quota=2.0),
            topology(model="B"),
            topology(thread_limit=2),
        ):
            assert fingerprint(other) != fingerprint(topology())
            assert recent(other) is None
        monkeypatch.setattr(kept, "__version__", "0")
        assert recent(topology()) is None

    def test_kernel_set(self, machine):
        hs.measure()
        before = kernels.kernel()["name"]
        if before == "c":
            pytest.skip("no other kernels in this build")
        try:
            kernels.use_kernel("c")
            assert recent(topology()) is None
        finally:
            kernels.use_kernel(before)

    @pytest.mark.parametrize("place", ["file", "/proc/self/x", "relative"])
    def test_home_that_cannot_be_written(self, machine, tmp_path, monkeypatch, place):
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("HOME", str(tmp_path / "file"))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file") if place == "file" else place)
        monkeypatch.chdir(tmp_path)
        assert len(hs.measure()) == 3
        assert recent(topology()) is None
        assert sorted(os.listdir()) == ["file"]

    @pytest.mark.parametrize(
        ("name", "given", "place"),
        [
            ("darwin", None, "home/Library/Caches/hetsched"),
            ("darwin", "own", "own/hetsched"),
            ("darwin", "relative", "home/Library/Caches/hetsched"),
            ("linux", None, "home/.cache/hetsched"),
            ("linux", "own", "own/hetsched"),
        ],
    )
    def test_folder(self, machine, tmp_path, monkeypatch, name, given, place):
        """Where users of each system look for it."""
        monkeypatch.setattr(sys, "platform", name)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.delenv("XDG_CACHE_HOME")
        if given:
            monkeypatch.setenv(
                "XDG_CACHE_HOME", given if given == "relative" else str(tmp_path / given)
            )
        hs.measure()
        assert [path.name[:8] for path in (tmp_path / place).iterdir()] == ["measure-"]

    @pytest.mark.few(2)
    @pytest.mark.parametrize("whose", ["of everybody", "of a group", "of another user", "a link"])
    def test_folder_of_others(self, machine, cache, monkeypatch, whose):
        """What they could have written is not believed, and nothing is written there."""
        hs.measure()
        (path,) = cache.iterdir()
        assert cache.stat().st_mode & 0o777 == 0o700
        if whose == "a link":
            cache.rename(cache.with_name("elsewhere"))
            cache.symlink_to("elsewhere")
        elif whose == "of another user":
            other = os.geteuid() + 1
            monkeypatch.setattr(os, "geteuid", lambda: other)
        else:
            cache.chmod(0o777 if whose == "of everybody" else 0o770)
        assert recent(topology()) is None
        path.unlink()
        assert len(hs.measure()) == 3
        assert list(cache.iterdir()) == []

    @pytest.mark.parametrize("what", ["a pipe", "a folder", "a large file"])
    def test_something_else_in_its_place(self, machine, cache, what):
        """It neither keeps anybody waiting nor takes memory."""
        hs.measure()
        (path,) = cache.iterdir()
        path.unlink()
        if what == "a pipe":
            os.mkfifo(path)
        elif what == "a folder":
            path.mkdir()
        else:
            with open(path, "wb") as file:
                file.truncate(2**36)
        assert recent(topology()) is None
        assert len(hs.measure()) == 3

    def test_no_home(self, machine, monkeypatch):
        monkeypatch.delenv("XDG_CACHE_HOME")

        def no_home():
            raise RuntimeError("no home")

        monkeypatch.setattr(Path, "home", no_home)
        assert len(hs.measure()) == 3
        assert recent(topology()) is None

    def test_neighbours_are_not_kept_for_long(self, machine, monkeypatch):
        """What was measured beside other programs stands for pools for an hour; each call of
        measure tries again."""
        machine.share = [1.0, 0.49, 1.0]
        first = hs.measure()
        calls = len(machine.calls)
        assert recent(topology()) == first
        hs.measure()
        assert len(machine.calls) == 2 * calls
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 0.9 * HOUR)
        assert recent(topology()) == first
        monkeypatch.setattr(time, "time", lambda: now + 1.1 * HOUR)
        assert recent(topology()) is None
        machine.share = 1.0
        quiet = hs.measure()
        assert not quiet.disturbed
        monkeypatch.setattr(time, "time", lambda: now + 100 * HOUR)
        assert hs.measure() == recent(topology()) == quiet
        assert len(machine.calls) == 3 * calls

    def test_neighbours_do_not_replace_what_was_measured_without(self, machine, monkeypatch):
        quiet = hs.measure(dtypes=["float64"])
        machine.share = 0.5
        both = hs.measure(dtypes=["float32"])
        assert both.disturbed
        assert set(both.at_once) == {"float64", "float32"}
        assert recent(topology()).record() == quiet.record()
        machine.share = 1.0
        assert not hs.measure(dtypes=["float32"]).disturbed
        assert set(recent(topology()).at_once) == {"float64", "float32"}

    def test_neighbours_are_left_behind(self, machine):
        """A quiet measurement takes nothing over from one that was not."""
        machine.share = 0.5
        hs.measure(dtypes=["float64"])
        machine.share = 1.0
        found = hs.measure(dtypes=["float32"])
        assert not found.disturbed
        assert set(found.at_once) == {"float32"}

    def test_more_is_added(self, machine):
        """Another dtype or kernel is measured beside what is there."""
        hs.measure(kernels=["gemm"], dtypes=["float64"])
        machine.calls.clear()
        found = hs.measure(kernels=["panel"], dtypes=["float32"])
        assert {(kernel, dtype) for kernel, dtype, _, _ in machine.calls} == {
            ("panel", "float32"),
            ("gemm", "float32"),
        }
        assert {key[1:] for key in found.profiles} == {("gemm", "float64"), ("panel", "float32")}
        assert set(found.at_once) == {"float64", "float32"}
        machine.calls.clear()
        hs.measure(kernels=["gemm"], dtypes=["float64"])
        assert not machine.calls
        # a size that is not there
        hs.measure(kernels=["gemm"], dtypes=["float64"], sizes={"gemm": [64, 100]})
        assert machine.calls


class TestPools:
    @pytest.fixture
    def uneven(self, machine, monkeypatch):
        monkeypatch.setattr(hetsched.runners.workers, "topology", topology)
        monkeypatch.setattr(
            run, "Threads", lambda workers, cores, *_, **__: ("threads", workers, cores)
        )
        return machine

    def test_unmeasured(self, uneven):
        pool = hs.Pool()
        assert len(pool) == 3
        assert set(resources_of(pool).workers.shares.values()) == {None}

    def test_measured(self, uneven):
        found = hs.measure()
        calls = len(uneven.calls)
        pool = hs.Pool()
        np.testing.assert_allclose(
            resources_of(pool).workers.shares[np.dtype(np.float64)], [80, 40, 80 / 3]
        )
        assert resources_of(pool).workers.shares[np.dtype(np.complex64)] is None
        assert pool.platform == found.platform()
        assert pool.plan_lu(3000, 3000).cycle_times.tolist() == found.cycle_times.tolist()
        assert len(uneven.calls) == calls  # a pool never measures by itself
        assert resources_of(hs.Pool(2)).workers.measured is None  # other cpus, other speeds
        given = hs.Platform.star([1, 2, 3])
        assert hs.Pool(given).platform is given
        np.testing.assert_allclose(
            resources_of(hs.Pool(given)).workers.shares[np.dtype(np.complex64)], [1, 1 / 2, 1 / 3]
        )

    def test_neighbours_come_and_go(self, uneven):
        """Shares are those of the cores, not of who was on them."""
        uneven.share = 0.3
        hs.measure()
        assert len(hs.Pool()) == 3
        np.testing.assert_allclose(
            resources_of(hs.Pool()).workers.shares[np.dtype(np.float32)], [80, 40, 80 / 3]
        )

    def test_nearly_equal(self, uneven):
        uneven.even = True
        hs.measure()
        assert set(resources_of(hs.Pool()).workers.shares.values()) == {None}

    def test_info(self, uneven, monkeypatch, capsys):
        assert "not measured" in measuring.describe(recent(topology()))
        found = hs.measure()
        text = measuring.describe(found)
        assert (
            "cpu 0 80, cpu 1 40, cpu 2 26.67 GFLOP/s (float64, all at once 80% of one at a time),"
            " used by matmul" in text
        )
        monkeypatch.setattr(time, "time", lambda: found.measured + 5 * HOUR)
        assert measuring.describe(found).startswith("measured 5 h ago")

    def test_info_beside_others(self, uneven):
        uneven.share = [1.0, 0.49, 1.0]
        text = measuring.describe(hs.measure())
        assert "cpu 0 80, cpu 1 40, cpu 2 26.67 GFLOP/s" in text
        assert text.endswith(
            "used by matmul and lu_factor for an hour only, because other programs or a hypervisor"
            " took time"
        )


class TestReal:
    """The engine itself, on this machine, in a fraction of a second."""

    ARGUMENTS = dict(seconds=0.05, sizes={"gemm": [20, 50], "panel": [50], "trsm": [50]})

    def test_this_machine(self, cache):
        found = hs.measure(**self.ARGUMENTS)
        host = hs.topology()
        assert len(found) == host.worth
        assert {cpu for cpu in found.cpus if cpu is not None} <= set(host.places)
        for (_, kernel, _), profile in found.profiles.items():
            assert (profile.gflops > 0).all()
            assert (profile.spread >= 0).all()
            assert profile.sizes.tolist() == self.ARGUMENTS["sizes"][kernel]
        assert len(found.profiles) == 6 * host.worth
        assert recent() == found
        assert found.disturbed or hs.measure() == found
        assert found.start >= 0

    def test_products_by_measured_speeds(self, cache):
        """Whatever the speeds, the numbers are right."""
        hs.measure(**self.ARGUMENTS)
        (path,) = cache.iterdir()
        record = json.loads(path.read_text())
        for once in record["at_once"].values():
            once["gflops"] = once["alone"] = [10.0 / (i + 1) for i in range(len(once["gflops"]))]
            once["share"] = [1.0] * len(once["gflops"])
        path.write_text(json.dumps(record))
        hetsched.runners.shared.renew_shared_pool()
        rng = np.random.default_rng(0)
        A = rng.standard_normal((301, 301))
        np.testing.assert_allclose(hs.matmul(A, A), A @ A, atol=1e-11)
        lu, piv = hs.lu_factor(A)
        np.testing.assert_allclose(hs.lu_solve((lu, piv), A @ np.ones(301)), 1, atol=1e-8)
        if hs.topology().worth > 1:
            assert (
                resources_of(hetsched.runners.shared.shared_pool()).workers.shares[A.dtype]
                is not None
            )

    def test_rate(self):
        assert measuring.rate(np.dtype(np.float32)) > 1e6

    def test_engine(self):
        threads = run.Threads(2, None)
        assert run.pinned(threads, 2) == [False, False]
        found = run.measure_kernel(
            threads, "gemm", np.dtype(np.complex64), 30, workers=2, worker=1, least=4, capacity=4
        )
        assert [len(times) for times in found.times] == [0, 4]
        assert found.flops == 8 * 30**3
        with pytest.raises(ValueError, match="argument"):
            run.measure_kernel(threads, "gemm", np.dtype(np.float64), 0, workers=2)

    @pytest.mark.slow
    def test_command(self, cache, tmp_path, monkeypatch, capsys):
        pytest.importorskip("matplotlib").use("Agg")
        monkeypatch.chdir(tmp_path)
        assert (
            cli.main(["measure", "--seconds", "0.05", "--dtype", "float32", "--plot", "a.png"]) == 0
        )
        table = capsys.readouterr().out
        assert "gemm float32" in table
        assert "all at once, float32" in table
        assert Path("a.png").read_bytes().startswith(b"\x89PNG")
        assert cli.main(["measure", "--dtype", "float32", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == recent().record()
        assert cli.main(["measure", "--plot", "a.txt"]) == 1
        assert "--plot must end in" in capsys.readouterr().err
        assert cli.main(["info"]) == 0
        out = capsys.readouterr().out
        assert "\nspeeds " in out
        assert "\nworth it " in out
        found = recent()
        assert found._repr_html_().startswith("<pre>")
        assert repr(found).startswith("<MeasuredPlatform: ")
        assert str(found) == found.table()
