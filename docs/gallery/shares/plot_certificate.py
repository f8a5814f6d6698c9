"""
What a certificate says
=======================

Every plan carries its value and a bound that no plan can beat. For chunks the bound is
proven and reached: the counts of :func:`hetsched.distribute` are optimal. The counts of
others get a certificate as well, with the gap that remains.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

cycle_times = np.array([3, 5, 8, 13])
n = 28
shares = n / cycle_times / (1 / cycle_times).sum()
floors = np.floor(shares).astype(int)
floors[0] += n - floors.sum()  # what is left over goes to the fastest
candidates = {
    "equal": [n // 4] * 4,
    "shares rounded down,\nrest to the fastest": floors,
    "distribute": None,
}
plans = {
    name: hs.distribute(n, cycle_times, counts=counts)
    for name, counts in candidates.items()
}
for name, plan in plans.items():
    print(f"{name}: {plan.counts}\n    {plan.certificate}".replace(",\n", ", "))

# %%
# The dashed line is the proven bound, the same for all three. What of a bar is above it
# is the gap.

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
bars = ax.barh(
    list(plans),
    [plan.makespan for plan in plans.values()],
    color=["#bbbbbb", "#e69f00", "#0072b2"],
)
ax.bar_label(bars, [f"gap {plan.gap:.1%}" for plan in plans.values()], padding=4)
ax.axvline(
    plans["distribute"].lower_bound, color="black", linestyle="--", label="lower bound"
)
ax.set(xlabel="makespan", xlim=(0, 1.25 * plans["equal"].makespan))
ax.invert_yaxis()
ax.legend(frameon=False, loc="lower right")
plt.show()
