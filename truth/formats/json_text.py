"""Readable JSON for git: a value that fits on a line is on one line, otherwise each item has its own.

Short items of a list share lines.
"""

from __future__ import annotations

import json
from typing import Any

WIDTH = 120

SHORT = 40
"""The largest length of a short item."""


def json_text(value: Any) -> str:
    """The text of a file; equal values give equal texts."""
    return f"{_text(value, 0)}\n"


def _text(value: Any, depth: int) -> str:
    line = json.dumps(value, ensure_ascii=False)
    if depth + len(line) <= WIDTH or not value or not isinstance(value, (dict, list, tuple)):
        return line
    blanks = " " * (depth + 1)
    if isinstance(value, dict):
        names = [json.dumps(str(name), ensure_ascii=False) for name in value]
        items = [f"{name}: {_text(item, depth + 1)}" for name, item in zip(names, value.values(), strict=True)]
        first, last = "{}"
    else:
        items = _filled([_text(item, depth + 1) for item in value], WIDTH - depth - 1)
        first, last = "[]"
    inside = ",\n".join(blanks + item for item in items)
    return f"{first}\n{inside}\n{' ' * depth}{last}"


def _filled(items: list[str], width: int) -> list[str]:
    """The items, with consecutive short ones on one line."""
    lines, before = [items[0]], items[0]
    for item in items[1:]:
        if max(len(before), len(item)) <= SHORT and len(lines[-1]) + len(item) + 3 <= width:
            lines[-1] += f", {item}"
        else:
            lines.append(item)
        before = item
    return lines
