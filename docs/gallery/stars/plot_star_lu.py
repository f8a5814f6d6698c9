"""
LU at a master that looks ahead
===============================

The master factors panels of two block columns, and solves for the rows beside them.
Then it updates some columns itself, and the workers the others. The next panel is among
the master's columns, so that it factors this panel while the workers still compute. It
takes as many columns as let both sides end together.
"""

import matplotlib.pyplot as plt

import hetsched as hs

star = hs.Platform.star([2, 3], link_costs=[0.1, 0.2], memory=[45, 60])
plan = hs.plan_star_lu(12, star, "oddoml", width=2)
print("columns of the master:", [panel.own for panel in plan.panels])
print(plan.certificate)

# %%
# The master is as fast as the fastest worker. Its row also has the port's messages.

figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
plan.plot(ax)
plt.show()
