"""hetsched.star against SimGrid: the same chunks in the same order of the port take as long in its
engine as in ours."""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from random_chunks import random_chunks

import hetsched as hs
from hetsched._engine.star import STAR_CHUNK, Star
from hetsched.planners.star import PAPER

SCRIPT = Path(__file__).with_name("simgrid_star.py")
ROUND_ROBIN, DEMAND = 0, 1


@functools.cache
def python():
    """A Python with SimGrid: of $SIMGRID_PYTHON, the system's, or none."""
    for name in (os.environ.get("SIMGRID_PYTHON"), "/usr/bin/python3"):
        if (
            name
            and (path := shutil.which(name))
            and not subprocess.run([path, "-c", "import simgrid"], capture_output=True).returncode
        ):
            return path
    return None


@pytest.fixture
def simgrid():
    path = python()
    if path is None:
        pytest.skip(
            "no SimGrid: install python3-simgrid, or set SIMGRID_PYTHON to a Python that has it"
        )

    def ends(instances):
        done = subprocess.run(
            [path, str(SCRIPT)],
            input=json.dumps(instances),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ends


def instance(shape, costs, times, chunks, messages):
    port = messages[["worker", "kind"]].tolist()
    return {
        "shape": shape,
        "link_costs": list(costs),
        "cycle_times": list(times),
        "chunks": chunks.tolist(),
        "port": port,
    }


def platform(rng):
    """Up to five workers; whole numbers, or any."""
    p = rng.randint(1, 5)
    whole = rng.random() < 0.5
    costs = [
        0 if rng.random() < 0.1 else rng.randint(1, 4) if whole else rng.uniform(0.01, 4)
        for _ in range(p)
    ]
    times = [rng.randint(1, 6) if whole else rng.uniform(0.01, 9) for _ in range(p)]
    memory = [rng.choice([0, 3, 5, 7, 12, 21, 32, 45, 60, 300]) for _ in range(p)]
    memory[rng.randrange(p)] = rng.choice([5, 12, 21, 35])
    return costs, times, memory


def compare(ends, instances, makespans):
    assert len(instances) >= 80
    np.testing.assert_allclose(ends(instances), makespans, rtol=1e-12)


@pytest.mark.slow
def test_methods(simgrid):
    """Every method, lazy and eager."""
    instances, makespans = [], []
    for seed in range(5):
        rng = random.Random(seed)
        costs, times, memory = platform(rng)
        shape = rng.randint(1, 9), rng.randint(1, 12), rng.randint(1, 5)
        star = hs.Platform.star(times, costs, memory)
        for method, returns in itertools.product(
            (*PAPER, "maxreuse", "overlap", "search"), ("lazy", "eager")
        ):
            plan = hs.plan_product(*shape, star, method, returns=returns, budget=0)
            instances.append(instance(shape, costs, times, plan.chunks, plan.messages))
            makespans.append(plan.makespan)
    compare(simgrid, instances, makespans)


@pytest.mark.slow
def test_whatever_is_held(simgrid):
    """Chunks that hold A, B or C, with one buffer or two, of panels of any depth or block by block,
    some ahead."""
    instances, makespans = [], []
    for seed in range(25):
        rng = random.Random(1000 + seed)
        costs, times, _ = platform(rng)
        shape = rng.randint(1, 7), rng.randint(1, 7), rng.randint(1, 6)
        chunks = np.array(random_chunks(rng, shape, len(costs))[0], STAR_CHUNK)
        star = Star(
            shape, np.array(times, float), np.array(costs, float), np.full(len(costs), 10**6)
        )
        for order, eager in itertools.product((ROUND_ROBIN, DEMAND), (False, True)):
            makespan, messages = star.simulate(chunks, order, np.zeros(0, np.int32), eager)
            instances.append(instance(shape, costs, times, chunks, messages))
            makespans.append(makespan)
    compare(simgrid, instances, makespans)
