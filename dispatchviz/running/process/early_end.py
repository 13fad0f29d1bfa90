"""Ends of a process before its program is over, which would lose its trace: SIGTERM, SIGHUP, ``os._exit``, ``os.exec``.

The trace is finished first, then the process ends as it would have. SIGKILL and the like leave what is on disk.
"""

from __future__ import annotations

import contextlib
import importlib
import operator
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any, Protocol

from dispatchviz.running.process.signal_watch import signals_watched

_signal: Any = importlib.import_module("_signal")
_install, _installed = _signal.signal, _signal.getsignal
"""Without what ``signal.signal`` and ``signal.getsignal`` make of an integer."""

PATIENCE = 2.0
"""Seconds; what is busy for longer does not end by itself."""

PAUSE = 0.001
"""Seconds between two looks."""


class Keeper(Protocol):
    """Keeps the trace of a program that runs."""

    @property
    def busy(self) -> bool:
        """Events are being made or written: whoever interrupts that must not finish."""

    def finish(self, reason: str = "") -> None:
        """The trace is complete, and the file as well; a second call does nothing."""

    def give_up(self) -> None:
        """In a forked child: nothing is recorded or written here, and what belongs to the parent is not touched."""


class NoKeeper:
    """For a recording that nobody keeps if the process ends."""

    busy = False

    def finish(self, reason: str = "") -> None:
        """Nothing is kept."""

    def give_up(self) -> None:
        """Nothing is there."""


@contextmanager
def finished_first(keeper: Keeper) -> Iterator[None]:
    """Inside the block no early end of the process loses the trace."""
    with _signals(keeper), _exits(keeper):
        yield


# -- signals ----------------------------------------------------------------------------------------------------------


class _Handler(int):
    """Handles a signal as the default does, after the trace is finished.

    It equals SIG_DFL, so that a program that asks for the handler is told what it would be told without us. The
    function in C takes it for the callable that it is.
    """

    keeper: Keeper
    ends: _Ends

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Never finishes in the middle of the recorder's work: the signal comes again right after."""
        if self.keeper.busy:
            threading.Thread(target=_send_again, args=(self.keeper, number), daemon=True).start()
        else:
            self.ends.by(number)

    def arrived(self, number: int) -> None:
        """The main thread has not handled a signal for some time: it waits, or is about to."""
        if _installed(number) is self:
            _wait_while_busy(self.keeper)
            self.ends.by(number)


class _Ends:
    """Ends the process once, whichever thread is told of a signal."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._lock = threading.Lock()

    def by(self, number: int) -> None:
        """Finish the trace and end the process by a signal; does nothing where that is done already."""
        if self._lock.acquire(blocking=False):
            with suppress(Exception):
                self._keeper.finish(f"ended by {signal.Signals(number).name}")
            die_of(number)


def die_of(number: int) -> None:
    """End the process by a signal, as one that never heard of us."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, signal.SIG_DFL)
    else:  # only the main thread may ask Python for that
        importlib.import_module("ctypes").pythonapi.PyOS_setsig(number, None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)


def _send_again(keeper: Keeper, number: int) -> None:
    _wait_while_busy(keeper)
    os.kill(os.getpid(), number)


def _wait_while_busy(keeper: Keeper) -> None:
    give_up_at = time.monotonic() + PATIENCE
    while keeper.busy and time.monotonic() < give_up_at:
        time.sleep(PAUSE)


@contextmanager
def _signals(keeper: Keeper) -> Iterator[None]:
    """Handlers where the default was in force: a program's own stays, and so does what ``nohup`` ignores."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = _Handler(signal.SIG_DFL)
    handler.keeper, handler.ends = keeper, _Ends(keeper)
    numbers = [number for number in _ending() if signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        _install(number, handler)
    try:
        with signals_watched(handler.arrived) if numbers else nullcontext():
            yield
    finally:
        for number in numbers:
            if signal.getsignal(number) == signal.SIG_DFL:
                signal.signal(number, signal.SIG_DFL)


def default_signals_again() -> None:
    """In a forked child: signals end it as they end every process."""
    for number in _ending():
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)


def _ending() -> list[signal.Signals]:
    return [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


# -- os._exit, os.exec ------------------------------------------------------------------------------------------------


@contextmanager
def _exits(keeper: Keeper) -> Iterator[None]:
    with contextlib.ExitStack() as before:
        for name in ("_exit", "execv", "execve"):
            function = getattr(os, name)
            before.callback(setattr, os, name, function)
            setattr(os, name, _after_finishing(function, name, keeper))
        yield


def _after_finishing(function: Callable[..., Any], name: str, keeper: Keeper) -> Callable[..., Any]:
    def finishing(*args: Any, **kwargs: Any) -> Any:
        _wait_while_busy(keeper)
        with suppress(Exception):
            keeper.finish(f"ended by os.{_shown(name, args)}")
        return function(*args, **kwargs)

    return finishing


def _shown(name: str, args: tuple[Any, ...]) -> str:
    with suppress(TypeError):
        return f"{name}({operator.index(args[0])})" if args else name
    return name
