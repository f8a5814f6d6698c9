"""Pictures of plans and traces.

Every plot_x(thing, ax=None) draws on the given matplotlib axes, or on those of a new pyplot figure as large as the picture
needs, and returns the axes; plot_x(thing, figure=None) does so with a whole figure. Without matplotlib it raises ImportError.
"""
