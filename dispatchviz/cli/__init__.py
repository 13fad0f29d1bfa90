"""The command line: ``dispatchviz``, also ``python -m dispatchviz``. One module per command.

Every command gives its exit status back: 0, 1 if the program raised (what was recorded is kept), 2 for a usage or
input error, which is one line on stderr and printed here, in the one place.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from dispatchviz.cli.commands import commands


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line and gives the exit status."""
    try:
        return commands.main(argv, prog_name="dispatchviz", standalone_mode=False) or 0
    except click.UsageError as error:
        return _complain(f"{_sentence(error.format_message())} ({_help_of(error.ctx)} tells more)")
    except click.ClickException as error:
        return _complain(error.format_message())
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted")
    except BrokenPipeError:  # the reader of our output has seen enough: `dispatchviz trace ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if isinstance(error, _users_errors()):
            return _complain(str(error))
        raise  # ours: with its traceback


def _users_errors() -> tuple[type[Exception], ...]:
    """Imported only when something went wrong: ``--help`` needs none of it."""
    from dispatchviz.core.backend import DeviceUnavailable
    from dispatchviz.core.trace import TraceError
    from dispatchviz.errors import DispatchvizError
    from dispatchviz.render.svg import RenderError

    return DispatchvizError, TraceError, DeviceUnavailable, RenderError


def _complain(text: str) -> int:
    print(f"dispatchviz: {' '.join(text.split())}", file=sys.stderr)
    return 2


def _sentence(text: str) -> str:
    return text.strip().removesuffix(".")


def _help_of(context: click.Context | None) -> str:
    return f"{context.command_path if context else 'dispatchviz'} --help"
