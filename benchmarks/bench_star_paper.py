"""The 2008 paper's claims over many draws of its ten random platforms, which it does not print.

`hetsched reproduce ppopp2008` has the draw of hetsched.datasets; here is how much of its figures is
that draw. A row has the median and the range of what differs between draws, beside the paper's
number and that of hetsched's draw. About 0.1 s a draw.
"""

from __future__ import annotations

import statistics

from common import parser, print_machine

from hetsched import datasets
from hetsched.planners.star import PAPER
from hetsched.studies.claims import numbers
from hetsched.studies.ppopp2008 import Ppopp2008, reproduce_ppopp2008


def firsts(study: Ppopp2008) -> list[float]:
    """The first number of each claim; 0 of those in words."""
    return [next(iter(numbers(claim.here)), 0.0) for claim in study.claims()]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--draws", type=int, default=200)
    count = options.parse_args().draws
    print_machine()
    rows = [
        firsts(reproduce_ppopp2008(PAPER, datasets._platforms(seed).__getitem__, 0))
        for seed in range(count)
    ]
    print(f"{'claim':46}  {'paper':14}  {'ours':14}  median  least  most of {count} draws")
    for claim, found in zip(
        reproduce_ppopp2008(PAPER, run_seconds=0).claims(), zip(*rows, strict=True), strict=True
    ):
        if min(found) < max(found):
            spread = f"{statistics.median(found):6g} {min(found):6g} {max(found):6g}"
            print(f"{claim.what:46}  {claim.paper:14}  {claim.here:14}  {spread}")


if __name__ == "__main__":
    main()
