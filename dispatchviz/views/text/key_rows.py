"""Keys as rows of text: the footer of a screen, the keys of a group in a help."""

from __future__ import annotations

from collections.abc import Iterable

from dispatchviz.views.keymap import FOOTER_KEYS, Key
from dispatchviz.views.text.styled_line import Line, Span, line

KEYS = 17
"""Cells for the keys of an action in a help."""


def footer(keymap: Iterable[Key], width: int) -> Line:
    """The keys that matter most, as many as fit, the last two always: help, and the one that closes."""
    parts = [_keycap(key) for key in [key for key in keymap if key.footer][:FOOTER_KEYS]]
    while len(parts) > 2 and line(" ", *(span for part in parts for span in part)).width > width:
        del parts[-3]
    return line(" ", *(span for part in parts for span in part))


def _keycap(key: Key) -> tuple[Span, ...]:
    return (key.first, "keycap"), (f" {key.footer}   ", "")


def group_rows(keymap: Iterable[Key], group: str, width: int = KEYS) -> list[Line]:
    """A group under its title: keys in so many cells, and what they do."""
    keys = [key for key in keymap if key.group == group]
    rows = (line((f"  {key.shown:<{width}}", "keycap"), (key.help, ""), indent=width + 2) for key in keys)
    return [line(), line((group, "title")), *rows]
