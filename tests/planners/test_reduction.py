"""`plan_reduction`: against brute force in exact fractions, and its errors. The relations and the
validator of every plan are in test_relations.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracles.reduction as oracle
import pytest
from validators import validate

import hetsched as hs


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 10, 16, 17, 18, 31])
@pytest.mark.parametrize("owner", ["greedy", "pattern", "cyclic", "contiguous"])
def test_sizes(n, owner):
    plan = hs.plan_reduction(n, [1.0, 2.0, 4.0], owner=owner, block=8)
    validate(plan)
    assert len(plan.owner) == -(-n // 8)
    assert (plan.tasks["kind"] == 0).sum() == max(n - 2, 0) // 8


@pytest.mark.parametrize("seed", range(12))
def test_near_the_best_of_all(seed):
    """Moves of single blocks may end in a local optimum, but not far from the best plan."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 4))
    n, block = int(rng.integers(3, 11)), 2
    times = rng.integers(1, 9, p).tolist()
    plan = hs.plan_reduction(n, times, block=block)
    rates = [Fraction(2 * t, 10**9) for t in times]
    best = oracle.best(n, block, rates, rates)
    assert plan.lower_bound <= float(best) * (1 + 1e-12)
    assert plan.makespan <= 1.25 * float(best)


def test_equal_workers_share_the_work():
    plan = hs.plan_reduction(2000, [1.0] * 4)
    assert plan.load.max() <= 1.05 * plan.load.mean()
    assert plan.gap < 0.25


def test_better_than_cyclic_on_unequal_workers():
    for times in ([3, 5, 8], [1, 10], [1, 2, 3, 4, 5, 6]):
        greedy, cyclic = (hs.plan_reduction(1000, times, owner=o) for o in ("greedy", "cyclic"))
        assert greedy.makespan < 0.8 * cyclic.makespan


def test_slow_panels_are_given_to_others():
    """A device that is fast in products and cannot factor a panel."""
    plan = hs.plan_reduction(600, [1.0, 10.0], panel_times=[np.inf, 10.0], block=32)
    panels = plan.tasks[plan.tasks["kind"] == 0]
    assert (panels["worker"] == 1).all()
    validate(plan)


def test_given_owners():
    plan = hs.plan_reduction(64, [1.0, 2.0], owner=[0, 1, 0, 1])
    assert (plan.block, plan.method) == (16, "given")
    pattern = hs.lu_pattern(4, [1.0, 2.0])
    assert hs.plan_reduction(64, [1.0, 2.0], owner=pattern).method == pattern.method
    assert hs.plan_reduction(64, speeds=[1.0, 0.5], owner=[0, 1, 0, 1]) == plan


def test_defaults():
    assert hs.plan_reduction(1000, [1.0]).block == 32
    assert hs.plan_reduction(1000, [1.0], dtype="float32").block == 64


def test_label():
    plan = hs.plan_reduction(6, [1.0], block=2)
    words = [plan.label(i) for i in range(len(plan.tasks))]
    assert words[:3] == ["panel 0", "product of block 1, panel 0", "product of block 2, panel 0"]
    assert [step.what for step in plan.steps()] == words
    with pytest.raises(ValueError, match="task"):
        plan.label(len(words))


WRONG = [
    ({"n": -1}, ValueError, "n"),
    ({"n": 2**31}, ValueError, "n"),
    ({"n": 4.5}, ValueError, "n"),
    ({"cycle_times": [1.0, np.nan]}, ValueError, "cycle_times"),
    ({"cycle_times": [0.0]}, ValueError, "cycle_times"),
    ({"cycle_times": []}, ValueError, "cycle_times"),
    ({"cycle_times": [np.inf]}, ValueError, "cycle_times"),
    ({"block": 0}, ValueError, "block"),
    ({"n": 10**6, "block": 1}, ValueError, "block=1"),
    ({"owner": "best"}, ValueError, "owner"),
    ({"owner": [0, 1]}, ValueError, "owner has 2 entries"),
    ({"owner": [0, 1, 2, 0, 1, 0, 1, 0], "block": 8}, ValueError, "owner"),
    ({"owner": [[0, 1], [1, 0]]}, ValueError, "owner must have one dimension"),
    ({"cycle_times": [1.0, np.inf], "owner": [0, 1] * 4}, ValueError, r"owner\[1\]"),
    ({"panel_times": [1.0]}, ValueError, "panel_times"),
    ({"panel_times": [np.inf, np.inf]}, ValueError, "panel_times"),
    ({"panel_times": [np.inf, 1.0], "owner": [0, 1] * 4}, ValueError, r"owner\[0\]"),
    ({"dtype": "int32"}, (TypeError, ValueError), "dtype"),
    ({"n": 20000, "block": 1000, "cycle_times": [1.7e308]}, ValueError, "overflow"),
    ({"cycle_times": [5e-324, 5e-324]}, ValueError, "cycle_times"),
]


@pytest.mark.parametrize(("changes", "error", "text"), WRONG)
def test_errors(changes, error, text):
    given = {"n": 64, "cycle_times": [1.0, 2.0], "block": 8} | changes
    with pytest.raises(error, match=text):
        hs.plan_reduction(given.pop("n"), given.pop("cycle_times"), **given)


def test_oracle_agrees_with_a_plain_count():
    """The oracle itself, on a case that is counted by hand: n = 4, blocks of 1, one worker."""
    tasks = oracle.replay(4, 1, [0] * 4, [Fraction(1)], [Fraction(1)])
    # products r s w + 2 r w^2, updates c (2 rows w + w^2)
    wanted = [5, 5, 5, 7, 5, 3, 4, 4, 5, 3]
    assert [task[-1] for task in tasks if task[0] != "panel"] == wanted
    panels = [Fraction(3, 2) * (rows - Fraction(1, 3)) for rows in (3, 2)]
    assert [task[-1] for task in tasks if task[0] == "panel"] == panels
    assert oracle.makespan(tasks) == sum(wanted) + sum(panels)
