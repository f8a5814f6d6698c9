"""Commands on standard streams of any encoding, on streams that fail, and files in other encodings
than UTF-8."""

from __future__ import annotations

import ast
import codecs
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from inputs import many

import hetsched as hs
from hetsched.cli import bench, streams
from hetsched.cli import main as cli

NAMES = ("Rechner \u00e4", "\u65e5\u672c \u03c0\u00b1", "\U0001f600\u2026")
LAB = "".join(
    f'[[worker]]\nname = "{name}"\ncycle_time = {time}\n'
    for name, time in zip(NAMES, (3.0, 5.0, 8.0), strict=True)
)
#: An ASCII locale that Python does not replace by one of UTF-8.
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cases = bench._cases
    monkeypatch.setattr(
        bench,
        "_cases",
        lambda sizes, dtype: [case for case in cases(sizes, dtype) if "1000" not in case.name],
    )
    Path("lab.toml").write_text(LAB, encoding="utf-8")
    np.save("gr\u00f6\u00dfe.npy", np.eye(200))
    hs.plan_matmul(40, 40, 40, hs.Platform.load("lab.toml")).save("plan.json")
    Path("grid.toml").write_text(
        'function = "study_of_text:f"\n[grid]\nx = ["\u00e4", "\u00b1", "\u65e5"]\n',
        encoding="utf-8",
    )
    Path("study_of_text.py").write_text(
        "def f(x, seed):\n    if x == '\u00b1':\n        raise ValueError('\u2265')\n    return"
        " {'\u00f6': x + '\u2192'}\n",
        encoding="utf-8",
    )


COMMANDS = [
    "distribute 78 --platform lab.toml",
    "distribute 78 --platform lab.toml --csv",
    "distribute 78 --platform lab.toml --json",
    "partition --platform lab.toml --shape 30x40",
    "plan 40 40 40 --platform lab.toml -o \u00e4.json",
    "plan 40 40 40 --platform lab.toml --csv",
    "simulate plan.json --trace \u00e4.html",
    "simulate plan.json --json",
    "join lab.toml lab.toml -o all.toml --names \u00e4 \u65e5",
    "info",
    "measure --seconds 0.02 --dtype float64",
    "measure --seconds 0.02 --dtype float64 --json -o \u00e4.toml",
    "bench --sizes 7 --rounds 1",
    "run gr\u00f6\u00dfe.npy gr\u00f6\u00dfe.npy -o \u00f6.npy",
    (
        "run gr\u00f6\u00dfe.npy gr\u00f6\u00dfe.npy -o \u00f6.npy --platform lab.toml --emulate"
        " --time-scale 3"
    ),
    "run gr\u00f6\u00dfe.npy gr\u00f6\u00dfe.npy -o \u00f6.npy --memory 8M",
    "study --list",
    "study grid.toml",
    "study grid.toml --json",
    "completion bash",
    "completion zsh",
    "",
]


class TestEncodings:
    """Every command succeeds, and what it prints is text of the encoding."""

    def shown(self, monkeypatch, encoding, *words, status=0, errors="strict"):
        """What a command prints, and says on standard error."""
        out, err = (
            io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors=errors) for _ in range(2)
        )
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            assert cli.main(words) == status, err.buffer.getvalue()
        for stream in (out, err):
            stream.flush()
        assert b"internal error" not in err.buffer.getvalue()
        return out.buffer.getvalue().decode(encoding), err.buffer.getvalue().decode(encoding)

    @pytest.mark.few(9)
    @pytest.mark.parametrize(
        ("encoding", "command"),
        [
            *(("ascii", command) for command in COMMANDS),
            *(("cp1252", command) for command in many(COMMANDS, COMMANDS[:5])),
        ],
    )
    def test_commands(self, lab, monkeypatch, encoding, command):
        if command.startswith("completion"):
            pytest.importorskip("shtab")
        out, _ = self.shown(monkeypatch, encoding, *command.split())
        if "--json" in command:
            json.loads(out)
        if "--csv" in command:
            assert len(out.splitlines()) == 4

    @pytest.mark.parametrize(
        "encoding", ["latin-1", "cp437", "koi8-r", "shift_jis", "utf-16", "utf-8"]
    )
    @pytest.mark.parametrize("errors", ["strict", "replace", "surrogateescape"])
    def test_other_encodings(self, lab, monkeypatch, encoding, errors):
        self.shown(
            monkeypatch, encoding, "distribute", "78", "--platform", "lab.toml", errors=errors
        )

    @pytest.mark.parametrize(
        "command", ["", "distribute", "study", "mpi run", "completion", "exec"]
    )
    def test_help(self, monkeypatch, command):
        out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", out)
        with pytest.raises(SystemExit) as end:
            cli.main([*command.split(), "--help"])
        assert end.value.code == 0
        assert out.buffer.getvalue().startswith(b"usage: hetsched")

    @pytest.mark.slow
    def test_equivalents(self, lab, monkeypatch):
        plus_minus = ["measure", "--seconds", "0.02", "--dtype", "float64"]
        assert "median +- spread" in self.shown(monkeypatch, "ascii", *plus_minus)[0]
        assert "median \u00b1 spread" in self.shown(monkeypatch, "latin-1", *plus_minus)[0]
        out, _ = self.shown(
            monkeypatch, "latin-1", "distribute", "78", "--platform", "lab.toml", "--csv"
        )
        assert [line.split(",")[0] for line in out.splitlines()[1:]] == [
            "Rechner \u00e4",
            "\\u65e5\\u672c \\u03c0\u00b1",
            "\\ud83d\\ude00...",
        ]

    def test_errors_with_names_of_files(self, lab, monkeypatch):
        _, err = self.shown(
            monkeypatch, "ascii", "run", "\u00e4.npy", "x.npy", "-o", "y.npy", status=1
        )
        assert err == "hetsched: \\u00e4.npy: No such file or directory\n"

    def test_errors_of_a_study(self, lab, monkeypatch):
        assert (
            "the first: ValueError: >="
            in self.shown(monkeypatch, "cp1252", "study", "grid.toml")[1]
        )

    def test_progress_on_a_stream_of_ascii(self, monkeypatch):
        """Of a terminal, with tqdm and without."""
        from hetsched._base import progress

        monkeypatch.setattr(progress, "_DELAY", 0.0)
        for bar in ("tqdm", "plain"):
            monkeypatch.setattr(sys, "stderr", _Terminal(io.BytesIO(), encoding="ascii"))
            if bar == "plain":
                monkeypatch.setitem(sys.modules, "tqdm", None)
            with progress.reporting(True) as tell:
                tell(0.5)
            sys.stderr.flush()
            assert b"%" in sys.stderr.buffer.getvalue()

    @pytest.mark.parametrize("gone", [None, "closed"])
    @pytest.mark.parametrize("bar", ["tqdm", "plain"])
    def test_progress_without_a_stream(self, monkeypatch, gone, bar):
        if gone:
            gone = io.TextIOWrapper(io.BytesIO())
            gone.close()
        monkeypatch.setattr(sys, "stderr", gone)
        if bar == "plain":
            monkeypatch.setitem(sys.modules, "tqdm", None)
        assert hs.matmul(np.eye(3), np.eye(3), progress=True).tolist() == np.eye(3).tolist()


class _Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


class TestHandler:
    @pytest.mark.parametrize(
        ("text", "encoding", "printed"),
        [
            ("2 \u00b1 1", "ascii", b"2 +- 1"),
            ("2 \u00b1 1", "latin-1", b"2 \xb1 1"),
            ("\u00e4\U0001f600", "ascii", b"\\u00e4\\ud83d\\ude00"),
            ("caf\udce9.npy", "ascii", b"caf\xe9.npy"),
            ("caf\udce9.npy", "utf-8", b"caf\xe9.npy"),
            ("caf\udce9", "utf-16-le", b"c\0a\0f\0" + "\\udce9".encode("utf-16-le")),
            ("\ud800", "utf-8", b"\\ud800"),
        ],
    )
    def test_characters(self, text, encoding, printed):
        assert text.encode(encoding, streams._HANDLER) == printed

    def test_json_stays_json(self):
        text = "\u00e4\u65e5\U0001f600"
        assert json.loads(
            json.dumps([text], ensure_ascii=False).encode("ascii", streams._HANDLER)
        ) == [text]

    def test_not_for_reading(self):
        with pytest.raises(UnicodeDecodeError):
            b"\xff".decode("ascii", streams._HANDLER)

    @pytest.mark.slow
    def test_every_character_that_hetsched_prints(self):
        """Of the strings of its sources, docstrings not among them."""
        printed = set()
        for file in Path(hs.__file__).parent.rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Constant)
                    and isinstance(node.value, str)
                    and id(node) not in docs
                ):
                    printed |= {character for character in node.value if not character.isascii()}
        assert printed <= set(streams.EQUIVALENTS)
        assert all(
            text.isascii() and not set(text) & set('\\",\n')
            for text in streams.EQUIVALENTS.values()
        )


# ---- streams that fail ---------------------------------------------------------------------------


def program(command, **environment):
    """The result of a line for the shell, where $H is `hetsched` with a buffer."""
    own = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONUNBUFFERED", "PYTHONIOENCODING")
    }
    line = f'H() {{ "{sys.executable}" -m hetsched "$@"; }}\n{command}'
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, env=own | environment, timeout=120, check=False
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
class TestStreams:
    PLAN = "distribute 78 3 5 8"

    @pytest.mark.slow
    @pytest.mark.parametrize("command", [f"{PLAN} -o p.json", "--help"])
    def test_full(self, lab, command):
        done = program(f"H {command} >/dev/full")
        assert (done.returncode, done.stderr) == (
            1,
            b"hetsched: standard output: No space left on device\n",
        )
        assert "-o" not in command or hs.Plan.load("p.json").counts.sum() == 78

    @pytest.mark.slow
    def test_full_and_without_a_buffer(self, lab):
        done = program(f"H {self.PLAN} -o p.json >/dev/full", PYTHONUNBUFFERED="1")
        assert (done.returncode, done.stderr) == (1, b"hetsched: No space left on device\n")

    def test_closed(self, lab):
        """All three: no file that the command opens takes the place of one."""
        done = program(f"H {self.PLAN} -o p.json <&- >&- 2>&-; echo $?")
        assert done.stdout == b"0\n"
        assert hs.Plan.load("p.json").counts.sum() == 78
        assert program("H distribute 78 -3 2>&-; echo $?").stdout == b"1\n"

    @pytest.mark.slow
    def test_errors_that_cannot_be_said(self, lab):
        assert program("H distribute 78 -3 2>/dev/full").returncode == 1
        assert program("H distribute 78 x 2>/dev/full").returncode == 2

    @pytest.mark.slow
    @pytest.mark.parametrize("command", ["--help", "distribute 9999 $(seq 1 3000) --json"])
    def test_a_reader_that_has_gone(self, lab, command):
        done = program(f"H {command} | true; echo ${{PIPESTATUS[0]}}")
        assert (done.stdout, done.stderr) == (b"0\n", b"")


class TestLocale:
    """A locale of ASCII."""

    @pytest.mark.slow
    def test_names_and_files(self, lab):
        """Files are in UTF-8, names from the command line among them."""
        done = program(
            "H join lab.toml lab.toml -o all.toml --names \u00e4 b && H plan 40 40 40 --platform"
            " all.toml -o \u00e4.json",
            **ASCII,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert hs.Platform.load("all.toml").names[0] == f"\u00e4/{NAMES[0]}"
        assert hs.Plan.load("\u00e4.json").names[0] == f"\u00e4/{NAMES[0]}"

    @pytest.mark.slow
    def test_quiet(self, lab):
        done = program("H distribute 78 --platform lab.toml -q", **ASCII)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def test_names_that_are_no_text(self, lab, capsys):
        assert cli.main(["join", "lab.toml", "-o", "all.toml", "--names", "caf\udce9"]) == 1
        assert "--names must be text in UTF-8, got" in capsys.readouterr().err
        with pytest.raises(ValueError, match="names must be text that UTF-8 can hold"):
            hs.Platform.star([1], names=["\ud800"]).save("x.toml")
        assert not Path("x.toml").exists()


# ---- files in other encodings --------------------------------------------------------------------


def platform(path):
    return hs.Platform.load(path).names


def plan(path):
    return hs.Plan.load(path).names


def described(path):
    return hs.topology(path).model


def grid(path):
    assert cli.main(["study", path, "-q"]) == 0


def times(path):
    return bench._read(path)


READERS = {
    "lab.toml": platform,
    "lab.json": platform,
    "plan.json": plan,
    "machine.toml": described,
    "grid.toml": grid,
    "times.json": times,
}


@pytest.fixture
def files(lab):
    hs.Platform.load("lab.toml").save("lab.json")
    Path("machine.toml").write_text(
        'model = "\u00e4"\n[[domain]]\ncpus = "0-3"\n', encoding="utf-8"
    )
    Path("times.json").write_text(
        '{"format": "hetsched bench 1", "seconds": {"gram 7": {"hetsched": 2.5}}}'
    )


@pytest.mark.parametrize("name", READERS)
def test_a_byte_order_mark_is_no_character(files, name):
    """As editors of Windows write it."""
    before = READERS[name](name)
    Path(name).write_bytes(codecs.BOM_UTF8 + Path(name).read_bytes())
    assert READERS[name](name) == before


@pytest.mark.parametrize("name", ["lab.toml", "lab.json", "plan.json", "machine.toml"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_wide_encodings_are_refused(files, name, encoding):
    Path(name).write_bytes(Path(name).read_text(encoding="utf-8").encode(encoding))
    with pytest.raises(
        ValueError, match=f"^{name}: it must be text in UTF-8, and is in UTF-16 or another"
    ):
        READERS[name](name)


@pytest.mark.parametrize("name", ["lab.toml", "plan.json"])
def test_bytes_that_are_no_text(files, name):
    content = Path(name).read_bytes()
    Path(name).write_bytes(content + b"\xe4")
    with pytest.raises(
        ValueError,
        match=f"^{name}: it must be text in UTF-8, and has the byte 0xe4 at {len(content)}",
    ):
        READERS[name](name)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["study", "grid.toml"], "grid.toml: "),
        (["bench", "--compare", "times.json"], "times.json was not written by"),
    ],
)
def test_commands_refuse_wide_encodings(files, capsys, command, words):
    name = command[-1]
    Path(name).write_bytes(Path(name).read_text(encoding="utf-8").encode("utf-16"))
    assert cli.main(command) == 1
    said = capsys.readouterr().err
    assert words in said
    assert "it must be text in UTF-8" in said


def test_a_table_of_a_study_goes_on_after_an_editor(lab):
    """A CSV file that was saved again with a byte order mark."""
    assert cli.main(["study", "grid.toml", "-o", "t.csv", "-q"]) == 0
    Path("t.csv").write_bytes(codecs.BOM_UTF8 + Path("t.csv").read_bytes())
    assert cli.main(["study", "grid.toml", "-o", "t.csv", "-q"]) == 0
