"""Statements in section 6.3 of the 2008 paper on its figures 4 to 9, checked for our plans."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from .claims import Claim

#: For some instances the values of each method: relative costs, relative works, or workers.
Rows = list[dict[str, float]]
_CLOSE, _ROUGHLY = 0.1, (0.1, 0.3)
_NEAR = "10 % of it"


def makespan_sentences(cost: dict[str, Rows], methods: Sequence[str]) -> list[Claim]:
    """One claim for each sentence that compares makespans, simulated or measured.

    cost maps "4", "5", "6", "2007" and "2006" to the instances of a figure, with relative costs.
    methods are the paper's seven.
    """

    def ranked(rows: Rows) -> list[str]:
        return sorted(methods, key=lambda method: _mean(rows, method))

    def first_two(rows: Rows) -> list[set[str]]:
        return [set(sorted(methods, key=row.__getitem__)[:2]) for row in rows]

    slower = {method: _mean(cost["4"], method) - 1 for method in ("hom", "homi", "orroml", "bmm")}
    winners = [pair == {"het", "oddoml"} for pair in first_two(cost["4"])]
    excellent = [row[m] - 1 for row in cost["5"] for m in ("het", "homi", "ommoml")]
    spread = [row[m] - 1 for row in cost["2007"] for m in methods if m != "bmm"]
    return [
        Claim(
            "4: ODDOML and Het have the best makespans",
            "on all sizes",
            f"on {sum(winners)} of {len(winners)}",
            "",
            "the first two of seven",
            all(winners),
        ),
        Claim(
            "4: Hom, HomI, ORROML, BMM are slower by roughly",
            "20%",
            _percents(slower.values()),
            "means",
            "10 to 30 %",
            all(_ROUGHLY[0] <= value <= _ROUGHLY[1] for value in slower.values()),
        ),
        Claim(
            "4: OMMOML over the best",
            "twice",
            f"{_mean(cost['4'], 'ommoml'):.2f} times",
            "mean",
            _NEAR,
            abs(_mean(cost["4"], "ommoml") / 2 - 1) <= _CLOSE,
        ),
        Claim(
            "5: Het, HomI, OMMOML have excellent makespans",
            "excellent",
            f"at most {max(excellent):.0%} over the best",
            "",
            _NEAR,
            max(excellent) <= _CLOSE,
        ),
        Claim(
            "5: Hom performs close to ODDOML",
            "close",
            _percents(_ends(over("hom", "oddoml", cost["5"]))),
            "",
            _NEAR,
            max(map(abs, over("hom", "oddoml", cost["5"]))) <= _CLOSE,
        ),
        Claim(
            "5: the worst makespan is BMM's",
            "BMM",
            _names(ranked(cost["5"])[-1:]),
            "",
            "largest mean",
            ranked(cost["5"])[-1] == "bmm",
        ),
        Claim(
            "6: BMM's makespan is larger than Het's",
            "larger",
            _percents(_ends(over("bmm", "het", cost["6"]))),
            "",
            "above 0 %",
            min(over("bmm", "het", cost["6"])) > 0,
        ),
        Claim(
            "6: BMM and ODDOML perform well",
            "well",
            _percents(_mean(cost["6"], m) - 1 for m in ("bmm", "oddoml")),
            "means over the best",
            "20 %",
            max(_mean(cost["6"], m) for m in ("bmm", "oddoml")) <= 1.2,
        ),
        Claim(
            "8, 2007: all but BMM have similar makespans",
            "similar",
            f"at most {max(spread):.0%} over the best",
            "",
            _NEAR,
            max(spread) <= _CLOSE,
        ),
        Claim(
            "8, 2006: ODDOML and Het have the best makespans",
            "ODDOML, Het",
            _names(ranked(cost["2006"])[:2]),
            "",
            "the first two",
            set(ranked(cost["2006"])[:2]) == {"het", "oddoml"},
        ),
        Claim(
            "8, 2006: then ORROML, Hom and HomI, BMM, and OMMOML",
            "this order",
            _names(ranked(cost["2006"])[2:]),
            "",
            "this order",
            _in_order(ranked(cost["2006"])[2:]),
        ),
        Claim(
            "8, 2006: Het is close to ODDOML",
            "close",
            _percents(over("het", "oddoml", cost["2006"])),
            "",
            _NEAR,
            max(map(abs, over("het", "oddoml", cost["2006"]))) <= _CLOSE,
        ),
    ]


def work_sentences(
    work: dict[str, Rows], enrolled: dict[str, Rows], methods: Sequence[str]
) -> list[Claim]:
    """One claim for each sentence that compares relative works or enrolled workers."""
    thrifty = sorted(methods, key=lambda method: _mean(work["4"], method))
    workers = [row["het"] for row in enrolled["6"]]
    return [
        Claim(
            "4: relative work, from the least",
            "OMMOML, HomI, Het, Hom, ODDOML, then ORROML and BMM",
            _names(thrifty),
            "means",
            "this order",
            thrifty[:5] == ["ommoml", "homi", "het", "hom", "oddoml"],
        ),
        Claim(
            "4: relative work of Hom over ODDOML's",
            "always better",
            _percents(_ends(over("hom", "oddoml", work["4"]))),
            "",
            "below 0 %",
            max(over("hom", "oddoml", work["4"])) < 0,
        ),
        Claim(
            "6: Het enrolls more workers as the matrices grow",
            "more and more",
            " ".join(f"{n:.0f}" for n in workers),
            "",
            "never fewer, in the end more",
            sorted(workers) == workers and workers[-1] > workers[0],
        ),
    ]


def over(method: str, other: str, rows: Rows) -> list[float]:
    """How much more the value of a method is than that of another one, for each instance."""
    return [row[method] / row[other] - 1 for row in rows]


def _mean(rows: Rows, method: str) -> float:
    return statistics.mean(row[method] for row in rows)


def _ends(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


def _percents(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.0%}" for value in values)


def _names(methods: Iterable[str]) -> str:
    return ", ".join(
        {"homi": "HomI", "hom": "Hom", "het": "Het"}.get(method, method.upper())
        for method in methods
    )


def _in_order(methods: list[str]) -> bool:
    rest = [method for method in methods if method not in ("hom", "homi")]
    return rest == ["orroml", "bmm", "ommoml"] and set(methods[1:3]) == {"hom", "homi"}
