"""The engine as Python sees it, with a module for each folder of csrc. Only they touch the FFI."""

try:
    # If it is missing, "from . import _hetsched" would say "circular import", which is wrong.
    from ._hetsched import lib as _lib  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != f"{__name__}._hetsched":
        raise
    raise ImportError(
        "hetsched's engine is not built here: this is a source tree. Run 'pip install -e .' in it,"
        " or leave the directory to use an installed hetsched"
    ) from error
