"""Pages of the C headers, one for each, in docs/c-api.

They have the comments, and the declarations as objects of Sphinx's C domain.

`conf.py` writes them before the site is built.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

INCLUDE = Path(__file__).parents[1] / "csrc" / "include"
#: In the order of the umbrella header; export.h has only what compilers need.
TOPICS: list[str] = re.findall(
    r'^#include "hetsched/(\w+)\.h"', (INCLUDE / "hetsched.h").read_text(encoding="utf-8"), re.M
)

_ITEM = re.compile(
    r"(?P<comment>^/\*.*?\*/)|(?P<macro>^\#.*?(?<!\\)$)|(?P<guard>^HS_C_(?:BEGIN|END)$)|(?P<code>^\S.*?;[^\n]*$)",
    re.M | re.S,
)
_MACRO = re.compile(r"#define (?!\w+_H$)\w+")
_ROW = re.compile(r"^ {2,}(?P<name>\S+(?:,? \S+)*?) {2,}(?P<text>\S.*)$")
_CODE = re.compile(
    r"`[^`]+`|\b(?:hs|HS|HETSCHED)_\w+(?:\(\))?|\bNULL\b|\b\w+(?:\[[^\[\]]*\])+|\b[a-z]+_[a-z_]+\b"
)


class Item(NamedTuple):
    """A comment and the declarations below it; none if the comment stands alone."""

    comment: str
    code: list[str]


def items(header: str) -> list[Item]:
    """What a header says, from top to bottom."""
    found: list[Item] = []
    position = 0
    while match := _ITEM.search(header, position):
        text = match[0]
        if match["code"] and text.count("{") > text.count(
            "}"
        ):  # a struct or an enum goes on to its brace
            text = header[match.start() : header.index("\n}", match.start()) + 1]
            text += header[match.start() + len(text) :].split("\n", 1)[0]
        apart = header[position : match.start()].count("\n") > 1
        position = match.start() + len(text)
        if match["comment"]:
            found.append(
                Item("\n".join(line.removeprefix(" *") for line in text[2:-2].splitlines()), [])
            )
        elif match["code"] or _MACRO.match(text):
            if not found or (apart and found[-1].code):
                found.append(Item("", []))
            found[-1].code.append(text)
    return found


def prose(text: str) -> str:
    """A line of a comment as Markdown: identifiers as code, all else as it stands."""
    out, last = [], 0
    for match in _CODE.finditer(text):
        out += [
            re.sub(r"([\\`*_{}\[\]<>$|#~^])", r"\\\1", text[last : match.start()]),
            f"`{match[0].strip('`')}`",
        ]
        last = match.end()
    return "".join([*out, re.sub(r"([\\`*_{}\[\]<>$|#~^])", r"\\\1", text[last:])])


def markdown(comment: str) -> str:
    """Paragraphs, and the tables of parameters as definition lists."""
    out: list[str] = []
    row = 0  # the indent of a table's rows; 0 outside
    for line in comment.strip("\n").splitlines():
        indent = len(line) - len(line.lstrip())
        if row and indent > row:
            out.append("  " + prose(line.strip()))
        elif match := _ROW.match(line):
            out += ["", f"`{match['name']}`", f": {prose(match['text'])}"]
            row = indent
        else:
            if row and line.strip():
                out.append("")
            row = 0
            text = line.strip()
            # what begins a line of a paragraph would be a list or a heading elsewhere
            out.append(re.sub(r"^(\d+)\.", r"\1\\.", re.sub(r"^([-+])(?= )", r"\\\1", prose(text))))
    return "\n".join(out).strip()


def declaration(code: str) -> tuple[str, str]:
    """The directive of Sphinx's C domain and its argument."""
    if match := re.match(r"#define (\w+(?:\([^)]*\))?)", code):
        return "c:macro", match[1]
    if match := re.match(r"HS_API (.*?);", code, re.S):
        return "c:function", re.sub(r"\s+", " ", match[1])
    if match := re.search(r"\(\*(\w+)\)|(\w+);[^;]*$", code):
        return "c:type", match[1] or match[2]
    if code.startswith("enum {"):  # its constants have no type of their own
        return "", ""
    raise ValueError(f"not a declaration that is known: {code}")


def page(topic: str) -> str:
    """The page of a header."""
    first, *rest = items((INCLUDE / "hetsched" / f"{topic}.h").read_text(encoding="utf-8"))
    out = [f"# {topic}.h", markdown(first.comment), *[_shown(code) for code in first.code]]
    for comment, code in rest:
        if heading := re.fullmatch(r"\s*-{4} (.*?) -+\s*", comment):
            out.append(f"## {heading[1][0].upper()}{heading[1][1:]}")
            out += [_shown(one) for one in code]
        elif not code:
            out.append(markdown(comment))
        else:
            out += [_shown(one) for one in code[:-1]]
            out.append(_shown(code[-1], markdown(comment)))
    return "\n\n".join(part for part in out if part) + "\n"


def _shown(code: str, text: str = "") -> str:
    directive, argument = declaration(code)
    body = "" if directive == "c:function" else f"```c\n{code}\n```\n\n"
    if not directive:
        return f"{body}{text}".strip()
    return f"````{{{directive}}} {argument}\n{body}{text}\n````"


def contracts() -> str:
    """The umbrella header's comment: what holds for every call."""
    first = items((INCLUDE / "hetsched.h").read_text(encoding="utf-8"))[0].comment
    return re.sub(
        r"^Contracts that hold everywhere$",
        "## Contracts that hold everywhere",
        markdown(first),
        flags=re.M,
    )


def write(folder: Path) -> None:
    """All pages; one that says what it said is left alone, so that it is not read again."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = "\n".join(TOPICS)
    index = (
        f"# C API\n\n{contracts()}\n\n## Headers\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    )
    for name, text in {"index": index, **{topic: page(topic) for topic in TOPICS}}.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
