"""The beginning of a file that may be compressed."""

from __future__ import annotations

import zlib
from contextlib import suppress

MOST = 1 << 12
"""The maximum number of bytes that are decompressed."""


def beginning_of(raw: bytes) -> bytes:
    """Return the first bytes of the content of ``raw`` if it is gzip, else ``raw`` itself."""
    if raw.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            return zlib.decompressobj(wbits=31).decompress(raw, MOST)
    return raw
