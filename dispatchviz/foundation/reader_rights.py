"""What a reader may do beside reading: at one's own terminal everything; in a served session nothing with files.

Who reads in a browser sees what a teacher offers, and no key, command of the palette or typed text of theirs may open,
run or write anything else (``dispatchviz serve``). That is decided here alone: the tables of keys leave out the actions
below, so help, footer and palette have none of them either, and look-ups take no option that names a file.

It holds for a process, as a keymap does, and for good: nothing gives the rights back.
"""

from __future__ import annotations

TOUCHES_FILES = {
    "what_if": "runs a program with a changed line, in another process",
    "open_picture": "writes a picture, and opens a browser where the program runs",
    "keep_panes": "writes a file of the user's state folder",
    "ask('run')": "runs or opens whatever file is named",
    "app.suspend_process": "leads to a shell, or to nowhere",
}
"""Actions of the stepper and of the home screen that do more than show, and what they do."""

NAMES_A_FILE = "FILE"
"""What stands for the value of such an option in help."""


class _Rights:
    has_files = True


def give_up_files() -> None:
    """From now on, in this process, for good."""
    _Rights.has_files = False


def has_files() -> bool:
    """Return whether the reader may name files, and have some written."""
    return _Rights.has_files


def permits(action: str) -> bool:
    """Return whether an action of the keymaps may be carried out."""
    return _Rights.has_files or action not in TOUCHES_FILES
