"""The keymaps to choose from: the default one, and those with the keys of vim and of gdb.

They are changes of the one table (``keymap.py``). Which one is in force is said by ``--keymap``, else by the
environment (``DISPATCHVIZ_KEYMAP``); the palette changes it. Nothing is written to a file.
"""

from __future__ import annotations

import os

from dispatchviz.views.keymap import DEFAULT, Key, Keymap, in_force, is_chosen, use

VARIABLE = "DISPATCHVIZ_KEYMAP"

VIM = Keymap(
    "vim",
    {
        "app.row(1)": ("j", "down"),
        "app.row(-1)": ("k", "up"),
        "move('fold')": ("h", "left", "z c"),
        "move('unfold')": ("l", "right", "z o"),
        "detail(1)": ("z r", "plus"),
        "detail(-1)": ("z m", "minus"),
        "zoom": ("z z",),
        "move('over')": ("J",),
        "move('over_back')": ("K",),
        "jump('first')": ("g g", "home"),
        "jump('undo')": ("ctrl+o", "backspace"),
        "search(True)": ("n", "full_stop"),
        "search(False)": ("N", "comma"),
        "app.page(1)": ("ctrl+f", "pagedown"),
        "app.page(-1)": ("ctrl+b", "pageup"),
    },
    behind="g",
)
"""Steps keep their letters; ``over`` is the row below on its level, a ``j`` with Shift. What ``h``, ``z``, ``n`` and
the others were is behind ``g``."""

GDB = Keymap(
    "gdb",
    {
        "move('out')": ("f",),
        "move('into_back')": ("r s", "S"),
        "move('over_back')": ("r n", "N"),
        "move('out_back')": ("r f", "R"),
        "move('resume_back')": ("r c", "C"),
        "breakpoints": ("i b", "B"),
        "pane(8)": ("i l", "8"),
        "pane(7)": ("i t", "7"),
        "pane(5)": ("l", "5"),
    },
    behind="semicolon",
)
"""``s n c b u d`` are gdb's already. ``f`` is ``finish``, ``r`` begins ``reverse-step`` and its like, ``i`` begins
``info``; what they were is behind ``;``."""

KEYMAPS = {keymap.name: keymap for keymap in (DEFAULT, VIM, GDB)}


def of_other_keymaps() -> dict[str, str]:
    """An action for each key that begins one of another keymap and does nothing in that in force: it says so."""
    here = {key.partition(" ")[0] for entry in in_force().entries for key in entry.keys}
    there = {key.partition(" ")[0] for keymap in KEYMAPS.values() for entry in keymap.entries for key in entry.keys}
    return {key: f"elsewhere({key!r})" for key in there - here}


def meanings(key: str) -> list[tuple[Keymap, Key | None]]:
    """The keymaps in which a key does something, with what that is; None where it waits for a second key."""
    found = []
    for keymap in KEYMAPS.values():
        entry = next((entry for entry in keymap.entries if key in entry.keys), None)
        if entry is not None or key in keymap.prefixes:
            found.append((keymap, entry))
    return found


def use_named(name: str) -> None:
    """Put a keymap in force by its name. KeyError if there is none of that name."""
    use(KEYMAPS[name])


def use_from_environment() -> str:
    """Put the one in force that the environment names, unless one was chosen; return what is wrong with that name."""
    name = os.environ.get(VARIABLE, "")
    if is_chosen() or not name:
        return ""
    if name not in KEYMAPS:
        return f"{VARIABLE} is {name!r}, which is not a keymap ({', '.join(KEYMAPS)}). The default keymap is used"
    use_named(name)
    return ""
