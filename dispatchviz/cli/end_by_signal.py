"""Ending the command line by a signal."""

from __future__ import annotations

import os
import sys


def die(number: int) -> None:
    """Flush the output and end the process by a signal. After Ctrl+C, call the functions of ``atexit``, as Python does:
    those of modules that were imported before the program, such as the one that waits for processes of
    ``multiprocessing``.
    """
    import atexit
    import contextlib
    import signal

    if number == signal.SIGINT:
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or None
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
