"""Ends of a process before its program is over, which would lose its trace: SIGTERM, SIGHUP, ``os._exit``, ``os.exec``.

The trace is completed first, and then the process ends as usual. SIGKILL and similar signals leave only the part that
is on disk.
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
"""``signal.signal`` and ``signal.getsignal`` without their conversion of integers."""

PATIENCE = 2.0
"""The time in seconds to wait while the recorder is busy. If it is busy for longer, it will not end by itself."""

PAUSE = 0.001
"""The time in seconds between two checks."""


class Keeper(Protocol):
    """The keeper of a running program's trace."""

    @property
    def busy(self) -> bool:
        """True while events are made or written. Code that interrupts this must not complete the trace."""

    def finish(self, reason: str = "") -> None:
        """Complete the trace and its file. A second call does nothing."""

    def give_up(self) -> None:
        """Record and write nothing more, because this is a forked child. The parent's files are not touched."""


class NoKeeper:
    """The keeper of a recording that is lost if the process ends."""

    busy = False

    def finish(self, reason: str = "") -> None:
        """Do nothing, because nothing is kept."""

    def give_up(self) -> None:
        """Do nothing, because there is nothing to give up."""


@contextmanager
def finished_first(keeper: Keeper) -> Iterator[None]:
    """Protect the trace from early ends of the process inside the block."""
    with _signals(keeper), _exits(keeper):
        yield


# -- signals ----------------------------------------------------------------------------------------------------------


class _Handler(int):
    """A handler that completes the trace and then handles a signal as the default does.

    It equals SIG_DFL, so that a program that asks for the handler gets the usual answer. The C function accepts it
    because it is callable.
    """

    keeper: Keeper
    ends: _Ends

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal, but not during the recorder's work. In that case the signal is sent again right after."""
        if self.keeper.busy:
            threading.Thread(target=_send_again, args=(self.keeper, number), daemon=True).start()
        else:
            self.ends.by_signal(number)

    def arrived(self, number: int) -> None:
        """Handle a signal that the main thread has not handled for some time, because it waits or is about to."""
        if _installed(number) is self:
            _wait_while_busy(self.keeper)
            self.ends.by_signal(number)


class _Ends:
    """The end of the process, which happens once, whichever thread handles a signal."""

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._lock = threading.Lock()

    def by_signal(self, number: int) -> None:
        """Complete the trace and end the process by a signal. Do nothing if this has already begun."""
        if self._lock.acquire(blocking=False):
            with suppress(Exception):
                self._keeper.finish(f"ended by {signal.Signals(number).name}")
            die_of(number)


def die_of(number: int) -> None:
    """End the process by a signal, as without dispatchviz."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, signal.SIG_DFL)
    else:  # Python allows this only in the main thread
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
    """Install handlers for signals with the default action, inside the block. The program's own handlers stay, and so
    do signals that ``nohup`` ignores.
    """
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
    """Restore the default signals in a forked child, so that they end it as usual."""
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
