"""The gateways of matlab/, built by Octave against an installed copy of the C library, beside
Octave's own operations."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from c_tools import installed, tool

import hetsched as hs

ROOT = Path(__file__).parents[2]
MATLAB = ROOT / "matlab"
GATEWAYS = ("hs_mtimes", "hs_mldivide", "hs_chol", "hs_lu", "hs_partition", "hs_distribute")
BLOCK = re.compile(r"^```octave\n(.*?)^```$", re.M | re.S)

#: Octave's scripts, one for each gateway, and what they begin with.
SCRIPTS = ROOT / "tests" / "matlab"
COMMON = (SCRIPTS / "common.m").read_text(encoding="utf-8")


def octave(folder: Path, script: str, *, gateways: bool = True) -> tuple[str, str]:
    """What a script says on stdout and on stderr, in a folder with the gateways, which Octave is
    shown."""
    program = tool("octave-cli")
    (folder / "script.m").write_text(script, encoding="utf-8")
    path = ["--path", str(folder / "gateways")] if gateways else []
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    done = subprocess.run(
        [program, "--norc", "--no-history", *path, "script.m"],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the gateways, built, in `gateways`."""
    tool("octave-cli")
    tool("mkoctfile")
    folder = tmp_path_factory.mktemp("matlab")
    shutil.copytree(MATLAB, folder / "source")
    (folder / "gateways").mkdir()
    built = installed(tmp_path_factory)
    _, said = octave(
        folder, f"addpath('source'); build('{built}', '{folder / 'gateways'}')\n", gateways=False
    )
    assert "warning" not in said
    return folder


@pytest.fixture(scope="module")
def printed(folder):
    """The lines of each gateway's script, cut at tabs."""
    found = {}
    for name in GATEWAYS:
        script = (SCRIPTS / f"check_{name}.m").read_text(encoding="utf-8")
        lines = octave(folder, f"{COMMON}{script}\nprintf('end\\n')\n")[0].splitlines()
        assert lines[-1] == "end"
        found[name] = [line.split("\t") for line in lines[:-1]]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", GATEWAYS)
def test_beside_octave(name, printed):
    checks = [line for line in printed[name] if line[0] == "check"]
    assert len(checks) > 10
    assert [line[1] for line in checks if line[2] != "1"] == []


@pytest.mark.slow
def test_counts_are_those_of_distribute(printed):
    values = [line[1:] for line in printed["hs_distribute"] if line[0] == "value"]
    assert len(values) == 25
    for n, times, counts in values:
        plan = hs.distribute(int(n), _numbers(times))
        assert plan.counts.tolist() == _numbers(counts)


@pytest.mark.slow
def test_zones_are_those_of_partition(printed):
    """The same plan and certificate, to the last bit, if Python does not scale the areas again."""
    values = [line[1:] for line in printed["hs_partition"] if line[0] == "value"]
    assert len(values) == 17 * 23
    compared = 0
    for method, areas, kind, winner, numbers, scope, zones in values:
        shares = np.array(_numbers(areas))
        plan = hs.partition(shares, method, None if kind == "square" else (60, 90))
        cost, bound, optimal = numbers.split()
        if not np.array_equal(plan.areas, shares):
            continue
        compared += 1
        assert (plan.method, plan.scope) == (winner, scope)
        assert (plan.cost, plan.bound) == (float(cost), float(bound))
        assert plan.optimal == bool(int(optimal))
        pages = np.reshape(_numbers(zones), (-1, 4, len(shares))).transpose(2, 0, 1)
        pages[..., :2] -= (kind == "matrix") & (pages[..., 2:3] > 0)
        assert np.array_equal(pages, plan.rects.reshape(len(shares), -1, 4))
    assert compared > 100


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.strip("[]").split()]


@pytest.mark.slow
def test_of_many_errors_none_stays(folder):
    """An error in the middle leaves the pool usable, and memory where it was: some hundred MiB
    would be lost here."""
    said, _ = octave(
        folder,
        COMMON
        + "function bytes = used(), bytes = 4096 * sscanf(fileread('/proc/self/statm'), '%*d %d',"
        " 1); end\nA = -eye(1000); hs_chol(eye(1000)); before = used();\nfor i = 1:40, try,"
        " hs_chol(A); catch, end, end\ncheck('memory', used() - before < 100e6); check('works',"
        " isequal(hs_chol(eye(3)), eye(3)));\n",
    )
    assert re.findall(r"^check\t(.*)$", said, re.M) == ["memory\t1", "works\t1"]


@pytest.mark.slow
def test_help(folder):
    """It is that of the .m file beside the gateway."""
    for name in GATEWAYS:
        said, _ = octave(folder, f"disp(get_help_text('{name}'))")
        assert name.upper() in said
        assert "hetsched:type" in said


@pytest.mark.slow
def test_without_gateways(folder, tmp_path):
    said, _ = octave(
        tmp_path,
        f"addpath('{MATLAB}'); try, hs_lu(1); catch e, disp(e.identifier), end",
        gateways=False,
    )
    assert said.strip() == "hetsched:notBuilt"
    said, _ = octave(
        tmp_path,
        f"addpath('{MATLAB}'); try, build('{tmp_path}'); catch e, disp(e.identifier), end",
        gateways=False,
    )
    assert said.strip() == "hetsched:notInstalled"


@pytest.mark.slow
def test_page(folder, tmp_path):
    """The blocks of docs/matlab.md for Octave, and what they show."""
    pytest.importorskip("h5py", reason="hetsched run writes .mat by h5py")
    pytest.importorskip("scipy", reason="hetsched run reads older .mat by SciPy")
    (tmp_path / "gateways").symlink_to(folder / "gateways")
    blocks = BLOCK.findall((ROOT / "docs" / "matlab.md").read_text(encoding="utf-8"))
    assert blocks
    shown = [line for block in blocks for line in re.findall(r"% -> (.*)$", block, re.M)]
    assert shown
    assert octave(tmp_path, "1;\n" + "\n".join(blocks))[0].splitlines() == shown


# ---- without Octave ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GATEWAYS)
def test_usage_is_the_signature(name):
    """The C file, the help and its first line say the same arguments; the page names each
    gateway."""
    source, text = (
        (MATLAB / f"{name}{suffix}").read_text(encoding="utf-8") for suffix in (".c", ".m")
    )
    usage = re.search(r'gateway_count\(.*"(.*)"\);', source)
    assert usage
    assert text.startswith(f"function {usage[1]}\n")
    assert name in (ROOT / "docs" / "matlab.md").read_text(encoding="utf-8")
    assert f"'{name}'" in (MATLAB / "build.m").read_text(encoding="utf-8")


def test_every_id_is_documented():
    """Of an error or a warning that a gateway makes itself, in its help."""
    for name in GATEWAYS:
        source, text = (
            (MATLAB / f"{name}{suffix}").read_text(encoding="utf-8") for suffix in (".c", ".m")
        )
        for identifier in re.findall(r'"hetsched:\w+"', source):
            assert identifier.strip('"') in text, f"{name}: {identifier}"


@pytest.mark.slow
def test_examples_of_the_help(folder):
    """They run, and hs_distribute's gives what it says."""
    for name in GATEWAYS:
        text = (MATLAB / f"{name}.m").read_text(encoding="utf-8")
        example = re.search(r"%   Example:\n((?:%      .*\n)+)", text)
        assert example
        said, _ = octave(folder, "1;\n" + example[1].replace("%      ", ""))
        if name == "hs_distribute":
            assert np.array_equal(
                re.findall(r"\d+", said.replace("hs_", "")), ["40", "24", "14", "120"]
            )
