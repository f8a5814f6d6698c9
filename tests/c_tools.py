"""The compiler's tools, and the C library installed into a scratch prefix."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tool(name: str) -> str:
    """The path of a program of the virtual environment or of the system; without it the test is
    skipped."""
    found = shutil.which(
        name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    )
    if found is None:
        pytest.skip(f"needs {name}")
    return found


def run(*command: object, **options: object) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def installed(tmp_path_factory):
    """The prefix of an installed C component; moved once, as packages are."""
    build, first = tmp_path_factory.mktemp("build"), tmp_path_factory.mktemp("staged") / "first"
    run(
        tool("cmake"),
        "-S",
        ROOT,
        "-B",
        build,
        "-DCMAKE_INSTALL_LIBDIR=lib",
        "-DCMAKE_BUILD_TYPE=Debug",
    )
    run(tool("cmake"), "--build", build, "-j", "2")
    run(tool("cmake"), "--install", build, "--component", "c", "--prefix", first)
    return first.rename(first.with_name("moved"))
