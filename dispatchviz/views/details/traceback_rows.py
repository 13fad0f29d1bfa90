"""The rows of Python's traceback."""

from __future__ import annotations

from dispatchviz.views.text.styled_line import Line, line


def traceback_rows(text: str) -> list[Line]:
    """The text, where it says where in bold: the program's own lines and the message are what is read."""
    return [_row(row) for row in text.rstrip("\n").split("\n")]


def _row(text: str) -> Line:
    inside = len(text) - len(text.lstrip())
    return line((text, "dim" if text.startswith("  File ") else "bold"), indent=inside + 2)
