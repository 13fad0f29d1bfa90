"""A recording of a terminal in the format of asciinema (asciicast, version 2): a header, then one event per line.

The times are artificial: a key is pressed when the previous screen can have been read. The same screens give the same
bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from dispatchviz.outputs.written_files import check_place
from dispatchviz.tui.played.played_keys import Screen

MARK = '{"version": 2, "width": '
"""The beginning of a recording."""

FIRST, EACH, LAST = 3.0, 2.0, 4.0
"""The seconds for which the first screen, the screen after a key, and the last screen are shown."""

HIDE_CURSOR, SHOW_CURSOR, CLEAR = "\x1b[?25l", "\x1b[?25h", "\x1b[2J"


def check_cast(path: str) -> None:
    """Raise DispatchvizError if a recording cannot be written there, or would replace a file that is not a
    recording.
    """
    check_place(path, "recording of a terminal", re.compile(rb'\s*\{"version": 2, "width": ').match)


def cast(screens: Sequence[Screen], size: tuple[int, int], title: str) -> str:
    """The text of the file."""
    width, height = size
    header = {"version": 2, "width": width, "height": height, "title": title, "env": {"TERM": "xterm-256color"}}
    lines = [header, *_events(screens)]
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def _events(screens: Sequence[Screen]) -> Iterator[list[object]]:
    yield [0.0, "o", f"{HIDE_CURSOR}{CLEAR}"]
    time, before = 0.1, Screen("", (), ())
    for screen in screens:
        if screen.key:
            yield [time, "m", shown_key(screen.key)]
            time = round(time + 0.1, 3)
        yield [time, "o", _changes(before, screen)]
        time = round(time + (FIRST if not before.rows else EACH), 3)
        before = screen
    yield [round(time + LAST, 3), "o", SHOW_CURSOR]


def _changes(before: Screen, screen: Screen) -> str:
    """The output that changes one screen into the next: the rows that differ, with their positions."""
    rows = enumerate(screen.rows)
    changed = [(at, row) for at, row in rows if at >= len(before.rows) or row != before.rows[at]]
    return "".join(f"\x1b[{at + 1};1H{row}\x1b[0m" for at, row in changed)


NAMES = {
    "right_square_bracket": "]", "left_square_bracket": "[", "full_stop": ".", "comma": ",", "colon": ":", "slash": "/",
    "right": "→", "left": "←", "up": "↑", "down": "↓", "enter": "Enter", "escape": "Esc", "tab": "Tab",
    "question_mark": "?",
}  # fmt: skip


def shown_key(key: str) -> str:
    """The label of a key."""
    return NAMES.get(key, key)


def shown_screens(text: str) -> list[str]:
    """The words of all screens without colors, to compare two recordings. Empty if the file is not a recording."""
    words = []
    for line in text.splitlines()[1:]:
        with suppress(ValueError):
            _, kind, data = json.loads(line)
            words += [_COLOR.sub("", row).rstrip() for row in _PLACE.split(data)] if kind == "o" else [data]
    return words


_PLACE, _COLOR = re.compile(r"\x1b\[\d+;1H"), re.compile(r"\x1b\[[0-9;]*m")
