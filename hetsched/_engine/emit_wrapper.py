"""Writes the C source of the extension module from the headers (run by CMake)."""

import re
import sys
from pathlib import Path

import cffi

#: Declared and defined in addition to the headers: ends a pool that is owned by a cell, which may
#: still be empty. In C no interrupt can come in between.
OWN = {"void hs_python_end_pool(hs_pool **cell)": "hs_pool_destroy(*cell);"}


def included(header: Path, seen: set[str]) -> str:
    """The header with each header that it includes inserted in its place, once."""

    def insert(match: re.Match[str]) -> str:
        name = match[1]
        if name in seen:
            return ""
        seen.add(name)
        return included(Path(sys.argv[1]).parent / name, seen)

    return re.sub(r'^#include "(.*)"$', insert, header.read_text(encoding="utf-8"), flags=re.M)


def declarations(header: str) -> str:
    """The header as cffi reads it: without comments, preprocessor lines and marks of export.h.

    Numbers that the preprocessor defines become constants of type double.
    """
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    text = re.sub(r"^#define (HS_\w+) [\d.]\S*$", r"static const double \1;", text, flags=re.M)
    return re.sub(r"^\s*#(?:.*\\\n)*.*$|^HS_(API|C_BEGIN|C_END)\b", "", text, flags=re.M)


def main() -> None:
    header_path, tuning_path, target = sys.argv[1:]
    ffi = cffi.FFI()
    ffi.cdef(declarations(included(Path(header_path), set())))
    ffi.cdef(declarations(Path(tuning_path).read_text(encoding="utf-8")))
    ffi.cdef('extern "Python" int hs_python_poll(void *context, double fraction);')
    tile = "void *context, int64_t row, int64_t col, int64_t height, int64_t width"
    ffi.cdef(f'extern "Python" void hs_python_tile({tile});')
    ffi.cdef("".join(f"{head};" for head in OWN))
    source = "".join(f"static {head} {{ {body} }}\n" for head, body in OWN.items())
    ffi.set_source(
        "hetsched._engine._hetsched",
        f'#include "hetsched.h"\n#include "core/tuning.h"\n{source}',
        py_limited_api=True,
    )
    ffi.emit_c_code(target)


if __name__ == "__main__":
    main()
