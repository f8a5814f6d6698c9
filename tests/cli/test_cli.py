"""The command line, as a stranger meets it."""

import argparse
import csv
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import hetsched as hs
from hetsched.cli import demo, info
from hetsched.cli import main as cli

measuring = sys.modules["hetsched.machine.measure"]  # hetsched.measure is the function


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A.npy, B.npy and p.toml in the current directory."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((150, 120)), rng.standard_normal((120, 180))
    np.save("A.npy", A)
    np.save("B.npy", B)
    hs.Platform.star([3, 5, 8], names=["fast", "middle", "slow"]).save("p.toml")
    return A, B


def listing():
    return sorted(os.listdir("."))


def test_run_on_real_cores(files, capsys):
    assert cli.main(["run", "A.npy", "B.npy", "-o", "C.npy"]) == 0
    np.testing.assert_allclose(np.load("C.npy"), files[0] @ files[1], atol=1e-12)
    assert "C.npy: 150 x 180 float64" in capsys.readouterr().out
    assert listing() == ["A.npy", "B.npy", "C.npy", "p.toml"]


def test_run_emulated(files, capsys):
    arguments = [
        "run",
        "A.npy",
        "B.npy",
        "-o",
        "C.npy",
        "--platform",
        "p.toml",
        "--emulate",
        "--time-scale",
        "20",
    ]
    assert cli.main([*arguments, "--method", "columns", "--block", "10", "--trace", "t.json"]) == 0
    np.testing.assert_allclose(np.load("C.npy"), files[0] @ files[1], atol=1e-12)
    out = capsys.readouterr().out
    for word in ("fast", "middle", "slow", "predicted", "measured", "lower bound"):
        assert word in out
    assert json.loads(Path("t.json").read_text())["traceEvents"]


def bad_platform():
    Path("p.toml").write_text("[[worker]]\ncycle_time = -1\n")


BOTH = ["A.npy", "B.npy"]


@pytest.mark.parametrize(
    ("prepare", "arguments", "words"),
    [
        (None, ["missing.npy", "B.npy"], "missing.npy: No such file"),
        (lambda: os.truncate("A.npy", 500), BOTH,
         "A (A.npy) is cut short: 144128 bytes were expected, it has 500"),
        (lambda: os.truncate("A.npy", 0), BOTH, "A (A.npy) is not a complete .npy file"),
        (lambda: Path("B.npy").write_text("hello"), BOTH, "B (B.npy) is not a complete .npy file"),
        (lambda: np.savez("A.npz", np.ones(3)), ["A.npz", "B.npy"], "is an archive"),
        (lambda: np.save("A.npy", np.ones((2, 3), object)), BOTH,
         "A (A.npy) has dtype object; numbers are needed"),
        (None, ["B.npy", "B.npy"], "A has 180 columns and B has 120 rows"),
        (lambda: np.save("A.npy", np.ones(120)), BOTH, "must be matrices"),
        (None, [*BOTH, "--emulate"], "--emulate needs --platform"),
        (None, [*BOTH, "--time-scale", "2"], "--time-scale needs --emulate"),
        (None, [*BOTH, "--platform", ""], "--platform must be a path"),
        (None, [*BOTH, "--trace", ""], "--trace must be a path"),
        (None, [*BOTH, "--platform", "no.toml"], "no.toml: No such file"),
        (bad_platform, [*BOTH, "--platform", "p.toml"], "p.toml: worker 0: cycle_time"),
        (None, [*BOTH, "--method", "magic"], "method must be one of"),
        (None, [*BOTH, "--trace", "t.txt"], "--trace must end in"),
    ],
)  # fmt: skip
def test_errors_leave_the_output_alone(files, capsys, prepare, arguments, words):
    if prepare:
        prepare()
    Path("C.npy").write_bytes(b"old")
    before = listing()
    assert cli.main(["run", *arguments, "-o", "C.npy"]) == 1
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.startswith("hetsched: ")
    assert captured.err.count("\n") == 1
    assert Path("C.npy").read_bytes() == b"old"
    assert listing() == before


@pytest.mark.parametrize("name", ["C.txt", "C", "C.mat", "C.h5", "C.npz"])
@pytest.mark.parametrize("options", [[], ["--memory", "8M"]])
def test_suffix_of_the_output(files, capsys, monkeypatch, name, options):
    """Refused before anything is read or multiplied."""
    if options and name in ("C.mat", "C.h5"):
        return
    monkeypatch.setattr(hs.Pool, "matmul", None)
    monkeypatch.setattr(np, "load", None)
    before = listing()
    assert cli.main(["run", "A.npy", "B.npy", "-o", name, *options]) == 1
    assert f"({name}) must end in .npy" in capsys.readouterr().err
    assert listing() == before


class TestOperands:
    """Files that `run` reads without --memory."""

    def run(self, A, B, *options):
        assert cli.main(["run", A, B, "-o", "C.npy", *options]) == 0
        return np.load("C.npy")

    def test_mat(self, files):
        io = pytest.importorskip("scipy.io")
        A, B = files
        io.savemat("old.mat", {"A": A, "x": np.ones(3)})
        np.testing.assert_allclose(self.run("old.mat:A", "B.npy"), A @ B, atol=1e-12)

    def test_hdf5(self, files):
        h5py = pytest.importorskip("h5py")
        A, B = files
        with h5py.File("A.h5", "w") as file:
            file["group/plain"] = A
            file.create_dataset("chunked", data=A.astype(">f4"), chunks=(7, 9))
        np.testing.assert_allclose(self.run("A.h5:/group/plain", "B.npy"), A @ B, atol=1e-12)
        np.testing.assert_allclose(
            self.run("A.h5:chunked", "B.npy"), A.astype(np.float32) @ B, atol=1e-12
        )

    def test_doubles_that_matlab_stores_as_bytes(self, files, monkeypatch):
        """A .mat file keeps whole numbers in as few bytes as they need; they are no bytes for
        that."""
        io = pytest.importorskip("scipy.io")
        io.savemat("small.mat", {"A": np.full((2, 300), 3.0)})
        monkeypatch.setattr(io, "loadmat", lambda *_, **__: {"A": np.full((2, 300), 3, np.uint8)})
        np.save("E.npy", np.full((300, 2), 3, np.uint8))
        found = self.run("small.mat", "E.npy")
        assert found.dtype == np.float64
        assert (found == 2700).all()

    @pytest.mark.parametrize("kind", ["int64", "uint8", "bool", "float16"])
    def test_as_numpy_would(self, files, capsys, kind):
        A, B = (
            (np.arange(12).reshape(3, 4) % 5).astype(kind),
            (np.arange(8).reshape(4, 2) % 3).astype(kind),
        )
        np.save("A.npy", A)
        np.save("B.npy", B)
        found = self.run("A.npy", "B.npy")
        assert found.dtype == (A @ B).dtype
        assert (found == A @ B).all()
        assert f"C.npy: 3 x 2 {found.dtype}" in capsys.readouterr().out

    def test_integers_and_floats(self, files):
        np.save("A.npy", np.arange(240).reshape(2, 120))
        np.testing.assert_allclose(
            self.run("A.npy", "B.npy"), np.arange(240).reshape(2, 120) @ files[1], atol=1e-9
        )

    @pytest.mark.parametrize(
        "options", [["--trace", "t.json"], ["--method", "rows"], ["--block", "2"]]
    )
    def test_no_plans_for_integers(self, files, capsys, options):
        np.save("A.npy", np.ones((3, 3), int))
        assert cli.main(["run", "A.npy", "A.npy", "-o", "C.npy", *options]) == 1
        assert "int64" in capsys.readouterr().err
        assert "C.npy" not in listing()

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("A.npy:x", "a .npy file holds one array without a name"),
            ("no.mat:A", "no.mat: No such file"),
        ],
    )
    def test_refused(self, files, capsys, name, words):
        assert cli.main(["run", name, "B.npy", "-o", "C.npy"]) == 1
        assert words in capsys.readouterr().err


def test_output_directory_missing(files, capsys):
    assert cli.main(["run", "A.npy", "B.npy", "-o", "no/C.npy"]) == 1
    assert capsys.readouterr().err == "hetsched: no/C.npy: No such file or directory\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_disk_full(files, capsys, monkeypatch):
    """The write fails half way: a clear error, the old output, no leftovers."""
    Path("C.npy").write_bytes(b"old")

    def fail(file, array, **_):
        file.write(b"x" * 100)
        with open("/dev/full", "wb") as full:
            full.write(b"x")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    before = listing()
    assert cli.main(["run", "A.npy", "B.npy", "-o", "C.npy"]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert Path("C.npy").read_bytes() == b"old"
    assert listing() == before


def test_info(capsys):
    assert cli.main(["info"]) == 0
    out = capsys.readouterr().out
    for label in (
        "hetsched",
        "library",
        "kernel set",
        "processor",
        "cores",
        "caches",
        "affinity",
        "memory",
        "quota",
        "load",
    ):
        assert f"\n{label} " in f"\n{out}"
    assert f"{hs.topology().worth} worth starting: " in out


def test_join(files, capsys):
    hs.Platform.star([1, 2]).save("q.json")
    assert cli.main(["join", "p.toml", "q.json", "-o", "all.toml"]) == 0
    assert capsys.readouterr().out == "all.toml: 5 workers in 2 nodes\n"
    joined = hs.Platform.load("all.toml")
    assert joined == hs.Platform.join(
        [hs.Platform.load("p.toml"), hs.Platform.load("q.json")], ["p", "q"]
    )
    assert joined.names == ("p/fast", "p/middle", "p/slow", "q/P0", "q/P1")
    assert (
        cli.main(["join", "p.toml", "p.toml", "-o", "all.json", "--names", "a", "b", "--link", "3"])
        == 0
    )
    assert hs.Platform.load("all.json").links[0].tolist() == [0, 0, 0, 3, 3, 3]
    before = listing()
    for arguments, words in (
        (["p.toml", "p.toml", "-o", "new.toml"], "names must be unique, got 'p' twice"),
        (["p.toml", "no.toml", "-o", "new.toml"], "no.toml: No such file"),
        (["p.toml", "-o", "new.txt"], "path must end in .toml or .json, got 'new.txt'"),
    ):
        assert cli.main(["join", *arguments]) == 1
        assert words in capsys.readouterr().err
    assert listing() == before


def test_a_measured_platform_runs(files, capsys, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", os.getcwd())
    options = ["measure", "--seconds", "0.02", "--dtype", "float64"]
    for name in ("here.toml", "here.json"):
        assert cli.main([*options, "-o", name]) == 0
        here = hs.Platform.load(name)
        assert here.names == hs.measure(dtypes=["float64"], seconds=0.02).names
        assert cli.main(["run", "A.npy", "B.npy", "-o", "C.npy", "--platform", name]) == 0
        np.testing.assert_allclose(np.load("C.npy"), files[0] @ files[1], atol=1e-12)


def test_measured_zones(capsys):
    command = ["measure", "--zones", "40", "30", "20", "--seconds", "0.01"]
    assert cli.main([*command, "--dtype", "float32"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = " ".join(lines[0].split())
    assert head == "worker 0: seconds width 2 width 5 width 12 width 30"
    assert [line.split()[1] for line in lines[1:5]] == ["2", "6", "16", "40"]
    assert cli.main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found) == hs.topology().worth
    plan = hs.plan_matmul(40, 30, 20, profiles=[tuple(own) for own in found])
    assert 0 < plan.makespan < 1
    assert cli.main(["measure", "--zones", "0", "1", "1"]) == 1
    assert "m must be" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--blas", "-o", "p.toml"], "--output is for the speeds of the cores"),
        (["--blas", "--plot", "p.png"], "--plot is for the speeds of the cores"),
        (["--zones", "4", "3", "2", "-o", "p.toml"], "--output is for the speeds of the cores"),
        (["--zones", "4", "3", "2", "--blas"], "--blas and --zones are measurements of their own"),
    ],
)
def test_measure_refuses_options_that_it_would_ignore(
    tmp_path, monkeypatch, capsys, options, message
):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["measure", *options]) == 1
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_measure_refuses_the_output_first(files, capsys, monkeypatch):
    monkeypatch.setattr(measuring, "measure", None)
    assert cli.main(["measure", "-o", "here.txt"]) == 1
    assert "path must end in .toml or .json, got 'here.txt'" in capsys.readouterr().err
    for arguments in (["-o", "nowhere/here.toml"], ["--plot", "nowhere/here.png"]):
        assert cli.main(["measure", *arguments]) == 1
        assert (
            f"--{'output' if arguments[0] == '-o' else 'plot'}: there is no folder 'nowhere'"
            in capsys.readouterr().err
        )


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["run", "A.npy"], ["run", "A", "B", "-o", "C", "--block", "x"]]
)
def test_usage(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "usage: hetsched" in capsys.readouterr().err


def test_demo(tmp_path, capsys, monkeypatch):
    """The whole demo, small. The runs whose times it divides do the same work, and none beats the
    bound that it prints."""
    compare, compared = demo._compare, []
    emulated, pools = demo._emulated, []

    def made(*given):
        pools.append(emulated(*given))
        return pools[-1]

    def kept(report, A, B, **options):
        found = compare(report, A, B, **options)
        compared.append((pools[-1], A, B, *found[1:]))
        return found

    monkeypatch.setattr(demo, "_emulated", made)
    monkeypatch.setattr(demo, "_PAUSE", 0.0)
    monkeypatch.setattr(demo, "_compare", kept)
    assert cli.main(["demo", "-o", str(tmp_path / "new"), "--size", "400"]) == 0
    out = capsys.readouterr().out
    for word in (
        "handwritten digits",
        "predicted",
        "measured",
        "Equal split",
        "numpy.matmul",
        "GFLOP/s",
    ):
        assert word in out
    html = (tmp_path / "new" / "hetsched-demo.html").read_text()
    assert html.count("<svg") == 7
    assert (tmp_path / "new" / "hetsched-demo.png").read_bytes().startswith(b"\x89PNG")
    assert "http" not in html.replace("http://www.w3.org", "").replace(
        "https://matplotlib.org", ""
    ).replace("http://purl.org", "").replace("http://creativecommons.org", "")
    assert len(compared) == 2
    for pool, A, B, plan, *runs in compared:
        work = 2e-9 * A.shape[0] * B.shape[1] * A.shape[1]  # gigaflops
        assert plan.flops.sum() == pytest.approx(work * 1e9)
        for run in runs:
            assert run.ideal == pytest.approx(work / pool.platform.speeds.sum() * pool.time_scale)
            assert run.makespan > run.ideal


@pytest.mark.slow
@pytest.mark.parametrize("late", [1, 9])
def test_demo_on_a_host_that_falls_behind(tmp_path, capsys, monkeypatch, late):
    """It tries again with slower workers. If that does not help it says so, and no ratio."""
    slower, run, emulated = [], hs.Pool.run, demo._emulated

    def made(gigaflops, seconds, factor):
        slower.append(factor)
        return emulated(gigaflops, seconds, factor)

    def disturbed(pool, *given, **options):
        with warnings.catch_warnings():  # of a busy machine that runs this test
            warnings.simplefilter("ignore", hs.EmulationWarning)
            found = run(pool, *given, **options)
        if len(slower) <= late:
            warnings.warn("the host could not keep up", hs.EmulationWarning, stacklevel=2)
        return found

    monkeypatch.setattr(hs.Pool, "run", disturbed)
    monkeypatch.setattr(demo, "_emulated", made)
    monkeypatch.setattr(demo, "_PAUSE", 0.0)
    for part in ("_digits", "_real_cores", "_picture"):
        monkeypatch.setattr(demo, part, lambda *_: None)
    assert cli.main(["demo", "-o", str(tmp_path), "--size", "300"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert slower == [1.0, 4.0]
    assert "these emulated workers are 4 times slower than in the first attempt" in out
    assert ("times as fast (predicted:" in out) == (late == 1)
    assert ("its times are not reliable: the host could not keep up" in out) == (late > 1)


@pytest.mark.parametrize("package", ["matplotlib", "sklearn"])
def test_demo_says_what_is_missing(package, tmp_path, capsys, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert cli.main(["demo", "-o", str(tmp_path / "new")]) == 1
    assert f"needs {package}: pip install 'hetsched[demo]'" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_demo_size(tmp_path, capsys):
    assert cli.main(["demo", "-o", str(tmp_path), "-n", "10"]) == 1
    assert "size must be at least 200" in capsys.readouterr().err


def test_as_a_program():
    result = subprocess.run(
        [sys.executable, "-m", "hetsched", "--version"], capture_output=True, text=True, check=True
    )
    assert result.stdout == f"hetsched {hs.__version__}\n"


@pytest.mark.parametrize(
    ("variable", "want"),
    [
        ({"BLIS_ARCH_TYPE": ""}, None),
        ({"BLIS_ARCH_TYPE": "generic"}, "BLIS_ARCH_TYPE=generic is set"),
    ],
)
def test_the_users_kernel_choice_is_respected(variable, want):
    from hetsched._engine import kernels

    if kernels.kernel()["name"] != "blis":
        pytest.skip("no BLIS in this build")
    generic = {"BLIS_ARCH_TYPE": "generic"}
    if variable == generic:  # before 2.0 a number: the last of the list, whatever it is called
        if int(kernels.kernel()["version"].split(".")[0]) < 2:
            variable, want = {"BLIS_ARCH_TYPE": "3"}, "BLIS_ARCH_TYPE=3 is set"
    else:
        variable = {}
    environment = {k: v for k, v in os.environ.items() if k != "BLIS_ARCH_TYPE"} | variable
    code = (
        "import os; from hetsched._engine import kernels; print(kernels.kernel()['reason'],"
        " os.environ.get('BLIS_ARCH_TYPE'))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr
    reason = result.stdout.strip()
    assert (want in reason) if want else reason.endswith("None")


def test_typed():
    """Type checkers read the annotations of an installed package only where it says so."""
    assert (Path(hs.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("place", [["-v", "info"], ["info", "--verbose"]])
@pytest.mark.parametrize(
    "fault",
    [
        "len(None)",
        "a, b = (1,)",
        "numpy.broadcast_shapes(None)",
        "{}[0]",
        "assert False",
        "0 / 0",
        "raise RuntimeError",
    ],
)
def test_our_faults_are_not_the_users(monkeypatch, capsys, fault, place):
    """An error that no check has raised is reported as an internal error; -v shows the
    traceback."""
    module = {"__name__": "hetsched.cli.info", "numpy": np}
    exec(f"def _info(_):\n    {fault}", module)
    monkeypatch.setattr(info, "_info", module["_info"])
    assert cli.main(["info"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("hetsched: internal error in hetsched: ")
    assert "-v shows the traceback" in said
    assert said.count("\n") == 1
    assert cli.main(place) == 1
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_verbose_mistakes(files, capsys):
    assert cli.main(["run", "A.npy", "B.npy", "-o", "C.npy", "--method", "magic", "-v"]) == 1
    said = capsys.readouterr().err
    assert "Traceback (most recent call last)" in said
    assert said.splitlines()[-1].startswith("hetsched: method must be one of")


# ---- plans ---------------------------------------------------------------------------------------


def shown(capsys, *arguments):
    assert cli.main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_nothing_is_help(capsys):
    out = shown(capsys)
    assert out.startswith("usage: hetsched")
    for command in ("distribute", "partition", "plan", "simulate", "measure", "run"):
        assert f"    {command} " in out


def test_distribute_and_partition(files, capsys):
    assert "optimal" in shown(capsys, "distribute", 78, 3, 5, 8)
    assert shown(capsys, "distribute", 78, 3, 5, 8, "--csv").splitlines()[:2] == [
        "worker,load,share,cycle-time,busy",
        "P0,40,0.5128205128205128,3.0,120.0",
    ]
    by_file = json.loads(shown(capsys, "distribute", 78, "--platform", "p.toml", "--json"))
    assert hs.Plan.from_dict(by_file) == hs.distribute(78, hs.Platform.load("p.toml"))
    out = shown(capsys, "partition", 1, 2, 4, "--shape", "30x40", "--csv").splitlines()
    assert out[0] == "worker,row,col,height,width,share"
    rows = [line.split(",") for line in out[1:]]
    assert sum(int(row[3]) * int(row[4]) for row in rows) == 1200
    assert sum(float(row[5]) for row in rows) == pytest.approx(1.0)
    plan = hs.partition([1, 2, 4], shape=(30, 40))
    assert [[int(x) for x in row[1:5]] for row in rows] == plan.pieces[:, 1:].tolist()
    assert str(plan.certificate) in shown(
        capsys, "partition", 1, 2, 4, "--shape", "30X40", "-o", "zones.json"
    )
    assert hs.Plan.load("zones.json") == plan


PRODUCT = ["plan", 60, 50, 40, "--platform", "p.toml", "--method", "columns"]


def test_what_a_new_plan_would_take(files, capsys):
    shown(capsys, *PRODUCT, "-o", "plan.json")
    plan, other = hs.Plan.load("plan.json"), hs.Platform.star([6, 10, 60])
    other.save("other.toml")
    again = hs.replan(plan, other)
    assert again.makespan < plan.on(other).makespan
    text = shown(capsys, "simulate", "plan.json", "--platform", "other.toml")
    assert text.splitlines()[-1] == f"a new plan for these workers: {again.certificate}"
    found = shown(capsys, "simulate", "plan.json", "--platform", "other.toml", "--json")
    assert json.loads(found)["makespan_of_new_plan"] == again.makespan
    hs.cuboids([1, 2, 3], shape=(4, 5, 6)).save("boxes.json")  # cannot be planned again
    assert "new plan" not in shown(capsys, "simulate", "boxes.json", "--platform", "other.toml")


@pytest.mark.parametrize("sizes", [(0, 5, 5), (5, 0, 5), (5, 5, 0), (0, 0, 0)])
def test_products_without_work(files, capsys, sizes):
    lines = shown(capsys, "plan", *sizes, "--platform", "p.toml", "--csv").splitlines()
    rows = list(csv.DictReader(lines))
    assert [row["worker"] for row in rows] == ["fast", "middle", "slow"]
    assert all(float(row["share"]) == float(row["busy"]) == 0.0 for row in rows)


def test_units_of_times_are_said(files, capsys):
    unit = hs.Unit.gigaflop()
    hs.Platform.star([3, 5], unit=unit).save("s.toml")
    out = shown(capsys, "plan", 60, 50, 40, "--platform", "s.toml")
    assert out.splitlines()[-1] == "times in seconds, cycle-times in seconds per gigaflop"


def test_plan_and_simulate(files, capsys):
    pytest.importorskip("matplotlib")
    out = shown(
        capsys,
        "plan",
        60,
        50,
        40,
        "--platform",
        "p.toml",
        "--method",
        "columns",
        "-o",
        "plan.json",
        "--plot",
        "plan.pdf",
    )
    plan = hs.plan_matmul(60, 50, 40, hs.Platform.load("p.toml"), method="columns")
    assert hs.Plan.load("plan.json") == plan
    assert "slow" in out
    assert b"/Type3" not in Path("plan.pdf").read_bytes()
    found = json.loads(
        shown(capsys, "simulate", "plan.json", "--json", "--trace", "t.csv", "--plot", "t.svg")
    )
    assert found["makespan"] == plan.makespan
    assert [row["worker"] for row in found["workers"]] == ["fast", "middle", "slow"]
    assert max(row["end"] for row in found["workers"]) == plan.makespan
    hs.Platform.star([6, 10, 16]).save("half.toml")
    assert (
        json.loads(shown(capsys, "simulate", "plan.json", "--platform", "half.toml", "--json"))[
            "makespan"
        ]
        == 2 * plan.makespan
    )
    assert "middle" in shown(capsys, "simulate", "plan.json")
    rows = [line.split(",") for line in shown(capsys, *PRODUCT, "--csv").splitlines()]
    assert rows[0][1:] == ["row", "col", "depth", "height", "width", "length", "share", "busy"]
    assert [[int(x) for x in row[1:7]] for row in rows[1:]] == plan.boxes[:, 1:].tolist()
    assert max(float(row[8]) for row in rows[1:]) == pytest.approx(plan.makespan)
    assert "seconds" not in shown(capsys, *PRODUCT)
    assert {"plan.pdf", "t.csv", "t.svg"} <= set(listing())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["distribute", "5"], "give numbers for the workers, or --platform"),
        (
            ["distribute", "5", "1", "--platform", "p.toml"],
            "give numbers for the workers, or --platform",
        ),
        (["distribute", "-3", "1"], "n must be"),
        (
            ["partition", "1", "2", "--shape", "3by4"],
            "--shape must be two whole numbers such as 100x80, got '3by4'",
        ),
        (["partition", "1", "-2"], "areas[1]"),
        (["partition", "1", "2", "--plot", "z.gif"], "--plot must end in .png, .svg or .pdf"),
        (
            ["distribute", "5", "1", "-o", "nowhere/p.json"],
            "--output: there is no folder 'nowhere'",
        ),
        (["plan", "5", "5", "5", "--platform", "none.toml"], "none.toml: No such file"),
        (["plan", "5", "5", "5", "--platform", "p.toml", "--method", "x"], "method must be one of"),
        (["simulate", "p.toml"], "p.toml"),
        (["simulate", "none.json"], "none.json: No such file"),
    ],
)
def test_errors_of_plans(files, capsys, arguments, words):
    before = listing()
    assert cli.main(arguments) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("hetsched: ")
    assert len(captured.err.splitlines()) == 1
    assert words in captured.err
    assert captured.out == ""
    assert listing() == before


@pytest.mark.few(1)
@pytest.mark.parametrize("command", ["distribute", "partition", "plan", "simulate"])
def test_the_examples_of_the_help_work(files, capsys, command):
    pytest.importorskip("matplotlib")
    hs.Platform.load("p.toml").save("cluster.toml")
    hs.Platform.star([6, 10, 16]).save("tonight.toml")
    hs.plan_matmul(60, 50, 40, hs.Platform.load("p.toml")).save("plan.json")
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    text = capsys.readouterr().out
    examples = [
        line.split("   ")[0].split()
        for line in text.split("examples:\n")[1].splitlines()
        if "hetsched " in line
    ]
    assert len(examples) >= 2
    for example in examples:
        assert example[:2] == ["hetsched", command]
        if "tonight.toml" in example:
            example = example[: example.index("tonight.toml") + 1]
        if "plan.paje" in example:
            example = example[: example.index("plan.paje") + 1]
        shown(capsys, *example[1:])


def test_the_json_of_a_plan_is_a_plan_file(files, capsys):
    for words in (("distribute", 78, 3, 5, 8), ("partition", 1, 2, 4, "--shape", "30x40")):
        Path("plan.json").write_text(shown(capsys, *words, "--json"), encoding="utf-8")
        assert "optimal" in shown(capsys, "simulate", "plan.json")


def test_a_platform_is_no_plan_and_the_reverse(files, capsys):
    hs.distribute(9, [3, 5]).save("plan.json")
    hs.Platform.load("p.toml").save("p.json")
    for path in ("p.toml", "p.json"):
        assert cli.main(["simulate", path]) == 1
        assert f"{path} is a platform, not a plan" in capsys.readouterr().err
    assert cli.main(["plan", "5", "5", "5", "--platform", "plan.json"]) == 1
    assert "plan.json: it is a plan, not a platform" in capsys.readouterr().err


def commands_of(words):
    parser = cli._parser(words)
    (found,) = (x for x in parser._actions if isinstance(x, argparse._SubParsersAction))
    return found.choices


@pytest.mark.parametrize("module", cli._MODULES)
def test_a_command_alone_is_as_beside_others(module):
    every = commands_of([])
    some = commands_of([module])
    assert set(some) == ({module} if module != "planning" else set(every))
    for name, parser in some.items():
        assert parser.format_help() == every[name].format_help()


def test_a_command_loads_its_own_module_alone():
    code = (
        "import sys; from hetsched.cli import main; main._parser(['exec', 'true']);"
        "print(*(name for name in sys.modules if name.startswith('hetsched.planners')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout.split()
