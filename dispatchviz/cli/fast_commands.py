"""Commands that answer at once. Their options are declared here and read without click where that suffices.

Reading a plain command line needs no library. Everything else (``--help``, an unknown option, a bad value) goes to
click, which gets the same declarations and prints the messages.
"""

from __future__ import annotations

import os

from dispatchviz.foundation.pytorch_release import MINOR, OLDEST

TYPE_CHECKING = False  # not typing's: see dispatchviz/__init__.py
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

    import click

FAST_COMMANDS = ("table", "why", "keys", "codegen")
"""Commands whose modules have ``OPTIONS``, ``ARGUMENTS`` and ``run`` instead of a click command."""


class Option:
    """An option of a fast command. Without a metavar it is a flag. ``complete`` names a function of ``completion``."""

    def __init__(
        self,
        parameter: str,
        name: str,
        text: str,
        metavar: str = "",
        choices: tuple[str, ...] = (),
        complete: str = "",
    ) -> None:
        self.parameter = parameter
        self.name = name
        self.text = text
        self.metavar = metavar
        self.choices = choices
        self.complete = complete


class Argument:
    """A positional argument of a fast command. ``many`` takes all that are left; ``complete`` is as in ``Option``."""

    def __init__(self, parameter: str, metavar: str, complete: str, many: bool = False) -> None:
        self.parameter = parameter
        self.metavar = metavar
        self.complete = complete
        self.many = many


BUILD = Option(
    "build",
    "--build",
    "Use the kernels of this build of PyTorch. Default: cuda, or the value of DISPATCHVIZ_BUILD.",
    "cpu|cuda",
    ("cpu", "cuda"),
)
RELEASE = Option(
    "release",
    "--release",
    f"Answer for this release of PyTorch, {OLDEST} to {MINOR}, by its own registrations. Default: {MINOR}.",
    "RELEASE",
    complete="releases",
)
OF_PROGRAMS = ("-c", "-m", "--engine", "--cuda", "--save", "--only", "--limit", "--call", "--line")
"""Options that only ``why SCRIPT`` has."""

ENDINGS = (".py", ".dvtrace", ".jsonl", ".jsonl.gz")
"""The endings of programs and traces."""

JSON = Option("as_json", "--json", "Print JSON.")


def run_fast(arguments: Sequence[str]) -> int | None:
    """Run a fast command with a plain command line; return None for everything else."""
    if not arguments or arguments[0] not in FAST_COMMANDS:
        return None
    module = command_module(arguments[0])
    if names_program(arguments):
        return None
    values = read(module.OPTIONS, module.ARGUMENTS, arguments[1:])
    return None if values is None else int(module.run(**values))


def names_program(arguments: Sequence[str]) -> bool:
    """Return whether this is ``why`` with a program or a trace, not with an operator or an error."""
    if arguments[:1] != ["why"] or "--error" in arguments:
        return False
    words = arguments[1:]
    first = next((place for place, word in enumerate(words) if not word.startswith("-") or word == "-"), len(words))
    ours = any(word.startswith(OF_PROGRAMS) for word in words[:first])
    is_folder = len(words) == first + 1 and os.path.isdir(words[first])
    return (
        ours
        or is_folder
        or any(word == "-" or word.endswith(ENDINGS) or "/" in word for word in words[first : first + 1])
    )


def command_module(name: str) -> ModuleType:
    """Return the module of a fast command."""
    import importlib

    return importlib.import_module(f"dispatchviz.cli.{name}_command")


def read(options: Sequence[Option], arguments: Sequence[Argument], typed: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of a plain command line; None if click must read it."""
    by_name = {option.name: option for option in options}
    values: dict[str, Any] = {option.parameter: None if option.metavar else False for option in options}
    rest: list[str] = []
    left = iter(typed)
    for part in left:
        option = by_name.get(part)
        if option is None:
            if part.startswith("-"):
                return None
            rest.append(part)
        elif not option.metavar:
            values[option.parameter] = True
        else:
            value = next(left, None)
            if value is None or (option.choices and value not in option.choices):
                return None
            values[option.parameter] = value
    for argument in arguments:
        taken = rest if argument.many else rest[:1]
        values[argument.parameter] = tuple(taken) if argument.many else (taken[0] if taken else None)
        rest = rest[len(taken) :]
    return None if rest else values


def click_command(name: str) -> click.Command:
    """Create the same command for click."""
    import click

    from dispatchviz.cli import completion

    module = command_module(name)
    parameters: list[click.Parameter] = [_click_option(option) for option in module.OPTIONS]
    for argument in module.ARGUMENTS:
        nargs = -1 if argument.many else 1
        parameters.append(
            click.Argument(
                [argument.parameter],
                metavar=argument.metavar,
                required=False,
                nargs=nargs,
                shell_complete=getattr(completion, argument.complete),
            )
        )
    settings = {"ignore_unknown_options": True} if name == "keys" else {}  # a negative number is not an option
    return click.Command(name, settings, module.run, parameters, help=module.run.__doc__)


def _click_option(option: Option) -> click.Option:
    import click

    from dispatchviz.cli import completion

    names = [option.name, option.parameter]
    if not option.metavar:
        return click.Option(names, is_flag=True, help=option.text)
    kind = click.Choice(option.choices) if option.choices else None
    complete = getattr(completion, option.complete) if option.complete else None
    return click.Option(names, metavar=option.metavar, type=kind, help=option.text, shell_complete=complete)
