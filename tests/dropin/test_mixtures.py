"""A short run of mixtures.py, and that it finds what is wrong."""

import io
import os
import sys
from dataclasses import replace

import dropin_calls as calls
import mixtures
import numpy as np
import pytest
from inputs import many

calls.skip_without_library()
pytest.importorskip("threadpoolctl")
linux = pytest.mark.skipif(sys.platform != "linux", reason="of Linux")

#: A plan without settings of its own.
PLAN = replace(
    mixtures.draw_plan(1, 0, 1.0),
    strict=True,
    cases=(mixtures.Case("product", 1, 30, "float64"),),
    report=False,
    neighbours=False,
    quota=False,
)


@linux
@pytest.mark.parametrize("number", range(many(4, 1)))
def test_a_short_mixture(number):
    out = io.StringIO()
    found = mixtures.mix(7, rounds=1, first=number, length=1.0, largest=60, out=out)
    assert not found, out.getvalue()
    assert " 1 rounds, " in out.getvalue()


@pytest.mark.slow
@linux
def test_everything_at_once():
    """Actions of all kinds, with small calls whose bits are compared."""
    names = [*mixtures.BITS, "svd"]
    plan = replace(
        PLAN,
        seconds=2.0,
        threads=6,
        workers=2,
        actions=tuple(action for action in mixtures.ACTIONS if action != "least"),
        cases=tuple(mixtures.Case(name, 5, 60, "float64") for name in names),
        settings={"HETSCHED_BLAS_LEAST": "0", "HETSCHED_DETERMINISTIC": "1"},
        report=True,
        neighbours=True,
        quota=True,
    )
    findings, counts = mixtures.run_round(plan)
    assert not findings, findings
    assert counts["calls"] > 12


def test_plans_can_be_repeated():
    for number in range(50):
        plan = mixtures.draw_plan(3, number, 1.0)
        assert plan == mixtures.draw_plan(3, number, 1.0)
        text = mixtures.json.dumps(mixtures.asdict(plan))
        assert mixtures.read_plan(text) == plan


def test_each_call_is_right_without_a_library():
    """The tolerance holds for another way to compute, here another precision."""
    for name in mixtures.BITS | mixtures.NEAR:
        single = mixtures.Case(name, 1, 20, "float32")
        x = mixtures.operands(1, 20, "float32")
        wide = mixtures.Operands(*(m.astype(float) for m in (x.general, x.definite, x.right)))
        expected = (mixtures.BITS | mixtures.NEAR)[name](wide)
        assert single.is_near(single.make()(), expected), name
        assert not single.is_near(single.make()() + 1e-2 * np.abs(expected).max(), expected), name


class Wrong(mixtures.Program):
    """A program whose results are not always the same."""

    def __init__(self, plan, change):
        super().__init__(plan)
        number = next(i for i, case in enumerate(plan.cases) if case.name in mixtures.BITS)
        self.calls[number] = lambda: change(self.expected[number])
        self.number = number


def test_a_wrong_result_is_found():
    program = Wrong(PLAN, lambda x: x * 1.5)
    with pytest.raises(mixtures.Finding, match="another result"):
        program.judge(program.number, program.calls[program.number]())


def test_other_bits_are_counted():
    program = Wrong(PLAN, lambda x: x * (1 + 2 * np.finfo(x.dtype).eps))
    program.judge(program.number, program.calls[program.number]())
    assert program.counts == {"calls": 1, "other": 1}


def test_a_file_that_is_no_record_is_found(tmp_path):
    assert not mixtures.faults_of_records(str(tmp_path))
    (tmp_path / "other").write_text("text")
    assert len(mixtures.faults_of_records(str(tmp_path))) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_process_that_ends_wrongly_or_never_is_found(monkeypatch):
    program = mixtures.Program(PLAN)
    monkeypatch.setattr(mixtures, "stacks", lambda process: "")
    child = os.fork()
    if not child:
        os._exit(5)
    with pytest.raises(mixtures.Finding, match="ended with 5"):
        program.wait_for(child)
    monkeypatch.setattr(mixtures, "PATIENCE", 0.1)
    child = os.fork()
    if not child:
        mixtures.time.sleep(1000)
        os._exit(0)
    with pytest.raises(mixtures.Finding, match="hangs"):
        program.wait_for(child)
