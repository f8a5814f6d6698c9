"""Programs in Python that know nothing of hetsched.

Each function makes the data of one program and returns its work: a function without arguments that
can be called again and again.
"""

import functools

import numpy as np

rng = np.random.default_rng(0)


# ---- scikit-learn --------------------------------------------------------------------------------


def kernel_ridge():
    from sklearn.kernel_ridge import KernelRidge

    x, y = rng.standard_normal((3000, 300)), rng.standard_normal(3000)
    return lambda: KernelRidge(kernel="rbf", alpha=1.0).fit(x, y).predict(x)


def ridge():
    from sklearn.linear_model import Ridge

    x, y = rng.standard_normal((20000, 500)), rng.standard_normal(20000)
    return lambda: Ridge(alpha=1.0).fit(x, y)


def linear_regression():
    from sklearn.linear_model import LinearRegression

    x, y = rng.standard_normal((5000, 200)), rng.standard_normal(5000)
    return lambda: LinearRegression().fit(x, y)


def pca():
    from sklearn.decomposition import PCA

    x = rng.standard_normal((5000, 1000))
    return lambda: PCA(n_components=50, svd_solver="randomized", random_state=0).fit_transform(x)


def pca_full():
    from sklearn.decomposition import PCA

    x = rng.standard_normal((2000, 300))
    return lambda: PCA(svd_solver="full").fit_transform(x)


def gaussian_process():
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    x, y = rng.standard_normal((2000, 20)), rng.standard_normal(2000)
    return lambda: (
        GaussianProcessRegressor(RBF(3.0), alpha=1e-2, optimizer=None)
        .fit(x, y)
        .predict(x, return_std=True)
    )


# ---- NumPy ---------------------------------------------------------------------------------------


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
    return lambda: (np.linalg.solve(a, b), np.linalg.slogdet(a), np.linalg.inv(a))


def matmul():
    a, b = rng.standard_normal((1500, 1500)), rng.standard_normal((1500, 1500))
    return lambda: a @ b @ a.T


def solve_product():
    """Calls of middle size, one after another: a simulation with many steps."""
    a, b = rng.standard_normal((400, 400)), rng.standard_normal((400, 400))

    def steps():
        for _ in range(60):
            x = np.linalg.solve(a, b)
            x @ a

    return steps


def eigh():
    a = symmetric(600)
    return lambda: np.linalg.eigh(a)


def svd():
    a = rng.standard_normal((500, 500))
    return lambda: np.linalg.svd(a)


def eig():
    a = rng.standard_normal((300, 300))
    return lambda: np.linalg.eig(a)


def tiny_eigh():
    """One call for each matrix, as in a loop over points in space."""
    matrices = [symmetric(2 + i % 3) for i in range(10_000)]

    def loop():
        for matrix in matrices:
            np.linalg.eigh(matrix)

    return loop


def symmetric(n):
    a = rng.standard_normal((n, n))
    return a + a.T


# ---- by name -------------------------------------------------------------------------------------

PROGRAMS = {
    program.__name__: program
    for program in (
        kernel_ridge,
        ridge,
        linear_regression,
        pca,
        pca_full,
        gaussian_process,
        ols,
        als,
        solve,
        matmul,
        solve_product,
        eigh,
        svd,
        eig,
        tiny_eigh,
    )
}


@functools.cache
def work_of(name):
    """The work of a program. Its data are made once in each process."""
    return PROGRAMS[name]()


def run_once(name):
    """The work of a program without its result, which another process would have to send."""
    work_of(name)()
