"""hetsched._base.later: fields that are made when asked for are as others to everybody who asks."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import hetsched as hs
from hetsched._base.later import Lazy, later


@dataclasses.dataclass(frozen=True)
class Thing(Lazy):
    count: int
    names: tuple[str, ...]


def thing(calls: list[int]) -> Thing:
    def make() -> tuple[str, ...]:
        calls.append(1)
        return ("a", "b")

    return Thing(count=2, names=later(make))


def test_a_field_is_made_once_and_when_asked_for():
    calls: list[int] = []
    made = thing(calls)
    assert not calls
    assert made.names is made.names == ("a", "b")
    assert calls == [1]
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.names = ()


@pytest.mark.parametrize(
    "how", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t)), dataclasses.replace]
)
def test_copies_have_it(how):
    assert how(thing([])) == Thing(2, ("a", "b")) == thing([])


def test_another_thread_may_have_made_it_meanwhile():
    made = thing([])
    assert made.names == ("a", "b")
    # a lookup that began before the other thread stored the value
    assert made.__getattr__("names") == ("a", "b")


def test_other_names_are_no_attributes():
    with pytest.raises(AttributeError, match="'Thing' object has no attribute 'nothing'"):
        _ = thing([]).nothing


def test_a_maker_that_fails_fails_again():
    made = Thing(count=0, names=later(lambda: 1 // 0))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            _ = made.names


LARGE = {
    "distribute": (lambda: hs.distribute(10, np.arange(1, 8)), ("names", "displs")),
}


@pytest.mark.parametrize("kind", LARGE)
def test_plans_wait_with_what_is_large(kind):
    make, fields = LARGE[kind]
    plan, other = make(), make()
    assert not set(fields) & set(vars(plan))
    assert plan.names[:2] == ("P0", "P1")
    again = pickle.loads(pickle.dumps(other))
    assert again.to_dict() == plan.to_dict() == copy.copy(make()).to_dict()
    assert set(fields) < set(plan.to_dict())
