"""The engine as Python sees it, a module for each folder of csrc: the only ones that touch the FFI."""

try:
    from ._hetsched import lib as _lib  # noqa: F401 - "from . import _hetsched" would say "circular import" where there is none
except ModuleNotFoundError as error:
    if error.name != f"{__name__}._hetsched":
        raise
    raise ImportError(
        "hetsched's engine is not built here: this is a source tree. Run 'pip install -e .' in it, or leave the "
        "directory to use an installed hetsched"
    ) from error
