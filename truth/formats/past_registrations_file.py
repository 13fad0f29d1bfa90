"""The format of ``dispatchviz/core/native/past_registrations.txt.zst``: the registrations of older releases.

It is one text: those of each release, as ``registrations_file.py`` writes them, newest first, each after a form feed.
Zstandard compresses all of it at once, so that an older release takes only the space of what differs in it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from truth.formats.registrations_file import PATH as NEWEST

PATH = NEWEST.with_name("past_registrations.txt.zst")

_OPTIONS: dict[int, int] = {
    zstd.CompressionParameter.compression_level: 22,
    zstd.CompressionParameter.enable_long_distance_matching: 1,
    zstd.CompressionParameter.window_log: 23,
}
"""A release is found again within 8 MB, which is twelve releases back. Every reader accepts a window of that size."""


def packed(text: str) -> bytes:
    """The bytes of the file."""
    return zstd.compress(text.encode(), options=_OPTIONS)


def unpacked(packed: bytes) -> str:
    """The text of the file."""
    return zstd.decompress(packed).decode()


def minor(release: str) -> str:
    """``2.9`` for ``2.9.0``."""
    return ".".join(release.split(".")[:2])


def joined(texts: Mapping[str, str]) -> str:
    """The text of the file, from those of each release by its minor version."""
    newest_first = sorted(texts, key=lambda release: [*map(int, release.split("."))], reverse=True)
    return "".join(f"\f{texts[release]}" for release in newest_first)


def separate(text: str) -> dict[str, str]:
    """The text of each release, by its minor version."""
    return {minor(release_of(one)): one for one in text.split("\f")[1:]}


def release_of(text: str) -> str:
    """The release whose registrations a text has."""
    return text.partition("\n")[0].partition("\t")[2]


def read() -> dict[str, str]:
    """The stored text of each release, by its minor version."""
    return separate(unpacked(PATH.read_bytes())) if PATH.exists() else {}
