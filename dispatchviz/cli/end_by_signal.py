"""The end of the command line by a signal."""

from __future__ import annotations

import os
import sys


def die(number: int) -> None:
    """End the process by a signal, with all that was printed."""
    import contextlib
    import signal

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or None
            stream.flush()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
