"""The beginning of a file that may be compressed."""

from __future__ import annotations

import zlib
from contextlib import suppress

MOST = 1 << 12
"""Bytes that are uncompressed at most."""


def beginning_of(raw: bytes) -> bytes:
    """Return the first bytes of what ``raw`` contains if it is gzip; ``raw`` itself if it is not."""
    if raw.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            return zlib.decompressobj(wbits=31).decompress(raw, MOST)
    return raw
