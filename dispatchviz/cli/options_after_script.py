"""A remark on options of ours after a program that reads no arguments: they went to the program.

The program gets them in any case. The remark is printed only if the program's whole text is known and nothing in it
reads the command line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import click

from dispatchviz.cli.input_source import standard_input
from dispatchviz.cli.program_text import whole_program
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import complain
from dispatchviz.running.program_source import STANDARD_INPUT, Script, name_of, read_source, typed

READS_ARGUMENTS = re.compile(
    r"argv|argparse|optparse|getopt|fileinput|cmdline|\b(unittest|doctest|trace|pdb|timeit|c?[pP]rofile|distutils|f2py"
    r"|tkinter|turtle|idlelib|collect_env|distributed|multiprocessing|from\s+sys\s+import\s+\*)"
)
"""Words with which a program, or a module of Python that it uses, reads the command line."""


def remark_on_own_options(
    context: click.Context, before: Sequence[str], program: Script, arguments: Sequence[str]
) -> None:
    """Print the remark, with the command that was probably meant. ``before`` has the options before the program."""
    ours, left = _split(context, arguments)
    if ours and not _may_read_arguments(program):
        meant = shlex.join([*context.command_path.split(), *before, *ours, *typed(program), *left])
        complain(
            f"{shlex.join(ours)} was passed to {name_of(program)}, which reads no arguments; "
            f"options of dispatchviz come before it: {meant}"
        )


def _split(context: click.Context, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split arguments into options of the command, with their values, and the others."""
    known = {name: param for param in context.command.get_params(context) for name in param.opts}
    ours, left, rest = list[str](), list[str](), list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return ours, [*left, word, *rest]
        name, equals, _ = word.partition("=")
        param = known.get(name) if name.startswith("-") else None
        taken = 0 if not isinstance(param, click.Option) or param.is_flag or equals else 1
        (left if param is None else ours).extend([word, *rest[:taken]])
        rest = rest[taken:]
    return ours, left


def _may_read_arguments(program: Script) -> bool:
    """Return whether the program reads its arguments, or may do so."""
    try:
        source = read_source(program, standard_input() if program == STANDARD_INPUT else b"")
    except DispatchvizError:  # running it will report this
        return True
    texts = whole_program(source)
    return texts is None or any(map(READS_ARGUMENTS.search, texts.values()))
