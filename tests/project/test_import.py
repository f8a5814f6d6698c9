"""What `import hetsched` loads, and what it leaves to first use: each test in a process of its
own."""

import ast
import inspect
import json
import pickle
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hetsched as hs

SUBMODULES = [
    module.name for module in pkgutil.iter_modules(hs.__path__) if module.name != "__main__"
]


def fresh(code, *options):
    """What the code left in `result`, in a new interpreter where warnings are errors."""
    code = f"import json, sys, threading\n{code}\nprint(json.dumps(result))"
    run = subprocess.run(
        [sys.executable, "-W", "error", *options, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_import_is_light():
    """Beside NumPy only the engine: nothing that plans or runs, no plotting, no SciPy, no solver,
    no processes."""
    loaded = set(
        fresh(
            "import numpy; before = set(sys.modules); import hetsched; result ="
            " sorted(set(sys.modules) - before)"
        )
    )
    own = {
        name
        for name in loaded
        if name.startswith("hetsched.") and not name.startswith("hetsched._engine.")
    }
    assert own == {"hetsched._base", "hetsched._base.version", "hetsched._engine"}
    others = {"matplotlib", "scipy", "highspy", "sklearn", "tqdm", "pandas", "h5py"}
    standard = {
        "dataclasses",
        "html",
        "json",
        "multiprocessing",
        "pathlib",
        "subprocess",
        "tempfile",
        "tomllib",
    }
    assert not (others | standard) & loaded


@pytest.mark.slow
def test_mpi4py_is_for_one_folder():
    """Its functions load it, not the import; nothing else mentions it."""
    assert "mpi4py" not in fresh(
        "import hetsched as hs; hs.mpi.matmul; import hetsched.cli.main; result = list(sys.modules)"
    )
    package = Path(hs.__file__).parent
    mention = [
        path.relative_to(package).parts[0]
        for path in package.rglob("*.py")
        if "mpi4py" in path.read_text()
    ]
    assert set(mention) == {"mpi"}


def test_a_plan_loads_no_pool():
    loaded = fresh(
        "import hetsched as hs; hs.distribute(9, [1.0, 2.0]); result = list(sys.modules)"
    )
    assert "hetsched.planners.distribute" in loaded
    heavy = {"runners.pool", "machine.measure", "planners.star", "files.matrices", "plots.canvas"}
    assert not {f"hetsched.{name}" for name in heavy} & set(loaded)


@pytest.mark.few(1)
@pytest.mark.parametrize("names", [hs.__all__, hs.__all__[::-1]], ids=["forth", "back"])
def test_public_names(names):
    code = (
        f"import hetsched as hs; listed, names = dir(hs), {names}; seen = [getattr(hs, name) for"
        " name in names]"
    )
    listed, called, kept = fresh(
        f"{code}; result = [listed, [one.__name__ for one in seen], all(vars(hs)[n] is one for n,"
        " one in zip(names, seen))]"
    )
    assert set(names) <= set(listed)
    assert called == ["hetsched.datasets" if name == "datasets" else name for name in names]
    assert kept  # the next access is that of any attribute


@pytest.mark.slow
def test_star():
    names = fresh(
        "before = dir(); from hetsched import *; result = sorted(set(dir()) - set(before))"
    )
    assert set(names) - {"before"} == set(hs.__all__)


def test_lists_agree():
    """Type checkers read the imports, the package its table, users __all__."""
    tree = ast.parse(inspect.getsource(hs))
    (block,) = (
        node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    )
    seen = {(node.module, alias.name) for node in block.body for alias in node.names}
    assert seen == {(None, "datasets")} | {(module, name) for name, module in hs._MODULE_OF.items()}
    assert sorted(name for _, name in seen) == sorted(hs.__all__)


def test_submodules():
    """As attributes of the package, each before any other is loaded by name."""
    assert fresh(
        f"import hetsched as hs; result = [getattr(hs, name).__name__ for name in {SUBMODULES}]"
    ) == [f"hetsched.{name}" for name in SUBMODULES]


def test_no_module_is_named_as_what_is_public():
    assert not set(SUBMODULES) & (set(hs.__all__) - {"datasets"})


@pytest.mark.parametrize("name", ["matmull", "no_module", "__wrapped__", "plan.Plan", ""])
def test_unknown(name):
    with pytest.raises(AttributeError, match=f"^module 'hetsched' has no attribute {name!r}$"):
        getattr(hs, name)
    assert not hasattr(hs, name)


def test_unknown_import():
    with pytest.raises(ImportError, match="cannot import name 'matmull' from 'hetsched'"):
        from hetsched import matmull  # noqa: F401


@pytest.mark.slow
def test_threads():
    """Sixteen threads, each beginning at another name, see the same objects."""
    code = """
import hetsched as hs
names, start, seen = hs.__all__, threading.Barrier(16), []
def touch(i):
    start.wait()
    order = names[5 * i :] + names[: 5 * i]
    seen.append({name: id(getattr(hs, name)) for name in order})
threads = [threading.Thread(target=touch, args=(i,)) for i in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
result = [len(seen), all(one == {name: id(getattr(hs, name)) for name in names} for one in seen)]
"""
    assert fresh(code) == [16, True]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "value", [hs.datasets.lyon(), hs.distribute(9, [1.0, 2.0]), hs.partition, hs.InfeasibleError]
)
def test_pickle(value):
    """A process that has not loaded anything of hetsched reads it."""
    code = f"import pickle; result = repr(pickle.loads({pickle.dumps(value)!r})).split(' at ')[0]"
    assert fresh(code) == repr(value).split(" at ")[0]


#: A function that uses the package, a function of it, a module of it and a closure over it, as
#: users write them in scripts.
USES = """
import hetsched as hs
import hetsched.planners.partition
def make(package):
    def inner(n):
        return package.distribute(n, [1.0, 2.0]).counts.tolist()
    return inner
inner, star = make(hs), hs.Platform.star([3, 5, 8])
def use(n):
    module = hetsched.planners.distribute.__name__
    return [inner(n), hs.distribute(n, star).counts.tolist(), hs.partition.__name__, module]
counts = hs.distribute(9, [3, 5, 8]).counts.tolist()
want = [[6, 3], counts, "partition", "hetsched.planners.distribute"]
"""


@pytest.mark.slow
def test_functions_that_use_the_package_are_sent():
    """By value, to a process that has not loaded anything of hetsched."""
    sent, want = fresh(
        f"from cloudpickle import dumps\n{USES}\nresult = [dumps(use, protocol=4).hex(), want]"
    )
    assert (
        fresh(f"from cloudpickle import loads; result = loads(bytes.fromhex({sent!r}))(9)") == want
    )


@pytest.mark.slow
def test_workers_of_joblib():
    end = (
        "from joblib.externals.loky import get_reusable_executor;"
        " get_reusable_executor().shutdown()"
    )
    code = (
        f"from joblib import Parallel, delayed\n{USES}\ndone = Parallel(2)(delayed(use)(n) for n in"
        f" (9, 9, 9))\n{end}"
    )
    assert fresh(f"{code}\nresult = [done, [want] * 3]", "-W", "ignore")[0] == fresh(
        f"{USES}\nresult = [want] * 3"
    )


@pytest.mark.slow
def test_spawned_processes(tmp_path):
    """Of a script that has a platform and a function of the package among what it sends."""
    script = tmp_path / "script.py"
    body = (
        "    with get_context('spawn').Pool(1) as pool:\n        done = pool.map(use, [(9, star,"
        " hs.lu_grid)])"
    )
    script.write_text(
        "import json\nfrom multiprocessing import get_context\nimport hetsched as hs\nstar ="
        " hs.Platform.star([3, 5, 8])\ndef use(given):\n    n, platform, function = given\n   "
        " return hs.distribute(n, platform).counts.tolist(), function is hs.lu_grid\nif __name__"
        f" == '__main__':\n{body}\n    print(json.dumps(done))\n"
    )
    run = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == [[hs.distribute(9, [3, 5, 8]).counts.tolist(), True]]


@pytest.mark.slow
def test_help():
    text = fresh("import pydoc, hetsched; result = pydoc.plain(pydoc.render_doc(hetsched))")
    assert re.search(r"^    matmul\(\s*A: ", text, re.M)  # on a line of its own from Python 3.13 on
    assert "class Pool" in text
    assert "PACKAGE CONTENTS" in text


def test_a_source_tree_without_its_engine_says_so(tmp_path):
    """As after `pip install .` in a clone: from that folder Python finds the sources, which have no
    engine."""
    shutil.copytree(
        Path(hs.__file__).parent,
        tmp_path / "hetsched",
        ignore=shutil.ignore_patterns("*.so", "__pycache__"),
    )
    paths = [str(tmp_path), *(path for path in sys.path if "site-packages" in path)]
    run = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path[:0] = {paths}; import hetsched; hetsched.distribute(9, [1.0])",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1].startswith(
        "ImportError: hetsched's engine is not built here"
    )
