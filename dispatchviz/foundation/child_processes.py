"""The child processes of this package. None outlives its parent, and each gets the signal that ends the parent.

Each child is tied to this process (``process_ties.py``), except on Windows.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import getpid
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from dispatchviz.foundation.errors import EndedBySignal
from dispatchviz.foundation.process_ties import begun_by, kill_tree

_FOLDER = Path(__file__).parents[2]
"""The folder that contains this package, installed or not."""

_FIND = """\
import sys
folder = sys.argv[2]
if folder not in sys.path:
    sys.path.append(folder)
from dispatchviz.foundation.process_ties import end_with
end_with(int(sys.argv[1]))
"""
"""The code that ties a new Python to this process. Its arguments are this process's number and the package's folder."""

_BEGIN = (
    """\
import sys
if not sys.flags.safe_path:
    sys.path[0] = sys.argv[3]
"""
    + _FIND
    + """\
del sys.argv[1:4], folder, end_with
from {module} import main
sys.exit(main())
"""
)
"""The code that starts a module. ``sys.path`` begins with the folder of scripts, as for the command ``dispatchviz``."""

_EXECUTE = _FIND + "import os\nos.execvp(sys.argv[3], sys.argv[3:])\n"

PATIENCE = 5.0
"""The seconds that a process has to end after a signal, before it is killed."""

GRACE = 1.0
"""The seconds that a process has to end after Ctrl+C, which the terminal sends to it as well."""


def running(module: str, words: Sequence[str]) -> list[str]:
    """Return the command line of a new Python that runs ``main()`` of a module, with words as its arguments.

    ``python -m`` would search the working folder for every module first, and a beginner's may have a ``random.py``.
    """
    scripts = str(Path(sys.executable).parent)
    return [sys.executable, "-c", _BEGIN.format(module=module), str(getpid()), str(_FOLDER), scripts, *words]


def tied(command: Sequence[str]) -> list[str]:
    """Return the command line of another program, which ends with this process."""
    if sys.platform == "win32":
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _EXECUTE, str(getpid()), str(_FOLDER), *command]


@contextmanager
def ended_together(process: subprocess.Popen[Any]) -> Iterator[None]:
    """End the other process first, by the same signal, if the block fails or a signal ends this process."""
    with signals_raised():
        try:
            yield
        except BaseException as error:
            end(process, error)
            raise


def end(process: subprocess.Popen[Any], reason: BaseException) -> None:
    """End a process because of an error here. Kill the processes that it started and left behind."""
    below = begun_by(process.pid)
    if isinstance(reason, KeyboardInterrupt):
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    if process.poll() is None:
        below |= begun_by(process.pid)
        process.send_signal(reason.number if isinstance(reason, EndedBySignal) else signal.SIGTERM)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        kill_tree(process.pid)
        process.wait()
    for each in below:
        each.kill()


@contextmanager
def signals_raised() -> Iterator[None]:
    """Raise EndedBySignal in the block for a signal that would end this process, so that the block can clean up."""
    if threading.current_thread() is not threading.main_thread():  # other threads receive no signals
        yield
        return
    numbers = [number for number in _ending() if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _ending() -> list[signal.Signals]:
    return [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # only the first one counts
    raise EndedBySignal(number)
