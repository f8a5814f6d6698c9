"""
The same plan on other speeds
=============================

A plan was made for speeds that were measured once. How much does it lose when a worker
is slower by now, and when would a new plan pay? ``plan.on(platform)`` keeps the
decisions, with the times and the bound of the other workers.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

plan = hs.distribute(78, cycle_times=[3, 5, 8])
factors = np.linspace(0.5, 3, 51)
kept, anew, bound = [], [], []
for factor in factors:
    now = hs.Platform.star([3, 5 * factor, 8])
    kept.append(plan.on(now).makespan)
    anew.append(hs.distribute(78, now).makespan)
    bound.append(plan.on(now).lower_bound)
print(plan.on(hs.Platform.star([3, 10, 8])).certificate)

# %%
# The middle worker's cycle-time goes from half to three times what it was. At 1 the old
# plan is the best one.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(factors, kept, color="#d55e00", label="old plan")
ax.plot(factors, anew, color="#0072b2", label="new plan")
ax.fill_between(factors, bound, color="#dddddd", linewidth=0, label="below the bound")
ax.axvline(1, color="black", linestyle=":", linewidth=1)
ax.set(
    xlabel="cycle-time of the middle worker, times",
    ylabel="makespan",
    ylim=(0, None),
    xlim=(0.5, 3),
)
ax.legend(frameon=False, loc="upper left")
plt.show()
