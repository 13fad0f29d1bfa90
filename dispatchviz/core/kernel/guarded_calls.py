"""A redispatch within a guard, as one function: what nearly every autograd kernel does once its Node is built.

It is ``with guard(): op.redispatch(ks, *args)`` without an object for the guard and with half the Python calls, since
every operation passes through it up to three times. As in ``recorded_calls.py``, the functions are compiled from a
text, with as many parameters as the operator has; ``operator_entry.py`` makes them as sets are met, and forgets them
when a recorder begins or ceases to listen.

Rule 1: an exception may come from anywhere (Ctrl+C): what is put back at the end is written within ``try``, and put
back before anything is called. The interpreter looks for signals where functions begin, after calls and in loops only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.record.notes import Recorder
    from dispatchviz.core.table.operator_entry import Cell
    from dispatchviz.core.thread.guards import ExcludeFixed

Guarded = Callable[..., Any]
"""A kernel with its key set and its guard: called with all arguments."""

_PLAIN = """
def make(cell, ks, guard):
    function, keys = cell.function, guard.keys

    def guarded({arguments}):
        state = thread.state
        excluded = state.excluded
        try:
            state.excluded = excluded | keys
            return function(ks, {arguments})
        finally:
            state.excluded = excluded

    return guarded
"""

_TOLD = """
def make(cell, ks, guard, rec):
    function, keys, name, note = cell.function, guard.keys, guard.__name__, rec.note
    first, alone = rec.first_tensor, rec.state

    def guarded({arguments}):
        state = alone or thread.state
        excluded = state.excluded
        try:
            within = state.excluded = excluded | keys
            note(("redispatched_within", cell, ks, name, state.included, excluded, within))
            result = function(ks, {arguments})
        except BaseException as error:
            state.excluded = excluded
            rec.call_failed(error)
            note(("guard_left", name, state.included, excluded))
            raise
        state.excluded = excluded
        try:
            number = result._number
        except AttributeError:
            rec.returned(result)
            note(("guard_left", name, state.included, excluded))
            return result
        number = number if number >= first else rec.serial(result)
        note(("returned_from_within", number, name, state.included, excluded))
        return result

    return guarded
"""


def guarded(cell: Cell, ks: int, guard: type[ExcludeFixed]) -> Guarded:
    """Runs the kernel of a cell for a redispatch."""
    made: Guarded = _maker(_PLAIN, len(cell.operator.schema.arguments))(cell, ks, guard)
    return made


def told_guarded(rec: Recorder, cell: Cell, ks: int, guard: type[ExcludeFixed]) -> Guarded:
    """The same with a recorder listening."""
    made: Guarded = _maker(_TOLD, len(cell.operator.schema.arguments))(cell, ks, guard, rec)
    return made


@functools.cache
def _maker(text: str, count: int) -> Callable[..., Guarded]:
    """``make`` of a text, for a number of arguments."""
    space: dict[str, Any] = {"thread": thread}
    exec(compile(text.format(arguments=", ".join(f"a{i}" for i in range(count))), __file__, "exec"), space)
    make: Callable[..., Guarded] = space["make"]
    return make
