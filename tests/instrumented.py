"""A plugin of pytest (-p instrumented): the extension named by HETSCHED_EXTENSION in the place of
the installed one."""

import importlib.util
import os
import sys

_NAME = "hetsched._engine._hetsched"

_spec = importlib.util.spec_from_file_location(_NAME, os.environ["HETSCHED_EXTENSION"])
assert _spec is not None
assert _spec.loader is not None
assert _NAME not in sys.modules
sys.modules[_NAME] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules[_NAME])


def pytest_report_header():
    from hetsched._engine import ffi, kernels

    assert ffi.lib is sys.modules[_NAME].lib
    return f"engine: {os.environ['HETSCHED_EXTENSION']}, kernel {kernels.kernel()['name']}"
