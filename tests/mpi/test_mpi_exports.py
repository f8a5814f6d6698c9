"""Tiles and their owners, by readers of their text form and element by element."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hetsched as hs

SPEEDS = np.array([1.0, 2.0, 4.0])
SPLIT = hs.partition(SPEEDS, shape=(4, 6))


def holders(plan, shape):
    """(m, n) the rank of each element, from the plan's own content."""
    m, n = shape
    found = np.full(shape, -1)
    if isinstance(plan, hs.LuPattern):
        width = -(-n // len(plan.owner))
        for j in range(n):
            found[:, j] = plan.owner[j // width]
    elif isinstance(plan, hs.LuGrid):
        height, width = -(-m // len(plan.owner)), -(-n // len(plan.owner))
        for i in range(m):
            for j in range(n):
                found[i, j] = plan.owner[i // height, j // width]
    elif isinstance(plan, hs.Wavefront):
        lines, parts = shape[plan.axis], len(plan.owner)
        for j, owner in enumerate(plan.owner):
            tile = slice(j * lines // parts, (j + 1) * lines // parts)
            found[(slice(None), tile)[:: 1 if plan.axis else -1]] = owner
    elif isinstance(plan, hs.Distribution):
        for rank, (start, count) in enumerate(zip(plan.displs, plan.counts, strict=True)):
            found[start : start + count] = rank
    else:
        for rank, r, c, h, w in plan.pieces.tolist():
            found[r : r + h, c : c + w] = rank
    return found


def of_file(path):
    """(heights, widths, owner, size) by a reader of its own."""
    lines = [[int(word) for word in line.split(" ")] for line in path.read_text().split("\n")[:-1]]
    (mt, nt, size), heights, widths, *owner = lines
    assert len(heights) == mt
    assert len(widths) == nt
    assert [len(line) for line in owner] == [nt] * mt
    return heights, widths, owner, size


@pytest.mark.parametrize(
    ("plan", "shape"),
    [
        (hs.lu_pattern(7, speeds=SPEEDS), (20, 34)),
        (hs.lu_pattern(1, speeds=SPEEDS), (1, 1)),
        (hs.lu_grid(6, speeds=SPEEDS), (23, 23)),
        (hs.distribute(17, speeds=SPEEDS), (17, 5)),
        (hs.wavefront(3, 10, speeds=SPEEDS, period=5), (3, 33)),
        (hs.wavefront(10, 3, speeds=SPEEDS, period=5, axis=0), (10, 3)),
        (hs.partition(SPEEDS, "columns", (12, 15)), (12, 15)),
        (hs.partition(SPEEDS, "contiguous", (5, 7)), (5, 7)),
    ],
)
def test_owner_of_each_element(plan, shape, tmp_path):
    tiles = hs.mpi.tiles(plan, shape)
    whole = np.repeat(np.repeat(tiles.owner, tiles.heights, axis=0), tiles.widths, axis=1)
    np.testing.assert_array_equal(whole, holders(plan, shape))
    tiles.save(tmp_path / "tiles.txt")
    heights, widths, owner, size = of_file(tmp_path / "tiles.txt")
    assert (heights, widths, owner, size) == (
        tiles.heights.tolist(),
        tiles.widths.tolist(),
        tiles.owner.tolist(),
        3,
    )


@given(st.integers(1, 9), st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=1, max_size=5))
def test_local_numbers_are_dense(n, speeds):
    tiles = hs.mpi.tiles(hs.lu_grid(n, speeds=speeds), (3 * n, 3 * n))
    for rank in range(len(speeds)):
        mine = [tiles.local[i, j] for j in range(n) for i in range(n) if tiles.owner[i, j] == rank]
        assert mine == list(range(len(mine)))


def test_map_of_heat():
    tiles = hs.mpi.tiles(hs.distribute(17, speeds=[1.0, 0.0, 3.0]), (17, 5))
    assert tiles.lshape_map.tolist() == [[4, 5], [0, 5], [13, 5]]
    slices = hs.mpi.tiles(hs.lu_pattern(4, [1.0, 1.0], method="contiguous"), (6, 8))
    assert slices.lshape_map.tolist() == [[6, 4], [6, 4]]
    with pytest.raises(ValueError, match="slices of rows, or of columns"):
        _ = hs.mpi.tiles(hs.lu_pattern(4, [1.0, 1.0], method="cyclic"), (6, 8)).lshape_map


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ((3, (1, 1)), TypeError, "plan must be a plan"),
        (
            (hs.layers_star(4, [1.0]), (4, 4)),
            TypeError,
            "plan must be a plan that assigns rectangles",
        ),
        ((hs.distribute(4, [1.0]), (5, 5)), ValueError, "plan is for 4 rows"),
        ((hs.distribute(4, [1.0]), (4,)), ValueError, "shape"),
        ((hs.distribute(4, [1.0]), (4, -1)), ValueError, r"shape\[1\]"),
        ((hs.lu_pattern(5, [1.0]), (4, 4)), ValueError, "no block size"),
        (
            (replace(SPLIT, pieces=SPLIT.pieces[1:]), (4, 6)),
            ValueError,
            "does not cover the matrix",
        ),
    ],
)
def test_errors(arguments, kind, text):
    with pytest.raises(kind, match=text):
        hs.mpi.tiles(*arguments)
