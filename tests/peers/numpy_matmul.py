"""numpy.matmul is hs.matmul, of whatever size; but for options that it has not."""

import numpy as np
from known import deselect

import hetsched as hs
import hetsched.runners.product

hetsched.runners.product.SMALL = hetsched.runners.product.NUMPY_SIDE = 0
pytest_collection_modifyitems = deselect("numpy_matmul")


class Matmul:
    """A ufunc in all but the products of plain arrays; subclasses, and objects with protocols, are
    NumPy's to judge."""

    own = np.matmul
    inside = False  # of hs.matmul, which hands small products and other dtypes to NumPy

    def __call__(self, a, b, *args, **kwargs):
        out = kwargs.get("out", args[0] if args else None)
        out = out[0] if isinstance(out, tuple) else out
        plain = all(type(x) in (np.ndarray, list, float, int, np.float64) for x in (a, b)) and type(
            out
        ) in (
            np.ndarray,
            type(None),
        )
        if self.inside or kwargs.keys() - {"out"} or len(args) > 1 or not plain:
            return self.own(a, b, *args, **kwargs)
        self.inside = True
        try:
            return hs.matmul(a, b, out)
        finally:
            self.inside = False

    def __getattr__(self, name):
        return getattr(self.own, name)


np.matmul = Matmul()
