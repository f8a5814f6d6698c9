"""
Predicted and measured
======================

On emulated workers threads compute the real numbers and keep to the platform's pace by
the clock. The trace of the run and the one that the plan predicted have the same form,
so they stand beside each other.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

rng = np.random.default_rng(0)
A, B = rng.standard_normal((300, 200)), rng.standard_normal((200, 250))
star = hs.Platform.star(
    [3, 5, 8], link_costs=[20, 60, 40], names=["fast", "middle", "slow"]
)  # s per gigaflop, per gigabyte
with hs.Pool(star, emulate=True, time_scale=6) as pool:
    plan = pool.plan(300, 250, 200, method="columns")
    C, trace = pool.run(plan, A, B, trace=True)
assert np.allclose(C, A @ B)
for name, predicted, measured in zip(
    star.names, trace.predicted_finish, trace.finish, strict=True
):
    print(f"{name:6} predicted {predicted:.4f} s, measured {measured:.4f} s")

# %%
# Above what the plan says, in the platform's seconds; below what happened, in seconds
# of this clock, which run ``time_scale`` times as long. The axes are scaled alike.

figure, axes = plt.subplots(2, 1, figsize=(8.5, 4.8), layout="constrained")
hs.simulate(plan).plot(axes[0])
trace.plot(axes[1])
longest = 1.02 * max(trace.makespan, trace.predicted)
axes[0].set(xlim=(0, longest / 6), xlabel="seconds of the platform")
axes[1].set(xlim=(0, longest), xlabel="seconds of this clock")
plt.show()
