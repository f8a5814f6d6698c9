"""Wavefronts: measured against predicted makespan on emulated workers, and a Gauss-Seidel sweep on
real cores; median of five."""

from __future__ import annotations

from functools import partial

import numpy as np
from common import median_run, parser, print_machine

import hetsched as hs

TIMES = [3, 5, 8]
PLANS = {
    "panels of 10": {"period": 10},
    "best period": {},
    "cyclic": {"method": "cyclic"},
    "panels, along": {"period": 10, "order": "along"},
}
SECONDS = 2.0  # the time that a perfect division would take
KERNEL = hs.Stencil([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0]])


def emulated(tiles: int, size: int) -> None:
    image = np.random.default_rng(0).standard_normal((size, size))
    platform = hs.Platform.star(TIMES)
    flops = SECONDS * float(platform.speeds.sum()) * 1e9 / size**2
    print(f"t = {TIMES}, {tiles} x {tiles} tiles of a {size} x {size} image")
    print(
        "  plan            makespan  predicted   measured    off      to cyclic: predicted,"
        " measured"
    )
    rows = []
    with hs.Pool(platform, emulate=True) as pool:
        for name, keywords in PLANS.items():
            plan = hs.wavefront(tiles, tiles, platform, **keywords)
            sweep = partial(pool.sweep, plan, image, KERNEL, flops=flops, trace=True)
            trace, measured = median_run(lambda sweep=sweep: sweep()[1])
            rows.append((name, plan.makespan, trace.predicted, measured))
    cyclic = next(row for row in rows if row[0] == "cyclic")
    for name, makespan, predicted, measured in rows:
        ratios = f"{predicted / cyclic[2]:.4f}, {measured / cyclic[3]:.4f}"
        print(
            f"  {name:14}  {makespan:8g}  {predicted:8.4f} s  {measured:8.4f} s "
            f" {measured / predicted - 1:+.3%}  {ratios}"
        )


def real(size: int) -> None:
    image = np.random.default_rng(0).standard_normal((size, size))
    print(f"real cores, {size} x {size} float64, Gauss-Seidel sweep in place, one panel")
    for workers in range(1, len(hs.Pool()) + 1):
        with hs.Pool(workers) as pool:
            for tiles in (25, 50, 100):
                plan = hs.wavefront(tiles, tiles, [1.0] * workers, tiles)
                sweep = partial(pool.sweep, plan, image, KERNEL, image, trace=True)
                trace, measured = median_run(lambda sweep=sweep: sweep()[1])
                rate = f"{size**2 / measured / 1e6:.0f} M updates/s"
                print(
                    f"  {workers} workers, {tiles:3} x {tiles:<3} tiles  {measured:.4f} s,"
                    f" predicted {trace.predicted:.4f}  {rate}"
                )


def main() -> None:
    parser(__doc__).parse_args()
    print_machine()
    emulated(50, 500)
    emulated(100, 500)
    real(4000)


if __name__ == "__main__":
    main()
