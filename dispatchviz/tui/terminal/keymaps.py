"""The keymaps to choose from: the default one, and those with the keys of vim and of gdb.

They are changes of the one table (``keymap.py``). ``--keymap`` chooses one, or else the environment
(``DISPATCHVIZ_KEYMAP``). The palette switches to another one. Nothing is written to a file.
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
"""The vim keymap. Steps keep their letters. ``over`` is also a ``j`` with Shift: the row below on its level. ``h``,
``z``, ``n`` and others lose their default actions, which move behind ``g``.
"""

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
"""The gdb keymap. ``s n c b u d`` already have gdb's meaning. ``f`` is ``finish``, ``r`` begins ``reverse-step`` and
similar, ``i`` begins ``info``. Their default actions move behind ``;``.
"""

KEYMAPS = {keymap.name: keymap for keymap in (DEFAULT, VIM, GDB)}


def of_other_keymaps() -> dict[str, str]:
    """An action for each key that another keymap uses and the active one does not. The action names that keymap."""
    here = {key.partition(" ")[0] for entry in in_force().entries for key in entry.keys}
    there = {key.partition(" ")[0] for keymap in KEYMAPS.values() for entry in keymap.entries for key in entry.keys}
    return {key: f"elsewhere({key!r})" for key in there - here}


def meanings(key: str) -> list[tuple[Keymap, Key | None]]:
    """The keymaps that use a key, with its entry; None if the key waits for a second one."""
    found = []
    for keymap in KEYMAPS.values():
        entry = next((entry for entry in keymap.entries if key in entry.keys), None)
        if entry is not None or key in keymap.prefixes:
            found.append((keymap, entry))
    return found


def use_named(name: str) -> None:
    """Make a keymap active by its name. Raise KeyError if there is none of that name."""
    use(KEYMAPS[name])


def use_from_environment() -> str:
    """Make the keymap of the environment active, unless one was chosen. Return an error text if its name is unknown."""
    name = os.environ.get(VARIABLE, "")
    if is_chosen() or not name:
        return ""
    if name not in KEYMAPS:
        return f"{VARIABLE} is {name!r}, which is not a keymap ({', '.join(KEYMAPS)}). The default keymap is used"
    use_named(name)
    return ""
