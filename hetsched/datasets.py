"""Platforms of the literature."""

from __future__ import annotations

import numpy as np

from .platform import Platform

# Renard, Robert, Vivien, "Static Load-Balancing Techniques for Iterative Computations on Heterogeneous Clusters", HiPC 2003,
# tables 1 to 4: seconds per megaflop, and milliseconds per megabit; - stands on the diagonal.
_LYON_TIMES = "0.0291 0.00874 0.0206 0.0451 0.0206 0.0291 0.0206 0.0206 0.0206 0.0206 0.0206 0.0206 0.0206 0.0206"
_LYON_LINKS = """
- 198 1702 1702 262 198 1702 1702 262 262 262 262 262 262
198 - 1702 1702 262 198 1702 1702 262 262 262 262 262 262
1702 1702 - 248 248 1702 248 248 248 248 248 248 248 248
1702 1702 248 - 248 1702 248 248 248 248 248 248 248 248
262 262 248 248 - 262 248 248 248 248 248 248 248 248
198 198 1702 1702 262 - 1702 1702 262 262 262 262 262 262
1702 1702 248 248 248 1702 - 248 248 248 248 248 248 248
1702 1702 248 248 248 1702 248 - 248 248 248 248 248 248
262 262 248 248 248 262 248 248 - 248 248 248 248 248
262 262 248 248 248 262 248 248 248 - 248 248 248 248
262 262 248 248 248 262 248 248 248 248 - 248 248 248
262 262 248 248 248 262 248 248 248 248 248 - 248 248
262 262 248 248 248 262 248 248 248 248 248 248 - 248
262 262 248 248 248 262 248 248 248 248 248 248 248 -
"""
_STRASBOURG_TIMES = "0.00874 0.00874 0.0102 0.00728 0.00728 0.0262 0.00583 0.016 0.00728 0.00874 0.0131 0.00583 0.0131"
_STRASBOURG_LINKS = """
- 48 19 17 19 147 151 154 147 48 17 16 151
48 - 48 48 48 147 151 154 147 17 48 48 151
19 48 - 19 19 147 151 154 147 48 19 19 151
17 48 19 - 19 147 151 154 147 48 17 18 151
19 48 19 19 - 147 151 154 147 48 19 19 151
147 147 147 147 147 - 151 154 147 147 147 147 151
151 151 151 151 151 151 - 154 151 151 151 151 151
154 154 154 154 154 154 154 - 154 154 154 154 154
147 147 147 147 147 147 151 154 - 147 147 147 151
48 17 48 48 48 147 151 154 147 - 48 48 151
17 48 19 17 19 147 151 154 147 48 - 18 151
16 48 19 18 19 147 151 154 147 48 18 - 151
151 151 151 151 151 151 151 154 151 151 151 151 -
"""


def lyon() -> Platform:
    """The 14 processors of ENS Lyon, with a link between every two.

    Returns
    -------
    Platform
        Cycle-times in seconds per megaflop, links in seconds per megabit.

    Notes
    -----
    Renard, Robert, Vivien (2003), tables 1 and 2.

    Examples
    --------
    >>> import hetsched as hs
    >>> hs.datasets.lyon()
    <Platform: complete, 14 workers, cycle-times 0.0291, 0.00874, 0.0206, 0.0451, 0.0206, 0.0291, ...>
    """
    return _complete(_LYON_TIMES, _LYON_LINKS)


def strasbourg() -> Platform:
    """The 13 processors of the University of Strasbourg, with a link between every two.

    Returns
    -------
    Platform
        Cycle-times in seconds per megaflop, links in seconds per megabit.

    Notes
    -----
    Renard, Robert, Vivien (2003), tables 3 and 4.

    Examples
    --------
    >>> import hetsched as hs
    >>> len(hs.datasets.strasbourg())
    13
    """
    return _complete(_STRASBOURG_TIMES, _STRASBOURG_LINKS)


def _complete(times: str, links: str) -> Platform:
    table = [line.replace("-", "0").split() for line in links.strip().splitlines()]
    return Platform.complete([float(time) for time in times.split()], np.array(table, np.float64) / 1000.0)
