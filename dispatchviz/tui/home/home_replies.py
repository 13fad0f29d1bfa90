"""What comes of a key on the home screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from dispatchviz.tui.home.home_list import Home
from dispatchviz.tui.home.text_screen import Text
from dispatchviz.tui.questions.asked import Asked
from dispatchviz.views.text.console import Console


@dataclass(frozen=True)
class Shown:
    """Another moment of the screen."""

    home: Home
    clipboard: str = ""
    """Text to copy."""


@dataclass(frozen=True)
class Chosen:
    """The screen closes: its reader wants to see a program run, or a trace."""

    source: str
    """The file, or the script that names an example."""
    name: str = ""
    """That of an example."""


@dataclass(frozen=True)
class Refused:
    """An answer that is none: why, and the question again with the text to mend."""

    home: Home
    question: Asked[Any]
    text: str


Reply = Shown | Text | Chosen | Refused | Asked[Any]

LookUp = Callable[[str, str], Callable[[Console], Iterable[str]]]
"""The text of a command, ``table``, for what is typed behind it. Raises DispatchvizError as the command would."""
