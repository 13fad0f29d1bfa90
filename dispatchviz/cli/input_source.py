"""The input of a command: a program, or a saved trace, which is opened. ``-`` is standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache

from dispatchviz.core.record.trace_file import Trace as Recorded
from dispatchviz.core.record.trace_file import looks_like_trace
from dispatchviz.explain.sentences.statement import numbers_of_steps
from dispatchviz.foundation.errors import DispatchvizError
from dispatchviz.foundation.terminal_output import complain
from dispatchviz.outputs.formats import suffix_of
from dispatchviz.outputs.trace_files import TRACES
from dispatchviz.outputs.written_files import BEGINNING
from dispatchviz.running.program_source import STANDARD_INPUT as STANDARD_INPUT
from dispatchviz.running.program_source import Script, name_of
from dispatchviz.trace import Trace


def trace_in(source: Script) -> Trace | None:
    """Return the trace in a file, None if the file is a program. Raise TraceError if it cannot be read."""
    if not isinstance(source, str):
        return None
    if source == STANDARD_INPUT:
        return load(source) if looks_like_trace(standard_input()) else None
    return load(source) if _is_trace(source) else None


def load(source: str) -> Trace:
    """Load a trace, and print its notice if it is damaged. Raise TraceError if it cannot be read or is not a trace."""
    is_input = source == STANDARD_INPUT
    try:
        trace = Trace.decoded(standard_input(), "standard input") if is_input else Trace.load(source)
    except DispatchvizError as error:
        raise type(error)(str(error) if is_input else _with_meant(str(error), source)) from None
    if trace.notice:
        complain(trace.notice)
    return trace


def _with_meant(error: str, source: str) -> str:
    """Return the error with a hint: the kind of the file if it is not a trace, or the file that was probably meant."""
    from dispatchviz.cli.other_meanings import with_meaning
    from dispatchviz.foundation.shipped_examples import near_file

    near = "" if os.path.exists(source) else near_file(source)
    return error + near if near else with_meaning(error, source, but="a saved trace")


def check_no_arguments(source: Script, arguments: tuple[str, ...]) -> None:
    """Raise DispatchvizError if a saved trace is given arguments."""
    if arguments:
        raise DispatchvizError(
            f"{name_of(source)} is a saved trace and takes no arguments ({arguments[0]}); options come before it"
        )


def check_alone(what: str, others: Sequence[str]) -> None:
    """Raise DispatchvizError if options are given that have no effect beside an option or an input."""
    if others:
        raise DispatchvizError(f"{' and '.join(others)} with {what} would do nothing: leave one of them out")


def alone(what: str, **options: object) -> None:
    """Call ``check_alone`` with those options that are given. Keywords are their names without the dashes."""
    check_alone(what, [f"--{name}" for name, value in options.items() if value not in (None, (), False)])


def check_step(trace: Recorded, step: int | None) -> None:
    """Raise DispatchvizError if a trace has no such step."""
    if step is not None and not 0 <= step < len(trace):
        has = f"the steps {numbers_of_steps(len(trace))}" if len(trace) else "no steps"
        raise DispatchvizError(f"there is no step {step}: {trace.header.program} has {has}")


@cache
def standard_input() -> bytes:
    """Read all of standard input. If this process has a terminal, keys come from the terminal after that."""
    raw = sys.stdin.buffer.read()
    if sys.stdout.isatty() and sys.stderr.isatty() and not sys.stdin.isatty():
        _take_keys_from_terminal()
    return raw


def _take_keys_from_terminal() -> None:
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return
    sys.stdin = open(os.devnull)  # a program that was read from here finds its end, as under Python  # noqa: SIM115
    os.dup2(terminal, 0)
    os.close(terminal)


def _is_trace(file: str) -> bool:
    """Return whether a file is a trace, by its name, else by its first bytes. A pipe can be read only once, so it
    counts as a program.
    """
    if file.endswith(".py"):
        return False
    if suffix_of(file) in TRACES:
        return True
    if not os.path.isfile(file):
        return False
    try:
        with open(file, "rb") as stream:
            return looks_like_trace(stream.read(BEGINNING))
    except OSError:
        return False
