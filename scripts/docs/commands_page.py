"""The page of all commands, with the output of each ``--help``."""

from __future__ import annotations

from pathlib import Path

import click

from dispatchviz.cli.commands import commands
from dispatchviz.cli.overview import COMMANDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "commands.md"
COLUMNS = 100

HEAD = """# Commands

This is the output of `dispatchviz COMMAND --help`. Write options before SCRIPT, `-c CODE` or `-m MODULE`. Everything
after that is passed to the program. Written by `python -m scripts.docs`.
"""


def page() -> str:
    """Return the text of the page."""
    with commands.make_context("dispatchviz", [], resilient_parsing=True) as group:
        overview = _block(commands.get_help(group))
        return "\n".join([HEAD, overview, *(_section(name, group) for name in COMMANDS)])


def help_texts() -> dict[str, str]:
    """Return the help of each command."""
    with commands.make_context("dispatchviz", [], resilient_parsing=True) as group:
        return {name: help_of(commands.get_command(group, name), name, group) for name in COMMANDS}


def _section(name: str, group: click.Context) -> str:
    return f"## {name}\n\n{_block(help_of(commands.get_command(group, name), name, group))}"


def help_of(command: click.Command | None, name: str, group: click.Context) -> str:
    """Return the help as it is printed with long lines."""
    assert command is not None
    asked = {"resilient_parsing": True, "terminal_width": COLUMNS}
    with command.make_context(name, ["--help"], parent=group, **asked) as context:
        return command.get_help(context)


def _block(text: str) -> str:
    lines = [line.rstrip() for line in text.strip().splitlines()]
    return "\n".join(["```text", *lines, "```", ""])
