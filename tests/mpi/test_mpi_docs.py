"""The pages' programs for several ranks, run as such."""

import re
import sys
from pathlib import Path

import mpi_run
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [path for folder in (DOCS, DOCS / "guide") for path in sorted(folder.glob("*.md"))]
BLOCK = re.compile(r"^```py\n(.*?)^```$", re.M | re.S)


@pytest.mark.slow
def test_blocks_of_pages(tmp_path):
    found = {
        str(page.relative_to(DOCS)): "".join(BLOCK.findall(page.read_text(encoding="utf-8")))
        for page in PAGES
    }
    programs = {name: text for name, text in found.items() if text}
    assert "guide/cluster.md" in programs
    for name, text in programs.items():
        program = tmp_path / f"{Path(name).stem}.py"
        program.write_text(text)
        done = mpi_run.run(3, sys.executable, program)
        assert done.returncode == 0, done.stderr
        assert "<Trace: real, 3 workers" in done.stdout
