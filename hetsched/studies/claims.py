"""What all reproduced papers have: tables of figures, claims beside ours with a verdict, plots."""

from __future__ import annotations

import re
from typing import NamedTuple

from .._base.drawn import DrawnFigure
from .._base.table import table

MET, CORRECTED, NOT_MET = "met", "met after the correction", "not met"
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_SPREAD = re.compile(rf"\s*±\s*{_NUMBER.pattern}")


class Claim(NamedTuple):
    """A number or a statement of the paper, our value, and why they differ if they do.

    The verdict is computed. The numbers in `here` are compared in order with the numbers in
    `paper`; if `paper` has only one number, all are compared with it. What follows ± is ignored. A
    claim without numbers needs `holds`; `within` then states the condition in words.
    """

    what: str
    paper: str  #: empty if only we have it; it then has no verdict
    here: str
    why: str = ""
    #: how much a number may differ, relative to the paper's; 0: the numbers must be as printed
    within: float | str = 0.0
    holds: bool | None = None
    #: paper and here after the correction that `why` names
    corrected: tuple[str, str] | None = None
    #: what `within` is a part of, if not of the value itself, such as "the excess" over the best
    part: str = ""

    @property
    def verdict(self) -> str:
        """ "met", "met after the correction", "not met", or empty."""
        if not self.paper:
            return ""
        if self._agree(self.paper, self.here) if self.holds is None else self.holds:
            return MET
        return CORRECTED if self.corrected and self._agree(*self.corrected) else NOT_MET

    @property
    def tolerance(self) -> str:
        """The tolerance of the verdict, in words."""
        if not self.paper:
            return ""
        if isinstance(self.within, str):
            return self.within
        if not self.within:
            return "as printed"
        return f"{100 * self.within:.3g} %" + (f" of {self.part}" if self.part else "")

    @property
    def row(self) -> tuple[str, str, str, str, str, str]:
        """The cells that are shown."""
        return self.what, self.paper, self.here, self.tolerance, self.verdict, self.why

    def _agree(self, paper: str, here: str) -> bool:
        printed, found = numbers(paper), numbers(here)
        if not printed or isinstance(self.within, str):
            raise ValueError(f"{self.what}: a statement without a number needs `holds`")
        if len(printed) == 1:
            printed *= len(found)
        if not found or len(printed) != len(found):
            return False
        slack = self.within * (1 + 1e-9)
        return all(
            abs(ours - theirs) <= slack * abs(theirs)
            for ours, theirs in zip(found, printed, strict=True)
        )


class Study(DrawnFigure):
    """Reproduced experiments. Printed, they are their tables and claims."""

    @property
    def heading(self) -> str:
        """The heading of the column of claims."""
        return "figure or section: claim"

    def tables(self) -> str:
        """The paper's figures."""
        raise NotImplementedError

    def claims(self) -> list[Claim]:
        """The numbers in the paper's text, beside ours."""
        raise NotImplementedError

    def counted(self) -> str:
        """How many claims have which verdict, in words."""
        return counted(self.claims())

    def __str__(self) -> str:
        claims = self.claims()
        rows = [
            (self.heading, "paper", "here", "within", "verdict", ""),
            *(claim.row for claim in claims),
        ]
        return f"{self.tables()}\n\n{table(rows)}\n{counted(claims)}"


class Item(NamedTuple):
    """A figure, a table or a section of a paper, and the verdicts of its claims."""

    name: str
    met: int
    corrected: int
    missed: int
    #: why the claims that are not met as printed differ, as far as we can say
    reasons: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.missed:
            return f"{self.missed} of {self.met + self.corrected + self.missed} not reproduced"
        return "reproduced after a correction" if self.corrected else "reproduced"


def items(claims: list[Claim]) -> list[Item]:
    """The claims, grouped by the figure, table or section that each begins with.

    The groups are in the order in which they are first named.
    """
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.verdict:
            name, _, rest = claim.what.partition(":")
            groups.setdefault(name if rest else "in the text", []).append(claim)
    found = []
    for name, members in groups.items():
        verdicts = [claim.verdict for claim in members]
        reasons = dict.fromkeys(
            claim.why for claim in members if claim.verdict != MET and claim.why
        )
        met, corrected, missed = (verdicts.count(verdict) for verdict in (MET, CORRECTED, NOT_MET))
        found.append(Item(name, met, corrected, missed, tuple(reasons)))
    return found


def numbers(text: str) -> list[float]:
    """The numbers in a text, without what follows ±."""
    return [float(number) for number in _NUMBER.findall(_SPREAD.sub("", text))]


def counted(claims: list[Claim]) -> str:
    """How many claims have which verdict, in words."""
    verdicts = [claim.verdict for claim in claims]
    met, corrected, missed = (verdicts.count(verdict) for verdict in (MET, CORRECTED, NOT_MET))
    return (
        f"{met + corrected + missed} claims: {met} met, {corrected} met after the correction,"
        f" {missed} not met"
    )
