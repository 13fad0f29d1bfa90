"""Decorators that restore the thread-local state when an exception leaves a function called from Python.

C++ always unwinds its guards. Python checks for signals where functions begin, including the ``__exit__`` of a guard,
so a guard alone may be interrupted before it has restored anything. ``binding.py``, ``engine.py`` and
``dispatcher.call_boxed`` have the same code inline.

NB: if the user's ``with torch.no_grad()`` is interrupted at the very beginning of its ``__exit__``, it stays in force.
So does PyTorch's, whose ``__exit__`` is a Python function too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from dispatchviz.core.thread.thread_state import restore_state, save_state

P = ParamSpec("P")
R = TypeVar("R")
Manager = TypeVar("Manager")


def restores_state(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that the thread-local state is restored when an exception leaves it."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        saved = save_state()
        try:
            return function(*args, **kwargs)
        except BaseException:
            restore_state(saved)
            raise

    return run


def restores_state_at_exit(manager: type[Manager]) -> type[Manager]:
    """Decorate a context manager so that it fails as a whole. If it fails to begin or to end, the thread-local state is
    what it was before it began.
    """
    enter, leave = vars(manager)["__enter__"], vars(manager)["__exit__"]

    @functools.wraps(enter)
    def __enter__(self: Any) -> Any:
        self._saved_state = saved = save_state()
        try:
            return enter(self)
        except BaseException:
            restore_state(saved)
            raise

    @functools.wraps(leave)
    def __exit__(self: Any, *error: Any) -> Any:
        saved = self._saved_state
        try:
            return leave(self, *error)
        except BaseException:
            restore_state(saved)
            raise

    for method in (__enter__, __exit__):
        setattr(manager, method.__name__, method)
    return manager
