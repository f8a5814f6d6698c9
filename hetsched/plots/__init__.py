"""Plots of plans and traces.

Every plot_x(thing, ax=None) draws on the given matplotlib axes, or on the axes of a new pyplot
figure as large as the plot needs, and returns the axes. plot_x(thing, figure=None) does the same
with a whole figure. Without matplotlib they raise ImportError.
"""
