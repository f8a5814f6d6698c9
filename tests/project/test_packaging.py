"""What wheels, recipes and workflows say is there and agrees, without a build of any."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import hetsched

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TABLE = PYPROJECT["tool"]["cibuildwheel"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = [
    ROOT / "tools" / name for name in ("build-blis.sh", "wheel.sh", "test-wheel.sh", "test-all.sh")
]
BLIS = SCRIPTS[0].read_text(encoding="utf-8")


def minimum(requirement):
    """('numpy', '1.26') of "numpy>=1.26" and "numpy >=1.26"."""
    found = re.fullmatch(r"([\w-]+) ?>=([\d.]+)", requirement)
    return found.groups() if found else (requirement, None)


def run_script(script, *arguments, **environment):
    shell = shutil.which("sh")
    if shell is None:
        pytest.skip("no sh")
    done = subprocess.run(
        [shell, script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", **environment},
    )
    return done.returncode, done.stdout + done.stderr


class TestCibuildwheel:
    def test_which_wheels(self):
        assert TABLE["build"] == ["cp311-*", "cp314t-*"]
        first = TABLE["build"][0].removesuffix("-*")
        assert PYPROJECT["tool"]["scikit-build"]["wheel"]["py-api"] == first
        assert PYPROJECT["project"]["requires-python"] == f">={first[2]}.{first[3:]}"
        for machine in ("x86_64", "aarch64"):
            assert TABLE["linux"][f"manylinux-{machine}-image"].startswith("manylinux_")
            assert TABLE["linux"][f"musllinux-{machine}-image"].startswith("musllinux_")
        assert TABLE["macos"]["archs"] == ["arm64"]

    def test_blis_goes_where_it_is_looked_for(self):
        command = TABLE["before-all"].split()
        assert command == ["sh", "tools/build-blis.sh", "$BLIS_ROOT"]
        for environment in (TABLE["environment"], TABLE["macos"]["environment"]):
            assert Path(environment["BLIS_ROOT"]).is_absolute()

    def test_what_tests_a_wheel_is_there_and_has_what_it_needs(self):
        assert TABLE["test-sources"] == ["tests", "pyproject.toml"]
        files = re.findall(r"tests/[\w/]+\.py", TABLE["test-command"])
        assert files
        for name in files:
            assert (ROOT / name).is_file()
        assert set(TABLE["test-requires"]) <= set(
            PYPROJECT["project"]["optional-dependencies"]["test"]
        )


class TestBlis:
    def test_families(self):
        cases = dict(re.findall(r"^ +([\w |]+)\) family=(\w+) ;;$", BLIS, re.M))
        assert cases == {"x86_64 | amd64": "x86_64", "aarch64 | arm64": "arm64"}

    def test_one_release(self):
        version = re.search(r"^version=([\d.]+)$", BLIS, re.M)[1]
        assert re.search(r"^sha256=[0-9a-f]{64}$", BLIS, re.M)
        assert f"BLIS {version}" in (ROOT / "docs" / "packaging.md").read_text(encoding="utf-8")

    def test_another_tarball_is_refused(self, tmp_path):
        tarball = tmp_path / "blis.tar.gz"
        tarball.write_bytes(b"another")
        code, said = run_script(SCRIPTS[0], str(tmp_path / "prefix"), BLIS_TARBALL=str(tarball))
        assert code == 1
        assert f"{tarball} is not BLIS" in said
        assert not (tmp_path / "prefix").exists()

    def test_what_is_not_given(self, tmp_path):
        code, said = run_script(SCRIPTS[0])
        assert (code, said) == (2, "usage: build-blis.sh PREFIX\n")
        code, said = run_script(SCRIPTS[0], str(tmp_path), BLIS_TARBALL=str(tmp_path / "nothing"))
        assert code == 1
        assert f"BLIS_TARBALL: no file {tmp_path / 'nothing'}" in said


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_scripts_for_any_shell(script):
    assert script.read_text(encoding="utf-8").startswith("#!/bin/sh\n")
    assert script.stat().st_mode & 0o100
    assert run_script("-n", str(script)) == (0, "")


def test_a_wheel_that_is_not_there():
    code, said = run_script(SCRIPTS[2], "no.whl")
    assert code == 1
    assert "WHEEL: no file no.whl" in said


class TestAll:
    """tools/test-all.sh with programs that stand for make, Pythons and pyenv's versions."""

    @pytest.fixture
    def run(self, tmp_path):
        def program(path, lines):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
            path.chmod(0o755)
            return str(path)

        make = program(
            tmp_path / "make", f'echo "$*" >>{tmp_path}/calls; case "$*" in *bad*) exit 2;; esac'
        )
        for name in ("python3.21", "python-bad"):
            program(tmp_path / "bin" / name, "exit 0")
        for version in ("3.9.8", "3.22.10", "3.22.9"):
            program(tmp_path / "pyenv" / "versions" / version / "bin" / "python3.22", "exit 0")
        program(tmp_path / "bin/python3.22", "echo a shim of pyenv >&2; exit 127")
        path = f"{tmp_path}/bin:/usr/bin:/bin"

        def call(*pythons):
            code, said = run_script(
                SCRIPTS[3],
                make,
                *pythons,
                PATH=path,
                PYENV_ROOT=str(tmp_path / "pyenv"),
                HOME=str(tmp_path),
            )
            calls = tmp_path / "calls"
            return (
                code,
                re.sub(r"\b\d+ s$", "N s", said, flags=re.MULTILINE).splitlines(),
                [
                    words.removeprefix("--no-print-directory ")
                    for words in (calls.read_text().splitlines() if calls.exists() else [])
                ],
            )

        return call

    PARTS = ("ctest", "pytest", "pytest-address", "fuzz SECONDS=600")

    def test_each_python_is_upgraded_then_tested(self, run, tmp_path):
        found = f"{tmp_path}/pyenv/versions/3.22.10/bin/python3.22"
        code, said, calls = run("python3.21", "python3.22")
        assert code == 0
        assert calls == [
            *self.PARTS,
            "test-python PYTHON=python3.21 TARGET=newest",
            "test-python PYTHON=python3.21",
            f"test-python PYTHON={found} TARGET=newest",
            f"test-python PYTHON={found}",
        ]
        assert said[:2] == ["test-all: ctest: make ctest", "test-all: ctest: passed after N s"]
        assert said[-3:] == [
            f"test-all: python3.22: make test-python PYTHON={found}",
            "test-all: python3.22: passed after N s",
            "test-all: passed: ctest pytest pytest-address fuzz python3.21-packages python3.21"
            " python3.22-packages python3.22. Failed: none. Not there: none.",
        ]

    def test_one_that_is_missing_is_named(self, run):
        code, said, calls = run("python3.99", "python3.21")
        assert code == 0
        assert len(calls) == len(self.PARTS) + 2
        assert "test-all: python3.99 is not there: left out" in said
        assert said[-1].endswith(" python3.21. Failed: none. Not there: python3.99.")

    def test_failures_do_not_stop_it(self, run):
        code, said, calls = run("python-bad", "python3.21")
        assert code == 1
        assert calls[len(self.PARTS) :] == [
            "test-python PYTHON=python-bad TARGET=newest",
            "test-python PYTHON=python3.21 TARGET=newest",
            "test-python PYTHON=python3.21",
        ]
        assert "test-all: python-bad-packages: failed after N s" in said
        assert said[-1].endswith(" Failed: python-bad-packages. Not there: none.")

    def test_none_is_no_success(self, run):
        assert run("python3.98", "python3.99")[0] == 1
        assert run()[0] == 2


class TestWorkflows:
    def test_all_are_there(self):
        assert {path.stem for path in WORKFLOWS} == {"lint", "tests", "wheels", "docs", "publish"}

    @pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
    def test_what_they_call_is_there(self, path):
        yaml = pytest.importorskip("yaml", reason="no PyYAML")
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["name"] == path.stem
        assert workflow[True]  # "on", as YAML reads it
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            for called in [job.get("uses"), *(step.get("uses") for step in job.get("steps", ()))]:
                if called and called.startswith("./"):
                    assert (ROOT / called).is_file(), called
            for step in job.get("steps", ()):
                for target in re.findall(r"^make ([\w-]+)", step.get("run", ""), re.M):
                    assert re.search(rf"^{target}:", makefile, re.M), f"no target {target}"

    def test_publishing_is_trusted(self):
        yaml = pytest.importorskip("yaml", reason="no PyYAML")
        (path,) = (path for path in WORKFLOWS if path.stem == "publish")
        text = path.read_text(encoding="utf-8")
        job = yaml.safe_load(text)["jobs"]["publish"]
        assert job["permissions"] == {"id-token": "write"}
        assert "secrets." not in text
        assert job["steps"][-1]["uses"].startswith("pypa/gh-action-pypi-publish@")


class TestConda:
    @pytest.fixture
    def recipe(self):
        yaml = pytest.importorskip("yaml", reason="no PyYAML")
        return yaml.safe_load(
            (ROOT / "packaging" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
        )

    def test_version(self, recipe):
        assert (
            recipe["context"]["version"] == hetsched.__version__ == PYPROJECT["project"]["version"]
        )

    def test_requirements(self, recipe):
        project = PYPROJECT["project"]
        python = ("python", project["requires-python"].removeprefix(">="))
        run = {minimum(name) for name in recipe["requirements"]["run"]}
        assert run == {python, *map(minimum, project["dependencies"])}
        host = {minimum(name) for name in recipe["requirements"]["host"]}
        always = {
            minimum(name) for name in PYPROJECT["build-system"]["requires"] if ";" not in name
        }
        assert always | {python} <= host
        assert recipe["about"]["license"] == project["license"]
        assert recipe["about"]["summary"] == project["description"]
