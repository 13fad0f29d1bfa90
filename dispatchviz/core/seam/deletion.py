"""Python code that runs when an object is deleted, and hands exceptions from outside to the program.

Python ignores what a ``__del__`` raises. What a handler of signals raises as a function begins comes before any ``try``
of that function. A generator goes on inside its ``try``, so one takes the place of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from dispatchviz.core.seam import recorder

Deletion = Callable[[], object]
"""For the slot ``__del__`` of an object. The class needs ``__slots__ = ("__del__",)``."""

NO_DELETION: Deletion = int


def deletion(function: Callable[[], object]) -> Deletion:
    """Call a function once. The recorder raises what that raises when the program next calls it."""
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
