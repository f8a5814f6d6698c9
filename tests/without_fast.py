"""A plugin of pytest (-p without_fast): the short way for what is small is not there, as where it
was not built."""

import sys

_NAME = "hetsched._engine._fast"

assert _NAME not in sys.modules
sys.modules[_NAME] = None  # type: ignore[assignment]


def pytest_report_header():
    from hetsched._engine import fast

    assert not fast.BUILT
    return "without the short way for what is small"
