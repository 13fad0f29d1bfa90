"""Definitions and yaml entries, cut out of our source files by their first line.

The files are read as text and never imported or parsed. So a look-up takes a few milliseconds, and the text shown is
the code that runs, with its line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dispatchviz.core.codegen.pages import broken
from dispatchviz.core.generated.register_schema import SCHEMAS
from dispatchviz.core.schema.python_signature import class_text
from dispatchviz.core.schema.schema_parser import parse_schema

CORE = Path(__file__).parents[2] / "core"
FUNCTIONS = "native/native_functions.yaml"
DERIVATIVES = "native/derivatives.yaml"
STUB = "generated/operators.pyi"


class Piece(NamedTuple):
    """A definition or an entry."""

    file: str
    """The file, relative to ``dispatchviz/core``."""
    line: int
    """The line number, from 1."""
    text: str

    @property
    def location(self) -> str:
        """The path and line, which an editor can open: ``dispatchviz/core/generated/nodes.py:12``"""
        return f"dispatchviz/core/{self.file}:{self.line}"


@cache
def text_of(file: str) -> str:
    """Return the text of a file of ``dispatchviz/core``; empty if there is none."""
    path = CORE / file
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@cache
def native_file(module: str) -> str:
    """Return the file of a module in any package of ``native/``; empty if there is none."""
    return next((f"native/{path.parent.name}/{path.name}" for path in (CORE / "native").glob(f"*/{module}.py")), "")


def definition(file: str, name: str) -> Piece | None:
    """Return a function, a class or a variable at the top level of a module."""
    start = _heads(file).get(name)
    return None if start is None else _piece(file, start, _NEXT_DEFINITION)


@cache
def _heads(file: str) -> dict[str, int]:
    """Return the positions where definitions begin. A function or a class takes precedence over a variable of the same
    name.
    """
    found = [*re.finditer(r"^(\w+)(?: = |: )", text_of(file), re.MULTILINE)][::-1]
    found += [*re.finditer(r"^class (\w+)[(:]", text_of(file), re.MULTILINE)][::-1]
    found += [*re.finditer(r"^def (\w+)\(", text_of(file), re.MULTILINE)][::-1]
    return {head[1]: head.start() for head in found}


_NEXT_DEFINITION = re.compile(r"^[^\s)\"']", re.MULTILINE)


@cache
def table(file: str) -> dict[str, str]:
    """Return the kernels of a generated table: operator, without ``aten::``, to the name of the function."""
    found = definition(file, "KERNELS")
    return dict(re.findall(r'"([\w.]+)": \(?\s*(\w+)', found.text)) if found else {}


def definitions(file: str, text: str) -> Iterator[Piece]:
    """Yield all definitions at the top level of a module that contain a text."""
    line = 1
    for part in _parts(file):
        if text in part:
            yield Piece(file, line, part.rstrip())
        line += part.count("\n")


def mentioning(file: str, *names: str) -> list[Piece]:
    """Return the definitions at the top level of a module that mention any of some dotted names, in order."""
    known = _mentions(file)
    found = {piece.line: piece for name in names for piece in known.get(name, ())}
    return [found[line] for line in sorted(found)]


@cache
def _mentions(file: str) -> dict[str, list[Piece]]:
    """Return every dotted name of a module, with the definitions that mention it."""
    known: dict[str, list[Piece]] = {}
    for piece in definitions(file, ""):
        for word in dict.fromkeys(re.findall(r"[\w.]+", piece.text)):
            known.setdefault(word, []).append(piece)
    return known


@cache
def _parts(file: str) -> list[str]:
    return re.split(r"^(?=[^\s)\"'])", text_of(file), flags=re.MULTILINE)


def entry(file: str, name: str) -> Piece | None:
    """Return the entry of an operator in one of the yaml files. ``name`` is without ``aten::``."""
    start = _entries(file).get(name)
    return None if start is None else _piece(file, start, re.compile(r"^\S", re.MULTILINE))


@cache
def _entries(file: str) -> dict[str, int]:
    """Return the position where the entry of each operator begins."""
    heads = re.finditer(r"^- (?:func|name): ([^(]+)\(", text_of(file), re.MULTILINE)
    return {head[1]: head.start() for head in reversed(list(heads))}


def _piece(file: str, start: int, stop: re.Pattern[str]) -> Piece:
    """Return the text from ``start`` to the next line that begins another definition."""
    text = text_of(file)
    end = stop.search(text, text.index("\n", start) + 1)
    return Piece(file, line_at(file, start), text[start : end.start() if end else None].rstrip())


def line_at(file: str, offset: int) -> int:
    """Return the line number of the character at an offset, from 1."""
    return bisect_left(_line_ends(file), offset) + 1


@cache
def _line_ends(file: str) -> list[int]:
    return [end.start() for end in re.finditer("\n", text_of(file))]


def names(file: str) -> Iterator[str]:
    """Yield the operators of a yaml file, in its order, without ``aten::``."""
    return (found[1] for found in re.finditer(r"^- (?:func|name): ([\w.]+)\(", text_of(file), re.MULTILINE))


def entry_field(piece: Piece, field: str) -> str:
    """Return the value of a field of an entry; empty if it has none."""
    found = re.search(rf"^  {re.escape(field)}: (.*)$", piece.text, re.MULTILINE)
    return found[1].strip() if found else ""


def dispatched_to(piece: Piece) -> dict[str, str]:
    """Return the kernel for each key in an entry of ``native_functions.yaml`` (``dispatch:``)."""
    _, _, rows = piece.text.partition("\n  dispatch:\n")
    found = re.findall(r"^    ([\w, ]+): (\w+)$", rows, re.MULTILINE)
    return {key: kernel for keys, kernel in found for key in keys.split(", ")}


@cache
def delegating() -> dict[str, list[str]]:
    """Return, for each structured operator, those that share its meta and impl, in the order of the yaml file."""
    shared: dict[str, list[str]] = {}
    for name in names(FUNCTIONS):
        own = entry(FUNCTIONS, name)
        if own is not None and (delegate := entry_field(own, "structured_delegate")):
            shared.setdefault(delegate, []).append(name)
    return shared


@cache
def operators() -> dict[str, str]:
    """Return the operator (``add.Tensor``) for each class name in ``generated/operators`` (``add_Tensor``)."""
    return {name: schema.partition("(")[0].removeprefix("aten::") for name, schema in SCHEMAS.items()}


def operator_class(name: str) -> Piece | None:
    """Return the class of an operator (``add_Tensor``) as it runs, with its line in the stub, or None."""
    if name not in SCHEMAS:
        return None
    lines = (row for line in class_text(parse_schema(SCHEMAS[name])).splitlines() for row in broken(line))
    return Piece(STUB, line_at(STUB, text_of(STUB).index(f"\ndef {name}(") + 1), "\n".join(lines))


@cache
def formula_modules() -> tuple[str, ...]:
    """Return the files with the handwritten functions that formulas call."""
    return tuple(f"autograd/formulas/{path.name}" for path in sorted((CORE / "autograd" / "formulas").glob("*.py")))


def formula_function(name: str) -> Piece | None:
    """Return a function that formulas call."""
    pieces = (definition(file, name) for file in formula_modules() if f"\ndef {name}(" in text_of(file))
    return next(pieces, None)
