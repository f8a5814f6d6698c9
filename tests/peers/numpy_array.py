"""The functions of NumPy that make arrays give hs.Array; all products, systems and determinants of these are taken over."""

import functools

import numpy as np
from known import deselect

import hetsched as hs
import hetsched.array
import hetsched.product_run

hetsched.product_run.SMALL = hetsched.product_run.THIN = hetsched.array._FEW_ROWS = 0
pytest_collection_modifyitems = deselect("numpy_array")


def given_as_array(function):
    @functools.wraps(function)
    def made(*args, **kwargs):
        result = function(*args, **kwargs)
        return result.view(hs.Array) if type(result) is np.ndarray else result

    return made


for _name in ("array", "ones", "zeros", "arange", "full", "eye", "identity", "linspace", "empty"):
    setattr(np, _name, given_as_array(getattr(np, _name)))
