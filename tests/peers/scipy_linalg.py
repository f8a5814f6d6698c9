"""Functions of scipy.linalg are hetsched's: LU, Cholesky, QR, systems, inverses, determinants,
least squares; but for stacks, options and dtypes that these have not."""

import functools
import inspect

import numpy as np
import scipy.linalg
import scipy.linalg._basic
import scipy.linalg._decomp_cholesky
import scipy.linalg._decomp_lu
import scipy.linalg._decomp_qr
from known import deselect

import hetsched as hs

pytest_collection_modifyitems = deselect("scipy_linalg")
DTYPES = (np.float32, np.float64, np.complex64, np.complex128)


def taken(*arrays):
    """Matrices and vectors with something in them, of the dtypes that both have."""
    arrays = [np.asarray(x) for x in arrays]
    return arrays[0].ndim == 2 and all(
        x.size and x.ndim <= 2 and (x.dtype in DTYPES or x.dtype.kind in "biu") for x in arrays
    )


def instead(module, name, takes, **defaults):
    """`takes` has the arguments of SciPy's function; `defaults` are those of its defaults that ours
    does not have."""
    own, ours = getattr(module, name), getattr(hs, name)
    signature = inspect.signature(own)

    @functools.wraps(own)
    def function(*args, **kwargs):
        if not takes(*args, **kwargs):
            return own(*args, **kwargs)
        (_, first), *others = signature.bind(*args, **kwargs).arguments.items()
        return ours(
            first, **(defaults | {name: value for name, value in others if name != "lwork"})
        )

    for place in (module, scipy.linalg):
        setattr(place, name, function)


instead(
    scipy.linalg._decomp_lu, "lu_factor", lambda a, overwrite_a=False, check_finite=True: taken(a)
)
instead(
    scipy.linalg._decomp_lu, "lu_solve",
    lambda lu_and_piv, b, trans=0, overwrite_b=False, check_finite=True: taken(lu_and_piv[0], b),
)  # fmt: skip
instead(scipy.linalg._basic, "solve", lambda a, b, **options: not options and taken(a, b))
instead(scipy.linalg._basic, "det", lambda a, **options: not options and taken(a))
for _name in ("cholesky", "cho_factor"):
    instead(
        scipy.linalg._decomp_cholesky,
        _name,
        lambda a, lower=False, overwrite_a=False, check_finite=True: taken(a),
        lower=False,
    )
instead(
    scipy.linalg._basic,
    "inv",
    lambda a, overwrite_a=False, check_finite=True, **options: not options and taken(a),
)
instead(
    scipy.linalg._decomp_qr, "qr",
    lambda a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True: (
        lwork is None and mode != "raw" and not pivoting and taken(a)
    ), mode="full",
)  # fmt: skip
instead(
    scipy.linalg._basic,
    "solve_triangular",
    lambda a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True: (
        taken(a, b)
    ),
)
instead(
    scipy.linalg._basic,
    "lstsq",
    lambda a, b, cond=None, **options: "lapack_driver" not in options and taken(a, b),
)
