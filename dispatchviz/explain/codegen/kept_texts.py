"""What torchgen wrote for the operators of the examples, kept with the package: shown where no torch is installed.

``python -m scripts.torchgen_texts`` writes the file, a JSON list with an item a line: first what it is made of, then
each text once. A look-up parses the first line and the texts that it needs. The texts are PyTorch's, under its license
(``kept/LICENSE``).
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dispatchviz.explain.codegen.torchgen_texts import DERIVATIVES, NATIVE_FUNCTIONS, Real, RealEntry, RealPiece

FOLDER = Path(__file__).parent / "kept"
FILE = FOLDER / "torchgen_texts.json.gz"


class Everything(NamedTuple):
    """What both generators have to do for all operators."""

    functions: int
    """Entries of ``native_functions.yaml``, which is PyTorch's."""
    derivatives: int
    """Entries of ``derivatives.yaml``."""
    files: int
    """Files that they write."""
    lines: int
    """In those."""


@cache
def _lines() -> list[bytes]:
    import gzip

    return gzip.decompress(FILE.read_bytes()).splitlines()


@cache
def _header() -> dict[str, Any]:
    header: dict[str, Any] = json.loads(_item(1))
    return header


def _item(line: int) -> bytes:
    return _lines()[line].rstrip(b",")


def release() -> str:
    """Of the PyTorch whose torchgen wrote them: ``2.13.0``."""
    return str(_header()["pytorch"])


def everything() -> Everything:
    """What torchgen reads and writes for all operators."""
    return Everything(*_header()["everything"])


def kept_operators() -> list[str]:
    """The operators whose texts are kept, without ``aten::``."""
    return list(_header()["operators"])


@cache
def kept(name: str) -> Real | None:
    """The texts of an operator (without ``aten::``); None if they are not kept."""
    header = _header()
    found = header["operators"].get(name)
    if found is None:
        return None
    texts = [json.loads(_item(2 + number)) for number in found["pieces"]]
    return Real(
        version=header["pytorch"],
        entries=tuple(
            RealEntry(role, NATIVE_FUNCTIONS if of == "functions" else DERIVATIVES, line, header["entries"][text])
            for role, of, line, text in found["entries"]
        ),
        pieces=tuple(RealPiece(header["files"][file], text) for file, text in texts),
        group=tuple(found["group"]),
    )
