"""Definitions cut out of C++ text by how they begin; good enough for what torchgen writes."""

from __future__ import annotations

import re
from collections.abc import Iterator


def blocks(text: str, head: str) -> Iterator[str]:
    """Every definition or statement with a line that matches, from that line to its end; calls and mere declarations
    are left out."""
    lines = text.splitlines()
    matches = re.compile(head)
    at = 0
    while at < len(lines):
        if lines[at].lstrip().startswith("return ") or not matches.search(lines[at]):
            at += 1
            continue
        end = _end(lines, at)
        block = lines[at : end + 1]
        if not _declares(block):
            yield _dedented(block)
        at = end + 1


def _end(lines: list[str], start: int) -> int:
    """The line that closes what a line opens: braces and parentheses, and where there are none, a semicolon."""
    braces = parentheses = 0
    for at in range(start, len(lines)):
        code = _without_strings(lines[at])
        braces += code.count("{") - code.count("}")
        parentheses += code.count("(") - code.count(")")
        if braces <= 0 and parentheses <= 0 and code.rstrip().endswith(("}", ";", "};")):
            return at
    return len(lines) - 1


def _without_strings(line: str) -> str:
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', line.partition("//")[0])


def _declares(block: list[str]) -> bool:
    """``static PyObject * THPVariable_add(PyObject* self_, ...);`` alone."""
    return len(block) == 1 and block[0].startswith("static ") and block[0].rstrip().endswith(";")


def _dedented(block: list[str]) -> str:
    indent = len(block[0]) - len(block[0].lstrip())
    return "\n".join(line[indent:] if not line[:indent].strip() else line for line in block)
