"""The footer: the keys that matter most, as many as fit."""

from __future__ import annotations

from msgspec.structs import replace

from dispatchviz.tui.keymap import QUITS, Key, Leaving, entries
from dispatchviz.tui.text.key_rows import footer
from dispatchviz.tui.text.styled_line import Line


def footer_row(width: int, breakpoints: bool = False, leaving: Leaving = QUITS) -> Line:
    """The keys of the footer, as many as fit; with breakpoints ``continue`` goes to these."""
    return footer((_with_stops(key) if breakpoints else key for key in entries(leaving)), width)


def _with_stops(key: Key) -> Key:
    return replace(key, footer="next stop") if key.action == "move('resume')" else key
