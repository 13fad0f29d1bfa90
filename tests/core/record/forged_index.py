"""The index of a ``.dvtrace`` file with other numbers than were written."""

from __future__ import annotations

import json
import struct
from array import array
from typing import Any

from dispatchviz.core.record.trace_file.blocks import FRAME_SIZE, INDEX, block
from dispatchviz.core.record.trace_file.packing import Packer, unpacked

TRAILER = 20


class ForgedIndex:
    """The index of a file, whose arrays can be changed: their numbers or, if they are packed, the differences."""

    def __init__(self, raw: bytes) -> None:
        self._at = raw.rfind(INDEX)
        index = raw[self._at + FRAME_SIZE : -TRAILER]
        size = 8 + int.from_bytes(index[:8], "little")
        self._raw = raw
        self._directory: dict[str, Any] = json.loads(index[8:size])
        self.content = b"".join(_content(index[size:], *each) for each in self._directory["parts"])
        """The bytes of all arrays."""

    def file(self, content: bytes) -> bytes:
        """Return the file with other bytes in its arrays."""
        parts, pieces, offset, packer = list[tuple[Any, ...]](), list[bytes](), 0, Packer()
        for name, typecode, _, count, *packed in self._directory["parts"]:
            piece, content = _cut(content, array(typecode).itemsize * count)
            if any(packed):
                piece = packer.packed(piece)
            parts.append((name, typecode, offset, count, *((len(piece),) if packed else ())))
            pieces.append(piece + bytes(-len(piece) % 8))
            offset += len(pieces[-1])
        directory = json.dumps({**self._directory, "parts": parts}).encode()
        index = b"".join((struct.pack("<Q", len(directory)), directory, *pieces))
        return self._raw[: self._at] + block(INDEX, index) + self._raw[-TRAILER:]


def _content(arrays: bytes, _: str, typecode: str, offset: int, count: int, packed: int = 0) -> bytes:
    size = array(typecode).itemsize * count
    return unpacked(arrays[offset : offset + packed], size) if packed else arrays[offset : offset + size]


def _cut(content: bytes, size: int) -> tuple[bytes, bytes]:
    return content[:size], content[size:]
