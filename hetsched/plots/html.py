"""Gantt charts that can be zoomed, in one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

import base64
import json
import re
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..trace import Trace, lanes
from .canvas import _COLOURS
from .gantt import _DARK, phases, step_colour, title_of


def gantt_page(trace: Trace) -> str:
    """The page: bars on a canvas.

    The wheel or two fingers zoom, dragging moves the chart, and pointing at a bar shows what it is.

    Parameters
    ----------
    trace : Trace
        A trace of any length. Its events are stored as arrays of numbers in base64; waiting is
        shown as the gaps between them.
    """
    tracks = lanes(trace)
    events = [[e for e in lane.events if e.kind != "wait"] for lane in tracks]
    flat = [event for own in events for event in own]
    looks = phases(flat)
    steps = 1 + max((step for phase, step in looks if phase == "update"), default=-1)
    styles = {look: i for i, look in enumerate(sorted(set(looks)))}
    words = {
        what: i for i, what in enumerate(dict.fromkeys(event.what or event.kind for event in flat))
    }
    unit = f" {trace.unit}" if trace.unit else ""
    predicted = trace.predicted
    if predicted is not None and not np.isfinite(predicted):
        raise ValueError(f"trace must have a finite predicted time, got {predicted}")
    data = {
        "unit": unit,
        "end": trace.makespan,
        "predicted": None if predicted is None else float(predicted),
        "lanes": [lane.name for lane in tracks],
        "words": list(words),
        "styles": [_css(look, steps) for look in styles],
        "kinds": [phase for phase, _ in styles],
        "legend": _legend(looks, steps),
        "first": _packed(np.cumsum([0, *map(len, events)]), "<u4"),
        "start": _packed([e.start for e in flat], "<f8"),
        "stop": _packed([e.end for e in flat], "<f8"),
        "style": _packed([styles[look] for look in looks], "<u4"),
        "word": _packed([words[e.what or e.kind] for e in flat], "<u4"),
    }
    # A name may contain the end tag of a script, which must not end this script.
    text = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    parts = {"title": escape(title_of(trace)), "script": _SCRIPT, "data": text}
    return re.sub("@(title|script|data)@", lambda found: parts[found[1]], _PAGE)


def _packed(values: Any, dtype: str) -> str:
    array: NDArray[Any] = np.asarray(values, dtype)
    if not np.isfinite(array).all():
        raise ValueError("trace must have finite times, got NaN or infinity")
    return base64.b64encode(array.tobytes()).decode("ascii")


def _css(look: tuple[str, int], steps: int) -> str:
    phase, step = look
    if phase == "panel":
        return _DARK
    if phase == "update":
        return "#" + "".join(f"{round(255 * part):02x}" for part in step_colour(step, steps))
    return _COLOURS.get(phase, "#888888")


def _legend(looks: list[tuple[str, int]], steps: int) -> list[tuple[str, str]]:
    """(colour, label)."""
    shown = {phase for phase, _ in looks}
    rows = [(_css((phase, -1), steps), phase) for phase in sorted(shown - {"update"})]
    if "update" in shown:
        rows += [
            (_css(("update", step), steps), f"update, step {step}")
            for step in sorted({0, steps - 1})
        ]
    return [*rows, (_COLOURS["wait"], "wait")]


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>@title@</title>
<meta name="viewport" content="width=device-width">
<style>
html, body { height: 100%; margin: 0; overflow: hidden; font: 13px/1.4 system-ui, sans-serif; color: #222; background: #fff; }
body { display: flex; flex-direction: column; }
header { padding: .5rem .8rem; } h1 { font-size: 15px; font-weight: 600; margin: 0 0 .2rem; }
.key { display: inline-block; margin-right: 1.2em; } .key i { display: inline-block; width: 1.2em; height: .8em;
border: 1px solid #bbb; margin-right: .4em; } .help { color: #666; }
#chart { flex: 1; min-height: 0; position: relative; } canvas { position: absolute; touch-action: none; outline: none; }
#tip { position: fixed; pointer-events: none; background: #fff; border: 1px solid #888; padding: .2rem .5rem; white-space: pre;
visibility: hidden; }
</style></head><body>
<header><h1>@title@</h1><div id="legend"></div>
<div class="help">wheel or two fingers: zoom; drag, or shift and wheel: move; by keys: + and -, arrows; 0: the whole time</div>
</header>
<div id="chart"><canvas tabindex="0" aria-label="@title@"></canvas></div><div id="tip"></div>
<script type="application/json" id="data">@data@</script>
<script>
@script@
</script></body></html>
"""

_SCRIPT = r""""use strict";
const D = JSON.parse(document.getElementById("data").textContent);
const unpack = (text, Kind) => new Kind(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
const first = unpack(D.first, Uint32Array), start = unpack(D.start, Float64Array), stop = unpack(D.stop, Float64Array);
const style = unpack(D.style, Uint32Array), word = unpack(D.word, Uint32Array), lanes = D.lanes.length;
const canvas = document.querySelector("canvas"), pen = canvas.getContext("2d"), tip = document.getElementById("tip");
const END = Math.max(D.end, D.predicted || 0) * 1.01 || 1, TOP = 18, BOTTOM = 34, RIGHT = 14;
let left = 60, wide = 1, high = 1, row = 1, view = {from: 0, to: END, down: 0}, waiting = false;

for (const [colour, label] of D.legend) {
  const key = document.createElement("span"), box = document.createElement("i");
  key.className = "key"; box.style.background = colour; key.append(box, label);
  document.getElementById("legend").append(key);
}

const number = (t, step) => t.toFixed(Math.max(0, Math.min(12, Math.ceil(-Math.log10(step)))));
const shown = t => Number(t.toPrecision(6)) + D.unit;
const x = t => left + (t - view.from) / (view.to - view.from) * wide;
const time = px => view.from + (px - left) / wide * (view.to - view.from);

// By when all events of a lane up to this one have ended; the same as stop, unless events of a lane overlap.
const reach = stop.slice();
for (let lane = 0; lane < lanes; lane++)
  for (let i = first[lane] + 1; i < first[lane + 1]; i++) reach[i] = Math.max(reach[i], reach[i - 1]);

// The first event of a lane that may end after t.
function after(lane, t) {
  let low = first[lane], up = first[lane + 1];
  while (low < up) { const mid = (low + up) >> 1; if (reach[mid] > t) up = mid; else low = mid + 1; }
  return low;
}

function fit() {
  const box = canvas.parentNode.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(box.width * ratio); canvas.height = Math.round(box.height * ratio);
  canvas.style.width = box.width + "px"; canvas.style.height = box.height + "px";
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = "12px system-ui, sans-serif";
  left = 12 + Math.min(180, Math.max(20, ...D.lanes.slice(0, 2000).map(name => pen.measureText(name).width)));
  wide = Math.max(50, box.width - left - RIGHT);
  const room = Math.max(20, box.height - TOP - BOTTOM);
  row = Math.max(3, Math.min(40, room / Math.max(lanes, 1))); high = Math.min(room, Math.max(lanes, 1) * row);
  draw();
}

function keep() {
  const span = Math.min(END, Math.max(END * 1e-9, view.to - view.from));
  view.from = Math.min(Math.max(0, view.from), END - span); view.to = view.from + span;
  view.down = Math.max(0, Math.min(view.down, lanes * row - high));
}

function draw() {
  keep(); waiting = false;
  const box = canvas.parentNode.getBoundingClientRect(), gap = row > 6 ? row * 0.1 : 0;
  pen.clearRect(0, 0, box.width, box.height);
  pen.save(); pen.beginPath(); pen.rect(left, TOP, wide, high); pen.rect(0, TOP - 8, left, high + 16); pen.clip();
  const top = Math.max(0, Math.floor(view.down / row)), last = Math.min(lanes, Math.ceil((view.down + high) / row));
  const every = Math.max(1, Math.ceil(14 / row));
  let drawn = 0;
  pen.textBaseline = "middle";
  for (let lane = top; lane < last; lane++) {
    const y = TOP + lane * row - view.down, tall = row - 2 * gap, done = Math.min(x(D.end), left + wide);
    pen.fillStyle = "#efefef"; pen.fillRect(Math.max(left, x(0)), y + gap, done - Math.max(left, x(0)), tall);
    for (let i = after(lane, view.from), before = -1; i < first[lane + 1] && start[i] < view.to; i++, drawn++) {
      const a = Math.max(left, x(start[i])), b = Math.min(left + wide, x(stop[i]));
      if (style[i] !== before) pen.fillStyle = D.styles[before = style[i]];
      pen.fillRect(a, y + gap, b - a > 3 ? b - a - 1 : b - a, tall);  // a line between bars where it does not eat them
      if (b - a > 30 && row > 12) label(D.words[word[i]], a, b, y + row / 2, D.styles[style[i]]);
    }
    if (lane % every) continue;
    pen.fillStyle = "#222"; pen.textAlign = "right";
    pen.fillText(D.lanes[lane], left - 6, y + row / 2, left - 8);
  }
  pen.restore();
  axis();
  const state = document.documentElement.dataset;
  state.from = view.from; state.to = view.to; state.down = view.down; state.drawn = drawn; state.row = row;
}

function label(text, a, b, y, colour) {
  if (pen.measureText(text).width > b - a - 6) return;
  const [red, green, blue] = [1, 3, 5].map(k => parseInt(colour.slice(k, k + 2), 16));
  pen.save(); pen.textAlign = "center";
  pen.fillStyle = 0.3 * red + 0.6 * green + 0.1 * blue > 120 ? "black" : "white";
  pen.fillText(text, (a + b) / 2, y); pen.restore();
}

function axis() {
  const rough = (view.to - view.from) / Math.max(2, wide / 90), ten = 10 ** Math.floor(Math.log10(rough));
  const step = ten * [1, 2, 5, 10].find(k => k * ten >= rough), y = TOP + high;
  pen.strokeStyle = "#222"; pen.fillStyle = "#222"; pen.textAlign = "center"; pen.textBaseline = "top";
  pen.beginPath(); pen.moveTo(left, y); pen.lineTo(left + wide, y);
  for (let k = Math.ceil(view.from / step); k * step <= view.to; k++) {
    pen.moveTo(x(k * step), y); pen.lineTo(x(k * step), y + 4); pen.fillText(number(k * step, step), x(k * step), y + 6);
  }
  pen.stroke();
  pen.fillText("time" + (D.unit ? " (" + D.unit.trim() + ")" : ""), left + wide / 2, y + 20);
  if (D.predicted !== null && D.predicted >= view.from && D.predicted <= view.to) {
    const at = x(D.predicted);
    pen.setLineDash([5, 4]); pen.beginPath(); pen.moveTo(at, 2); pen.lineTo(at, y); pen.stroke(); pen.setLineDash([]);
    pen.textAlign = at > left + wide / 2 ? "right" : "left";
    pen.fillText("predicted", at + (at > left + wide / 2 ? -4 : 4), 3);
  }
}

function later() { if (!waiting) { waiting = true; requestAnimationFrame(draw); } }
function zoom(factor, at) {
  const span = Math.min(END, Math.max(END * 1e-9, (view.to - view.from) * factor));
  const share = (at - view.from) / (view.to - view.from);
  view.from = at - share * span; view.to = view.from + span; later();
}
function move(dx, dy) {
  const t = dx / wide * (view.to - view.from);
  view.from -= t; view.to -= t; view.down -= dy; later();
}

function say(event) {
  const box = canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
  const lane = Math.floor((py - TOP + view.down) / row), t = time(px);
  tip.style.visibility = "hidden";
  if (px < left || px > left + wide || py < TOP || py > TOP + high || !(lane >= 0 && lane < lanes) || t < 0 || t > D.end) return;
  let i = after(lane, t);
  while (i < first[lane + 1] && stop[i] <= t) i++;
  const within = i < first[lane + 1] && start[i] <= t;
  const a = within ? start[i] : i > first[lane] ? reach[i - 1] : 0;
  const b = within ? stop[i] : i < first[lane + 1] ? start[i] : D.end;
  const [said, kind] = within ? [D.words[word[i]], D.kinds[style[i]]] : ["wait", "wait"];
  const what = said.startsWith(kind) ? said : said + " (" + kind + ")";
  tip.textContent = D.lanes[lane] + ": " + what + "\n" + shown(a) + " to " + shown(b) + ", " + shown(b - a) + " long";
  tip.style.left = Math.max(0, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 4)) + "px";
  tip.style.top = Math.max(0, Math.min(event.clientY + 14, window.innerHeight - tip.offsetHeight - 4)) + "px";
  tip.style.visibility = "visible";
}

canvas.addEventListener("wheel", event => {
  event.preventDefault();
  const notch = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
  if (event.shiftKey) move(0, -(event.deltaY || event.deltaX) * notch);
  else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(-event.deltaX * notch, 0);
  else zoom(1.002 ** (event.deltaY * notch), time(event.clientX - canvas.getBoundingClientRect().left));
}, {passive: false});
const fingers = new Map();
canvas.addEventListener("pointerdown", event => {
  fingers.set(event.pointerId, event); tip.style.visibility = "hidden";
  try { canvas.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone cannot be held */ }
});
canvas.addEventListener("pointermove", event => {
  const old = fingers.get(event.pointerId);
  if (!old) { say(event); return; }
  const [other] = [...fingers.values()].filter(f => f.pointerId !== event.pointerId);
  if (other) {
    const middle = (event.clientX + other.clientX) / 2 - canvas.getBoundingClientRect().left;
    zoom(Math.max(8, Math.abs(old.clientX - other.clientX)) / Math.max(8, Math.abs(event.clientX - other.clientX)), time(middle));
  } else move(event.clientX - old.clientX, event.clientY - old.clientY);
  fingers.set(event.pointerId, event);
});
for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, event => fingers.delete(event.pointerId));
canvas.addEventListener("pointerleave", () => { tip.style.visibility = "hidden"; });
window.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = {
    "0": () => { view = {from: 0, to: END, down: 0}; later(); },
    "+": () => zoom(0.5, (view.from + view.to) / 2), "=": () => zoom(0.5, (view.from + view.to) / 2),
    "-": () => zoom(2, (view.from + view.to) / 2),
    ArrowLeft: () => move(wide / 8, 0), ArrowRight: () => move(-wide / 8, 0),
    ArrowUp: () => move(0, 60), ArrowDown: () => move(0, -60),
  };
  if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
});
window.addEventListener("resize", fit);
fit();"""
