"""A redispatch within a dispatch-key guard, as one function: the second half of nearly every autograd kernel.

It is ``with guard(): op.redispatch(ks, *args)`` without an object for the guard and with half the Python calls, since
every operation passes through it up to three times. Like those of ``recorded_kernels.py``, the functions are written
out in ``generated/guarded_calls.py``, with as many parameters as the operator has, up to eight. ``operator_entry.py``
creates them when it meets a new key set, and drops them when a recorder starts or stops listening.

Rule 1: an exception may come from anywhere (Ctrl+C). So the state that is restored at the end is changed within
``try``, and restored before anything is called. The interpreter checks for signals only where functions begin, after
calls, and in loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dispatchviz.core.generated.guarded_calls import REDISPATCH_WITHIN
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.table.operator_entry import Cell
    from dispatchviz.core.thread.guards import ExcludeFixed

Guarded = Callable[..., Any]
"""A kernel with its key set and its guard, which is called with all arguments."""


def redispatch_within(cell: Cell, ks: int, guard: type[ExcludeFixed]) -> Guarded:
    """Return a function that redispatches to the kernel of a dispatch table entry, within a guard."""
    return REDISPATCH_WITHIN.get(len(cell.operator.schema.arguments), _redispatch_within_of_any)(cell, ks, guard)


def _redispatch_within_of_any(cell: Cell, ks: int, guard: type[ExcludeFixed]) -> Guarded:
    """Return the function for more than eight arguments."""
    function, keys = cell.function, guard.keys

    def redispatch_within(*args: Any) -> Any:
        state = thread.state
        excluded = state.excluded
        try:
            state.excluded = excluded | keys
            return function(ks, *args)
        finally:
            state.excluded = excluded

    return redispatch_within
