"""
What a bus can bear
===================

Each slave gets one message before its first task and sends one back after its last, over a bus that carries one at a time.
With few slaves they are the limit. With many the messages are: beyond some number, another slave brings nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

deadline, message = 60, 2.0
numbers = np.arange(1, 25)
plans = [hs.max_tasks(deadline, [5.0] * p, send=message, receive=message) for p in numbers]
tasks = np.array([plan.tasks for plan in plans])
enrolled = np.array([np.count_nonzero(plan.counts) for plan in plans])
print("tasks:   ", tasks)
print("enrolled:", enrolled)
assert (np.diff(tasks) >= 0).all()

# %%
# Equal slaves of 5 per task, messages of 2, a deadline of 60. The dashed line is what slaves without messages would do.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(numbers, deadline // 5 * numbers, color="black", linestyle="--", linewidth=1, label="without messages")
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
ax.plot(numbers, enrolled, color="#e69f00", marker="s", markersize=4, label="slaves with tasks")
ax.set(xlabel="slaves", ylabel="number", ylim=(0, 1.3 * tasks.max()))
ax.legend(frameon=False)
plt.show()
