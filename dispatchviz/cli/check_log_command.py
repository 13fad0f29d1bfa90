"""``dispatchviz check-log LOG... --expect FILE``, ``check-log LOG... --goals LESSON``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from dispatchviz.cli import completion

if TYPE_CHECKING:
    from dispatchviz.cli.check_log_grading import Grader

NOT_ALL_HOLD = 1
"""The exit status if a line of FILE does not hold in a log, or the goals of no phase are reached."""


@click.command("check-log")
@click.option(
    "--expect",
    "expected",
    metavar="FILE",
    shell_complete=completion.files,
    help="Use this answer file: one expectation per line; - reads standard input.",
)
@click.option(
    "--goals",
    "lesson",
    metavar="LESSON",
    help="Grade the goals of this lesson, a name or a file. A LOG may then be a program (.py), which is run.",
)
@click.option("--summary", is_flag=True, help="Print one line for each LOG: how many lines of FILE hold.")
@click.option(
    "--csv",
    "table",
    metavar="TABLE",
    help="Write one table for all LOGs to TABLE: a row for each LOG, a column for each line and goal; - prints it.",
)
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, shell_complete=completion.traces)
def command(expected: str | None, lesson: str | None, summary: bool, table: str | None, logs: tuple[str, ...]) -> int:
    """Grade each LOG, a saved trace or a folder with saved traces, against the answer file FILE, or the goals of a
    lesson, or both.

    FILE has lines of a golden log, in the order in which they must happen. Other steps may happen between them. An
    indented line must happen within the line above it. Operators that are called to print a tensor do not count.

    \b
      # a product and its gradient
      call aten::mul.Tensor AutogradCPU
        redispatch aten::mul.Tensor CPU
      backward
        run Mul
      never: error
      at most 2 times: call aten::sum
      graph: Sum → Mul → AccumulateGrad(x)
      no copy in accumulate

    A saved trace has no variables. So goals about the trace have a value in it, such as happens("call mul_"). Goals
    about variables, such as x.grad is None, need the program (.py), which is run on the model.

    Exit status: 0 if every line holds, and every goal of one phase, Modify or Make; 1 if not; 2 if a file cannot be
    read or a name does not exist.
    With --csv, a LOG that cannot be read is a row of the table, and counts as one that does not hold.

    \b
    Examples:
      dispatchviz check-log forum.dvtrace --expect examples/testing/forum.txt
      dispatchviz check-log --summary forum.dvtrace --expect examples/testing/forum.txt
      dispatchviz check-log homework/ --expect answers.txt --csv grades.csv
      dispatchviz check-log homework/ --goals in_place --csv grades.csv
    """
    from dispatchviz.cli.check_log_grading import graded_by
    from dispatchviz.cli.check_log_report import report
    from dispatchviz.cli.input_source import alone
    from dispatchviz.foundation.terminal_output import print_lines

    if expected is None and lesson is None:
        raise click.UsageError("check-log needs an answer file, --expect FILE, or a lesson, --goals LESSON")
    if table is not None:
        alone("--csv", summary=summary)
    grader = graded_by(None if expected is None else (_text(expected), expected), lesson)
    if table is not None:
        return _written(table, logs, grader)
    status = 0
    for log in grader.logs_in(logs):
        graded = grader.graded(log)
        print_lines(report(graded, summary))
        status = status if graded.holds else NOT_ALL_HOLD
    return status


def _written(table: str, logs: Sequence[str], grader: Grader) -> int:
    """Write the grades of all logs to a table, and print where; return the exit status."""
    from dispatchviz.cli.check_log_grading import HomeworkError
    from dispatchviz.cli.check_log_table import Graded, check_table, write_table
    from dispatchviz.foundation.terminal_output import print_lines
    from dispatchviz.outputs.written_files import STANDARD_OUTPUT

    check_table(table)
    graded = []
    for log in grader.logs_in(logs):
        try:
            graded.append(grader.graded(log))
        except HomeworkError as error:
            graded.append(Graded(log, error=str(error)))
    write_table(table, graded, grader.counts, grader.cells)
    if table != STANDARD_OUTPUT:
        full = sum(each.holds for each in graded)
        print_lines([f"{table} written: {full} of {len(graded)} logs fulfill all {grader.what}"])
    return 0 if all(each.holds for each in graded) else NOT_ALL_HOLD


def _text(file: str) -> str:
    """Return the text of a file. Raise DispatchvizError if it cannot be read."""
    from pathlib import Path

    from dispatchviz.cli.input_source import STANDARD_INPUT, standard_input
    from dispatchviz.foundation.errors import DispatchvizError
    from dispatchviz.foundation.shipped_examples import located

    try:
        raw = standard_input() if file == STANDARD_INPUT else Path(located(file)).read_bytes()
        return raw.decode("utf-8")
    except OSError as error:
        raise DispatchvizError(f"cannot read {file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise DispatchvizError(
            f"{file} is not a text file: --expect takes a file with one expectation per line"
        ) from None
