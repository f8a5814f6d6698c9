"""The runner of the peers' test suites: it counts, leaves out what is known, and does not overlook
what is new."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1] / "peers"
SUITE = """
import pytest

class TestSome:
    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_many(self, n):
        assert n != {bad}

    def test_skipped(self):
        pytest.skip("here")

def test_known():
    assert False
"""


@pytest.fixture
def peers(tmp_path, monkeypatch):
    """A copy of the runner with one small suite."""
    for name in ("run.py", "known.py", "pytest.ini"):
        (tmp_path / name).write_text((HERE / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "plugin.py").write_text(
        "from known import deselect\npytest_collection_modifyitems = deselect('plugin')\n"
    )
    text = (tmp_path / "run.py").read_text(encoding="utf-8")
    start = text.index("SUITES = {")
    end = text.index("\n}\n", start) + 3
    suites = 'SUITES = {"plugin": Suite("pytest", "nothing", ("a_suite",))}\n'
    (tmp_path / "run.py").write_text(text[:start] + suites + text[end:], encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- counts -->\nold\n<!-- end of counts -->\nafter\n")

    def run(bad, known):
        (tmp_path / "a_suite.py").write_text(SUITE.format(bad=bad))
        (tmp_path / "known.txt").write_text(known)
        command = [sys.executable, str(tmp_path / "run.py"), "--jobs", "0", "--write", str(page)]
        return (
            subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300),
            page.read_text(),
        )

    return run


@pytest.mark.slow
def test_counts(peers):
    known = "# why\nother: not here\n  *\nplugin: fails everywhere\n  a_suite.py::test_known\n"
    done, page = peers(0, known)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "plugin: 3 passed, 0 failed, 1 skipped, 1 known differences\n"
    assert page.startswith("before\n<!-- counts -->\nPython 3")
    assert (
        f"| pytest {pytest.__version__} | nothing | 3 | 0 | 1 | 1 |\n<!-- end of counts"
        " -->\nafter\n" in page
    )


@pytest.mark.slow
def test_new_failures(peers):
    done, page = peers(
        2,
        "plugin: fails everywhere\n  a_suite.py::test_known\n "
        " a_suite.py::TestSome::test_many[3]\n",
    )
    assert done.returncode == 1
    assert "plugin: 1 passed, 1 failed, 1 skipped, 2 known differences\n" in done.stdout
    assert "    a_suite.TestSome::test_many[2]  " in done.stdout
    assert "| 1 | 1 | 1 | 2 |" in page


@pytest.mark.slow
def test_rows_of_other_suites_stay(peers, tmp_path):
    """While they are of the same versions."""
    path, version = tmp_path / "run.py", pytest.__version__
    two = '("a_suite",)), "other": Suite("pytest", "something", ("nowhere",))}'
    path.write_text(
        path.read_text(encoding="utf-8").replace('("a_suite",))}', two), encoding="utf-8"
    )
    code = (
        "import sys; sys.path.insert(0, '.'); import run; a, b = run.Counts(1, 0, 0, 0, ()),"
        " run.Counts(2, 0, 0, 0, ())\nold = run.table({'plugin': a, 'other': a});"
        " print(run.table({'plugin': b}, old))\nprint(run.table({'plugin': b},"
        " old.replace('Python ', 'Python 1')))\nprint(run.table({'plugin': b},"
        f" old.replace('{version}', '0')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    rows = [line for line in done.stdout.splitlines() if line.startswith("| pytest")]
    new, kept = (
        f"| pytest {version} | nothing | 2 | 0 | 0 | 0 |",
        f"| pytest {version} | something | 1 | 0 | 0 | 0 |",
    )
    assert rows == [new, kept, new, new]


@pytest.mark.slow
def test_a_suite_that_does_not_start(peers):
    done, _ = peers("(", "")
    assert done.returncode not in (0, None)


def test_every_difference_has_a_reason():
    sys.path.insert(0, str(HERE))
    try:
        import known
    finally:
        sys.path.remove(str(HERE))
    suites = set(re.findall(r"^(\w+): ", (HERE / "known.txt").read_text(encoding="utf-8"), re.M))
    assert {f"{name}.py" for name in suites} <= {path.name for path in HERE.glob("*.py")}
    for suite in suites:
        for pattern, reason in known.differences(suite):
            assert reason
            assert "::" in pattern
