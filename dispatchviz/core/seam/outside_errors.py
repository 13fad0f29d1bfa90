"""Exceptions from outside: they are raised while our code runs, and belong to the program.

Python raises them between two instructions, wherever the thread is: those of signal handlers, and those that
``PyThreadState_SetAsyncExc`` raises in a thread. A MemoryError is not our mistake either.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from opcode import opname
from os.path import dirname
from types import CodeType, FrameType, TracebackType

_PACKAGE = dirname(dirname(dirname(__file__)))
_RAISES = ("RAISE_VARARGS", "RERAISE")
"""The instructions of ``raise`` and ``assert``."""


def is_from_outside(error: BaseException) -> bool:
    """Return whether an exception in our code belongs to the program and is not a mistake of ours."""
    if not isinstance(error, Exception) or isinstance(error, MemoryError):
        return True
    return _came_by_itself(error) or _is_of_handler(error.__traceback__)


@contextmanager
def own_errors_suppressed(*kinds: type[Exception]) -> Iterator[None]:
    """Suppress exceptions of the given kinds in the block, except those from outside and RecursionError."""
    try:
        yield
    except kinds as error:
        if isinstance(error, RecursionError) or is_from_outside(error):
            raise


def _came_by_itself(error: Exception) -> bool:
    """Return whether no instruction raised the exception. ``PyThreadState_SetAsyncExc`` takes a class, so the exception
    has no message.

    Exceptions of C functions always have a message, except for the end of an iterator.
    """
    trace = error.__traceback__
    if error.args or trace is None or isinstance(error, (StopIteration, StopAsyncIteration)):
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] not in _RAISES


def _is_of_handler(trace: TracebackType | None) -> bool:
    """Return whether a signal handler is among the frames that an exception passed through."""
    while trace is not None and trace.tb_next is not None:
        interrupted, trace = trace.tb_frame, trace.tb_next
        if _handles_signal(trace.tb_frame, interrupted):
            return True
    return False


def _handles_signal(frame: FrameType, interrupted: FrameType) -> bool:
    """Return whether Python called a function as a signal handler: with the signal's number and the frame that it
    interrupted.
    """
    code = frame.f_code
    if code.co_filename.startswith(_PACKAGE):
        return False
    return _got(frame, interrupted) or any(code is _code(signal.getsignal(one)) for one in signal.valid_signals())


def _got(frame: FrameType, interrupted: FrameType) -> bool:
    variables = frame.f_locals.values()
    return any(one is interrupted or (type(one) is tuple and any(it is interrupted for it in one)) for one in variables)


def _code(handler: object) -> CodeType | None:
    """The code that a handler runs, also if it is a method or a callable object."""
    function = handler if hasattr(handler, "__code__") else type(handler).__dict__.get("__call__")
    return getattr(function, "__code__", None)
