"""JSON that a person reads and git compares: what fits on a line is on one, everything else an item a line."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 120


def json_text(value: Any) -> str:
    """The text of a file; the same for the same value."""
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
        items = [_text(item, depth + 1) for item in value]
        first, last = "[]"
    inside = ",\n".join(blanks + item for item in items)
    return f"{first}\n{inside}\n{' ' * depth}{last}"
