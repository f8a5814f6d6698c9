"""C programs and the installed package: its headers, its library, hetsched.pc, and the options of
the command line that say where they are."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from c_tools import ROOT, run, tool

import hetsched as hs
from hetsched._engine import c_library
from hetsched.cli import main as cli

needs_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="shared libraries as Linux has them"
)


@pytest.fixture
def flags(capsys):
    """The words that the command prints for some options."""

    def words(*options):
        assert cli.main(list(options)) == 0
        return shlex.split(capsys.readouterr().out)

    return words


def test_every_header_is_in_the_package(flags):
    (folder,) = map(Path, flags("--includedir"))
    wanted, found = {"hetsched.h"}, set()
    while wanted - found:
        name = (wanted - found).pop()
        wanted |= set(re.findall(r'^#include "(.*)"', (folder / name).read_text("utf-8"), re.M))
        found.add(name)
    assert found == {str(path.relative_to(folder)) for path in folder.rglob("*.h")}
    assert len(found) > 15


def test_the_library_is_in_the_package(flags):
    (search, name, rpath), (pkgconfig,) = flags("--libs"), flags("--pkgconfigdir")
    folder = Path(search.removeprefix("-L"))
    assert (name, rpath) == ("-lhetsched-0", f"-Wl,-rpath,{folder}")
    assert Path(pkgconfig, "hetsched.pc").is_file()
    assert (folder / f"libhetsched-0.{'dylib' if sys.platform == 'darwin' else 'so'}").is_file()


@needs_linux
def test_the_extension_uses_the_same_library(flags):
    loaded = Path("/proc/self/maps").read_text()
    folder = flags("--libs")[0].removeprefix("-L")
    assert f"{Path(folder).resolve()}/libhetsched-0.so" in loaded


def test_options_together(flags):
    cflags, libs = flags("--cflags"), flags("--libs")
    assert cflags == [f"-I{flags('--includedir')[0]}"]
    assert flags("--cflags", "--libs") == cflags + libs
    assert flags("--libs", "-v", "--cflags") == libs + cflags


def test_a_program(tmp_path):
    flags = run(sys.executable, "-m", "hetsched", "--cflags", "--libs").split()
    source, program = ROOT / "examples" / "c" / "solve.c", tmp_path / "solve"
    run(tool(os.environ.get("CC", "cc")), source, *flags, "-o", program)
    assert re.fullmatch(
        r"500 unknowns, the largest error is [\d.]+e-1\d\n", run(program, env={}, cwd="/")
    )


def test_pkg_config_finds_the_same_after_a_move(flags, tmp_path):
    config = tool("pkg-config")
    (pkgconfig,) = flags("--pkgconfigdir")
    copy = shutil.copytree(pkgconfig, tmp_path / "engine" / "lib" / "pkgconfig")
    for folder in (Path(pkgconfig), copy):

        def ask(*options, folder=folder):
            given = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
            return run(config, *options, "hetsched", env=given).strip()

        prefix = folder.resolve().parents[1]
        assert Path(ask("--cflags").removeprefix("-I")).resolve() == prefix / "include"
        search, name, rpath = ask("--libs").split()
        assert Path(search.removeprefix("-L")).resolve() == prefix / "lib"
        assert name == flags("--libs")[1]
        assert Path(rpath.removeprefix("-Wl,-rpath,")).resolve() == prefix / "lib"
        assert ask("--modversion") == hs.__version__
        assert ask("--static", "--libs") == ask("--libs")


def test_numpy_is_not_loaded():
    code = (
        "import sys; from hetsched.cli.main import main; assert main(['--cflags', '--libs']) == 0;"
        " assert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("option", ["--cflags", "--libs", "--includedir", "--pkgconfigdir"])
def test_a_build_without_the_files(option, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(c_library._hetsched, "__file__", str(tmp_path / "_hetsched.so"))
    assert cli.main([option]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(
        f"hetsched: this build of hetsched has no files for C programs: no {tmp_path}"
    )
