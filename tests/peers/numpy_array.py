"""The functions of NumPy that make arrays give hs.Array; all products, systems and determinants of
these are taken over."""

import functools

import numpy as np
from known import deselect

import hetsched as hs
import hetsched.runners.array_linalg
import hetsched.runners.product

hetsched.runners.product.SMALL = hetsched.runners.product.NUMPY_SIDE = (
    hetsched.runners.array_linalg.FEW_ROWS
) = 0
pytest_collection_modifyitems = deselect("numpy_array")


class GivenAsArray:
    """A function that is no method where a class has it as an attribute, as NumPy's own are
    none."""

    def __init__(self, own):
        functools.update_wrapper(self, own)
        self.own = own

    def __call__(self, *args, **kwargs):
        result = self.own(*args, **kwargs)
        return result.view(hs.Array) if type(result) is np.ndarray else result

    def __getattr__(self, name):
        return getattr(self.own, name)


for _name in ("array", "ones", "zeros", "arange", "full", "eye", "identity", "linspace", "empty"):
    setattr(np, _name, GivenAsArray(getattr(np, _name)))
