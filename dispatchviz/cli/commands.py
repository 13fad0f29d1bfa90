"""The commands by name. The module of a command is imported when the command is used, not before."""

from __future__ import annotations

import difflib
import importlib

import click

COMMANDS = {
    "run": "Run SCRIPT on the model and open the stepper.",
    "trace": "Run SCRIPT on the model and print the log.",
    "open": "Open the stepper on a saved trace.",
    "export": "Write a picture or a trace file, by its suffix.",
    "doctor": "Versions, GPU, renderers, terminal: what works here and why not.",
}
"""Each one's line in ``--help``; the module is ``dispatchviz.cli.<name>_command``, the command in it ``command``."""

HOME = """\
dispatchviz shows what PyTorch's dispatcher and autograd engine do, one step at a time, forward and back.

  dispatchviz run examples/forum.py                  step through a program: → into, ↓ over, Shift goes back
  dispatchviz trace examples/forum.py                the same as a log; --format torch, jsonl
  dispatchviz export examples/forum.py -o graph.svg  a picture of its backward graph
  dispatchviz open TRACE                             a trace that was saved with --save
  dispatchviz doctor                                 what works on this machine

A program is a plain PyTorch script: `import torch` in it is the model, no PyTorch is needed.
dispatchviz --help tells more."""


class Commands(click.Group):
    """Loads a command when it is asked for, and lists all of them without loading any."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"dispatchviz.cli.{cmd_name}_command").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises UsageError, with the command that was probably meant, for one that does not exist."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"there is no command {args[0]!r}{_meant(args[0])}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _meant(word: str) -> str:
    if word.endswith(".py"):
        return f", did you mean dispatchviz run {word}?"
    close = difflib.get_close_matches(word, COMMANDS, 1)
    return f", did you mean {close[0]}?" if close else ""


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dispatchviz")
@click.pass_context
def commands(context: click.Context) -> None:
    """See the PyTorch dispatcher and autograd engine at work, one step at a time."""
    if context.invoked_subcommand is None:
        click.echo(HOME)
