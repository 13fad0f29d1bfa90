"""The output of ``table``, ``why``, ``keys`` and ``codegen`` for a screen, from the same words and with the same
errors.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import click

from dispatchviz.cli.fast_commands import click_command, command_module, read
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.reader_rights import NAMES_A_FILE, has_files
from dispatchviz.views.text.console import WIDEST, Console

NOT_HERE = {"as_json": "--json", "plain": "--plain", "output": "-o"}
"""Options that only make sense on a command line."""


def look_up(command: str, typed: str) -> Callable[[Console], Iterable[str]]:
    """Return the text that a command prints for the words typed after its name. Raise DispatchvizError as the command
    would.
    """
    values = _values(command, _words(typed))
    if not has_files():
        _check_no_files(command, values)
    for parameter, option in NOT_HERE.items():
        if values.pop(parameter, False):
            raise DispatchvizError(f"{option} works only on the command line: dispatchviz {command} {typed}")
    if values.get("error") == "-":
        raise DispatchvizError("standard input is the keyboard here: name a file")
    lines = partial(command_module(command).lines, **values)
    for _ in lines(Console(WIDEST, colors=False)):  # raise errors now, not when the text is painted
        pass
    return lines


def _check_no_files(command: str, values: dict[str, Any]) -> None:
    """Raise DispatchvizError if an option names a file, for a reader who may not open files."""
    for option in command_module(command).OPTIONS:
        if option.metavar == NAMES_A_FILE and values.get(option.parameter) is not None:
            raise DispatchvizError(f"{option.name} names a file, and files cannot be opened here")


def _words(typed: str) -> list[str]:
    try:
        return shlex.split(typed)
    except ValueError as error:
        raise DispatchvizError(f"{typed}: {str(error).lower()}") from None


def _values(command: str, words: list[str]) -> dict[str, Any]:
    module = command_module(command)
    values = read(module.OPTIONS, module.ARGUMENTS, words)
    if values is not None:
        return values
    try:
        with click_command(command).make_context(f"dispatchviz {command}", words, help_option_names=[]) as context:
            return context.params
    except click.UsageError as error:
        text = error.format_message().strip().removesuffix(".")
        raise DispatchvizError(f"{text} (see dispatchviz {command} --help)") from None
