"""Exceptions from outside: they were raised while our code ran, and belong to the program.

Python raises one between two instructions, wherever the thread is: what a handler of signals raises, and what
``PyThreadState_SetAsyncExc`` raises in a thread. The end of the memory is no mistake of ours either.
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
    """Return whether an exception that our code met belongs to the program. A mistake of ours does not."""
    if not isinstance(error, Exception) or isinstance(error, MemoryError):
        return True
    return _came_by_itself(error) or _is_of_handler(error.__traceback__)


@contextmanager
def own_errors_suppressed(*kinds: type[Exception]) -> Iterator[None]:
    """Inside the block exceptions of these kinds are suppressed, except those from outside and the end of the stack."""
    try:
        yield
    except kinds as error:
        if isinstance(error, RecursionError) or is_from_outside(error):
            raise


def _came_by_itself(error: Exception) -> bool:
    """Return whether no instruction raised it: ``PyThreadState_SetAsyncExc`` takes a class, so the exception says
    nothing.

    C functions always say what is wrong, except for the end of an iterator.
    """
    trace = error.__traceback__
    if error.args or trace is None or isinstance(error, (StopIteration, StopAsyncIteration)):
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    return opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]] not in _RAISES


def _is_of_handler(trace: TracebackType | None) -> bool:
    """Return whether a handler of signals is among the frames that an exception came through."""
    while trace is not None and trace.tb_next is not None:
        interrupted, trace = trace.tb_frame, trace.tb_next
        if _handles_signal(trace.tb_frame, interrupted):
            return True
    return False


def _handles_signal(frame: FrameType, interrupted: FrameType) -> bool:
    """Return whether Python called a function as a handler: with the signal's number and the frame that it
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
    """What a handler runs, also if it is a method or an object that can be called."""
    function = handler if hasattr(handler, "__code__") else type(handler).__dict__.get("__call__")
    return getattr(function, "__code__", None)
