"""The footer: the keys that matter most, as many as fit."""

from __future__ import annotations

from msgspec.structs import replace

from dispatchviz.views.keymap import QUIT, QUITS, Key, Leaving, entries, footer
from dispatchviz.views.replies import FASTER, SLOWER
from dispatchviz.views.text.styled_line import Line


def footer_row(width: int, breakpoints: bool = False, leaving: Leaving = QUITS, playing: bool = False) -> Line:
    """The keys of the footer, as many as fit; with breakpoints ``continue`` goes to these.

    While a trace is played they are the keys that change the tempo.
    """
    keys = _while_playing(leaving) if playing else entries(leaving)
    return footer((_with_stops(key) if breakpoints else key for key in keys), width)


def _with_stops(key: Key) -> Key:
    return replace(key, footer="next stop") if key.action == "move('resume')" else key


def _while_playing(leaving: Leaving) -> list[Key]:
    kept = {**PLAYING, "help": "help", QUIT: leaving.footer}
    single = [replace(key, keys=tuple(each for each in key.keys if " " not in each)) for key in entries(leaving)]
    return [replace(key, footer=kept[key.action]) for key in single if key.action in kept]


PLAYING = {FASTER: "faster", SLOWER: "slower", "app.autoplay": "stop"}
"""What keys do while a trace is played, for the footer."""
