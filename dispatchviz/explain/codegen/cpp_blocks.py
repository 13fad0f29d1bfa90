"""Definitions cut out of C++ text by their beginnings. Sufficient for the output of torchgen."""

from __future__ import annotations

import re
from collections.abc import Iterator


def blocks(text: str, head: str) -> Iterator[str]:
    """Yield every definition or statement with a matching line, from that line to its end. Calls and plain declarations
    are left out.
    """
    end = 0
    for found in re.finditer(head, text, re.MULTILINE):
        start = text.rfind("\n", 0, found.start()) + 1
        if start < end or text.startswith("return ", start + _indent(text[start : found.end()])):
            continue
        above = text.rfind("\n", 0, max(start - 1, 0)) + 1
        end = _end(text, start)
        block = text[above if text.startswith("template <", above) else start : end].splitlines()
        if not _declares(block):
            yield _dedented(block)


def _end(text: str, start: int) -> int:
    """Return the position after the line that closes a block: braces and parentheses, or without these a semicolon."""
    braces = parentheses = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        code = _without_strings(text[start:end])
        braces += code.count("{") - code.count("}")
        parentheses += code.count("(") - code.count(")")
        if braces <= 0 and parentheses <= 0 and code.rstrip().endswith(("}", ";", "};", "},")):
            return end
        start = end + 1
    return len(text)


def _without_strings(line: str) -> str:
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', line.partition("//")[0])


def _declares(block: list[str]) -> bool:
    """Return whether a block is only a declaration: ``static PyObject * THPVariable_add(PyObject* self_, ...);``."""
    return len(block) == 1 and block[0].startswith("static ") and block[0].rstrip().endswith(";")


def _dedented(block: list[str]) -> str:
    indent = _indent(block[0])
    return "\n".join(line[indent:] if not line[:indent].strip() else line for line in block)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
