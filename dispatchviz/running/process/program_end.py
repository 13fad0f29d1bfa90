"""The end of a program, as under Python itself: ``sys.excepthook`` shows the error that left it, its threads are waited
for, and then the functions run that it registered with ``atexit``.

Not here: the end of the process (``cli``) and of the trace (``early_end.py``, ``program.py``).
"""

from __future__ import annotations

import atexit
import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar
from weakref import finalize

from dispatchviz.core.seam import recorder
from dispatchviz.running.process.finalizers import finalizers_apart
from dispatchviz.running.process.tracebacks import without_our_frames

P = ParamSpec("P")
T = TypeVar("T")


class End(NamedTuple):
    """The end of a program."""

    status: int
    """The exit status for a shell."""
    error: BaseException | None = None
    """The error that left the program; None if it only exits."""
    signal: int = 0
    """The signal by which its process ends."""


def run_to_its_end(begin: Callable[[dict[str, Any]], None], space: dict[str, Any], shows_errors: bool) -> End:
    """Run a program to its end, as Python does. ``begin`` runs it in its namespace.

    With ``shows_errors`` errors are shown even if the program has no hook of its own for that.
    """
    with finalizers_apart(), _exit_functions() as functions:
        try:
            begin(space)
            end = End(0)
        except SystemExit as error:
            end = End(_exit_status(error))
        except BaseException as error:
            end = _after(error, shows_errors)
        _wait_for_threads()
        functions.call()
    return end


INTERRUPTED = 128 + signal.SIGINT
"""The exit status of a program that Ctrl+C ended."""


def _after(error: BaseException, shows_errors: bool) -> End:
    without_our_frames(error)
    _flush()
    hook = getattr(sys, "excepthook", None)
    status = 1
    if shows_errors or hook is not sys.__excepthook__:
        try:
            _show(hook, error)
        except SystemExit as left:
            status = _exit_status(left)
    if type(error) is KeyboardInterrupt:
        return End(INTERRUPTED, error, signal.SIGINT)
    return End(status, error)


def _show(hook: Callable[..., Any] | None, error: BaseException) -> None:
    """Show an error as Python does. Raise SystemExit if the hook does."""
    if hook is None:
        _say("sys.excepthook is missing")
        _display(error)
        return
    try:
        hook(type(error), error, error.__traceback__)
    except SystemExit:
        raise
    except BaseException as another:
        _say("Error in sys.excepthook:")
        another.__context__ = None
        without_our_frames(another)
        _display(another)
        _say("\nOriginal exception was:")
        _display(error)


def _display(error: BaseException) -> None:
    sys.__excepthook__(type(error), error, error.__traceback__)


def _say(text: str) -> None:
    with suppress(Exception):
        print(text, file=sys.stderr or sys.__stderr__)


def _flush() -> None:
    for stream in (sys.stderr, sys.stdout):
        with suppress(Exception):
            stream.flush()


def _exit_status(error: SystemExit) -> int:
    """Return the exit status of ``sys.exit`` for a shell. A text is printed."""
    code = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(1 << 63) <= code < 1 << 63 else 0xFF
    _flush()
    with suppress(Exception):
        print(code, end="", file=sys.stderr or sys.__stderr__)
    _say("")
    return 1


def clear_main(space: dict[str, Any]) -> None:
    """Delete the program's variables, as when Python ends, unless remaining threads may use them."""
    if threading.active_count() == 1:
        for private in (True, False):
            for name in list(space):
                if name != "__builtins__" and _is_private(name) == private:
                    space[name] = None


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


# -- threads ----------------------------------------------------------------------------------------------------------


def _wait_for_threads() -> None:
    """Wait for all threads that are not daemons. Ctrl+C ends the waiting."""
    with suppress(KeyboardInterrupt):
        _end_executors()
        own = threading.current_thread()
        for thread in threading.enumerate():
            if thread is not own and not thread.daemon:
                thread.join()


def _end_executors() -> None:
    """Let the threads of pools that the program left open finish their work; pools can be made again afterwards."""
    pools: Any = sys.modules.get("concurrent.futures.thread")
    if pools is None:
        return
    pools._python_exit()
    pools._shutdown = False


# -- atexit -----------------------------------------------------------------------------------------------------------


class _ExitFunctions:
    """The functions that a program registers with ``atexit``. They are called when the program ends, not when this
    process does.
    """

    def __init__(self) -> None:
        self._functions: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = []

    def register(self, func: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Callable[P, T]:
        """Register a function, like ``atexit.register``."""
        if not callable(func):
            raise TypeError("the first argument must be callable")
        self._functions.append((func, args, kwargs))
        return func

    def unregister(self, func: Callable[..., Any], /) -> None:
        """Unregister a function, like ``atexit.unregister``."""
        self._functions[:] = [entry for entry in self._functions if entry[0] != func]

    def count(self) -> int:
        """Return the number of functions, like ``atexit._ncallbacks``."""
        return len(self._functions)

    def clear(self) -> None:
        """Remove all functions, like ``atexit._clear``."""
        self._functions.clear()

    def call(self) -> None:
        """Call the functions, the last one first. Errors are only reported."""
        while self._functions:
            function, args, kwargs = self._functions.pop()
            try:
                with _unrecorded() if function == finalize._exitfunc else contextlib.nullcontext():  # type: ignore[attr-defined]
                    function(*args, **kwargs)
            except BaseException as error:
                _report(function, error)


@contextmanager
def _unrecorded() -> Iterator[None]:
    """Stop recording inside the block. Finalizers undo remaining changes, such as registrations, which no line of the
    program does.

    NB: computations in the program's own finalizers are not recorded either.
    """
    if recorder.listening is not None:
        recorder.listening.registrations_change()  # earlier notes describe the old registrations
    with recorder.paused():
        yield


class _Unraisable(NamedTuple):
    """The argument of ``sys.unraisablehook``. Python does not expose its own type."""

    exc_type: type[BaseException]
    exc_value: BaseException
    exc_traceback: TracebackType | None
    err_msg: str
    object: Any


def _report(function: Callable[..., Any], error: BaseException) -> None:
    """Report the error of a function as Python does at its end."""
    without_our_frames(error)
    text = "Exception ignored in atexit callback"
    with suppress(Exception):
        if sys.unraisablehook is not sys.__unraisablehook__:
            hook: Callable[[Any], Any] = sys.unraisablehook
            hook(_Unraisable(type(error), error, error.__traceback__, text, function))
            return
        _say(f"{text}: {function!r}" if sys.version_info < (3, 13) else f"{text} {function!r}:")
        _display(error)


@contextmanager
def _exit_functions() -> Iterator[_ExitFunctions]:
    functions = _ExitFunctions()
    ours = {
        "register": functions.register,
        "unregister": functions.unregister,
        "_run_exitfuncs": functions.call,
        "_ncallbacks": functions.count,
        "_clear": functions.clear,
    }
    with contextlib.ExitStack() as before:
        for name, function in ours.items():
            before.callback(setattr, atexit, name, getattr(atexit, name))
            setattr(atexit, name, function)
        yield functions
