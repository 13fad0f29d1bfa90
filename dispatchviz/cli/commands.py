"""The click group of all commands. A command's module is imported when the command is first used."""

from __future__ import annotations

import difflib
import importlib

import click

from dispatchviz.cli.fast_commands import FAST_COMMANDS, click_command, names_program
from dispatchviz.cli.other_meanings import with_meaning
from dispatchviz.cli.overview import COMMANDS, OVERVIEW, help_text
from dispatchviz.foundation.terminal_output import print_lines


class Commands(click.Group):
    """A group that loads a command when it is used, and lists all of them without loading any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name == "why":
            from dispatchviz.cli.diagnose_command import with_operators

            return with_operators()
        if cmd_name in FAST_COMMANDS:
            return click_command(cmd_name)
        command = importlib.import_module(f"dispatchviz.cli.{cmd_name.replace('-', '_')}_command").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Raise UsageError for one that does not exist, with the command that was probably meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            unknown = f"there is no command {args[0]!r}"
            raise click.UsageError(with_meaning(f"{unknown}{_meant(args[0])}", args[0]), ctx)
        if names_program(args):
            from dispatchviz.cli.diagnose_command import command

            return "why", command, args[1:]
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        return help_text()


def _meant(typed: str) -> str:
    if typed.endswith(".py"):
        return f", did you mean dispatchviz run {typed}?"
    close = difflib.get_close_matches(typed, COMMANDS, 1)
    return f", did you mean {close[0]}?" if close else ""


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dispatchviz")
@click.pass_context
def commands(context: click.Context) -> None:
    """See the PyTorch dispatcher and autograd engine at work, one step at a time."""
    if context.invoked_subcommand is None:
        print_lines(OVERVIEW.split("\n"))
