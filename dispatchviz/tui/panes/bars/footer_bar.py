"""The footer: the keys that matter most, as many as fit."""

from __future__ import annotations

from dispatchviz.tui.keymap import FOOTER_KEYS, QUITS, Key, Leaving, entries
from dispatchviz.tui.text.styled_line import Line, Span, line


def footer_row(width: int, breakpoints: bool = False, leaving: Leaving = QUITS) -> Line:
    """The keys of the footer, as many as fit, help and the one that closes always."""
    keys = [key for key in entries(leaving) if key.footer][:FOOTER_KEYS]
    parts = [_keycap(key, breakpoints) for key in keys]
    while len(parts) > 2 and line(" ", *(span for part in parts for span in part)).width > width:
        del parts[-3]
    return line(" ", *(span for part in parts for span in part))


def _keycap(key: Key, breakpoints: bool) -> tuple[Span, ...]:
    label = "next stop" if breakpoints and key.action == "move('resume')" else key.footer
    return (key.first, "keycap"), (f" {label}   ", "")
