"""From a plan to numbers and a trace."""
