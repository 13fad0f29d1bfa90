"""Python code that runs when an object is deleted, and passes exceptions from outside to the program.

Python ignores the exceptions of a ``__del__``. An exception from a signal handler that runs as a function begins comes
before any ``try`` of that function. A generator continues inside its ``try``, so a generator replaces the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from dispatchviz.core.seam import recorder

Deletion = Callable[[], object]
"""A callable for the slot ``__del__`` of an object. The class needs ``__slots__ = ("__del__",)``."""

NO_DELETION: Deletion = int


def deletion(function: Callable[[], object]) -> Deletion:
    """Return a callable that calls ``function`` once. If that raises, the recorder raises the exception when the
    program next calls it.
    """
    going = _guarded(function)
    next(going)
    return partial(next, going, None)


def _guarded(function: Callable[[], object]) -> Iterator[None]:
    try:
        yield
        function()
    except GeneratorExit:
        raise
    except BaseException as error:
        if recorder.listening is None:
            raise
        recorder.listening.raise_soon(error)
