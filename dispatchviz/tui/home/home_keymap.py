"""The table of all keys of the home screen. The bindings, help, footer and palette come from it.

Keys that the stepper also has do the same in both. The actions are in ``home_actions.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from msgspec.structs import replace

from dispatchviz.foundation.reader_rights import permits
from dispatchviz.views.keymap import Key, in_force

HOME_KEYMAP = (
    Key("open", ("enter", "right", "s"), "Open", "run this program, open this trace or ask this question", "open"),
    Key("view", ("v",), "Open", "show the source of this program without running it"),
    Key("ask('run')", ("o",), "Open", "run a program of yours, or open a trace", "your file"),
    Key("ask('table')", ("t",), "Look up", "the dispatch table of an operator", "table"),
    Key("ask('why')", ("w",), "Look up", "why a key has its kernel, and what would change it", "why"),
    Key("ask('keys')", ("k",), "Look up", "all dispatch keys, one key, or the keys of a raw key set"),
    Key("ask('codegen')", ("c",), "Look up", "the generated code of an operator"),
    Key("move(1)", ("n", "down"), "Go to", "the next row"),
    Key("move(-1)", ("N", "up"), "Go to", "the previous row"),
    Key("page(1)", ("pagedown",), "Go to", "a page down"),
    Key("page(-1)", ("pageup",), "Go to", "a page up"),
    Key("first", ("g", "home"), "Go to", "the first row"),
    Key("last", ("G", "end"), "Go to", "the last row"),
    Key("section(1)", ("tab",), "Go to", "the next group"),
    Key("section(-1)", ("shift+tab",), "Go to", "the previous group"),
    Key("filter", ("slash", "f"), "Search", "show only rows that contain these words", "filter"),
    Key("unfiltered", ("escape",), "Search", "all rows again"),
    Key("copy", ("y",), "Share", "copy the command that does the same"),
    Key("help", ("question_mark", "f1"), "Help", "this help", "help"),
    Key("app.command_palette", ("ctrl+p",), "Help", "search all actions by name"),
    Key("app.suspend_process", ("ctrl+z",), "Help", "suspend; fg in the shell resumes"),
    Key("app.quit", ("q",), "Help", "quit without confirmation", "quit"),
)

CHANGES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "vim": {
        "move(1)": ("j", "n", "down"),
        "move(-1)": ("k", "N", "up"),
        "page(1)": ("ctrl+f", "pagedown"),
        "page(-1)": ("ctrl+b", "pageup"),
        "ask('keys')": ("K",),
    }
}
"""The other keys of some actions, by the name of the keymap (``terminal/keymaps.py``)."""


def home_keys() -> tuple[Key, ...]:
    """The entries of the active keymap that the reader may use."""
    return tuple(key for key in _keys_of(in_force().name) if permits(key.action))


@lru_cache
def _keys_of(name: str) -> tuple[Key, ...]:
    changes = CHANGES.get(name, {})
    return tuple(replace(entry, keys=changes.get(entry.action, entry.keys)) for entry in HOME_KEYMAP)


HOME_GROUPS = tuple(dict.fromkeys(key.group for key in HOME_KEYMAP))
