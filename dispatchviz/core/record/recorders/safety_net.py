"""The one safety net around a recorder: an internal error ends the recording, but never the program that is recorded.

An exception from outside that is raised while the recorder works is not an internal error: the program gets it
(``outside_errors.py``).
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from sys import getrecursionlimit, setrecursionlimit  # a recorded program may find others in sys
from types import FunctionType
from typing import Any, TypeVar

from dispatchviz.core.seam.outside_errors import is_from_outside

Method = Callable[..., Any]

ROOM = 200
"""The number of additional frames for a method that reached the recursion limit."""


class SafetyNet(ABC):
    """The base class that wraps every public method of a subclass in a net, so that none can be forgotten.

    If a method fails, the recording ends and the caller gets None, or the argument of a method that hands it on.

    Every call or Node passes through the methods whose parameters are positional only (``def leave(self, /)``). Their
    net costs 40 ns instead of 160, and does not look for the user's line, which is known there.
    """

    finds_callers = False
    """True if the user's line is looked up at every entry into the machine."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, method in list(vars(cls).items()):
            if isinstance(method, FunctionType) and not name.startswith("_"):
                setattr(cls, name, _with_net(method))

    def _failed(self, error: Exception, method: Method, *args: Any, **kwargs: Any) -> Any:
        """End the recording after an internal error. If a deep program left no space on the stack, run the method with
        more frames. Raise an exception that came from outside.
        """
        try:
            if isinstance(error, RecursionError):
                limit = getrecursionlimit()
                try:
                    return self._with_room(limit, error, method, *args, **kwargs)
                except Exception as another:
                    error = another
                finally:
                    setrecursionlimit(limit)  # further out than the frame that raised: Python requires that
            if isinstance(error, RecursionError) or is_from_outside(error):
                raise error
            self._give_up(error)
            return args[-1] if args and hasattr(method, "hands_on") else None
        finally:
            del error  # or this frame and the traceback hold each other, and the program's frames until the
            # collector runs: their guards would end within another call of PyTorch

    def _with_room(self, limit: int, error: RecursionError, method: Method, *args: Any, **kwargs: Any) -> Any:
        try:
            setrecursionlimit(limit + ROOM)
            if is_from_outside(error):
                raise error
            return method(self, *args, **kwargs)
        finally:
            del error

    @abstractmethod
    def _give_up(self, error: Exception) -> None:
        """End the recording after an internal error."""

    @abstractmethod
    def find_caller(self, parsed: bool = True, in_kernel: bool = False, /) -> None:
        """Emit the user's current line, if it changed."""


Handing = TypeVar("Handing", bound=Method)


def hands_on(method: Handing) -> Handing:
    """Decorate a method that returns its last argument, which the program needs even if the recorder fails."""
    setattr(method, "hands_on", True)  # noqa: B010
    return method


def _with_net(method: FunctionType) -> Method:
    """Return the method within its net."""
    arguments = method.__code__.co_posonlyargcount - 1
    net = _POSITIONAL[min(arguments, len(_POSITIONAL) - 1)] if arguments >= 0 else _that_finds_the_caller
    guarded: Any = net(method)
    guarded.__defaults__ = method.__defaults__ if arguments >= 0 else None
    return functools.wraps(method)(guarded)


def _that_finds_the_caller(method: Method) -> Method:
    def guarded(self: SafetyNet, *args: Any, **kwargs: Any) -> Any:
        try:
            if self.finds_callers:
                self.find_caller()
            return method(self, *args, **kwargs)
        except Exception as error:
            return self._failed(error, method, *args, **kwargs)

    return guarded


# Handing on ``*args`` takes 150 ns, more than most methods; with its arguments written out a net takes 38 ns, so here
# is one for each number of arguments. (With code of its own for each method it takes 27 ns: a recorded ``add`` of 22 us
# takes as long with either.)


def _of_none(method: Method) -> Method:
    def guarded(self: SafetyNet) -> Any:
        try:
            return method(self)
        except Exception as error:
            return self._failed(error, method)

    return guarded


def _of_one(method: Method) -> Method:
    def guarded(self: SafetyNet, a: Any) -> Any:
        try:
            return method(self, a)
        except Exception as error:
            return self._failed(error, method, a)

    return guarded


def _of_two(method: Method) -> Method:
    def guarded(self: SafetyNet, a: Any, b: Any) -> Any:
        try:
            return method(self, a, b)
        except Exception as error:
            return self._failed(error, method, a, b)

    return guarded


def _of_three(method: Method) -> Method:
    def guarded(self: SafetyNet, a: Any, b: Any, c: Any) -> Any:
        try:
            return method(self, a, b, c)
        except Exception as error:
            return self._failed(error, method, a, b, c)

    return guarded


def _of_four(method: Method) -> Method:
    def guarded(self: SafetyNet, a: Any, b: Any, c: Any, d: Any) -> Any:
        try:
            return method(self, a, b, c, d)
        except Exception as error:
            return self._failed(error, method, a, b, c, d)

    return guarded


def _of_five(method: Method) -> Method:
    def guarded(self: SafetyNet, a: Any, b: Any, c: Any, d: Any, e: Any) -> Any:
        try:
            return method(self, a, b, c, d, e)
        except Exception as error:
            return self._failed(error, method, a, b, c, d, e)

    return guarded


def _of_many(method: Method) -> Method:
    def guarded(self: SafetyNet, *args: Any) -> Any:
        try:
            return method(self, *args)
        except Exception as error:
            return self._failed(error, method, *args)

    return guarded


_POSITIONAL = (_of_none, _of_one, _of_two, _of_three, _of_four, _of_five, _of_many)
