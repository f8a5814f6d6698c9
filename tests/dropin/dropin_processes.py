"""What the processes and threads of test_dropin_processes.py compute, and what they tell of
themselves."""

import os
from pathlib import Path

import numpy as np

COUNT, ORDER = 4, 200


def system(seed):
    """A well conditioned system of random numbers, and its right-hand sides."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((ORDER, ORDER)) / 15 + 2 * np.eye(ORDER)
    return A, rng.standard_normal((ORDER, 3))


def solve(seed):
    """The solution of a system, the process, and the engine's helper threads in it."""
    A, b = system(seed)
    x = np.linalg.solve(A, b)
    L = np.linalg.cholesky(A @ A.T)
    return np.vstack([x, L[:, -3:], (A @ b)]), os.getpid(), helpers()


def helpers():
    """Ids of the engine's threads in this process."""
    tasks = Path("/proc/self/task").iterdir()
    return [int(task.name) for task in tasks if is_helper(task)]


def is_helper(task):
    try:
        return (task / "comm").read_text().strip() == "hetsched-worker"
    except OSError:  # it has ended
        return False
