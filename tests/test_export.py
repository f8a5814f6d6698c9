"""Exported traces say what the trace says, and are what Perfetto and ViTE accept."""

import csv
import itertools
import json
import random
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs
from hetsched.trace import Event, Trace, lanes

WRITERS = [Trace.to_chrome, Trace.to_paje, Trace.to_csv]
AWKWARD = ['a "quoted", name', "line\nbreak", "", "é #3"]


def make(steps, workers, **options):
    return Trace.from_steps(steps, workers, kind="emulated", speeds=[1.0] * len(workers), **options)


@pytest.fixture
def sequential():
    """Receives, then computes; thirds, so that ends and starts are not round numbers."""
    steps = []
    for worker in range(4):
        now = worker / 3
        for k in range(5):
            steps.append((worker, "transfer", now, now + 0.1, f"B {k}"))
            steps.append((worker, "compute", now + 0.1, now + 0.1 + (worker + 1) / 3, f"C {k}"))
            now += 0.1 + (worker + 1) / 3
    return make(steps, AWKWARD, predicted=7.0)


@pytest.fixture
def overlapping():
    """Receives the next panel while it computes."""
    steps = [
        (0, "transfer", 0.0, 1.0, "B 0"),
        (0, "compute", 1.0, 4.0, "C 0"),
        (0, "transfer", 1.5, 4.5, "B 1"),
        (0, "compute", 4.5, 6.0, "C 1"),
        (1, "compute", 0.0, 7.0, "C 2"),
    ]
    return make(steps, ["fast", "slow"])


@pytest.fixture(params=["sequential", "overlapping"])
def trace(request):
    return request.getfixturevalue(request.param)


def test_overlap_is_recognised(sequential, overlapping):
    assert not sequential.overlapped
    assert overlapping.overlapped
    assert not hs.simulate(hs.distribute(78, [3, 5, 8])).overlapped


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(["compute", "transfer", "wait"]),
            st.integers(0, 30),
            st.integers(0, 6),
            st.sampled_from(["panel 3", "panel 12", "P2", ""]),
        )
    )
)
def test_profile_says_what_each_worker_did_at_each_time(given_steps):
    steps = [(w, kind, float(t), float(t + long), what) for w, kind, t, long, what in given_steps]
    trace = make(steps, ["A", "B", "C"])
    end = max((step[3] for step in steps), default=0.0)
    assert trace.makespan == end
    expected = {}
    for worker in range(3):
        for time in range(int(end)):  # a whole unit of time is of one kind
            going = [s for s in steps if s[0] == worker and s[2] <= time < s[3]]
            kinds = {kind for _, kind, *_ in going}
            waits = sorted((s for s in going if s[1] == "wait"), key=lambda s: s[2:4])
            name = next((kind for kind in ("compute", "transfer") if kind in kinds), "wait")
            if name == "wait" and len(waits) == 1 and waits[0][4]:
                name += f" for {waits[0][4].split()[0]}"
            elif len(waits) > 1:
                name = "any" if name == "wait" else name
            expected[worker, name] = expected.get((worker, name), 0) + 1
    profile = trace.profile()
    for worker in range(3):
        assert sum(times[worker] for times in profile.values()) == end
        for name, times in profile.items():
            unclear = expected.get((worker, "any"), 0) if name.startswith("wait") else 0
            least = expected.get((worker, name), 0)
            assert least <= times[worker] <= least + unclear
    gaps = [e for e in trace.events if e.kind == "wait"]
    assert all(a.end <= b.start for a, b in itertools.pairwise(gaps) if a.worker == b.worker)


def test_lanes_hold_all_events_once_and_never_two_at_a_time(trace):
    tracks = lanes(trace)
    assert sorted(e for lane in tracks for e in lane.events) == sorted(trace.events)
    for lane in tracks:
        assert {e.worker for e in lane.events} <= {lane.worker}
        for event, later in itertools.pairwise(lane.events):
            assert event.end <= later.start + 1e-9
    assert len(tracks) == len(trace.workers) * (2 if trace.overlapped else 1)


def test_transfers_at_the_same_time_have_lanes_of_their_own(tmp_path):
    """A rank receives from several ranks at once."""
    steps = [
        (0, "transfer", start, end, "x") for start, end in ((0.0, 2.0), (1.0, 3.0), (2.0, 4.0))
    ]
    trace = Trace.from_steps(steps, ["A", "B"], kind="real", speeds=[1.0, 1.0])
    assert [(x.name, [e.start for e in x.events]) for x in lanes(trace) if x.worker == 0] == [
        ("A", []),
        ("A transfer", [0.0, 2.0]),
        ("A transfer 2", [1.0]),
    ]
    assert {x.name for x in lanes(trace) if x.worker == 1} == {"B", "B transfer"}


def test_csv_round_trips(trace, tmp_path):
    trace.to_csv(tmp_path / "trace.csv")
    with open(tmp_path / "trace.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["worker", "name", "kind", "start", "end", "what"]
    read = [
        Event(int(r["worker"]), r["kind"], float(r["start"]), float(r["end"]), r["what"])
        for r in rows
    ]
    assert tuple(read) == trace.events
    assert [r["name"] for r in rows] == [trace.workers[e.worker] for e in trace.events]


def chrome(trace, path):
    trace.to_chrome(path)
    content = json.loads(path.read_text())
    records = content["traceEvents"]
    names = {
        r["tid"]: r["args"]["name"]
        for r in records
        if r["ph"] == "M" and r["name"] == "thread_name"
    }
    order = {
        r["tid"]: r["args"]["sort_index"]
        for r in records
        if r["ph"] == "M" and r["name"] == "thread_sort_index"
    }
    return content, names, order, [r for r in records if r["ph"] == "X"]


def test_chrome_sums_to_the_totals(trace, tmp_path):
    content, names, order, slices = chrome(trace, tmp_path / "trace.json")
    assert content["displayTimeUnit"] == "ms"
    assert content["otherData"]["predicted"] == trace.predicted
    tracks = dict(enumerate(lanes(trace), 1))
    assert names == {tid: lane.name for tid, lane in tracks.items()}
    # workers stay in order, transfers below their worker
    assert sorted(order, key=order.get) == list(tracks)
    assert {s["cat"] for s in slices} == {"compute", "transfer"}
    for kind in ("compute", "transfer"):
        sums = [0.0] * len(trace.workers)
        for s in slices:
            if s["cat"] == kind:
                sums[tracks[s["tid"]].worker] += s["dur"]
        assert sums == pytest.approx([1e6 * t for t in trace.total(kind)], rel=1e-6)


def test_chrome_slices_of_a_thread_stay_apart_in_the_nanoseconds_of_perfetto(tmp_path):
    rng = random.Random(0)
    times = list(itertools.accumulate(rng.uniform(1e-7, 1e-3) for _ in range(2000)))
    steps = [(0, "compute", start, end, "") for start, end in itertools.pairwise(times)]
    *_, slices = chrome(make(steps, ["a"]), tmp_path / "trace.json")
    now = 0
    for s in slices:
        # truncates as Perfetto does
        start, duration = int(s["ts"] * 1000.0), int(s["dur"] * 1000.0)
        assert start >= now
        now = start + duration
    assert now == pytest.approx(times[-1] * 1e9, abs=125)


def test_chrome_takes_unitless_times_as_seconds(tmp_path):
    trace = hs.simulate(hs.distribute(78, [3, 5, 8]))
    *_, slices = chrome(trace, tmp_path / "trace.json")
    assert [s["dur"] for s in slices] == [120e6, 120e6, 112e6]
    assert [s["name"] for s in slices] == ["40 chunks", "24 chunks", "14 chunks"]


def read_paje(text):
    """A small Paje reader: definitions first, then events by their numbers; returns container names
    and states."""
    fields, names, containers, values, open_states, states = {}, {}, {}, set(), {}, []
    now = 0.0
    for line in text.splitlines():
        tokens = shlex.split(line, posix=True)
        if tokens[0] == "%EventDef":
            current = fields[tokens[2]] = []
            names[tokens[2]] = tokens[1]
            continue
        if tokens[0] == "%EndEventDef":
            continue
        if tokens[0] == "%":
            assert tokens[2] in ("string", "date", "color")
            current.append(tokens[1])
            continue
        event = dict(zip(fields[tokens[0]], tokens[1:], strict=True))
        assert all(event.values()), "ViTE loses empty strings"
        if "Time" in event:
            assert "e" not in event["Time"]
            assert "." in event["Time"]
            assert float(event["Time"]) >= now, "Paje events are in order of time"
            now = float(event["Time"])
        kind = names[tokens[0]]
        if kind == "PajeDefineEntityValue":
            values.add(event["Alias"])
        elif kind == "PajeCreateContainer":
            assert event["Container"] in {"0", *containers}
            containers[event["Alias"]] = event["Name"]
        elif kind in ("PajeSetState", "PajePopState", "PajeDestroyContainer"):
            who = event.get("Container") or event["Name"]
            assert who in containers
            if who in open_states:
                value, start, what = open_states.pop(who)
                states.append((who, value, start, now, what))
            if kind == "PajeSetState":
                assert event["Value"] in values
                open_states[who] = event["Value"], now, event["What"]
    assert not open_states
    return containers, states


def test_paje_reads_back(trace, tmp_path):
    trace.to_paje(tmp_path / "trace.paje")
    containers, states = read_paje((tmp_path / "trace.paje").read_text(encoding="utf-8"))
    tracks = lanes(trace)
    assert list(containers) == ["all", *(f"lane{i}" for i in range(len(tracks)))]
    for i, lane in enumerate(tracks):
        mine = sorted(
            (start, end, value, what)
            for who, value, start, end, what in states
            if who == f"lane{i}"
        )
        given = sorted((e.start, e.end, e.kind, e.what or e.kind) for e in lane.events)
        assert [m[2:] for m in mine] == [g[2:] for g in given]
        assert [m[:2] for m in mine] == [pytest.approx(g[:2], abs=1e-12) for g in given]


def test_paje_names_are_one_token(tmp_path):
    make([(i, "compute", 0.0, 1.0, "") for i in range(4)], AWKWARD).to_paje(tmp_path / "trace.paje")
    containers, _ = read_paje((tmp_path / "trace.paje").read_text(encoding="utf-8"))
    assert list(containers.values())[1:] == ["a 'quoted', name", "line break", " ", "é #3"]


@pytest.mark.parametrize("write", WRITERS)
def test_a_trace_without_events(write, tmp_path):
    write(make([], ["idle"]), tmp_path / "empty")
    assert (tmp_path / "empty").stat().st_size > 0


@pytest.mark.parametrize("write", WRITERS)
def test_a_failed_write_leaves_the_old_file_alone(write, tmp_path):
    path = tmp_path / "trace"
    path.write_text("old")
    bad = Trace(
        (Event(0, "compute", 0.0, 1.0, "\ud800"),), ("a\ud800",), "real", "s", None, None, (1.0,)
    )
    if write is Trace.to_chrome:  # which escapes everything, but has no number for this
        bad = Trace(
            (Event(0, "compute", 0.0, float("nan"), ""),), ("a",), "real", "s", None, None, (1.0,)
        )
    with pytest.raises(ValueError, match="surrogates|NaN"):
        write(bad, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_trace_methods_write_files(sequential, tmp_path):
    sequential.to_chrome(tmp_path / "a.json")
    sequential.to_paje(tmp_path / "a.paje")
    sequential.to_csv(str(tmp_path / "a.csv"))
    assert sorted(f.name for f in tmp_path.iterdir()) == ["a.csv", "a.json", "a.paje"]


class TestFromSteps:
    STEP = (0, "compute", 0.0, 1.0, "x")

    def test_share_of_the_cores(self):
        steps = [(0, "compute", 0.0, 4.0, "x"), (1, "compute", 0.0, 2.0, "y")]
        names = ["a", "b", "c"]
        real = Trace.from_steps(
            steps, names, kind="real", speeds=[1.0] * 3, cpu=[2.0, 2.5, 0.1], unit="s"
        )
        assert real.core_share == (0.5, 1.0, 1.0)  # waiting may take CPU time as well
        assert repr(real).endswith("efficiency 50.0%, the workers had at most 67% of their cores>")
        alone = Trace.from_steps(steps, names, kind="real", speeds=[1.0] * 3, cpu=[3.9, 2.0, 0.0])
        assert alone.core_share == (0.975, 1.0, 1.0)
        assert repr(alone).endswith("efficiency 50.0%>")
        unknown = [
            Trace.from_steps(steps, names, kind="emulated", speeds=[1.0] * 3, cpu=[0.1] * 3),
            Trace.from_steps(steps, names, kind="real", speeds=[1.0] * 3),
        ]
        for trace in unknown:
            assert trace.core_share is None
            assert "their cores" not in repr(trace)
        empty = Trace.from_steps([], names, kind="real", speeds=[1.0] * 3, cpu=[0.0] * 3)
        assert empty.core_share == (1.0, 1.0, 1.0)

    def test_numbers_of_any_kind(self):
        trace = Trace.from_steps(
            [[0, "compute", 0, 1, "x"]], ["a"], kind="real", speeds=(1,), ideal=1
        )
        assert trace.events == (Event(*self.STEP),)
        assert trace.ideal == 1.0

    @pytest.mark.parametrize(
        ("steps", "options", "words"),
        [
            (3, {}, "steps must be"),
            ([(0, "compute", 0.0)], {}, r"steps\[0\] must be \(worker, kind, start, end, what\)"),
            ([STEP, (1, "compute", 0.0, 1.0, "x")], {}, r"steps\[1\]: worker must be"),
            ([(None, "compute", 0.0, 1.0, "x")], {}, r"steps\[0\]: worker must be"),
            ([(0, "compute", "x", 1.0, "x")], {}, r"steps\[0\]: start must be"),
            ([(0, "compute", 0.0, float("nan"), "x")], {}, r"steps\[0\]: end must be"),
            ([(0, "compute", 2.0, 1.0, "x")], {}, r"steps\[0\]: end must be at least 2"),
            ([(0, "computing", 0.0, 1.0, "x")], {}, r"steps\[0\]: kind must be one of compute"),
            ([(0, ["wait"], 0.0, 1.0, "x")], {}, r"steps\[0\]: kind must be one of compute"),
            ([STEP], {"workers": 3}, "workers must be"),
            ([STEP], {"speeds": []}, "speeds must have 1 entries"),
            ([STEP], {"speeds": ["x"]}, r"speeds\[0\] must be a number"),
            ([STEP], {"cpu": 3}, "cpu must be"),
            ([STEP], {"predicted_finish": [1, 2]}, "predicted_finish must have 1 entries"),
            ([STEP], {"ideal": 10**400}, "ideal must be finite"),
            ([STEP], {"predicted": "x"}, "predicted must be a number"),
        ],
    )
    def test_bad_arguments(self, steps, options, words):
        with pytest.raises((ValueError, TypeError), match=words):
            Trace.from_steps(steps, **{"workers": ["a"], "kind": "real", "speeds": [1.0]} | options)

    def test_kinds_are_words(self, sequential):
        with pytest.raises(TypeError, match="kind must be a string"):
            sequential.total([1, 2])
        with pytest.raises(ValueError, match="did you mean 'compute'"):
            sequential.total("Compute")
