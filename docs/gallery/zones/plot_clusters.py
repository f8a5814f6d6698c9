"""
Two clusters far from each other
================================

Sixteen workers in two teams; links within a team are cheap, those between the teams
become dearer from left to right. Cannon's algorithm and flat rectangles send the same
rows across many times. On two levels one worker of the other team receives them and
passes them on.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

team = np.repeat([0, 1], 8)
between = [1, 10, 30, 100, 200, 300]  # seconds per gigabyte
labels = {
    "cannon": ("#999999", "v"),
    "rectangles": ("#e69f00", "s"),
    "two levels": ("#0072b2", "o"),
}
seconds = {name: [] for name in labels}
X = np.ones((320, 320))
for cost in between:
    links = np.where(team[:, None] == team, 1.0, float(cost)) * (1 - np.eye(16))
    both = hs.Platform.complete(np.full(16, 40.0), links)  # seconds per gigaflop
    clusters = hs.partition(both, shape=(16, 16), groups=team)
    with hs.Pool(both, emulate=True, time_scale=0.5) as pool:
        for method in ("cannon", "rectangles"):
            plan = pool.plan(
                320, 320, 320, method=method, block=20, communication="sequential"
            )
            seconds[method].append(plan.makespan)
        _, trace = pool.run(clusters, X, X, communication="sequential", trace=True)
    seconds["two levels"].append(trace.predicted / 0.5)
print({name: round(values[-1], 3) for name, values in seconds.items()})

# %%
# Predicted seconds of a 320 x 320 product.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, (colour, marker) in labels.items():
    ax.plot(between, seconds[name], color=colour, marker=marker, label=name)
ax.set(
    xlabel="link between the teams, seconds per gigabyte",
    ylabel="seconds",
    ylim=(0, None),
)
ax.legend(frameon=False)
plt.show()
