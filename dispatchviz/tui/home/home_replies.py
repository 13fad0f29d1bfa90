"""The replies to a key on the home screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from dispatchviz.tui.home.home_list import Home
from dispatchviz.tui.home.text_screen import Text
from dispatchviz.tui.questions.asked import Asked
from dispatchviz.views.text.console import Console


class Shown(Struct, frozen=True):
    """A new state of the screen."""

    home: Home
    clipboard: str = ""
    """The text to copy."""


class Chosen(Struct, frozen=True):
    """The request to close the screen and run a program or open a trace."""

    source: str
    """The file, or the script of an example."""
    name: str = ""
    """The name of an example."""


class Refused(Struct, frozen=True):
    """A rejected answer: the reason, and the question again with the text to correct."""

    home: Home
    question: Asked[Any]
    text: str


Reply = Shown | Text | Chosen | Refused | Asked[Any]

LookUp = Callable[[str, str], Callable[[Console], Iterable[str]]]
"""A function that returns the output of a command for its argument. It raises DispatchvizError as the command would."""
