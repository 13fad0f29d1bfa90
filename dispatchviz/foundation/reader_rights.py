"""The rights of a reader beyond reading: all at one's own terminal, no access to files in a served session.

A reader in a browser sees what a teacher offers. No key, command of the palette or typed text may open, run or write
anything else (``dispatchviz serve``). Only this module decides that. The key tables omit the actions below, so help,
footer and palette do not have them either, and look-ups take no option that names a file.

The rights hold for a process, as a keymap does. Once given up, they cannot be restored.
"""

from __future__ import annotations

TOUCHES_FILES = {
    "what_if": "runs a program with a changed line, in another process",
    "open_picture": "writes a picture, and opens a browser where the program runs",
    "keep_panes": "writes a file of the user's state folder",
    "ask('run')": "runs or opens whatever file is named",
    "app.suspend_process": "leads to a shell, or to nowhere",
}
"""Actions of the stepper and of the home screen that do more than show, and their effects."""

NAMES_A_FILE = "FILE"
"""The placeholder for a file name among the options in help."""


class _Rights:
    has_files = True


def give_up_files() -> None:
    """Give up access to files in this process, permanently."""
    _Rights.has_files = False


def has_files() -> bool:
    """Return whether the reader may name files and write them."""
    return _Rights.has_files


def permits(action: str) -> bool:
    """Return whether an action of the keymaps is permitted."""
    return _Rights.has_files or action not in TOUCHES_FILES
