"""The files of the package that C programs need; csrc/wheel.cmake installs them."""

from __future__ import annotations

from pathlib import Path

from . import _hetsched


def include_folder() -> Path:
    """The folder of hetsched.h.

    Raises
    ------
    OSError
        This build has no files for C programs.
    """
    return _installed("include", "hetsched.h")


def pkgconfig_folder() -> Path:
    """The folder of hetsched.pc.

    Raises
    ------
    OSError
        This build has no files for C programs.
    """
    return _installed("lib/pkgconfig", "hetsched.pc")


def compiler_words(field: str) -> list[str]:
    """The words of a field of hetsched.pc, "Cflags" or "Libs", with the folders inserted.

    Raises
    ------
    OSError
        This build has no files for C programs.
    """
    folder = pkgconfig_folder()
    text = (folder / "hetsched.pc").read_text(encoding="utf-8")
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    places = {"${includedir}": include_folder(), "${libdir}": folder.parent}
    words = fields[field].split()
    for variable, place in places.items():
        words = [word.replace(variable, str(place)) for word in words]
    return words


def _installed(folder: str, name: str) -> Path:
    path = Path(_hetsched.__file__).parent / folder
    if not (path / name).exists():
        raise OSError(f"this build of hetsched has no files for C programs: no {path / name}")
    return path
