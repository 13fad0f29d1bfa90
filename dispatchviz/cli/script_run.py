"""What commands do with a program that they run: choose its cuda, save its trace, report how it ended."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from dispatchviz.cli.input_source import STANDARD_INPUT, standard_input
from dispatchviz.core.device.array_library import choose_cuda
from dispatchviz.errors import DispatchvizError
from dispatchviz.output import save_trace
from dispatchviz.program import Outcome, run


def run_script(script: str, args: Sequence[str], cuda: str, save: str | None, output: TextIO | None = None) -> Outcome:
    """Runs it, then saves the trace if that was requested. Raises DispatchvizError for what is the user's to mend."""
    choose_cuda(cuda)
    outcome = run(script, args, output, standard_input() if script == STANDARD_INPUT else b"")
    if save:
        with kept(outcome, None):
            save_trace(outcome.trace, save)
    return outcome


@contextmanager
def kept(outcome: Outcome, saved: str | None) -> Iterator[None]:
    """If what comes after a run fails or is interrupted, its trace is not lost: the error names its file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted {_where(outcome, saved)}") from None
    except (OSError, DispatchvizError) as error:
        raise DispatchvizError(f"{error} {_where(outcome, saved)}") from None


def conclude(outcome: Outcome, saved: str | None) -> int:
    """Prints what left the program, and where its trace is; returns the exit status."""
    if outcome.error is not None:
        print(f"dispatchviz: {outcome.error_message} {_where(outcome, saved)}", file=sys.stderr)
    return outcome.status


def _where(outcome: Outcome, saved: str | None) -> str:
    return f"(the trace is kept: dispatchviz open {saved or _keep(outcome)})"


def _keep(outcome: Outcome) -> str:
    """Saves the trace of a program, over the last one of that program."""
    name = Path(outcome.trace.header.program).stem.strip("<>") + ".jsonl.gz"
    for folder in (_cache_folder(), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            save_trace(outcome.trace, folder / name)
        except (OSError, DispatchvizError):
            continue
        return str(folder / name)
    return "FILE, had it been saved with --save FILE: no cache folder can be written to"


def _cache_folder() -> Path:
    given = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(given) if given else Path.home() / ".cache") / "dispatchviz"
