"""Lines of a journal, each with its own checksum at the end.

The checksum is zlib.crc32. It detects damage by a disk or a cut, not deliberate changes.
"""

from __future__ import annotations

import zlib


def line_of(content: bytes) -> bytes:
    """A line with its checksum and its line end."""
    return b"%s %08x\n" % (content, zlib.crc32(content))


def content_of(line: bytes) -> bytes | None:
    """The content of a line without its line end; None if the checksum is wrong."""
    content, _, checksum = line.rpartition(b" ")
    return content if checksum == b"%08x" % zlib.crc32(content) else None
