"""Counts words and forms that make the text hard to read: `python tools/words.py [folder ...]`.

For each word group: occurrences per 10,000 words of comments and docstrings, of C and of Python,
beside the limit, which is twice the highest count found in BLIS, zstd, OSQP, igraph, HiGHS, StarPU,
PaRSEC, SimGrid, SciPy and joblib. For each form of C:
occurrences per 100 lines. Files over a limit are listed, the worst first.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Word group -> most per 10,000 words.
WORDS = {
    "who": 1.8,
    "whose": 3.8,
    "nobody": 3.0,
    "others": 2.4,
    "those of": 0.4,
    "as of": 1.6,
}
#: Form of C -> most per 100 lines.
FORMS = {"comma-joined assignments": 1.6, "?:": 2.8, "lines over 100 columns": 9.0}
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'")


def text_of_c(source: str) -> str:
    return "\n".join(_COMMENT.findall(source))


def text_of_python(source: str) -> str:
    """Comments and docstrings."""
    found = [
        t.string
        for t in tokenize.generate_tokens(io.StringIO(source).readline)
        if t.type == tokenize.COMMENT
    ]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found.append(ast.get_docstring(node, clean=False) or "")
    return "\n".join(found)


def words_in(text: str) -> tuple[int, dict[str, int]]:
    """How many words, and how many of each group."""
    plain = re.sub(r"[\s*#]+", " ", text)
    counts = {group: len(re.findall(rf"\b{group}\b", plain, re.I)) for group in WORDS}
    return len(re.findall(r"[A-Za-z][A-Za-z'-]*", plain)), counts


def forms_in(source: str) -> tuple[int, dict[str, int]]:
    """How many lines of C, and how many of each form."""
    lines = source.splitlines()
    code = [
        _STRING.sub('""', line)
        for line in _COMMENT.sub(lambda m: "\n" * m[0].count("\n"), source).splitlines()
    ]
    flat = [re.sub(r"\([^()]*\)", "()", re.sub(r"\([^()]*\)", "()", line)) for line in code]
    joined = sum(
        len(re.findall(r"[^=!<>]=[^=][^,;{}]*,\s*[\w.>\-\[\]*]+\s*[-+*/|&]?=[^=]", line))
        for line in flat
        if "for (" not in line
    )
    return len(lines), {
        "comma-joined assignments": joined,
        "?:": sum(line.count(" ? ") for line in code),
        "lines over 100 columns": sum(len(line) > 100 for line in lines),
    }


def files(folders: list[str]) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".py"):
                yield path


def main() -> None:
    given = sys.argv[1:] or ["csrc", "hetsched"]
    totals: dict[str, tuple[int, dict[str, int]]] = {}
    worst: list[tuple[int, str, str]] = []
    for path in files(given):
        source = path.read_text(encoding="utf-8")
        kind = "Python" if path.suffix == ".py" else "C"
        for name, (size, counts), limits in [
            (
                kind,
                words_in(text_of_python(source) if kind == "Python" else text_of_c(source)),
                WORDS,
            ),
            *([("C, per 100 lines", forms_in(source), FORMS)] if kind == "C" else []),
        ]:
            before, sums = totals.get(name, (0, dict.fromkeys(limits, 0)))
            totals[name] = before + size, {group: sums[group] + counts[group] for group in limits}
            if limits is WORDS and sum(counts.values()):
                worst.append(
                    (
                        sum(counts.values()),
                        str(path.relative_to(ROOT)),
                        ", ".join(f"{g} {n}" for g, n in counts.items() if n),
                    )
                )
    for name, (size, counts) in totals.items():
        unit = 1e4 if "lines" not in name else 100.0
        print(f"{name}: {size}")
        for group, count in counts.items():
            limit = WORDS.get(group, FORMS.get(group, 0.0))
            rate = count * unit / max(size, 1)
            print(
                f"  {group:26} {count:6} {rate:8.1f}  at most {limit:.1f}"
                f"{'' if rate <= limit else '  OVER'}"
            )
    for total, path, text in sorted(worst, reverse=True)[:20]:
        print(f"  {total:4} {path}: {text}")


main()
