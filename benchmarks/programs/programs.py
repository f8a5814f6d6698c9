"""Programs that know nothing of hetsched.

python programs.py NAME REPEATS prints the seconds of each repetition, without imports and data.
"""

import multiprocessing
import sys
import time

import numpy as np

rng = np.random.default_rng(0)


def kernel_ridge():
    from sklearn.kernel_ridge import KernelRidge

    x, y = rng.standard_normal((3000, 300)), rng.standard_normal(3000)
    return lambda: KernelRidge(kernel="rbf", alpha=1.0).fit(x, y).predict(x)


def ridge():
    from sklearn.linear_model import Ridge

    x, y = rng.standard_normal((20000, 500)), rng.standard_normal(20000)
    return lambda: Ridge(alpha=1.0).fit(x, y)


def pca():
    from sklearn.decomposition import PCA

    x = rng.standard_normal((5000, 1000))
    return lambda: PCA(n_components=50, svd_solver="randomized", random_state=0).fit_transform(x)


def gaussian_process():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    x, y = rng.standard_normal((2000, 20)), rng.standard_normal(2000)
    return lambda: (
        GaussianProcessRegressor(RBF(3.0), alpha=1e-2, optimizer=None)
        .fit(x, y)
        .predict(x, return_std=True)
    )


def ols():
    """As a statistics package does it: coefficients by QR, standard errors from the inverse of
    X'X."""
    x, y = rng.standard_normal((20000, 400)), rng.standard_normal(20000)

    def fit():
        q, r = np.linalg.qr(x)
        beta = np.linalg.solve(r, q.T @ y)
        residual = y - x @ beta
        return beta, np.sqrt(
            np.diag(np.linalg.inv(x.T @ x)) * (residual @ residual) / (x.shape[0] - x.shape[1])
        )

    return fit


def als():
    """One step of alternating least squares, both ways."""
    ratings, items = rng.standard_normal((4000, 3000)), rng.standard_normal((3000, 200))
    weight = 0.1 * np.eye(200)

    def step():
        users = np.linalg.solve(items.T @ items + weight, items.T @ ratings.T).T
        return users, np.linalg.solve(users.T @ users + weight, users.T @ ratings).T

    return step


def solve():
    a, b = rng.standard_normal((2000, 2000)), rng.standard_normal((2000, 10))
    return lambda: (np.linalg.solve(a, b), np.linalg.det(a), np.linalg.inv(a))


def matmul():
    a, b = rng.standard_normal((1500, 1500)), rng.standard_normal((1500, 1500))
    return lambda: a @ b @ a.T


def task(seed):
    a = np.random.default_rng(seed).standard_normal((1000, 1000))
    return float(np.linalg.solve(a, a @ a.T).sum())


def joblib():
    """Two processes of joblib's default backend, loky, each with products and systems of its own,
    and one BLAS thread."""
    from joblib import Parallel, delayed

    return lambda: Parallel(n_jobs=2)(delayed(task)(i) for i in range(8))


def joblib_multiprocessing():
    """The same by joblib's backend "multiprocessing", whose processes keep all BLAS threads."""
    from joblib import Parallel, delayed

    return lambda: Parallel(n_jobs=2, backend="multiprocessing")(delayed(task)(i) for i in range(8))


def fork():
    def run():
        with multiprocessing.get_context("fork").Pool(2) as pool:
            return pool.map(task, range(8))

    return run


PROGRAMS = {
    program.__name__: program
    for program in (
        kernel_ridge,
        ridge,
        pca,
        gaussian_process,
        ols,
        als,
        solve,
        matmul,
        joblib,
        joblib_multiprocessing,
        fork,
    )
}

if __name__ == "__main__":
    run = PROGRAMS[sys.argv[1]]()
    run()
    for _ in range(int(sys.argv[2])):
        start = time.perf_counter()
        run()
        print(time.perf_counter() - start, flush=True)
