"""hs.distribute for stacks of cycle-times: the same as one by one."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import hetsched as hs

INF = math.inf
times_of = st.floats(1e-3, 1e3) | st.sampled_from([1.0, 2.0, 3.0, INF, 5e-324, 1e308])


@st.composite
def stacks(draw):
    """Cycle-times (..., p), and n that broadcasts against them."""
    p, lead = (
        draw(st.integers(1, 5)),
        tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))),
    )
    times = np.array(
        draw(st.lists(times_of, min_size=math.prod(lead) * p, max_size=math.prod(lead) * p))
    ).reshape(*lead, p)
    times[..., 0] = np.where(np.isinf(times).all(-1), 1.0, times[..., 0])
    shape = draw(st.sampled_from([(), lead, lead[-1:], (1,) * len(lead), (2, *lead)]))
    n = np.array(
        draw(
            st.lists(
                st.integers(0, 50) | st.integers(0, 2**53),
                min_size=math.prod(shape),
                max_size=math.prod(shape),
            )
        )
    )
    return n.astype(np.int64).reshape(shape), times


@given(stacks())
def test_each_is_the_distribution_of_its_own(case):
    n, times = case
    before = n.copy(), times.copy()
    try:
        stack = hs.distribute(n if n.ndim else int(n), times)
    except ValueError as error:
        with np.errstate(over="ignore"):
            alone = n * times.min(axis=-1)
        # the fastest alone would do
        if "makespan overflows" not in str(error) or np.isfinite(alone).all():
            raise
        reject()
    shape = np.broadcast_shapes(n.shape, times.shape[:-1])
    p = times.shape[-1]
    assert isinstance(stack, hs.DistributionStack)
    assert stack.makespan.shape == shape
    assert stack.counts.shape == stack.displs.shape == stack.cycle_times.shape == (*shape, p)
    assert stack.counts.dtype == stack.displs.dtype == np.int64
    every_n, every_time = np.broadcast_to(n, shape), np.broadcast_to(times, (*shape, p))
    for index in np.ndindex(shape):
        alone = hs.distribute(int(every_n[index]), every_time[index])
        assert stack.counts[index].tolist() == alone.counts.tolist()
        one = stack[index]
        assert isinstance(one, hs.Distribution)
        assert one.to_dict() == alone.to_dict()
    assert not any(
        a.flags.writeable for a in (stack.counts, stack.displs, stack.cycle_times, stack.makespan)
    )
    assert np.array_equal(n, before[0])
    assert np.array_equal(times, before[1])
    assert n.flags.writeable
    assert times.flags.writeable


def test_parts_of_a_stack():
    stack = hs.distribute(np.array([[10], [78]]), np.array([[[3, 5, 8], [1, 2, 4], [1, 1, 1]]]))
    assert stack.makespan.tolist() == [[16, 6, 4], [120, 45, 26]]
    assert len(stack) == 2
    assert [isinstance(row, hs.DistributionStack) for row in stack] == [True, True]
    for index in [
        1,
        -1,
        (0, 1),
        slice(1, 2),
        (slice(None), 1),
        (..., 2),
        [1, 0],
        np.array([[True, False, True]] * 2),
    ]:
        part = stack[index]
        assert np.array_equal(part.makespan, stack.makespan[index])
        assert part.value == np.max(stack.makespan[index])
        assert np.array_equal((part.counts * part.cycle_times).max(-1), part.makespan)
    with pytest.raises(IndexError):
        stack[2]
    with pytest.raises(IndexError):
        stack[0, 0, 0]


def test_as_a_plan():
    stack = hs.distribute([10, 78, 0], [[3, 5, 8]])
    assert stack.value == stack.lower_bound == 120.0
    assert stack.gap == 0.0
    assert stack.optimal is True
    assert (
        repr(stack)
        == "<DistributionStack: 3 distributions, makespans 0 to 120, gap 0.00%, each optimal"
        " (distribute)>"
    )
    assert (
        str(stack.certificate) == "makespan 120, lower bound 120, gap 0.00%, optimal (distribute)"
    )
    assert stack.names == ("P0", "P1", "P2")
    content = json.loads(json.dumps(stack.to_dict()))
    assert content["type"] == "DistributionStack"
    assert content["counts"] == [[5, 3, 2], [40, 24, 14], [0, 0, 0]]
    with pytest.raises(
        TypeError, match=r"cannot be simulated: take one of its distributions, such as stack\[0\]"
    ):
        hs.simulate(stack)
    assert hs.simulate(stack[1]).makespan == 120.0


def test_empty_stack():
    stack = hs.distribute(5, np.ones((0, 3)))
    assert stack.counts.shape == (0, 3)
    assert (stack.value, stack.lower_bound, len(stack)) == (0.0, 0.0, 0)
    assert repr(stack) == "<DistributionStack: no distributions (distribute)>"


def test_speeds():
    stack = hs.distribute(9, speeds=[[0, 1, 0, 2], [1, 0, 0, 0]])
    assert stack.counts.tolist() == [[0, 3, 0, 6], [9, 0, 0, 0]]


def test_strided_and_integer_input():
    times = np.array([[3, 5, 8], [1, 2, 4]], np.uint8)
    assert hs.distribute([10.0, 7.0], times).counts.tolist() == [[5, 3, 2], [4, 2, 1]]
    assert hs.distribute(10, np.array([[8, 3], [5, 5], [3, 8]])[::-1].T).counts.tolist() == [
        [5, 3, 2],
        [2, 3, 5],
    ]


@pytest.mark.parametrize(
    ("n", "times", "error", "message"),
    [
        (3, [[1, 2], [3, math.nan]], ValueError, r"cycle_times\[1, 1\] is NaN"),
        (3, [[[1, 2]], [[3, 0]]], ValueError, r"cycle_times\[1, 0, 1\] must be positive, got 0"),
        (
            3,
            [[1, 2], [INF, INF]],
            ValueError,
            r"cycle_times\[1\] are all infinite: no worker can work",
        ),
        (3, np.ones((2, 0)), ValueError, "cycle_times is empty"),
        (3, [[1, 2], [3]], TypeError, "cycle_times must be a sequence of real numbers"),
        (
            [3, -1],
            [[1], [2]],
            ValueError,
            r"n\[1\] must be an integer in \[0, 9007199254740992\], got -1",
        ),
        ([3, 2**53 + 2], [[1], [2]], ValueError, r"n\[1\] must be an integer in"),
        ([1.5, 2.0], [[1], [2]], ValueError, r"n\[0\] must be an integer in .*, got 1.5"),
        ([1.0, math.nan], [[1], [2]], ValueError, r"n\[1\] must be an integer in .*, got nan"),
        ([[1], [2, 3]], [[1], [2]], TypeError, "n must be an integer or an array of integers"),
        (["1", "2"], [[1], [2]], TypeError, "n must be an integer or an array of integers"),
        ([True, False], [[1], [2]], TypeError, "n must be an integer or an array of integers"),
        (None, [[1], [2]], TypeError, "n must be an integer or an array of integers"),
        (-1, [[1], [2]], ValueError, r"n must be in \[0, 9007199254740992\], got -1"),
        (
            [1, 2, 3],
            [[1], [2]],
            ValueError,
            r"n of shape \(3,\) does not broadcast against cycle_times of shape \(2, 1\)",
        ),
    ],
)
def test_bad_input(n, times, error, message):
    with pytest.raises(error, match=message):
        hs.distribute(n, times)


@pytest.mark.parametrize(
    ("speeds", "message"),
    [
        ([[1, 2], [0, 0]], r"speeds\[1\] are all zero"),
        ([[1, 2], [5e-324, 0]], r"speeds\[1\] are too small"),
        ([[1, -2]], r"speeds\[0, 1\] must be finite and not negative, got -2"),
        (np.float64(1), "speeds must be one-dimensional"),
    ],
)
def test_bad_speeds(speeds, message):
    with pytest.raises(ValueError, match=message):
        hs.distribute(3, speeds=speeds)


@pytest.mark.slow
def test_picture():
    pytest.importorskip("matplotlib").use("Agg")
    stack = hs.distribute([10, 78], [[3, 5, 8], [1, 2, INF]])
    ax = stack.plot()
    (picture,) = ax.images
    assert np.allclose(picture.get_array(), [[0.5, 0.3, 0.2], [52 / 78, 26 / 78, 0]])
    assert ax.get_xlim() == (-0.5, 2.5)
    assert ax.get_ylim() == (1.5, -0.5)
    assert "2 distributions" in ax.get_title(loc="left")
    assert "<svg" in stack._repr_html_()
    for empty in (hs.distribute(5, np.ones((0, 3))), hs.distribute(0, [[1, 2]])):
        empty.plot().figure.canvas.draw()
    __import__("matplotlib.pyplot").pyplot.close("all")
