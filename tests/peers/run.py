"""Runs the test suites of NumPy, SciPy and scikit-learn with hetsched's functions in place of
theirs, or with the drop-in library before their BLAS; see docs/peers.md.

python tests/peers/run.py [--jobs N] [--write FILE] [suite ...]

Prints one line for each suite and those of its failures that known.txt does not name; exits with 1
if there are any. --write puts the counts into the table of a page, where those of other suites stay
as long as the versions are the same.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
MARKS = "<!-- counts -->", "<!-- end of counts -->"


@dataclass(frozen=True)
class Suite:
    peer: str  # its distribution
    what: str  # is in place of what
    modules: tuple[str, ...]
    chosen: str = ""  # of these, as of pytest's -k; default: all
    dropin: bool = False  # with the drop-in library, every call of which is the engine's


SUITES = {
    "numpy_matmul": Suite(
        "numpy",
        "`hs.matmul` for numpy.matmul",
        (
            "numpy._core.tests.test_multiarray",
            "numpy._core.tests.test_ufunc",
            "numpy.linalg.tests.test_linalg",
        ),
        "matmul or matvec or vecmat or dot or inner or test_linalg",
    ),
    "numpy_array": Suite(
        "numpy",
        "`hs.Array` for what numpy.array, ones, zeros, ... return",
        (
            "numpy._core.tests.test_multiarray",
            "numpy._core.tests.test_numeric",
            "numpy._core.tests.test_ufunc",
            "numpy._core.tests.test_umath",
            "numpy._core.tests.test_indexing",
            "numpy._core.tests.test_einsum",
            "numpy._core.tests.test_shape_base",
            "numpy.linalg.tests.test_linalg",
            "numpy.lib.tests.test_function_base",
            "numpy.lib.tests.test_nanfunctions",
        ),
    ),
    "scipy_linalg": Suite(
        "scipy",
        "`hs.lu_factor`, `solve`, `cholesky`, `qr`, `lstsq`, `inv`, ... for those of scipy.linalg",
        ("scipy.linalg",),
    ),
    "sklearn_array": Suite(
        "scikit-learn",
        "`hs.Array` for what sklearn.utils.check_array returns",
        (
            "sklearn.linear_model.tests.test_base",
            "sklearn.linear_model.tests.test_ridge",
            "sklearn.linear_model.tests.test_bayes",
            "sklearn.linear_model.tests.test_least_angle",
            "sklearn.decomposition",
            "sklearn.cluster.tests.test_k_means",
            "sklearn.gaussian_process",
            "sklearn.cross_decomposition",
            "sklearn.covariance",
            "sklearn.preprocessing.tests.test_data",
            "sklearn.metrics.tests.test_pairwise",
            "sklearn.neural_network",
            "sklearn.tests.test_kernel_ridge",
            "sklearn.tests.test_discriminant_analysis",
        ),
    ),
    "numpy_dropin": Suite(
        "numpy",
        "`libhetsched_blas.so` before OpenBLAS",
        ("numpy.linalg.tests.test_linalg", "numpy._core.tests.test_multiarray"),
        dropin=True,
    ),
    "scipy_dropin": Suite(
        "scipy", "`libhetsched_blas.so` before OpenBLAS", ("scipy.linalg",), dropin=True
    ),
    "sklearn_dropin": Suite(
        "scikit-learn",
        "`libhetsched_blas.so` before OpenBLAS",
        (
            "sklearn.linear_model",
            "sklearn.decomposition",
            "sklearn.gaussian_process",
            "sklearn.tests.test_kernel_ridge",
        ),
        dropin=True,
    ),
}


@dataclass(frozen=True)
class Counts:
    passed: int
    failed: int
    skipped: int
    known: int
    failures: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped, {self.known}"
            " known differences"
        )


def run(name: str, jobs: int) -> Counts:
    suite = SUITES[name]
    with tempfile.TemporaryDirectory() as folder:
        report, left_out = Path(folder, "report.xml"), Path(folder, "left-out")
        # beside other jobs the suites limit the BLAS to one thread, and all is forwarded
        jobs = 0 if suite.dropin else jobs
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--tb=no",
            "-p",
            name,
            "-p",
            "no:cacheprovider",
            "-n",
            str(jobs),
            "-k",
            suite.chosen,
            "-c",
            str(HERE / "pytest.ini"),
            "--rootdir",
            str(root(suite)),
            f"--junitxml={report}",
            "--pyargs",
            *suite.modules,
        ]
        path = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
        # tests that need more skip themselves
        memory = {"NPY_AVAILABLE_MEM": "4 GB", "SCIPY_AVAILABLE_MEM": "4 GB"}
        env = os.environ | memory | {"PYTHONPATH": path, "HETSCHED_LEFT_OUT": str(left_out)}
        if suite.dropin:
            from dropin import preloaded

            env = preloaded(env)
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        if done.returncode not in (0, 1) or not report.exists():
            raise SystemExit(
                f"{name}: pytest ended with"
                f" {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
            )
        if suite.dropin:
            require_taken(name, done.stderr)
        known = len(left_out.read_text().splitlines()) if left_out.exists() else 0
        return counted(report, known)


def require_taken(name: str, stderr: str) -> None:
    """What scikit-learn limits to one thread is forwarded; most calls are not."""
    from dropin import calls

    taken, count = calls(stderr)
    print(f"{name}: the engine took {taken} of {count} calls", flush=True)
    if taken <= count // 2:
        raise SystemExit(f"{name}: the drop-in library has forwarded most calls\n{stderr[-4000:]}")


def root(suite: Suite) -> Path:
    """The folder that names of the suite's tests begin in."""
    spec = importlib.util.find_spec(suite.modules[0].partition(".")[0])
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parents[1 if spec.submodule_search_locations else 0]


def counted(report: Path, known: int) -> Counts:
    passed = skipped = 0
    failures = []
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            text = next(
                child.get("message", "") for child in case if child.tag in ("failure", "error")
            )
            failures.append(
                f"{case.get('classname')}::{case.get('name')} "
                f" {text.splitlines()[0][:160] if text else ''}"
            )
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    return Counts(passed, len(failures), skipped, known, tuple(failures))


def table(counts: dict[str, Counts], before: str = "") -> str:
    """Of the suites that have been run, and what the table before has of others, if it is of the
    same versions."""
    head = [
        (
            f"Python {platform.python_version()}, hetsched"
            f" {importlib.metadata.version('hetsched')}, {platform.machine()}:"
        ),
        "",
        "| suite | in place | passed | failed | skipped | known differences |",
        "|---|---|---|---|---|---|",
    ]
    old = before.splitlines() if before.startswith(head[0] + "\n") else []
    lines = []
    for name, suite in SUITES.items():
        start = f"| {suite.peer} {importlib.metadata.version(suite.peer)} | {suite.what} |"
        if found := counts.get(name):
            lines.append(
                f"{start} {found.passed} | {found.failed} | {found.skipped} | {found.known} |"
            )
        else:
            lines += [line for line in old if line.startswith(start)]
    return "\n".join(head + lines)


def write(page: Path, counts: dict[str, Counts]) -> None:
    start, end = MARKS
    text = page.read_text(encoding="utf-8")
    pattern = re.compile(re.escape(start) + "\n(.*?)" + re.escape(end), re.S)
    found = pattern.search(text)
    if found is None:
        raise SystemExit(f"{page} has no {start}")
    page.write_text(
        pattern.sub(lambda _: f"{start}\n{table(counts, found[1])}\n{end}", text), encoding="utf-8"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", metavar="suite", help=", ".join(SUITES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"no suite {unknown.pop()}; there are {', '.join(SUITES)}")
    counts = {}
    for name in options.suites or SUITES:
        counts[name] = run(name, options.jobs)
        print(f"{name}: {counts[name]}", flush=True)
        for failure in counts[name].failures:
            print("   ", failure, flush=True)
    if options.write:
        write(options.write, counts)
    return int(any(found.failed for found in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
