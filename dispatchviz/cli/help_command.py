"""``dispatchviz help [COMMAND]``."""

from __future__ import annotations

import click

from dispatchviz.cli import completion


@click.command("help")
@click.argument("name", metavar="[COMMAND]", required=False, shell_complete=completion.commands)
@click.pass_context
def command(context: click.Context, name: str | None) -> int:
    """Show the help of a command, as COMMAND --help does; without COMMAND, list all commands.

    \b
    Examples:
      dispatchviz help
      dispatchviz help trace
    """
    from dispatchviz.cli.commands import commands
    from dispatchviz.foundation.terminal_output import print_lines

    group = context.find_root()
    if name is None:
        print_lines(commands.get_help(group).split("\n"))
        return 0
    _, found, _ = commands.resolve_command(group, [name])
    assert found is not None
    with found.make_context(name, ["--help"], parent=group, resilient_parsing=True) as asked:
        print_lines(found.get_help(asked).split("\n"))
    return 0
