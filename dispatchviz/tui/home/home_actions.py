"""The actions of the home screen, as functions of its state that return a reply.

Elsewhere: actions that depend on the height of the list (``home_screen.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from dispatchviz.tui.home.home_keymap import home_keys
from dispatchviz.tui.home.home_list import PROGRAM, QUESTION, Home
from dispatchviz.tui.home.home_replies import Chosen, LookUp, Reply, Shown
from dispatchviz.tui.home.text_screen import Text


class At(Struct, frozen=True):
    """The argument of an action: the state of the screen and the functions that it needs."""

    home: Home
    look_up: LookUp


def open_entry(at: At) -> Reply:
    """Run, open or ask the chosen entry."""
    entry = at.home.entry
    if entry is None:
        return Shown(at.home)
    return ask(at, entry.target) if entry.kind == QUESTION else Chosen(entry.target, entry.name)


def ask(at: At, what: str) -> Reply:
    """Ask for a file, or for the argument of a command."""
    from dispatchviz.tui.home.home_questions import FileQuestion, LookUpQuestion

    return FileQuestion(at.home) if what == "run" else LookUpQuestion(at.home, what, at.look_up)


def ask_filter(at: At) -> Reply:
    """Ask for the words of a filter."""
    from dispatchviz.tui.home.home_questions import FilterQuestion

    return FilterQuestion(at.home)


def view(at: At) -> Reply:
    """Show the source of a program."""
    from dispatchviz.tui.home.preview import source_rows
    from dispatchviz.views.text import code_colors

    entry = at.home.entry
    if entry is None or entry.kind != PROGRAM:
        return Shown(at.home.noted("This row is not a program"))
    code_colors.load()
    return Text(entry.target, lambda width: source_rows(entry.target))


def copy(at: At) -> Reply:
    """Copy the command of the chosen entry."""
    if at.home.entry is None:
        return Shown(at.home)
    command = at.home.entry.command
    return Shown(at.home.noted(f"Copied: {command}"), command)


def help_of_home(at: At) -> Reply:
    """Show the help with all keys."""
    from dispatchviz.tui.home.home_rows import help_rows

    return Text("Help", lambda width: help_rows())


def how_to_quit(home: Home) -> Home:
    """Answer Ctrl+C with the key that quits."""
    quits = next(key for key in home_keys() if key.action == "app.quit")
    return home.noted(f"{quits.first} quits")


HOME_ACTIONS: Mapping[str, Callable[..., Reply]] = {
    "open": open_entry,
    "view": view,
    "ask": ask,
    "filter": ask_filter,
    "unfiltered": lambda at: Shown(at.home.filtered("")),
    "move": lambda at, by: Shown(at.home.move(by)),
    "first": lambda at: Shown(at.home.goto(0)),
    "last": lambda at: Shown(at.home.goto(len(at.home.entries) - 1)),
    "section": lambda at, direction: Shown(at.home.to_group(direction)),
    "copy": copy,
    "help": help_of_home,
}
"""The actions by their names in the keymap. Arguments in the keymap follow the state."""
