"""What ``table``, ``why``, ``keys`` and ``codegen`` print, for a screen: the same words typed, texts and errors."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import click

from dispatchviz.cli.fast_commands import click_command, command_module, read
from dispatchviz.errors import DispatchvizError
from dispatchviz.render.console import WIDEST, Console

NOT_HERE = {"as_json": "--json", "plain": "--plain"}
"""Options that only mean something on a command line."""


def look_up(command: str, typed: str) -> Callable[[Console], Iterable[str]]:
    """What a command prints for what is typed behind its name. Raises DispatchvizError as the command would."""
    values = _values(command, _words(typed))
    for parameter, option in NOT_HERE.items():
        if values.pop(parameter, False):
            raise DispatchvizError(f"{option} is for the command line: dispatchviz {command} {typed}")
    if values.get("error") == "-":
        raise DispatchvizError("standard input is the keyboard here: name a file")
    lines = partial(command_module(command).lines, **values)
    for _ in lines(Console(WIDEST, colours=False)):  # errors come now, not when it is painted
        pass
    return lines


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
