"""``dispatchviz check-log LOG... --expect FILE``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from dispatchviz.cli import completion

if TYPE_CHECKING:
    from dispatchviz.cli.check_log_table import Graded
    from dispatchviz.testing.expected_log import Line
    from dispatchviz.testing.marking import Mark
    from dispatchviz.trace import Trace

NOT_ALL_HOLD = 1
"""The exit status if a line of FILE does not hold in a log."""


@click.command("check-log")
@click.option(
    "--expect",
    "expected",
    metavar="FILE",
    required=True,
    shell_complete=completion.files,
    help="Use this answer file: one expectation per line; - reads standard input.",
)
@click.option("--summary", is_flag=True, help="Print one line for each LOG: how many lines of FILE hold.")
@click.option(
    "--csv",
    "table",
    metavar="TABLE",
    help="Write one table for all LOGs to TABLE: a row for each LOG, a column for each line of FILE; - prints it.",
)
@click.argument("logs", metavar="LOG...", nargs=-1, required=True, shell_complete=completion.traces)
def command(expected: str, summary: bool, table: str | None, logs: tuple[str, ...]) -> int:
    """Grade each LOG, a saved trace or a folder with saved traces, against the answer file FILE.

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

    Exit status: 0 if every line holds, 1 if one does not, 2 if a file cannot be read or a name does not exist. With
    --csv, a LOG that cannot be read is a row of the table, and counts as one that does not hold.

    \b
    Examples:
      dispatchviz check-log forum.dvtrace --expect examples/testing/forum.txt
      dispatchviz check-log --summary forum.dvtrace --expect examples/testing/forum.txt
      dispatchviz check-log homework/ --expect answers.txt --csv grades.csv
    """
    from dispatchviz.cli.check_log_table import logs_in
    from dispatchviz.cli.input_source import load
    from dispatchviz.foundation.terminal_output import print_lines
    from dispatchviz.testing.expected_log import read_expected
    from dispatchviz.testing.marking import marked

    lines = read_expected(_text(expected), expected)
    if table is not None:
        return _written(table, logs, lines, expected)
    status = 0
    for log in logs_in(logs):
        trace = load(log)
        marks = marked(trace, lines, expected)
        print_lines(_report(log, trace, marks, summary))
        status = status if all(mark.holds for mark in marks) else NOT_ALL_HOLD
    return status


def _written(table: str, logs: Sequence[str], lines: Sequence[Line], expected: str) -> int:
    """Write the grades of all logs to a table, and print where; return the exit status."""
    from dispatchviz.cli.check_log_table import check_table, logs_in, write_table
    from dispatchviz.foundation.terminal_output import print_lines
    from dispatchviz.outputs.written_files import STANDARD_OUTPUT
    from dispatchviz.testing.expected_log import every

    check_table(table)
    graded = [_graded(log, lines, expected) for log in logs_in(logs)]
    write_table(table, graded, [f"line {line.number}: {line.text.strip()}" for line in every(lines)])
    if table != STANDARD_OUTPUT:
        full = sum(each.holds for each in graded)
        print_lines([f"{table} written: {full} of {len(graded)} logs fulfill all lines"])
    return 0 if all(each.holds for each in graded) else NOT_ALL_HOLD


def _graded(log: str, lines: Sequence[Line], expected: str) -> Graded:
    """Grade one log. A log that cannot be read has its error instead of marks."""
    from dispatchviz.cli.check_log_table import Graded
    from dispatchviz.cli.input_source import load
    from dispatchviz.core.record.trace_file import TraceError
    from dispatchviz.testing.marking import marked

    try:
        trace = load(log)
    except TraceError as error:
        return Graded(log, error=str(error))
    return Graded(log, trace.header.program, tuple(marked(trace, lines, expected)))


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


def _report(log: str, trace: Trace, marks: list[Mark], summary: bool) -> Iterator[str]:
    held = sum(mark.holds for mark in marks)
    yield f"{log}: {held} of {len(marks)} lines hold ({trace.header.program})"
    for mark in () if summary else marks:
        yield _row(mark.line, mark)
        if not mark.holds:
            yield from (f"        {line}" for line in mark.why.split("\n"))
            if mark.step is not None:
                yield f"        dispatchviz open --step {mark.step} {_quoted(log)}"


def _row(line: Line, mark: Mark) -> str:
    step = f"   step {mark.step}" if mark.holds and mark.step is not None else ""
    return f"  {'✓' if mark.holds else '✗'} line {line.number:<3} {line.text}{step}"


def _quoted(file: str) -> str:
    import shlex

    return shlex.quote(file)
