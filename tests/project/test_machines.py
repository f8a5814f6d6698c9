"""The table of docs/machines.md is computed from the files beside it."""

import importlib.util
from pathlib import Path

TOOL = Path(__file__).parents[2] / "tools" / "machines.py"


def test_the_page_has_the_table_of_the_files():
    spec = importlib.util.spec_from_file_location("machines", TOOL)
    machines = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(machines)
    files = list(machines.PAGE.with_suffix("").glob("*.json"))
    assert files
    assert machines.table().count("\n") == 2 + len(files)
    assert machines.PAGE.read_text() == machines.page()
