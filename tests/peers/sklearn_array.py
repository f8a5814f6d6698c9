"""Estimators work on hs.Array inside: sklearn.utils.check_array returns it. Small products and
systems are taken over too."""

import functools

import numpy as np
import sklearn.utils
import sklearn.utils.validation
from known import deselect

import hetsched as hs
import hetsched.runners.array_linalg
import hetsched.runners.product

hetsched.runners.product.SMALL = hetsched.runners.product.NUMPY_SIDE = (
    hetsched.runners.array_linalg.FEW_ROWS
) = 0
pytest_collection_modifyitems = deselect("sklearn_array")

_own = sklearn.utils.validation.check_array


@functools.wraps(_own)
def check_array(*args, **kwargs):
    result = _own(*args, **kwargs)
    return result.view(hs.Array) if type(result) is np.ndarray else result


sklearn.utils.check_array = sklearn.utils.validation.check_array = check_array
