"""Mistakes that new users make: each message says how to mend it."""

import numpy as np
import pytest

import hetsched as hs
from hetsched.cli.main import main

STAR = hs.Platform.star([3, 5, 8], [0.1, 0.2, 0.3])
LIMITED = hs.Platform.star([3, 5, 8], [0.1, 0.2, 0.3], [60, 60, 60])
COMPLETE = hs.Platform.complete([3, 5, 8], np.ones((3, 3)))
A, B, SQUARE = np.ones((30, 20)), np.ones((20, 10)), np.eye(5)
PRODUCT = hs.plan_matmul(30, 10, 20, STAR)

#: What was written, the type of the error, and the words with the mend.
IN_PYTHON = [
    # order of arguments
    (lambda: hs.distribute([3, 5, 8], 78), TypeError, r"n must come first: distribute\(78, \[3"),
    (lambda: hs.lu_pattern([3, 5], 10), TypeError, r"n must come first: lu_pattern\(10, \[3"),
    (lambda: hs.lu_grid([3, 5], 10), TypeError, r"n must come first: lu_grid\(10, \[3"),
    (lambda: hs.layers_star([3, 5], 10), TypeError, r"n must come first: layers_star\(10, \[3"),
    (lambda: hs.divisible_load([3, 5], 10), TypeError, r"load must come first: divisible_load\(10"),
    (lambda: hs.max_tasks([5, 9], 28), TypeError, r"T must come first: max_tasks\(28, \[5, 9\]\)"),
    (lambda: hs.min_time([5, 9], 8), TypeError, r"tasks must come first: min_time\(8, \[5, 9\]\)"),
    (lambda: hs.plan_matmul(STAR, 9, 9, 9), TypeError, r"platform comes last: plan_matmul\(m, n"),
    (lambda: hs.map_tasks([1, 2], abs), TypeError, r"map_tasks\(function, tasks\)"),
    (lambda: hs.lu_solve(np.ones(5), hs.lu_factor(SQUARE)), TypeError, "as lu_factor returns it"),
    # something left out, or given twice
    (lambda: hs.distribute([3, 5, 8]), TypeError, "give either cycle_times or speeds"),
    (
        lambda: hs.distribute(78, [3, 5], speeds=[1, 2]),
        TypeError,
        "give either cycle_times or speeds, not both",
    ),
    (
        lambda: hs.partition([1, 2], cycle_times=[1, 2]),
        TypeError,
        "give one of areas, cycle_times and speeds",
    ),
    (lambda: hs.plan_matmul(9, 9, 9), TypeError, "platform must be a Platform, or the cycle-times"),
    (lambda: hs.plan_matmul(A, B, STAR), TypeError, "the shapes of A and B: A.shape, B.shape"),
    (lambda: hs.slice_ring([3, 5], work=1, volume=1), TypeError, "Platform.complete or links="),
    (lambda: hs.slice_ring(STAR, work=1, volume=1), TypeError, "is a star; .* Platform.complete"),
    (lambda: hs.Pool(2, emulate=True), ValueError, "emulate=True needs a Platform"),
    # a list, a name or a file in the place of something else
    (lambda: hs.Pool([3, 5, 8]), TypeError, r"such as Platform.star\(cycle_times\)"),
    (lambda: hs.Platform([3, 5, 8]), TypeError, "Platform.star takes cycle-times"),
    (lambda: hs.plan_product(3, 4, 5, [3, 5]), TypeError, "such as Platform.star"),
    (lambda: hs.distribute(78, "cluster.toml"), TypeError, "Platform.load reads the file"),
    (lambda: hs.distribute(78, ["3", "5"]), TypeError, "cycle_times must be .* real numbers"),
    (lambda: hs.simulate(STAR), TypeError, "a plan, such as distribute makes, got Platform"),
    (lambda: hs.replan(STAR, STAR), TypeError, "a plan, such as distribute makes, got Platform"),
    (lambda: hs.study(print, [1, 2]), TypeError, r"grid\[0\] .*, such as \{'n': 10\}"),
    (lambda: hs.layers_mesh(9, [3, 5]), ValueError, "2 dimensions .a mesh has rows and columns."),
    (lambda: hs.assign([1, 2, 3]), ValueError, "costs must be a matrix"),
    (lambda: hs.partition([1, 2], shape=100), TypeError, r"pair of integers such as \(100, 80\)"),
    (lambda: hs.partition([1, 2], shape="9x9"), TypeError, r"pair of integers such as \(100, 80\)"),
    # impossible numbers
    (lambda: hs.distribute(78, [3, -5]), ValueError, r"cycle_times\[1\] must be positive, got -5"),
    (lambda: hs.distribute(78, [3, float("nan")]), ValueError, r"cycle_times\[1\] is NaN"),
    (lambda: hs.distribute(78, []), ValueError, "at least one worker is needed"),
    (lambda: hs.distribute(7.5, [3]), ValueError, "n must be an integer, got 7.5"),
    (lambda: hs.distribute(9, [3, 5], counts=[1, 2]), ValueError, "sum to n = 9, got 3"),
    (lambda: hs.partition([1] * 3, shape=(1, 2)), hs.InfeasibleError, "2 cells, fewer than the 3"),
    (lambda: hs.Platform.star([1, 2], [1]), ValueError, "link_costs must be .* have 2 entries"),
    (lambda: hs.plan_product(10**7, 4000, 5000, LIMITED), ValueError, "in blocks"),
    (lambda: hs.thread_limit(0), ValueError, "n must be in"),
    # wrong names
    (lambda: hs.partition([1, 2], "colums"), ValueError, "did you mean 'columns'"),
    (lambda: hs.plan_matmul(9, 9, 9, STAR, method="Layer"), ValueError, "did you mean 'layers'"),
    (lambda: hs.datasets.random("log-normal", 3, 0), ValueError, "did you mean 'lognormal'"),
    (lambda: STAR.replace(fast=3), ValueError, "no worker has the name 'fast'; the names are"),
    (lambda: hs.max_tasks(28, [5, 9], send=1).lower_bound, AttributeError, "use upper_bound"),
    # shapes and dtypes
    (lambda: hs.matmul(A, A), ValueError, "A has 20 columns and B has 30 rows"),
    (lambda: hs.plan_matmul((1, 2), (3, 4), STAR), ValueError, "A has 2 columns, but B has 3 rows"),
    (lambda: hs.matmul(A, B, out=np.ones((3, 9))), ValueError, r"the product has \(30, 10\)"),
    (lambda: hs.matmul(A, B, out=np.ones((30, 10), int)), TypeError, "out has dtype .*the product"),
    (lambda: hs.solve(A, A), ValueError, r"a must be square, got shape \(30, 20\)"),
    (lambda: hs.solve(SQUARE, np.ones(4)), ValueError, r"b must have shape \(5,\)"),
    (lambda: hs.cholesky(-SQUARE), np.linalg.LinAlgError, "not positive definite"),
    (lambda: hs.solve(0 * SQUARE, np.ones(5)), np.linalg.LinAlgError, "singular"),
    # plans of another kind, or for other workers
    (lambda: hs.simulate(PRODUCT, [3, 5]), ValueError, "for 3: `replan` plans for any number"),
    (lambda: hs.replan(hs.cuboids([1, 2]), STAR), TypeError, "must be one of Distribution, "),
    (
        lambda: hs.Pool(1).run(hs.distribute(78, [3]), A, B),
        TypeError,
        "such as Pool.plan or plan_matmul makes, got Distribution",
    ),
    (lambda: hs.Pool(1).run(PRODUCT, A, B), ValueError, "for 3 workers, the pool has 1"),
    (
        lambda: hs.Pool(1).run(hs.plan_matmul(5, 6, 7, [1]), A, B),
        ValueError,
        r"plan is for m, n, k = \(5, 6, 7\), A and B have \(30, 10, 20\)",
    ),
]


@pytest.mark.parametrize(("wrong", "kind", "words"), IN_PYTHON)
def test_the_message_says_the_mend(wrong, kind, words):
    with pytest.raises(kind, match=words):
        wrong()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with files of every kind, as the current one."""
    monkeypatch.chdir(tmp_path)
    STAR.save("cluster.toml")
    plan = hs.distribute(78, [3, 5, 8])
    plan.save("plan.json")
    hs.simulate(plan).to_csv("trace.csv")
    np.save("a.npy", A)
    return tmp_path


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        (lambda: hs.Platform.load("plan.json"), ValueError, "it is a plan, not a platform"),
        (lambda: hs.Platform.load("a.npy"), ValueError, "path must end in .toml or .json"),
        (lambda: hs.Platform.load("none.toml"), FileNotFoundError, "none.toml"),
        (lambda: hs.Plan.load("cluster.toml"), ValueError, "is a platform, not a plan"),
        (lambda: hs.Plan.load("trace.csv"), ValueError, "not the JSON file of a plan"),
        (lambda: STAR.save("x.yaml"), ValueError, "path must end in .toml or .json"),
        (lambda: PRODUCT.save("x.toml"), ValueError, "path must end in .json"),
    ],
)
def test_files_of_another_kind(folder, wrong, kind, words):
    before = sorted(folder.iterdir())
    with pytest.raises(kind, match=words):
        wrong()
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("distribute 78", "give numbers for the workers, or --platform"),
        ("partition 1 2 --shape 100", "two whole numbers such as 100x80"),
        ("partition 1 2 --method colums", "did you mean 'columns'"),
        ("plan 9 9 9 --platform plan.json", "it is a plan, not a platform"),
        ("simulate cluster.toml", "is a platform, not a plan"),
        ("simulate trace.csv", "not the JSON file of a plan"),
        ("run a.npy a.npy -o c.npy", "A has 20 columns and B has 30 rows"),
        ("run cluster.toml a.npy -o c.npy", "is not a complete .npy file"),
        ("study 2001", "give one of static2001, rings"),
        ("distribute 78 3 5 -o p.toml", "path must end in .json"),
        ("exec", "command is missing: hetsched exec"),
        ("exec -- nosuchprogram", "command 'nosuchprogram' is not found"),
    ],
)
def test_command_line(folder, capsys, line, words):
    before = sorted(folder.iterdir())
    assert main(line.split()) != 0
    assert words in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before
