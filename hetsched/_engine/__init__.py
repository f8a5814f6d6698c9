"""The engine as Python sees it, a module for each folder of csrc: the only ones that touch the FFI."""

try:
    from . import _hetsched as _hetsched
except ModuleNotFoundError as error:
    raise ImportError(
        "hetsched's engine is not built here: this is a source tree. Run 'pip install -e .' in it, or leave the "
        "directory to use an installed hetsched"
    ) from error
