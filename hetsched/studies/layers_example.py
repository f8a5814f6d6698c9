"""Figure 1 of the paper on layer based partition, and the central source of its section 6.2."""

from __future__ import annotations

import numpy as np

from ..planners.layers import layers_star
from ..planners.mesh import layers_mesh
from ..planners.partition import partition
from .claims import Claim

POWERS, SIDE = (1, 1, 2, 4), 8
_TIMES, _COSTS = (2e-4, 7e-4), (3e-4, 8e-4)  # section 6.2, uniform
_HALF = 3  # rows and columns from the middle on, including it


def example_claims() -> list[Claim]:
    """Two 8 x 8 matrices on workers of powers 1, 1, 2 and 4, divided in three ways.

    The ways are squares of C, equal numbers of layers, and layers in proportion to the powers.
    """
    squares = partition([1, 1, 1, 1], "columns", (SIDE, SIDE))
    by_power = layers_star(SIDE, [1 / power for power in POWERS])
    even = [SIDE // len(POWERS)] * len(POWERS)
    # a zone's rows of A and columns of B
    volumes = [float(SIDE * squares.spans.sum()), 2.0 * SIDE**2, by_power.volume]
    slowest = min(POWERS)
    times = [SIDE * 16 / slowest, SIDE**2 * even[0] / slowest, by_power.makespan]
    counts = by_power.counts.tolist()
    return [
        Claim(
            "1: volume of S2 and S3 below that of S1",
            "substantially reduced",
            " / ".join(f"{v:g}" for v in volumes),
            "S1 / S2 / S3",
            "both below S1",
            max(volumes[1:]) < volumes[0],
        ),
        Claim(
            "1: finishing time of S2 is that of S1",
            "unchanged",
            f"{times[0]:g} / {times[1]:g}",
            "",
            "equal",
            times[0] == times[1],
        ),
        Claim(
            "1: layers of S3 are proportional to the powers",
            "proportional",
            " ".join(map(str, counts)),
            "",
            "exactly",
            [count * sum(POWERS) for count in counts] == [SIDE * power for power in POWERS],
        ),
        Claim(
            "1: S3 optimizes the finishing time",
            "optimized",
            f"{times[2]:g}",
            "of S1 and S2: " + f"{times[0]:g}",
            "proven least",
            by_power.optimal and times[2] < min(times[:2]),
        ),
        _mirrored_quadrants(),
        _central_source(),
    ]


def _central_source() -> Claim:
    """Random meshes with the source in the middle, and in the corner."""
    rng, side, meshes = np.random.default_rng(1), 2 * _HALF - 1, 20
    over = []
    for _ in range(meshes):
        mesh = (
            rng.uniform(*_TIMES, (side, side)),
            rng.uniform(*_COSTS, (side, side - 1)),
            rng.uniform(*_COSTS, (side - 1, side)),
        )
        middle, corner = (
            layers_mesh(600, *mesh, "relaxed", source=source).makespan
            for source in ((_HALF - 1, _HALF - 1), (0, 0))
        )
        over.append(corner / middle)
    return Claim(
        "5: a source in the middle is better than one in the corner",
        "generally",
        f"on {sum(x > 1 for x in over)} of {meshes} random meshes",
        f"from the corner it takes {min(over):.2f} to {max(over):.2f} times as long",
        "more than half",
        2 * sum(x > 1 for x in over) > meshes,
    )


def _mirrored_quadrants() -> Claim:
    """On a mesh that looks the same in all four directions, each quadrant gets as many layers."""
    rng = np.random.default_rng(0)
    quadrant = rng.uniform(*_TIMES, (_HALF, _HALF))
    across = rng.uniform(*_COSTS, (_HALF, _HALF - 1))
    down = rng.uniform(*_COSTS, (_HALF - 1, _HALF))
    times = _mirrored(quadrant, (1, 1))
    right = _mirrored(across, (1, 0))
    below = _mirrored(down, (0, 1))
    middle = (_HALF - 1, _HALF - 1)
    plan = layers_mesh(600, times, right, below, "relaxed", source=middle)
    sums = [float(plan.counts[i, j].sum()) for i in _SIDES for j in _SIDES]
    return Claim(
        "6.2: the other quadrants of a central source are similar",
        "",
        " ".join(f"{value:.4g}" for value in sums),
        "layers of each on a mirrored mesh, where they must be equal",
    )


_SIDES = (slice(0, _HALF - 1), slice(_HALF, 2 * _HALF - 1))


def _mirrored(quadrant: np.ndarray, shared: tuple[int, int]) -> np.ndarray:
    """Mirror the quadrant below and to the right of the middle to all quadrants.

    shared: whether the quadrants share the middle row, and the middle column.
    """
    both = np.concatenate((quadrant[:0:-1] if shared[0] else quadrant[::-1], quadrant))
    return np.concatenate((both[:, :0:-1] if shared[1] else both[:, ::-1], both), axis=1)
