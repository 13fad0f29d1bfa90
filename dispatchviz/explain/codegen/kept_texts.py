"""The output of torchgen for the operators of the examples, shipped with the package for machines without torch.

``python -m scripts.torchgen_texts`` writes the file, a JSON list with one item per line: first the structure, then each
text once. A look-up parses the first line and the texts that it needs. The texts are PyTorch's, under its license
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
    """The amount of work of both generators for all operators."""

    functions: int
    """The number of entries of PyTorch's ``native_functions.yaml``."""
    derivatives: int
    """The number of entries of ``derivatives.yaml``."""
    files: int
    """The number of files that they write."""
    lines: int
    """The number of lines in those files."""


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
    """Return the release of the PyTorch whose torchgen wrote the texts: ``2.13.0``."""
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
