"""Writes the C source of the extension module from the public header (run by CMake)."""

import re
import sys

import cffi


def declarations(header: str) -> str:
    """The header as cffi reads it: no comments, no preprocessor lines, no extern "C"."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    return re.sub(r"^\s*#.*$", "", text, flags=re.M)


def main() -> None:
    header_path, target = sys.argv[1:]
    with open(header_path, encoding="utf-8") as file:
        header = file.read()
    ffi = cffi.FFI()
    ffi.cdef(declarations(header))
    ffi.cdef('extern "Python" int hs_python_poll(void *context, double fraction);')
    tile = "void *context, int64_t row, int64_t col, int64_t height, int64_t width"
    ffi.cdef(f'extern "Python" void hs_python_tile({tile});')
    ffi.set_source("hetsched._engine._hetsched", '#include "hetsched.h"\n', py_limited_api=True)
    ffi.emit_c_code(target)


if __name__ == "__main__":
    main()
