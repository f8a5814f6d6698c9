"""A report that goes to the terminal and to a self-contained HTML file at the same time."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from os import PathLike
from typing import Any

from .._base.replace import replace_file

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
h1 {{ font-size: 1.6rem; }} h2 {{ font-size: 1.2rem; margin-top: 2.5rem; border-top: 1px solid #ccc; padding-top: 1rem; }}
pre {{ background: #f5f5f5; padding: .8rem; overflow-x: auto; }}
figure {{ margin: 1.5rem 0; }} figcaption {{ font-weight: 600; }} svg {{ max-width: 100%; height: auto; }}
</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


class Report:
    """Text is printed at once; pictures appear only in the file."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._parts: list[str] = []
        print(title, flush=True)

    def heading(self, text: str) -> None:
        """Start a section."""
        print(f"\n{text}", flush=True)
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        print(text, flush=True)
        self._parts.append(f"<p>{escape(text)}</p>")

    def table(self, text: str) -> None:
        """Add the lines of a fixed-width table."""
        print(text, flush=True)
        self._parts.append(f"<pre>{escape(text)}</pre>")

    def picture(self, caption: str, draw: Callable[..., Any]) -> None:
        """Add a picture. `draw` is a plot method that takes axes."""
        from ..plots.canvas import figure_svg

        self._parts.append(
            f"<figure><figcaption>{escape(caption)}</figcaption>{figure_svg(draw)}</figure>"
        )

    def write(self, path: str | PathLike[str]) -> None:
        """Write the HTML file."""
        with replace_file(path) as file:
            file.write(
                _PAGE.format(title=escape(self._title), body="\n".join(self._parts)).encode()
            )
