"""`hetsched bench`, `hetsched completion`, and -q of every command."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from hetsched.cli import bench
from hetsched.cli import main as cli

SHORT = ["bench", "--sizes", "7", "--rounds", "1"]


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    """Planners of a hundred thousand workers take their time."""
    cases = bench._cases
    monkeypatch.setattr(
        bench,
        "_cases",
        lambda sizes, dtype: [case for case in cases(sizes, dtype) if "1000" not in case.name],
    )


@pytest.mark.slow
def test_times_are_printed_and_written(tmp_path, capsys):
    file = tmp_path / "a.json"
    assert cli.main([*SHORT, "-o", str(file), "--dtype", "float32"]) == 0
    out = capsys.readouterr().out
    assert "float32, medians of 1" in out
    assert "NumPy / hetsched" in out
    content = json.loads(file.read_text())
    assert content["dtype"] == "float32"
    assert set(content["seconds"]["matmul 7"]) == {"hetsched", "numpy"}
    assert set(content["seconds"]["partition, 8 workers"]) == {"hetsched"}
    assert all(t > 0 for own in content["seconds"].values() for t in own.values())


@pytest.mark.slow
def test_two_files_are_compared(tmp_path, capsys):
    file = tmp_path / "a.json"
    assert cli.main([*SHORT, "-q", "-o", str(file)]) == 0
    assert capsys.readouterr().out == ""
    content = json.loads(file.read_text())
    content["seconds"]["matmul 7"]["hetsched"] = 4000.0
    del content["seconds"]["qr 7"]
    file.write_text(json.dumps(content))
    assert cli.main([*SHORT, "--compare", str(file)]) == 0
    rows = {line.split("  ")[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert rows["matmul 7"][-3:-1] == ["4e+03", "s"]
    assert float(rows["matmul 7"][-1]) > 1000
    assert len(rows["qr 7"]) == len(rows["matmul 7"]) - 3


def test_a_median_is_taken_of_calls_in_turn():
    calls = []
    found = bench._timed(
        bench.Case("x", lambda: calls.append("ours"), lambda: calls.append("numpy")), 3
    )
    assert calls == ["ours", "numpy"] * 4
    assert set(found) == {"hetsched", "numpy"}
    assert set(bench._timed(bench.Case("x", lambda: None, None), 2)) == {"hetsched"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes", "0"], "--sizes must be in"),
        (["--rounds", "0"], "--rounds must be in"),
        (["--dtype", "int8"], "--dtype int8 is not one of"),
        (["-o", "nowhere/a.json"], "there is no folder"),
        (["--compare", "nowhere.json"], "nowhere.json: No such file"),
    ],
)
def test_refusals(options, message, capsys):
    assert cli.main(["bench", *options]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": "other"}', '{"format": "hetsched bench 1", "seconds": [1]}'],
)
def test_what_is_no_file_of_times(text, tmp_path, capsys):
    (tmp_path / "a.json").write_text(text)
    assert cli.main(["bench", "--compare", str(tmp_path / "a.json")]) == 1
    assert "was not written by hetsched bench -o" in capsys.readouterr().err


def test_quiet_commands_still_give_json(capsys):
    assert cli.main(["distribute", "10", "3", "5", "-q"]) == 0
    assert capsys.readouterr().out == ""
    assert cli.main(["-q", "distribute", "10", "3", "5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == [6, 4]
    assert cli.main(["-q", "distribute", "10", "-3"]) == 1
    assert "cycle_times" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_scripts(shell, capsys):
    pytest.importorskip("shtab")
    assert cli.main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "reproduce" in script
    assert shell == "tcsh" or "--platform" in script  # there options of commands are not told apart


def test_bash_completes(tmp_path, capsys):
    pytest.importorskip("shtab")
    if shutil.which("bash") is None:
        pytest.skip("bash is not here")
    cli.main(["completion", "bash"])
    (tmp_path / "script").write_text(capsys.readouterr().out)
    ask = (
        "source ./script; COMP_WORDS=(hetsched repr); COMP_CWORD=1; _shtab_hetsched; echo"
        " ${COMPREPLY[@]}"
    )
    found = subprocess.run(
        ["bash", "-c", ask], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == ["reproduce"]
