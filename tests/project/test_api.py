"""The reference: each public name in one topic of docs/api, docstrings as numpydoc wants them, the
pages of headers whole."""

import dataclasses
import functools
import importlib.util
import inspect
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import hetsched as hs

ROOT = Path(__file__).parents[2]
INDEX = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
TOPIC = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.M | re.S)
TABLE = re.compile(r"^\.\. autosummary::\n(?:   :.*\n)*\n((?:   [\w.]+\n)+)", re.M)
#: Where public names are; hs.datasets is one, and has others.
MODULES = {
    "hetsched": [name for name in hs.__all__ if not inspect.ismodule(getattr(hs, name))],
    "hetsched.mpi": hs.mpi.__all__,
    "hetsched.datasets": hs.datasets.__all__,
}
#: Wrong or missing parameters, in number, name and order; no docstring; no summary; unknown and
#: misplaced sections.
CHECKED = {"PR01", "PR02", "PR03", "GL06", "GL07", "GL08", "SS01"}


def listed():
    """(topic, module, name) of each row of the index."""
    for topic, text in TOPIC.findall(INDEX):
        for names in TABLE.findall(text):
            yield from ((topic, *name.rsplit(".", 1)) for name in names.split())


def test_every_name_has_one_topic():
    counts = Counter((module, name) for _, module, name in listed())
    public = {(module, name) for module, names in MODULES.items() for name in names}
    assert set(counts) == public
    assert [name for name, count in counts.items() if count != 1] == []


def own(kind):
    """The members of a class that hetsched wrote, each with the class that has it; not NumPy's,
    whose docstrings are there."""
    for base in kind.__mro__:
        if base.__module__.startswith("hetsched"):
            for name, value in vars(base).items():
                if not name.startswith("_") and not hasattr(
                    np.ndarray if issubclass(kind, np.ndarray) else object, name
                ):
                    yield base, name, getattr(value, "__func__", value)


def complaints(target, codes=CHECKED):
    validate = pytest.importorskip("numpydoc.validate").validate
    return [
        f"{target}: {code} {text}" for code, text in validate(target)["errors"] if code in codes
    ]


def fields_said(kind):
    """The names that the docstrings of a class and of those it inherits from describe."""
    docscrape = pytest.importorskip("numpydoc.docscrape")
    said = set()
    for base in kind.__mro__:
        if base.__module__.startswith("hetsched") and base.__doc__:
            sections = docscrape.NumpyDocString(inspect.cleandoc(base.__doc__))
            for row in (*sections["Attributes"], *sections["Parameters"]):
                said |= {name.strip() for name in row.name.split(",")}
    return said


@pytest.mark.parametrize(
    ("module", "name"), [(m, n) for m, names in MODULES.items() for n in names]
)
def test_docstring(module, name):
    """Parameters are those of the signature, in its order; a function says what it returns; a
    class, what its fields are."""
    target = f"{module}.{name}"
    value = getattr(importlib.import_module(module), name)
    if not inspect.isclass(value):
        assert complaints(target, CHECKED | {"RT01"}) == []
        return
    # the parameters of a result are its fields, which its attributes describe
    made = "\nParameters\n" in inspect.cleandoc(value.__doc__ or "")
    found = complaints(target, CHECKED if made else CHECKED - {"PR01", "PR02"})
    said = fields_said(value)
    missing = (
        {field.name for field in dataclasses.fields(value)} - said
        if dataclasses.is_dataclass(value)
        else set()
    )
    for base, member, function in own(value):
        if isinstance(function, (property, functools.cached_property)):
            if (
                not any(getattr(vars(b).get(member), "__doc__", None) for b in value.__mro__)
                and member not in said
            ):
                missing.add(member)
        elif inspect.isfunction(function) and (
            function.__doc__ or not any(hasattr(b, member) for b in base.__mro__[1:])
        ):
            found += (
                complaints(f"{target}.{member}", CHECKED)
                if getattr(value, member).__doc__ == function.__doc__
                else []
            )
    assert (found, {name for name in missing if not name.startswith("_")}) == ([], set())


def test_c_pages():
    """Each function, struct, enum and macro of the headers is an object of its page, with what the
    header says of it."""
    spec = importlib.util.spec_from_file_location("c_api", ROOT / "docs" / "c_api.py")
    c_api = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(c_api)
    for topic in c_api.TOPICS:
        header, page = (
            (c_api.INCLUDE / "hetsched" / f"{topic}.h").read_text(encoding="utf-8"),
            c_api.page(topic),
        )
        functions = re.findall(r"^HS_API [^(;]*?(\w+)\(", header, re.M)
        types = re.findall(r"^\} (\w+);|^typedef [^{;]* (\w+);", header, re.M)
        assert re.findall(r"^````\{c:function\} .*?(\w+)\(", page, re.M) == functions
        assert set(re.findall(r"^````\{c:type\} (\w+)$", page, re.M)) >= {a or b for a, b in types}
        comments = re.findall(r"^/\*(.*?)\*/", header, re.M | re.S)
        for comment in comments:
            words = re.findall(r"[A-Za-z]{4,}", comment)
            assert set(words) <= set(re.findall(r"[A-Za-z]+", page)), (topic, comment)
    assert "Every fallible function returns an `hs_status`" in c_api.contracts()
