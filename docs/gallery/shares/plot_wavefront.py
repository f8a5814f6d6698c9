"""
A wavefront on unequal workers
==============================

In a wavefront a tile waits for its neighbours above and to the left. Whole columns are
dealt, in panels that give each worker a share by its speed. Narrow panels let everybody
begin early, wide ones are divided better: the best period is between.
"""

import matplotlib.pyplot as plt

import hetsched as hs

cycle_times = [3, 5, 8]
periods = range(3, 49)
makespans = [hs.wavefront(48, 48, cycle_times, period).makespan for period in periods]
best = hs.wavefront(48, 48, cycle_times)
print(best.certificate, "at period", best.period)

# %%
# Left the makespan of each period, right the best one: the columns of each worker, and
# where the front is at equal intervals of time.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
left.plot(periods, makespans, color="#0072b2")
left.plot(
    best.period,
    best.makespan,
    "o",
    color="#d55e00",
    label=f"best period: {best.period}",
)
left.axhline(
    best.lower_bound, color="black", linestyle="--", linewidth=1, label="lower bound"
)
left.set(
    xlabel="period: columns of a panel",
    ylabel="makespan",
    ylim=(0, 1.05 * max(makespans)),
)
left.legend(frameon=False, loc="lower right")
best.plot(right)
plt.show()
