"""The output of torchgen for the operators of the examples, shipped with the package for machines without torch.

``python -m scripts.torchgen_texts`` writes the file. It has one JSON value per line: first a header, then a line for
each operator, then each text once. A line names others by their number. Lines are compressed in blocks, so that a
look-up reads those that it needs and no others. The texts are PyTorch's, under its license (``kept/LICENSE``).
"""

from __future__ import annotations

import json
import os
import zlib
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from dispatchviz.explain.codegen.torchgen_texts import DERIVATIVES, NATIVE_FUNCTIONS, Real, RealEntry, RealPiece

FILE = os.path.join(os.path.dirname(__file__), "kept", "torchgen_texts.blocks")

BLOCK = 64
"""The number of lines in a block. With half of it the file would be a sixth larger, with twice of it a look-up would
take twice as long.
"""


class Everything(NamedTuple):
    """The amount of work of both generators for all operators."""

    functions: int
    """The number of entries of PyTorch's ``native_functions.yaml``."""
    derivatives: int
    """The number of entries of ``derivatives.yaml``."""
    files: int
    """The number of files that they write."""
    lines: int
    """The number of lines in those files."""


def packed(lines: list[str]) -> bytes:
    """Return the content of the file: the sizes of the blocks on the first line, then the blocks."""
    blocks = [zlib.compress("\n".join(lines[at : at + BLOCK]).encode(), 9) for at in range(0, len(lines), BLOCK)]
    return " ".join(str(len(block)) for block in blocks).encode() + b"\n" + b"".join(blocks)


def unpacked() -> list[str]:
    """Return all lines of the file."""
    return [line.decode() for block in range(len(_blocks())) for line in _block(block)]


@cache
def _blocks() -> list[bytes]:
    with open(FILE, "rb") as file:
        sizes, _, data = file.read().partition(b"\n")
    ends = [*accumulate(map(int, sizes.split()), initial=0)]
    return [data[start:end] for start, end in pairwise(ends)]


@cache
def _block(number: int) -> list[bytes]:
    return zlib.decompress(_blocks()[number]).split(b"\n")


def _value(line: int) -> Any:
    return json.loads(_block(line // BLOCK)[line % BLOCK])


@cache
def _header() -> dict[str, Any]:
    header: dict[str, Any] = _value(0)
    return header


def release() -> str:
    """Return the release of the PyTorch whose torchgen wrote the texts: ``2.14.1``."""
    return str(_header()["pytorch"])


def everything() -> Everything:
    """Return the amounts that torchgen reads and writes for all operators."""
    return Everything(*_header()["everything"])


def kept_operators() -> list[str]:
    """Return the operators whose texts are stored, without ``aten::``."""
    return list(_header()["operators"])


@cache
def kept(name: str) -> Real | None:
    """Return the texts of an operator (without ``aten::``), or None if they are not stored."""
    header = _header()
    if name not in header["operators"]:
        return None
    found = _value(1 + header["operators"].index(name))
    return Real(
        version=header["pytorch"],
        entries=tuple(
            RealEntry(role, NATIVE_FUNCTIONS if of == "functions" else DERIVATIVES, line, _value(text))
            for role, of, line, text in found["entries"]
        ),
        pieces=tuple(RealPiece(*_value(text)) for text in found["pieces"]),
        group=tuple(found["group"]),
    )
