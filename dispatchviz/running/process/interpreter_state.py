"""What a program changes of the interpreter is put back when it has ended, since the process goes on.

Its streams and hooks, the folder, tracers, limits, signals, warnings, the collector.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

_HOOKS = ("stdin", "stdout", "stderr", "excepthook", "displayhook", "unraisablehook", "breakpointhook")

DEPTH_OF_THE_MACHINE = 100
"""So many frames more than PyTorch's C++ takes an operator of the model, with its recorder, in Python."""


@contextmanager
def put_back_afterwards() -> Iterator[None]:
    """After the block the interpreter is as it was before."""
    hooks = {name: getattr(sys, name) for name in _HOOKS}
    thread_hook, folder = threading.excepthook, _folder()
    tracer, profiler = sys.gettrace(), sys.getprofile()
    with warnings.catch_warnings(), _deeper(), _signals_put_back(), _collector_put_back(), _keyboard_put_back():
        try:
            yield
        finally:
            vars(sys).update(hooks)
            threading.excepthook = thread_hook
            if sys.gettrace() is not tracer:
                sys.settrace(tracer)
            if sys.getprofile() is not profiler:
                sys.setprofile(profiler)
            if folder and folder != _folder():
                with suppress(OSError):
                    os.chdir(folder)


@contextmanager
def _keyboard_put_back() -> Iterator[None]:
    """``exit()`` closes ``sys.stdin`` before it raises SystemExit; keys come from there afterwards."""
    keyboard = _keyboard()
    try:
        yield
    finally:
        if keyboard:
            with suppress(OSError):
                _reopen(keyboard)


def _keyboard() -> str:
    """The terminal that is standard input; empty if there is none."""
    try:
        return os.ttyname(0)
    except (OSError, AttributeError):  # AttributeError: on Windows
        return ""


def _reopen(keyboard: str) -> None:
    if _keyboard() != keyboard:
        descriptor = os.open(keyboard, os.O_RDWR | os.O_NOCTTY)
        if descriptor:
            os.dup2(descriptor, 0)
            os.close(descriptor)
    closed = sys.__stdin__
    if closed is not None and closed.closed:
        reopened = open(0, closefd=False)  # noqa: SIM115
        vars(sys).update(__stdin__=reopened, stdin=reopened if sys.stdin is closed else sys.stdin)


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it is gone
        return ""


@contextmanager
def _collector_put_back() -> Iterator[None]:
    enabled, thresholds = gc.isenabled(), gc.get_threshold()
    try:
        yield
    finally:
        (gc.enable if enabled else gc.disable)()
        gc.set_threshold(*thresholds)


@contextmanager
def _signals_put_back() -> Iterator[None]:
    """Handlers of the program's own, and its timers, end with it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        yield
    finally:
        _stop_timers()
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) is not handler:
                with suppress(OSError, ValueError):  # SIGKILL
                    signal.signal(number, handler)


def _stop_timers() -> None:
    if hasattr(signal, "setitimer"):
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)


@contextmanager
def _deeper() -> Iterator[None]:
    """Inside the block recursion may go as deep as under Python: the frames below the program are not counted, nor are
    those that the machine takes."""
    get, put = sys.getrecursionlimit, sys.setrecursionlimit
    limit, extra = get(), _depth() + DEPTH_OF_THE_MACHINE

    def getrecursionlimit() -> int:
        return get() - extra

    def setrecursionlimit(limit: int, /) -> None:
        put(limit + extra if isinstance(limit, int) and limit > 0 else limit)

    put(limit + extra)
    shown: dict[str, Callable[..., Any]] = {
        "getrecursionlimit": getrecursionlimit,
        "setrecursionlimit": setrecursionlimit,
    }
    vars(sys).update(shown)
    try:
        yield
    finally:
        vars(sys).update(getrecursionlimit=get, setrecursionlimit=put)
        put(limit)


def _depth() -> int:
    frame: Any = sys._getframe()
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth
