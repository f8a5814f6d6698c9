"""Exceptions and warnings of the package, beside the built-in ValueError, TypeError and MemoryError."""


class InfeasibleError(ValueError):
    """No plan exists for the input."""


class EmulationWarning(RuntimeWarning):
    """The host could not keep up with the emulated platform, so a measured time is too long."""


class LinAlgWarning(RuntimeWarning):
    """A matrix is singular; said in this form only where SciPy, which has a warning of this name, is not installed."""
