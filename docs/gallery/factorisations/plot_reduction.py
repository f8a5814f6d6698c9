"""
The reduction to a band
=======================

Eigenvalues begin with the reduction of the matrix to a band. For each panel all workers
meet twice: first each multiplies the rows of its blocks with the panel, then it updates
the columns of its blocks. :func:`hetsched.plan_reduction` deals the blocks such that
unequal workers arrive at these meetings together.
"""

import matplotlib.pyplot as plt
import numpy as np

import hetsched as hs

star = hs.Platform.star([3, 5, 8], names=["fast", "middle", "slow"])
plans = {
    owner: hs.plan_reduction(384, star, owner=owner) for owner in ("cyclic", "greedy")
}
for owner, plan in plans.items():
    print(f"{owner:7} {plan.certificate}")
assert plans["greedy"].makespan < 0.8 * plans["cyclic"].makespan

# %%
# Emulated workers take the planned times: above columns in turn, below by speeds. White
# lines part the tasks, grey is waiting. Both runs return the same bits, a band with the
# eigenvalues of A.

rng = np.random.default_rng(1)
A = rng.standard_normal((384, 384))
A = A + A.T
with hs.Pool(star, emulate=True) as pool:
    runs = [pool.run(plan, A, trace=True) for plan in plans.values()]
(cyclic, slow), (greedy, fast) = runs
assert np.array_equal(cyclic, greedy)
for trace in (slow, fast):
    assert abs(trace.makespan / trace.predicted - 1) < 0.01

figure = plt.figure(figsize=(9, 5), layout="constrained")
ratios = [fast.makespan, slow.makespan - fast.makespan]
grid = figure.add_gridspec(2, 2, width_ratios=ratios)  # seconds are equally long
slow.plot(figure.add_subplot(grid[0, :]))
fast.plot(figure.add_subplot(grid[1, 0]))
plt.show()
