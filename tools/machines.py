"""Writes the table of docs/machines.md from the files that `hetsched bench -o` wrote:

python tools/machines.py
"""

import json
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "machines.md"
CASES = ("matmul 2000", "gram 2000", "solve 2000", "cholesky 2000", "qr 2000")
BEGIN, END = "<!-- table -->\n", "<!-- end of the table -->\n"


def row(path: Path) -> str:
    """One machine: NumPy's time / hetsched's in each case."""
    found = json.loads(path.read_text())
    ratios = []
    for case in CASES:
        times = found["seconds"].get(case)
        ratio = times["numpy"] / times["hetsched"] if times else None
        ratios.append("" if ratio is None else f"{ratio:.2f}" if ratio >= 1 else f"**{ratio:.2f}**")
    return f"| {found['machine']} | {found['dtype']} | {' | '.join(ratios)} |\n"


def table() -> str:
    """The table in Markdown, a row for each file in docs/machines."""
    names = [case.replace(" 2000", "") for case in CASES]
    head = f"| machine | dtype | {' | '.join(names)} |\n|{'---|' * (2 + len(CASES))}\n"
    return head + "".join(map(row, sorted(PAGE.with_suffix("").glob("*.json"))))


def page() -> str:
    """The page with the table of today's files."""
    before, rest = PAGE.read_text().split(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page())
