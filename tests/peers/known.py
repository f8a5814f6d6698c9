"""What of the peers' suites is left out, by known.txt: what differs on purpose, with the reason."""

from __future__ import annotations

import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any


def differences(suite: str) -> list[tuple[str, str]]:
    """Patterns of tests and the reasons, of a suite: blocks of "suite: reason" and the patterns
    below it, indented."""
    found, mine, reason = [], False, ""
    for line in Path(__file__).with_name("known.txt").read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace():
            name, _, reason = line.partition(": ")
            mine = name == suite
        elif mine:
            found.append((line.strip(), reason))
    return found


def deselect(suite: str) -> Callable[[Any, list[Any]], None]:
    """pytest_collection_modifyitems of a suite; says in a file how many tests it has left out."""
    patterns = [pattern for pattern, _ in differences(suite)]

    def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
        def is_known(item: Any) -> bool:
            name = f"{item.path.name}::{item.nodeid.partition('::')[2]}"
            return any(fnmatchcase(name, pattern.replace("[", "[[]")) for pattern in patterns)

        out = [item for item in items if is_known(item)]
        if out:
            items[:] = [item for item in items if not is_known(item)]
            config.hook.pytest_deselected(items=out)
            Path(os.environ["HETSCHED_LEFT_OUT"]).write_text(
                "".join(f"{item.nodeid}\n" for item in out), encoding="utf-8"
            )

    return pytest_collection_modifyitems
