"""Exceptions and warnings of the package, besides ValueError, TypeError and MemoryError."""

from __future__ import annotations


class InfeasibleError(ValueError):
    """No plan exists for the input."""


class EmulationWarning(RuntimeWarning):
    """The host could not keep up with the emulated platform, so a measured time is too long."""


class LinAlgWarning(RuntimeWarning):
    """A matrix is singular.

    This class is used only if SciPy, which has a warning of this name, is not installed.
    """


class TaskError(RuntimeError):
    """A task of `map_tasks` failed; the exception that it raised is the cause.

    Attributes
    ----------
    index : int
        Number of the task.
    """

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index

    def __reduce__(self) -> tuple[type[TaskError], tuple[str, int]]:
        return type(self), (str(self), self.index)
