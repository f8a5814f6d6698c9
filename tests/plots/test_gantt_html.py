"""The Gantt chart that a browser zooms: one file, opened in a headless Chromium that has no
network."""

import html
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import hetsched as hs
from hetsched.cli.main import main
from hetsched.trace import Event, Trace

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs chromium")
SIZE = 1200, 800

#: What a reader does, then what the page says of itself, as JSON in an element that --dump-dom
#: shows.
PROBE = """<script>
const told = [], state = () => ({...document.documentElement.dataset});
// A browser without a screen may have no frames.
window.requestAnimationFrame = draws => setTimeout(draws, 16);
const frames = () => new Promise(done => setTimeout(done, 50));
const send = (event, target = canvas) => target.dispatchEvent(event);
const at = (x, y, more = {}) => (
  {clientX: x, clientY: y, bubbles: true, cancelable: true, ...more});
const box = canvas.getBoundingClientRect(), tool = {
  wheel: (x, y, delta, more) => send(new WheelEvent("wheel", at(x, y, {deltaY: delta, ...more}))),
  pointer: (kind, x, y, id = 1) =>
    send(new PointerEvent("pointer" + kind, at(x, y, {pointerId: id}))),
  key: key => send(new KeyboardEvent("keydown", {key}), window),
  pixel: (x, y) => [...pen.getImageData(x * devicePixelRatio, y * devicePixelRatio, 1, 1).data],
};
(async () => {
  await frames(); told.push(state());
  try { @steps@ } catch (error) { told.push(String(error)); }
  const out = document.createElement("pre");
  out.id = "told";
  out.textContent = JSON.stringify(told);
  document.body.append(out);
})();
</script>"""


def opened(trace, tmp_path, steps=""):
    """What the page tells after these steps; its elements."""
    path = tmp_path / "trace.html"
    trace.to_html(path)
    path.write_text(
        path.read_text(encoding="utf-8").replace(
            "</body>", PROBE.replace("@steps@", steps) + "</body>"
        ),
        encoding="utf-8",
    )
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--no-first-run",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--window-size={SIZE[0]},{SIZE[1]}",
        "--virtual-time-budget=20000",
        "--dump-dom",
        path.as_uri(),
    ]
    page = subprocess.run(command, capture_output=True, text=True, timeout=100, check=True).stdout
    told = re.search(r'<pre id="told">(.*?)</pre>', page, re.DOTALL)
    assert told, page[:2000]
    return json.loads(html.unescape(told[1])), page


def numbers(state):
    return {key: float(value) for key, value in state.items()}


def make(steps, workers=("P0", "P1"), **options):
    return Trace.from_steps(steps, workers, kind="emulated", speeds=[1.0] * len(workers), **options)


SIMPLE = [
    (0, "compute", 0.0, 4.0, "block <b>0</b>"),
    (1, "transfer", 0.0, 1.0, "A"),
    (1, "compute", 2.0, 4.0, ""),
]


@needs_browser
def test_zooms_moves_and_comes_back(tmp_path):
    steps = """
    const x = Math.round(box.left + left + wide / 4), y = Math.round(box.top) + TOP + 10;
    told.push(time(x - box.left));
    tool.wheel(x, y, -400); await frames(); told.push(state());
    tool.pointer("down", x, y); tool.pointer("move", x - 50, y); tool.pointer("up", x - 50, y);
    await frames(); told.push(state());
    tool.key("0"); await frames(); told.push(state());
    tool.key("+"); await frames(); told.push(state());
    tool.key("ArrowRight"); await frames(); told.push(state());
    tool.key("0"); await frames();
    tool.pointer("down", x, y, 1); tool.pointer("down", x + 100, y, 2);
    tool.pointer("move", x + 200, y, 2);
    await frames(); told.push(state());
    for (let i = 0; i < 60; i++) tool.wheel(x, y, 1000);
    await frames(); told.push(state());
    """
    told, _ = opened(make(SIMPLE, unit="s"), tmp_path, steps)
    point = told.pop(1)
    all_, near, moved, back, closer, right, pinched, far = map(numbers, told)
    assert all_["from"] == 0
    assert all_["to"] == pytest.approx(4.04)
    assert near["to"] - near["from"] < 0.6 * all_["to"]
    assert near["from"] + (near["to"] - near["from"]) * point / all_["to"] == pytest.approx(
        point
    )  # what is under the pointer stays there
    assert moved["from"] > near["from"]
    assert moved["to"] - moved["from"] == pytest.approx(near["to"] - near["from"])
    assert (back["from"], back["to"]) == (0, all_["to"])
    assert closer["to"] - closer["from"] == pytest.approx(all_["to"] / 2)
    assert right["from"] > closer["from"]
    assert pinched["to"] - pinched["from"] == pytest.approx(all_["to"] / 2)
    assert (far["from"], far["to"]) == (0, all_["to"])  # not further than all of it


@needs_browser
def test_says_what_is_under_the_pointer(tmp_path):
    steps = """
    const over = (t, lane) => {
      tool.pointer("move", box.left + x(t), box.top + TOP + (lane + 0.5) * row);
      told.push({text: tip.textContent, seen: tip.style.visibility});
    };
    over(1, 0); over(0.5, 1); over(1.5, 1); over(3, 1); over(4.03, 1);
    """
    (_, first, transfer, wait, unnamed, beyond), page = opened(make(SIMPLE), tmp_path, steps)
    assert first == {
        "text": "P0: block <b>0</b> (compute)\n0 s to 4 s, 4 s long",
        "seen": "visible",
    }
    assert transfer["text"].startswith("P1: A (transfer)\n0 s to 1 s")
    assert wait["text"].startswith("P1: wait\n1 s to 2 s")
    assert unnamed["text"].startswith("P1: compute\n2 s to 4 s")
    assert beyond["seen"] == "hidden"
    assert "<b>" not in page.split('id="told"')[0].split("</header>")[1]


@needs_browser
def test_bars_are_where_and_what_they_are(tmp_path):
    steps = """
    for (const [t, lane] of [[3.9, 0], [0.2, 1], [1.5, 1], [3.9, 1]])
      told.push(tool.pixel(Math.round(x(t)), Math.round(TOP + (lane + 0.5) * row)));
    """
    (_, *pixels), _ = opened(make(SIMPLE), tmp_path, steps)
    assert [p[:3] for p in pixels] == [
        [0, 0x72, 0xB2],
        [0xE6, 0x9F, 0],
        [0xEF] * 3,
        [0, 0x72, 0xB2],
    ]


@needs_browser
def test_a_hundred_thousand_events(tmp_path):
    rng = np.random.default_rng(0)
    ends = np.cumsum(rng.uniform(0.5, 1.5, (64, 1600)), axis=1)
    steps = [
        (w, "compute", start, end, f"block {k} after panel {k // 16}")
        for w, own in enumerate(ends.tolist())
        for k, (start, end) in enumerate(zip([0.0, *own], own, strict=False))
    ]
    trace = make(steps, [f"P{w}" for w in range(64)])
    assert len(trace.events) > 100_000
    steps = """
    tool.wheel(box.left + left + wide / 2, box.top + 100, -3000);
    await frames(); told.push(state());
    """
    (whole, near), page = opened(trace, tmp_path, steps)
    assert float(whole["drawn"]) == len([e for e in trace.events if e.kind != "wait"])
    middle, span = (
        (float(near["from"]) + float(near["to"])) / 2,
        float(near["to"]) - float(near["from"]),
    )
    # the pointer is at whole pixels
    assert middle == pytest.approx(float(whole["to"]) / 2, rel=2e-3)
    shown = sum(
        e.start < middle + span / 2 and e.end > middle - span / 2
        for e in trace.events
        if e.kind != "wait"
    )
    assert float(near["drawn"]) == shown  # and not those that cannot be seen
    assert len(page) < 8e6


@needs_browser
def test_a_thousand_workers_are_moved_up_and_down(tmp_path):
    trace = make(
        [(w, "compute", 0.0, 1.0 + w, "") for w in range(1000)], [f"P{w}" for w in range(1000)]
    )
    steps = """
    tool.wheel(box.left + 300, box.top + 100, 1e6, {shiftKey: true});
    await frames(); told.push(state());
    tool.pointer("move", box.left + x(500), box.top + TOP + high - 1); told.push(tip.textContent);
    """
    (top, bottom, last), _ = opened(trace, tmp_path, steps)
    assert float(top["row"]) >= 3
    assert float(top["drawn"]) < 400
    assert float(bottom["down"]) > 2000
    assert last.startswith("P999: ")


@needs_browser
@pytest.mark.parametrize(
    "workers", [[], ["idle", "</script><script>throw 1</script>@data@@title@"]]
)
def test_traces_without_events_and_hostile_names(workers, tmp_path):
    (state,), page = opened(make([], workers), tmp_path)
    assert float(state["drawn"]) == 0
    assert page.count("<script") == 3  # data, code, and the probe


@needs_browser
def test_events_that_overlap_are_all_found(tmp_path):
    steps = [
        (0, "compute", 0.0, 9.0, "long"),
        (0, "compute", 1.0, 2.0, "short"),
        (0, "compute", 9.0, 10.0, "last"),
    ]
    look = """
    view.from = 5; view.to = 6; draw(); told.push(state());
    tool.pointer("move", box.left + x(5.5), box.top + TOP + 5); told.push(tip.textContent);
    """
    (_, state, text), _ = opened(make(steps, ["P0"]), tmp_path, look)
    assert float(state["drawn"]) >= 1
    assert text.startswith("P0: long (compute)")


class TestFile:
    def test_needs_nothing_else(self, tmp_path):
        trace = hs.simulate(hs.plan_factor(400, 400, [3, 5, 8], block=40))
        trace.to_html(tmp_path / "t.html")
        page = (tmp_path / "t.html").read_text(encoding="utf-8")
        assert not re.search(r"https?:|src=|href=|@import|fetch\(|url\(", page)
        assert "from" in page
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
        assert [label for _, label in data["legend"]] == [
            "panel",
            "update, step 0",
            "update, step 8",
            "wait",
        ]

    def test_by_name_on_the_command_line(self, tmp_path, capsys, monkeypatch):
        hs.distribute(78, [3, 5, 8]).save(tmp_path / "plan.json")
        assert (
            main(["simulate", str(tmp_path / "plan.json"), "--trace", str(tmp_path / "t.html")])
            == 0
        )
        assert (tmp_path / "t.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
        plan = str(tmp_path / "plan.json")
        assert main(["simulate", plan, "--trace", str(tmp_path / "t.svg")]) == 0
        assert "<svg" in (tmp_path / "t.svg").read_text(encoding="utf-8")
        assert main(["simulate", plan, "--trace", str(tmp_path / "t.txt")]) != 0
        assert "--trace must end in .json, .html, .paje, .csv, .png" in capsys.readouterr().err
        (tmp_path / "t.svg").unlink()
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        assert main(["simulate", plan, "--trace", str(tmp_path / "t.svg")]) != 0
        assert "--trace needs matplotlib" in capsys.readouterr().err
        assert not (tmp_path / "t.svg").exists()

    @pytest.mark.parametrize(
        "times", [(0.0, float("nan")), (float("nan"), 1.0), (0.0, float("inf"))]
    )
    def test_a_failed_write_leaves_the_old_file_alone(self, times, tmp_path):
        path = tmp_path / "t.html"
        path.write_text("old")
        bad = Trace((Event(0, "compute", *times, ""),), ("a",), "real", "s", None, None, (1.0,))
        with pytest.raises(ValueError, match=r"finite|NaN|not JSON compliant|Out of range"):
            bad.to_html(path)
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_is_not_far_larger_than_its_events(self, tmp_path):
        make([(0, "compute", float(i), i + 0.5, "task") for i in range(10_000)]).to_html(
            tmp_path / "t.html"
        )
        assert (tmp_path / "t.html").stat().st_size < 10_000 * 36 + 20_000
