"""The library that C programs link: installed into a scratch prefix; the programs of examples/c are
built against it and run."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from c_tools import ROOT, installed, run, tool

import hetsched as hs

HEADERS = ROOT / "csrc" / "include" / "hetsched"
EXAMPLES = ROOT / "examples" / "c"

#: What each program prints, with its numbers as groups.
PROGRAMS = {
    "plan": (
        r"(?:worker \d: \d+ x \d+ cells at \(\d+, \d+\)\n)+cost (\d+), no plan is below ([\d.]+):"
        r" gap ([\d.]+)%\n"
    ),
    "product": (
        r"(?:worker [01] computes from [\d.]+ to [\d.]+ s\n){2,}"
        r"360 and 120 rows, planned 0.083 s; c\(0, 0\) is 960 of 960\n"
    ),
    "solve": r"500 unknowns, the largest error is ([\d.e-]+)\n",
}

needs_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="shared libraries as Linux has them"
)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    return installed(tmp_path_factory)


@pytest.fixture
def flags(prefix):
    """The words that pkg-config gives for some options."""
    config = tool("pkg-config")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    return lambda *options: run(config, *options, "hetsched", env=environment).split()


def check(name: str, printed: str) -> None:
    """What a program printed is what it should."""
    match = re.fullmatch(PROGRAMS[name], printed)
    assert match, printed
    if name == "plan":
        cost, bound, gap = map(float, match.groups())
        plan = hs.partition(areas=[8, 5, 3, 2, 2], shape=(1000, 1000))
        assert cost == plan.cost
        assert bound == pytest.approx(plan.lower_bound, abs=0.01)
        assert gap == pytest.approx(100 * plan.gap, abs=0.01)
    elif name == "solve":
        assert float(match[1]) < 1e-12


def cc() -> str:
    return tool(os.environ.get("CC", "cc"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_by_pkg_config(name, prefix, flags, tmp_path):
    library = f"-Wl,-rpath,{prefix / 'lib'}"
    strict = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    run(
        cc(),
        *strict,
        EXAMPLES / f"{name}.c",
        "-o",
        tmp_path / name,
        *flags("--cflags", "--libs"),
        library,
    )
    check(name, run(tmp_path / name))


@pytest.mark.slow
@needs_linux
@pytest.mark.parametrize("name", PROGRAMS)
def test_by_pkg_config_static(name, flags, tmp_path):
    words = flags("--static", "--cflags", "--libs")
    if not Path(run(cc(), "-print-file-name=libc.a").strip()).is_absolute() or any(
        word.endswith(".so") for word in words
    ):
        pytest.skip("needs a static C library, and BLIS as a static library or none")
    run(cc(), EXAMPLES / f"{name}.c", "-o", tmp_path / name, "-static", *words)
    check(name, run(tmp_path / name, env={}))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["", "COMPONENTS shared", "COMPONENTS static"])
def test_by_cmake(kind, prefix, tmp_path):
    source = tmp_path / "examples"
    shutil.copytree(EXAMPLES, source)
    lists = source / "CMakeLists.txt"
    text = lists.read_text(encoding="utf-8")
    assert "find_package(hetsched REQUIRED)" in text
    lists.write_text(
        text.replace("hetsched REQUIRED", f"hetsched 0.1 REQUIRED {kind}"), encoding="utf-8"
    )
    run(tool("cmake"), "-S", source, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}")
    run(tool("cmake"), "--build", tmp_path / "b")
    for name in PROGRAMS:
        check(name, run(tmp_path / "b" / name))
        if sys.platform == "linux":
            needed = run(tool("readelf"), "-d", tmp_path / "b" / name)
            assert ("libhetsched.so.0" in needed) == ("static" not in kind)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["0.2", "1.0"])
def test_cmake_refuses_other_versions(version, prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.18)\nproject(x C)\nfind_package(hetsched {version}"
        " QUIET)\nif(hetsched_FOUND)\nmessage(FATAL_ERROR found)\nendif()\n"
    )
    run(tool("cmake"), "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}")


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_cpp(name, prefix, tmp_path):
    compiler, library = tool("g++"), prefix / "lib"
    strict = ["-x", "c++", "-std=c++11", "-pedantic", "-Wall", "-Wextra", "-Werror"]
    run(
        compiler,
        *strict,
        EXAMPLES / f"{name}.c",
        f"-I{prefix / 'include'}",
        "-o",
        tmp_path / name,
        f"-L{library}",
        "-lhetsched",
        f"-Wl,-rpath,{library}",
    )
    check(name, run(tmp_path / name))


@pytest.mark.slow
def test_each_header_stands_alone(prefix, tmp_path):
    for header in sorted((prefix / "include").rglob("*.h")):
        source = tmp_path / "one.c"
        source.write_text(
            f"#include <{header.relative_to(prefix / 'include')}>\nint main(void) {{ return 0; }}\n"
        )
        run(
            cc(),
            "-std=c11",
            "-pedantic",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            f"-I{prefix / 'include'}",
            source,
        )


def declarations() -> dict[str, str]:
    """The parameters of every public function; all are marked HS_API."""
    text = "".join(path.read_text(encoding="utf-8") for path in HEADERS.glob("*.h"))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    declared = dict(re.findall(r"^HS_API\s[^(;]*?\b(hs_\w+)\(([^;]*)\);", text, flags=re.M))
    assert len(declared) > 90
    assert set(re.findall(r"\b(hs_\w+)\(", text)) == set(declared)
    return declared


@pytest.mark.slow
@needs_linux
def test_what_is_exported(prefix):
    """All public functions, and nothing else: no internal one, none of a BLIS inside."""
    shared = prefix / "lib" / "libhetsched.so"
    shown = {
        line.split()[-1] for line in run(tool("nm"), "-D", "--defined-only", shared).splitlines()
    }
    assert shown == set(declarations())


def test_every_function_is_called_with_null():
    """The table of csrc/tests/test_arguments.c has each that takes a pointer, and knows which of
    them take cancel."""
    text = (ROOT / "csrc" / "tests" / "test_arguments.c").read_text(encoding="utf-8")
    table = dict(re.findall(r'^    \{"(hs_\w+)", \w+, \d+, \d+, ([01])\},$', text, flags=re.M))
    for name, parameters in declarations().items():
        assert (
            name in table or "*" not in parameters or re.search(rf"\b{name}\([^;]*\bNULL\b", text)
        ), name
        assert table.get(name) != str(int("const int *cancel" not in parameters)), name


@pytest.mark.slow
@needs_linux
def test_the_name_of_the_shared_library(prefix):
    library = prefix / "lib"
    assert re.search(
        r"SONAME.*\[libhetsched\.so\.0\]", run(tool("readelf"), "-d", library / "libhetsched.so")
    )
    assert (library / "libhetsched.so").resolve().name == f"libhetsched.so.{VERSION}"
    assert (library / "libhetsched.so.0").is_symlink()


VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


@pytest.mark.slow
def test_one_version(prefix, flags, tmp_path):
    """That of the package, the headers, the libraries and what installs them."""
    source = tmp_path / "version.c"
    source.write_text(
        "#include <hetsched.h>\n#include <stdio.h>\n#include <string.h>\nint main(void)\n{\n   "
        ' printf("%d.%d.%d %s\\n", HETSCHED_VERSION_MAJOR, HETSCHED_VERSION_MINOR,'
        " HETSCHED_VERSION_PATCH, hs_version());\n    return strcmp(HETSCHED_VERSION_STRING,"
        " hs_version()) || HETSCHED_VERSION_NUMBER != hs_version_number()\n           ||"
        ' !strstr(HETSCHED_VERSION_STRING, ".");\n}\n'
    )
    run(
        cc(),
        source,
        "-o",
        tmp_path / "version",
        *flags("--cflags", "--libs"),
        f"-Wl,-rpath,{prefix / 'lib'}",
    )
    assert run(tmp_path / "version").split() == [VERSION, VERSION]
    assert flags("--modversion") == [VERSION]
    assert hs.__version__ == VERSION
