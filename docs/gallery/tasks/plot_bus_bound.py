"""
What a bus can bear
===================

Each worker gets one message before its first task and sends one back after its last.
The bus carries one message at a time. Few workers are limited by their speeds, many by
the bus: beyond some number, a further worker gains nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

deadline, message = 60, 2.0
numbers = np.arange(1, 25)
plans = [
    hs.max_tasks(deadline, cycle_times=[5.0] * p, send=message, receive=message)
    for p in numbers
]
tasks = np.array([plan.tasks for plan in plans])
enrolled = np.array([np.count_nonzero(plan.counts) for plan in plans])
print("tasks:   ", tasks)
print("enrolled:", enrolled)
assert (np.diff(tasks) >= 0).all()

# %%
# Equal workers take 5 for a task, a message takes 2, and the deadline is 60. The dashed
# line is the number of tasks without messages.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(
    numbers,
    deadline // 5 * numbers,
    color="black",
    linestyle="--",
    linewidth=1,
    label="without messages",
)
ax.plot(
    numbers,
    [plan.upper_bound for plan in plans],
    color="#999999",
    marker="o",
    markersize=10,
    fillstyle="none",
    linestyle="none",
    label="upper bound",
)
ax.plot(numbers, tasks, color="#0072b2", marker="o", label="tasks done")
ax.plot(
    numbers,
    enrolled,
    color="#e69f00",
    marker="s",
    markersize=4,
    label="workers with tasks",
)
ax.set(xlabel="workers", ylabel="number", ylim=(0, 1.3 * tasks.max()))
ax.legend(frameon=False)
plt.show()
