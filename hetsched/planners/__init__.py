"""Planners: from a platform to a plan."""
