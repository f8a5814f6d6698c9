"""What every paper's experiments have: tables of its figures, its claims beside ours, pictures."""

from __future__ import annotations

from typing import NamedTuple

from .._base.drawn import DrawnFigure
from .._base.table import table


class Claim(NamedTuple):
    """A number in the paper's text, the same from our plans, and why they differ where they do."""

    what: str
    paper: str
    here: str
    why: str = ""


class Study(DrawnFigure):
    """Experiments again; printed, they are their tables and claims."""

    @property
    def heading(self) -> str:
        """Above the claims."""
        return "figure: claim of the text"

    def tables(self) -> str:
        """The paper's figures."""
        raise NotImplementedError

    def claims(self) -> list[Claim]:
        """The numbers in the paper's text beside ours."""
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{self.tables()}\n\n{table([(self.heading, 'paper', 'here'), *self.claims()])}"
