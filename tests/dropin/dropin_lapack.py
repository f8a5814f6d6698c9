"""LAPACK's functions as the drop-in library and the library behind compute them, and how near their
results are."""

import dropin_calls as calls
import numpy as np
import pytest
from dropin_calls import Caller, Guarded, Integers, eps, wide
from hypothesis import strategies as st

WIDTHS = st.sampled_from(["wheel64", "wheel32", "plain32"])


class Lapack:
    """Calls that check their info's width, and that what is only read stays."""

    def __init__(self, ours, width):
        width = (
            width if calls.behind(width) else "wheel64" if calls.behind("wheel64") else "wheel32"
        )
        if not calls.behind(width):
            pytest.skip("NumPy and SciPy have BLAS libraries of other names")
        self.caller = Caller([ours], width)
        self.other = Caller(calls.behind(width), width)
        self.integer = self.caller.integer

    def __call__(self, letter, routine, *arguments, unchanged=(), caller=None):
        info = Integers(1, self.integer)
        (caller or self.caller).fortran(letter, routine, *arguments, info)
        info.check_guards()
        for each in arguments:
            if isinstance(each, (Guarded, Integers)):
                each.check_guards()
        for each in unchanged:
            each.check_unchanged()
        return int(info.values[0])

    def behind(self, *arguments):
        """The same by the library behind."""
        return self(*arguments, caller=self.other)

    def pivots(self, count):
        return Integers(count, self.integer)


def lapack_of(data, ours):
    return Lapack(ours, data.draw(WIDTHS))


def near(found, expected, letter, terms, scale=1.0):
    assert not np.isnan(wide(found)).any()
    error = np.abs(wide(found) - wide(expected)).max(initial=0.0)
    assert error <= 20 * (terms + 8) * eps(letter) * scale, error


def half(triangle, values):
    """With NaN where nothing is to be read."""
    kept = values.copy()
    kept[~within(triangle, len(values))] = np.nan
    return kept


def within(triangle, n):
    full = np.ones((n, n), bool)
    return np.triu(full) if triangle in "uU" else np.tril(full)


def any_case(data, known):
    letter = data.draw(st.sampled_from(known))
    return data.draw(st.sampled_from([letter, letter.lower()]))
