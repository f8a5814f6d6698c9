"""Classes of MATLAB variables, in files of all versions."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Class of full matrices of numbers -> dtype of their elements.
CLASSES: dict[str, np.dtype[Any]] = {
    "double": np.dtype(np.float64),
    "single": np.dtype(np.float32),
    "logical": np.dtype(np.bool_),
    **{
        f"{kind}{bits}": np.dtype(f"{kind}{bits}")
        for kind in ("int", "uint")
        for bits in (8, 16, 32, 64)
    },
}
_LOGICAL = 1  # MATLAB_int_decode of logical values


def require_numeric(name: str, variable: str, kind: str) -> None:
    """Raise TypeError unless variables of this class are full matrices of numbers."""
    if kind not in CLASSES:
        raise TypeError(
            f"{name}: {variable} is of class {kind}; a full matrix of numbers is needed"
        )


def meant_dtype(kind: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a class with elements stored as `dtype`.

    NumPy has no dtype for complex integers, so these are complex128.
    """
    own = CLASSES[kind]
    if dtype.kind != "c":
        return own
    return np.result_type(own if own.kind == "f" else np.float64, np.complex64)


def class_of(name: str, item: Any) -> str | None:
    """The class in the attributes of an HDF5 dataset or group of version 7.3, or None.

    Raises
    ------
    TypeError
        If variables of this class are not full matrices of numbers.
    """
    variable, given = _variable_of(item), item.attrs.get("MATLAB_class")
    if given is not None and np.size(given) != 1:
        raise TypeError(f"{name}: {variable} has a MATLAB_class that is not one text")
    kind = None if given is None else _text(given)
    if "MATLAB_sparse" in item.attrs:
        require_numeric(name, variable, f"{kind or 'unknown'}, sparse")
    if "MATLAB_object_decode" in item.attrs:
        require_numeric(name, variable, f"{kind or 'unknown'}, an object")
    if kind is not None:
        require_numeric(name, variable, kind)
    return kind


def require_stored_as(name: str, dataset: Any, kind: str, parts: tuple[np.dtype[Any], ...]) -> None:
    """Raise TypeError unless the elements of a dataset are stored as numbers of their class.

    For complex elements this holds for the real and the imaginary parts.
    """
    own, decode = CLASSES[kind], np.ravel(dataset.attrs.get("MATLAB_int_decode", 0)).tolist()
    if own.kind == "b":
        fits = (
            decode in ([0], [_LOGICAL])
            and len(parts) == 1
            and parts[0].kind in "bui"
            and parts[0].itemsize == 1
        )
    else:
        if own.kind == "f" and decode != [0]:
            raise TypeError(
                f"{name}: {_variable_of(dataset)} is of class {kind}, but has a MATLAB_int_decode"
            )
        fits = all(np.can_cast(part, own) for part in parts)
    if not fits:
        stored = " and ".join(map(str, parts))
        raise TypeError(
            f"{name}: {_variable_of(dataset)} is of class {kind},"
            f" but its elements are stored as {stored}"
        )


def _variable_of(item: Any) -> str:
    """The name of a dataset or group in its file; one without a link to it has none."""
    return "a dataset without a name" if item.name is None else str(item.name.strip("/"))


def _text(given: Any) -> str:
    """Text of an attribute that is bytes or a str, possibly in an array with one element."""
    (value,) = np.ravel(given).tolist()
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
