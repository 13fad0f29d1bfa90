"""The command line: ``dispatchviz``, also ``python -m dispatchviz``. One module per command.

Every command returns its exit status: 0; 1 if the program raised (the trace is kept); 2 for a usage or input error.
An error is one line on stderr, printed here and nowhere else. After Ctrl+C the process ends by that signal.
``tui/terminal/ending.py`` has the ends of the stepper: 70 if it failed, the signal if one ended it.
"""

from __future__ import annotations

import errno
import os
import sys

from dispatchviz.cli.end_by_signal import die
from dispatchviz.cli.fast_commands import run_fast
from dispatchviz.cli.overview import answer, opens_home
from dispatchviz.foundation.errors import DispatchvizError, EndedBySignal
from dispatchviz.foundation.terminal_output import complain, print_lines

TYPE_CHECKING = False  # importing typing would take a third of the time of --help
if TYPE_CHECKING:
    from collections.abc import Sequence

    import click


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit status."""
    if COMPLETE in os.environ:
        return _complete()
    arguments = list(sys.argv[1:] if argv is None else argv)
    text = None if opens_home(arguments) else answer(arguments)
    if text is None:
        return _run_and_end(argv)
    try:
        print_lines(text.split("\n"))
    except BrokenPipeError:
        _drop_output()
    except DispatchvizError as error:
        return _complain(str(error), error.status)
    return 0


def _run_and_end(argv: Sequence[str] | None) -> int:
    """Run a command line; end by the signal that interrupted this process or its program."""
    try:
        return _run(argv)
    except EndedBySignal as end:
        if argv is None:
            die(end.number)
        return 128 + end.number


def _run(argv: Sequence[str] | None) -> int:
    if argv is None:
        from dispatchviz.foundation.garbage_collection import collect_rarely

        collect_rarely()
    try:
        if opens_home(arguments := list(sys.argv[1:] if argv is None else argv)):
            from dispatchviz.cli.home import run_home

            return run_home()
        status = run_fast(arguments)
        return _with_click(argv) if status is None else status
    except KeyboardInterrupt as interrupt:
        _complain(str(interrupt) or "interrupted")
        raise EndedBySignal(SIGINT) from None
    except BrokenPipeError:  # the reader of our output has closed the pipe: `dispatchviz trace ... | head`
        _drop_output()
        return 0
    except OSError as error:
        if error.errno not in FULL:
            raise
        _drop_output()  # otherwise Python would try again to write it at exit
        return _complain(f"cannot write to standard output: {error.strerror}")
    except DispatchvizError as error:  # any other error is a bug of ours and keeps its traceback
        return _complain(str(error), error.status)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""The errors of a full disk, an exceeded quota or a failed write."""


def _with_click(argv: Sequence[str] | None) -> int:
    import click

    from dispatchviz.cli.commands import commands

    try:
        with commands.make_context("dispatchviz", list(sys.argv[1:] if argv is None else argv)) as context:
            return commands.invoke(context) or 0
    except click.exceptions.Exit as end:  # after --help and --version
        return end.exit_code
    except click.UsageError as error:
        return _complain(f"{_sentence(error.format_message())} (see {_help_of(error.ctx)})")
    except click.ClickException as error:
        return _complain(error.format_message())


COMPLETE = "_DISPATCHVIZ_COMPLETE"
"""The environment variable in which a shell asks for completions, or for the script that installs them."""


def _complete() -> int:
    from click.shell_completion import shell_complete

    from dispatchviz.cli import completion
    from dispatchviz.cli.commands import commands

    completion.register()
    return shell_complete(commands, {}, "dispatchviz", COMPLETE, os.environ[COMPLETE])


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


SIGINT = 2
"""The number of Ctrl+C's signal. Nothing else here needs the module ``signal``."""


def _complain(text: str, status: int = 2) -> int:
    complain(text)
    return status


def _sentence(text: str) -> str:
    return text.strip().removesuffix(".")


def _help_of(context: click.Context | None) -> str:
    return f"{context.command_path if context else 'dispatchviz'} --help"
