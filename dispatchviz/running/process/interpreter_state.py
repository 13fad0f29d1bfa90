"""Restoration of the interpreter's state after a program, because the process continues.

It covers its streams and hooks, the folder, tracers, limits, signals, warnings, the garbage collector.
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

from dispatchviz.foundation.garbage_collection import collect_as_usual

_HOOKS = ("stdin", "stdout", "stderr", "excepthook", "displayhook", "unraisablehook", "breakpointhook")

DEPTH_OF_THE_MACHINE = 100
"""The number of additional Python frames that an operator of the model, with its recorder, needs compared with
PyTorch's C++.
"""


@contextmanager
def put_back_afterwards() -> Iterator[None]:
    """Restore the interpreter's state after the block."""
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
    """Restore ``sys.stdin``, which ``exit()`` closes before it raises SystemExit. Keys come from there afterwards."""
    keyboard = _keyboard()
    try:
        yield
    finally:
        if keyboard:
            with suppress(OSError):
                _reopen(keyboard)


def _keyboard() -> str:
    """Return the terminal that is standard input; empty if there is none."""
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
    except OSError:  # the folder no longer exists
        return ""


@contextmanager
def _collector_put_back() -> Iterator[None]:
    collect_as_usual()
    enabled, thresholds = gc.isenabled(), gc.get_threshold()
    try:
        yield
    finally:
        (gc.enable if enabled else gc.disable)()
        gc.set_threshold(*thresholds)


@contextmanager
def _signals_put_back() -> Iterator[None]:
    """Remove the program's own handlers and timers after the block."""
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
    """Allow the same depth of recursion as under Python inside the block. The frames below the program and those of the
    machine do not count.
    """
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
