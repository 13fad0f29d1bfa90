"""The command line as the user typed it, with another engine: the command that an error message suggests."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dispatchviz.running.recording import EngineName

_KEY = "dispatchviz.typed"

_OF_ENGINES = {"--engine": True}
_OF_THE_MODEL = {"--cuda": True, "--no-trace": False}
"""Options that do not go with another engine, and whether each takes a value."""


def remember(context: click.Context, ours: Sequence[str], program: Sequence[str]) -> None:
    """Keep the words of a command: those that may be options of ours, and the program with its arguments."""
    context.meta[_KEY] = (tuple(ours), tuple(program))


def command_with(engine: EngineName) -> str:
    """Return the typed command with another engine; empty outside of a command that runs a program.

    It is one line, so ``CODE`` stands for code of several lines.
    """
    context = click.get_current_context(silent=True)
    if context is None or _KEY not in context.meta:
        return ""
    ours, program = context.meta[_KEY]
    without = _OF_ENGINES | (_OF_THE_MODEL if engine == "torch" else {})
    words = [*context.command_path.split(), "--engine", engine, *_left_out(ours, without), *program]
    return shlex.join("CODE" if "\n" in word else word for word in words)


def _left_out(words: Sequence[str], options: dict[str, bool]) -> list[str]:
    """Return the words without some options and their values."""
    kept, left = list[str](), list(words)
    while left:
        word = left.pop(0)
        name, equals, _ = word.partition("=")
        if name not in options:
            kept.append(word)
        elif options[name] and not equals:
            left[:1] = []
    return kept
