"""``dispatchviz record-tour [SCRIPT-or-TRACE] -o FILE-or-FOLDER``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dispatchviz.cli import completion

if TYPE_CHECKING:
    from dispatchviz.core.record.trace_file import Trace


def _size(context: click.Context, option: click.Parameter, value: str) -> tuple[int, int]:
    import re

    found = re.fullmatch(r"(\d{2,3})x(\d{2,3})", value)
    if found is None:
        raise click.BadParameter("write columns and rows, such as 100x30", context, option)
    return int(found[1]), int(found[2])


@click.command("record-tour")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    required=True,
    shell_complete=completion.files,
    help="Write a recording (.cast) or a picture of the last screen (.svg). Without SCRIPT: the folder of the tour.",
)
@click.option("--keys", default="", help="Press these keys, separated by blanks: '] n n enter'.")
@click.option("--size", default="100x30", callback=_size, help="Use a screen with these columns and rows: 100x30.")
@click.option(
    "--check", is_flag=True, help="Write nothing; report the files that differ from what the stepper shows now."
)
@click.argument("source", metavar="[SCRIPT-or-TRACE]", required=False, shell_complete=completion.programs)
def command(output: str, keys: str, size: tuple[int, int], check: bool, source: str | None) -> int:
    """Record the stepper while keys are pressed: a cast for asciinema, or a picture.

    No terminal is needed. Without SCRIPT, record the tour of the documentation: all its pictures and a recording.
    --check names the stale files, and ends with status 1 if there are any.

    \b
    Examples:
      dispatchviz record-tour -o docs/tour
      dispatchviz record-tour -o docs/tour --check
      dispatchviz record-tour --keys "] n n n" -o first_node.cast examples/forum.py
      dispatchviz record-tour --keys "] b" --size 120x40 -o engine.svg forum.dvtrace
    """
    from dispatchviz.cli.input_source import check_alone
    from dispatchviz.cli.tour_files import check_tour, one_file, stale, tour_files, write_all
    from dispatchviz.foundation.terminal_output import complain, print_lines

    if source is None:
        check_alone("the whole tour", ["--keys"] if keys else [])
        check_tour(output)
        made = tour_files(output)
    else:
        made = one_file(output, _trace(source), source, keys.split(), size)
    if not check:
        write_all(made)
        print_lines([f"{path} written" for path in made])
        return 0
    old = stale(made)
    for path in old:
        complain(f"{path} is stale: the stepper shows something else now")
    return 1 if old else 0


def _trace(source: str) -> Trace:
    """Return a saved trace, or the trace of a program. The program's output is dropped."""
    import io

    from dispatchviz.cli.input_source import trace_in
    from dispatchviz.cli.recorded_values import SMALL
    from dispatchviz.running.program import run

    return trace_in(source) or run(source, (), io.StringIO(), **SMALL._asdict()).trace
