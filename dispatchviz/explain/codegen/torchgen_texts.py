"""The input and output of PyTorch's torchgen for one operator, as a value.

``torchgen_output.py`` gets them from an installed torchgen. ``kept_texts.py`` has them for the operators of the
examples.
"""

from __future__ import annotations

import re

from msgspec import Struct

NATIVE_FUNCTIONS = "aten/src/ATen/native/native_functions.yaml"
DERIVATIVES = "tools/autograd/derivatives.yaml"


class RealEntry(Struct, frozen=True):
    """A complete entry of one of PyTorch's yaml files."""

    role: str
    """The relation of the entry to the operator."""
    file: str
    line: int
    """The line number, from 1."""
    text: str

    @property
    def location(self) -> str:
        """The path and line: ``aten/src/ATen/native/native_functions.yaml:550``"""
        return f"{self.file}:{self.line}"


class RealPiece(Struct, frozen=True):
    """A piece of code that torchgen wrote."""

    file: str
    """The file's name in PyTorch's build: ``build/aten/src/ATen/RegisterCPU_0.cpp``."""
    text: str


class Real(Struct, frozen=True):
    """The texts of torchgen for an operator."""

    version: str
    """The release of the torch that torchgen came with."""
    entries: tuple[RealEntry, ...]
    pieces: tuple[RealPiece, ...]
    group: tuple[str, ...]
    """The operators that torchgen groups with it; empty if there are none."""

    @property
    def node(self) -> str:
        """The Node that its kernel for Autograd makes; empty if there is none."""
        found = (
            re.search(r"^struct (\w+) : public (?:TraceableFunction|Node)\b", each.text, re.M) for each in self.pieces
        )
        return next((match[1] for match in found if match), "")

    def of(self, place: str) -> list[RealPiece]:
        """Return the pieces in one file, which may be given with a line."""
        return [piece for piece in self.pieces if piece.file == place.rpartition(":")[0] or piece.file == place]

    def files(self) -> dict[str, int]:
        """Return the number of lines for the operator in each file, in order."""
        counts: dict[str, int] = {}
        for piece in self.pieces:
            counts[piece.file] = counts.get(piece.file, 0) + piece.text.count("\n") + 1
        return counts

    def text(self, file: str) -> str:
        """Return the operator's code in one file, with an empty line between two pieces."""
        return "\n\n".join(piece.text for piece in self.of(file))


INCLUDING = {"NativeFunctions.h": "_native.h", "NativeMetaFunctions.h": "_meta.h", "Operators.h": "_ops.h"}
"""Headers of all operators, and the name pattern of the files that they include, one for each name."""


def named(files: list[str], name: str) -> list[str]:
    """Return the files that a name may mean: the full name, or without folders, part number or suffix."""
    wanted = name.removeprefix("./")
    if ending := INCLUDING.get(_base(wanted)):
        return [file for file in files if file.endswith(ending)]
    for shown in (lambda file: file, _base, lambda file: _stem(file) + _ending(file), _stem):
        found = [file for file in files if shown(file) == wanted or shown(file).endswith(f"/{wanted}")]
        if found:
            return found
    return []


def _base(file: str) -> str:
    return file.rpartition("/")[2]


def _stem(file: str) -> str:
    return re.sub(r"(_\d+)?\.\w+$", "", _base(file))


def _ending(file: str) -> str:
    return file[file.rindex(".") :]
