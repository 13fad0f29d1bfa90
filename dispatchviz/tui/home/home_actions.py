"""What runs for each action of the home screen: a function of the screen's value, which returns what comes of it.

Not here: what must know how high the list is (``home_screen.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dispatchviz.tui.home.home_keymap import home_keys
from dispatchviz.tui.home.home_list import PROGRAM, QUESTION, Home
from dispatchviz.tui.home.home_replies import Chosen, LookUp, Reply, Shown
from dispatchviz.tui.home.text_screen import Text


@dataclass(frozen=True)
class At:
    """What an action starts from."""

    home: Home
    look_up: LookUp


def open_entry(at: At) -> Reply:
    """Runs, opens or asks the chosen entry."""
    entry = at.home.entry
    if entry is None:
        return Shown(at.home)
    return ask(at, entry.target) if entry.kind == QUESTION else Chosen(entry.target, entry.name)


def ask(at: At, what: str) -> Reply:
    """A file, or what a command looks up."""
    from dispatchviz.tui.home.home_questions import FileQuestion, LookUpQuestion

    return FileQuestion(at.home) if what == "run" else LookUpQuestion(at.home, what, at.look_up)


def ask_filter(at: At) -> Reply:
    """Words that rows must have."""
    from dispatchviz.tui.home.home_questions import FilterQuestion

    return FilterQuestion(at.home)


def view(at: At) -> Reply:
    """The text of a program."""
    from dispatchviz.tui.home.preview import source_rows
    from dispatchviz.views.text import code_colors

    entry = at.home.entry
    if entry is None or entry.kind != PROGRAM:
        return Shown(at.home.noted("This row is not a program"))
    code_colors.load()
    return Text(entry.target, lambda width: source_rows(entry.target))


def copy(at: At) -> Reply:
    """The command line of the chosen entry."""
    if at.home.entry is None:
        return Shown(at.home)
    command = at.home.entry.command
    return Shown(at.home.noted(f"Copied: {command}"), command)


def help_of_home(at: At) -> Reply:
    """All keys."""
    from dispatchviz.tui.home.home_rows import help_rows

    return Text("Help", lambda width: help_rows())


def how_to_quit(home: Home) -> Home:
    """The answer to Ctrl+C."""
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
"""By the name in the keymap. Arguments in the keymap follow."""
