"""Lines of a journal, each of which ends with a checksum of its own.

The checksum is zlib.crc32: it finds what a disk or a cut has done to a line, not what somebody wants it to say.
"""

from __future__ import annotations

import zlib


def line_of(content: bytes) -> bytes:
    """A line with its checksum and its end."""
    return b"%s %08x\n" % (content, zlib.crc32(content))


def content_of(line: bytes) -> bytes | None:
    """What a line without its end says; None where the checksum is not its own."""
    content, _, checksum = line.rpartition(b" ")
    return content if checksum == b"%08x" % zlib.crc32(content) else None
