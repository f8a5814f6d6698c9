"""The thresholds of csrc/core/tuning.h, and what Python takes from the engine by name."""

import re
from pathlib import Path

import hetsched.runners.array_linalg
import hetsched.runners.product
import hetsched.runners.qr
from hetsched._engine import tuning
from hetsched._engine.ffi import lib

ROOT = Path(__file__).parents[2]
HEADER = (ROOT / "csrc/core/tuning.h").read_text(encoding="utf-8")
NAMES = re.findall(r"^    (HS__\w+) = ", HEADER, re.M)


def test_thresholds_are_there_by_name():
    assert len(NAMES) > 40
    assert len({*NAMES}) == len(NAMES)
    assert all(getattr(lib, name) > 0 for name in NAMES)


def test_every_threshold_is_used():
    texts = [
        path.read_text(encoding="utf-8")
        for path in (ROOT / "csrc").rglob("*.[ch]")
        if path.name != "tuning.h"
    ]
    texts += [path.read_text(encoding="utf-8") for path in (ROOT / "hetsched/_engine").glob("*.py")]
    code = "\n".join(re.sub(r"/\*.*?\*/", "", text, flags=re.S) for text in texts)
    used = {*re.findall(r"\bHS__\w+", code)}
    assert not {*NAMES} - used


def test_every_threshold_says_how_it_was_found():
    for comment in re.findall(r"    /\*.*?\*/", HEADER, re.S):
        assert re.search(r"\bby hand\b|\bmeasured\b", re.sub(r"[\s*]+", " ", comment), re.I), (
            comment
        )


def test_python_has_no_thresholds_of_its_own():
    runners = hetsched.runners
    assert runners.product.SMALL == lib.HS__NUMPY_UPDATES == tuning.NUMPY_UPDATES
    assert (runners.product.NUMPY_SIDE, runners.product.LARGE) == (
        lib.HS__NUMPY_SIDE,
        lib.HS__STACK_ITEM_UPDATES,
    )
    assert runners.array_linalg.FEW_ROWS == lib.HS__NUMPY_LAPACK_ROWS
    for cols, ratio in (
        (1, lib.HS__TALL_RATIO),
        (lib.HS__TALL_COLS, lib.HS__TALL_RATIO),
        (lib.HS__TALL_COLS + 1, lib.HS__TALL_WIDE_RATIO),
    ):
        assert runners.qr.is_tall(ratio * cols, cols)
        assert not runners.qr.is_tall(ratio * cols - 1, cols)
