"""Definitions and yaml entries, cut out of our source files by their first line.

The files are read as text and never imported or parsed. So a look-up takes a few milliseconds, and the text shown is
the code that runs, with its line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

CORE = os.path.join(os.path.dirname(__file__), "../../core")
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
    path = os.path.join(CORE, file)
    if not os.path.isfile(path):
        return ""
    with open(path, "rb") as source:  # reading as text would look for line ends of other systems piece by piece
        text = source.read().decode()
    return text.replace("\r\n", "\n") if "\r" in text else text


@cache
def native_file(module: str) -> str:
    """Return the file of a module in any package of ``native/``; empty if there is none."""
    files = (f"native/{package}/{module}.py" for package in os.listdir(os.path.join(CORE, "native")))
    return next((file for file in files if os.path.isfile(os.path.join(CORE, file))), "")


def definition(file: str, name: str) -> Piece | None:
    """Return a function, a class or a variable at the top level of a module. A function or a class takes precedence
    over a variable of the same name.
    """
    heads = (f"\ndef {name}(", f"\nclass {name}(", f"\nclass {name}:", f"\n{name} = ", f"\n{name}: ")
    text = text_of(file)
    start = next((at + 1 for head in heads if (at := text.find(head)) >= 0), None)
    return None if start is None else _piece(file, start, _NEXT_DEFINITION)


_NEXT_DEFINITION = re.compile(r"^[^\s)\"']", re.MULTILINE)

_ROW = r'": \(?\s*(\w+)'
"""The function in a row of a generated table."""


@cache
def table(file: str) -> dict[str, str]:
    """Return the kernels of a generated table: operator, without ``aten::``, to the name of the function."""
    found = definition(file, "KERNELS")
    return dict(re.findall(rf'"([\w.]+){_ROW}', found.text)) if found else {}


def kernel_in(file: str, operator: str) -> Piece | None:
    """Return the kernel of an operator, without ``aten::``, in a generated table."""
    text = text_of(file)
    at = text.find(f'"{operator}": ', text.find("\nKERNELS = "))
    row = re.compile(_ROW).match(text, at + 1 + len(operator)) if at >= 0 else None
    return definition(file, row[1]) if row else None


def definitions(file: str, text: str) -> Iterator[Piece]:
    """Yield all definitions at the top level of a module that contain a text."""
    source = text_of(file)
    at = source.find(text)
    while at >= 0:
        start, end = _around(source, at)
        yield Piece(file, line_at(file, start), source[start:end].rstrip())
        at = source.find(text, end)


def _around(source: str, at: int) -> tuple[int, int]:
    """Return the bounds of the definition at a position."""
    start = source.rfind("\n", 0, at) + 1
    while start and not _NEXT_DEFINITION.match(source, start):
        start = source.rfind("\n", 0, start - 1) + 1
    end = _NEXT_DEFINITION.search(source, source.find("\n", at) + 1 or len(source))
    return start, end.start() if end else len(source)


def mentioning(file: str, *names: str) -> list[Piece]:
    """Return the definitions at the top level of a module that mention any of some dotted names, in order."""
    found: dict[int, Piece] = {}
    for name in names:
        found |= {piece.line: piece for piece in definitions(file, name) if name in re.findall(r"[\w.]+", piece.text)}
    return [found[line] for line in sorted(found)]


@cache
def entry(file: str, name: str) -> Piece | None:
    """Return the entry of an operator in one of the yaml files. ``name`` is without ``aten::``."""
    text = text_of(file)
    heads = (f"\n- func: {name}(", f"\n- name: {name}(")
    start = next((at + 1 for head in heads if (at := text.find(head)) >= 0), None)
    return None if start is None else _piece(file, start, re.compile(r"^\S", re.MULTILINE))


def _piece(file: str, start: int, stop: re.Pattern[str]) -> Piece:
    """Return the text from ``start`` to the next line that begins another definition."""
    text = text_of(file)
    end = stop.search(text, text.index("\n", start) + 1)
    return Piece(file, line_at(file, start), text[start : end.start() if end else None].rstrip())


def line_at(file: str, offset: int) -> int:
    """Return the line number of the character at an offset, from 1."""
    return text_of(file).count("\n", 0, offset) + 1


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
    for part in text_of(FUNCTIONS).split("\n- func: ")[1:]:
        _, has_delegate, after = part.partition("\n  structured_delegate: ")
        if has_delegate:
            shared.setdefault(after.partition("\n")[0].strip(), []).append(part.partition("(")[0])
    return shared


@cache
def operators() -> dict[str, str]:
    """Return the operator (``add.Tensor``) for each class name in ``generated/operators`` (``add_Tensor``)."""
    return {name: schema.partition("(")[0].removeprefix("aten::") for name, schema in _schemas().items()}


def _schemas() -> dict[str, str]:
    from dispatchviz.core.generated.register_schema import SCHEMAS  # a large file, which ``why OP KEY`` does not need

    return SCHEMAS


def operator_class(name: str) -> Piece | None:
    """Return the class of an operator (``add_Tensor``) as it runs, with its line in the stub, or None."""
    if (schema := _schemas().get(name)) is None:
        return None
    from dispatchviz.core.codegen.pages import broken
    from dispatchviz.core.schema.python_signature import class_text
    from dispatchviz.core.schema.schema_parser import parse_schema

    lines = (row for line in class_text(parse_schema(schema)).splitlines() for row in broken(line))
    return Piece(STUB, line_at(STUB, text_of(STUB).index(f"\ndef {name}(") + 1), "\n".join(lines))


@cache
def formula_modules() -> tuple[str, ...]:
    """Return the files with the handwritten functions that formulas call."""
    files = sorted(os.listdir(os.path.join(CORE, "autograd/formulas")))
    return tuple(f"autograd/formulas/{name}" for name in files if name.endswith(".py"))


def formula_function(name: str) -> Piece | None:
    """Return a function that formulas call."""
    pieces = (definition(file, name) for file in formula_modules() if f"\ndef {name}(" in text_of(file))
    return next(pieces, None)
