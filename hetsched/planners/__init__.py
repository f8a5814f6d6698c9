"""From a platform to a plan."""
