"""Kernels while a recorder is active: record the call, run the kernel, record its result.

The dispatcher runs these instead of an entry's kernel while a recording is in progress. Every event of a trace passes
through them, so the functions are written out in ``generated/recorded_calls.py``. They have as many parameters as the
operator has, up to eight (``*args`` would cost more than the notes), and the recorder's values as constants. In most
calls the only tensors are one or two plain parameters, and the functions for those name them directly. This module
chooses among them. It also has general functions for more arguments, and for recordings with hashes of results. If
numbers of tensors are recorded, the kernel that computes them records them. ``operator_entry.py`` drops the functions
when a recorder starts or stops listening.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from sys import _getframe
from types import CodeType
from typing import TYPE_CHECKING, Any

from dispatchviz.core.generated import recorded_calls as written_out
from dispatchviz.core.keys.keys import ALIAS_MEMBERS
from dispatchviz.core.keys.keys import DispatchKey as K
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.kernel.boxing import Typed
    from dispatchviz.core.kernel.guarded_redispatch import Guarded
    from dispatchviz.core.record.machine_recorder import Recorder
    from dispatchviz.core.table.operator_entry import Cell
    from dispatchviz.core.thread.guards import ExcludeFixed

PASSING_ON = frozenset((*ALIAS_MEMBERS[K.Autograd], K.Autograd, K.ADInplaceOrView, K.BackendSelect))
"""Keys whose kernels compute no numbers themselves: they pass the call on, or call other operators."""


def recorded_call(rec: Recorder, cell: Cell) -> Typed:
    """Return the kernel of an entry as ``call`` runs it: ``function(ks, *args)``."""
    if rec.numbers:
        cell = _with_numbers(rec, cell, True)
    if rec.hashes:
        return _call_of_any(rec, cell)
    count, tensors = len(cell.operator.schema.arguments), cell.operator.schema.plain_tensors
    make = written_out.CALLS.get((count, tensors)) or written_out.CALLS.get((count, ()), _call_of_any)
    return make(rec, cell)


def recorded_redispatch(rec: Recorder, cell: Cell) -> Typed:
    """Return the kernel of an entry as ``redispatch`` runs it: ``function(ks, *args)``."""
    if rec.numbers:
        cell = _with_numbers(rec, cell, False)
    if rec.hashes:
        return _redispatch_of_any(rec, cell)
    return written_out.REDISPATCHES.get(len(cell.operator.schema.arguments), _redispatch_of_any)(rec, cell)


def recorded_redispatch_within(rec: Recorder, cell: Cell, ks: int, guard: type[ExcludeFixed]) -> Guarded:
    """Return the kernel of an entry with its key set, run within a guard. It is called with all arguments."""
    if rec.numbers:
        cell = _with_numbers(rec, cell, False)
    if rec.hashes:
        return _redispatch_within_of_any(rec, cell, ks, guard)
    count = len(cell.operator.schema.arguments)
    return written_out.REDISPATCHES_WITHIN.get(count, _redispatch_within_of_any)(rec, cell, ks, guard)


def _with_numbers(rec: Recorder, cell: Cell, called: bool) -> Cell:
    """Return the entry with a kernel that also records numbers of small tensors; those of its arguments too if it is
    ``called``.

    A kernel that passes the call on records no results: the kernel below it does.
    """
    function, op, before, after = cell.function, cell.operator, rec.numbers_before, rec.numbers_after

    def with_arguments(ks: int, *args: Any) -> Any:
        before(args)
        return function(ks, *args)

    def with_results(ks: int, *args: Any) -> Any:
        if called:
            before(args)
        try:
            result = function(ks, *args)
        except BaseException:
            after(op, args, ())
            raise
        after(op, args, result)
        return result

    passes_on = cell.source in PASSING_ON
    if passes_on and not called:
        return cell
    same = copy(cell)
    same.function = with_arguments if passes_on else with_results
    return same


def is_recorded_call(code: CodeType) -> bool:
    """Return whether a function's code is that of a recorded call or redispatch."""
    return code.co_name == "recorded" and code.co_filename in _FILES


_FILES = (written_out.__file__, __file__)


def _call_of_any(rec: Recorder, cell: Cell) -> Typed:
    function, finds_callers, kernels = cell.function, rec.finds_callers, rec.kernels

    def recorded(ks: int, *args: Any) -> Any:
        if finds_callers:
            if rec.found:
                rec.found = False
            elif id(_getframe(2).f_code) not in kernels:
                rec.find_caller()
        rec.called("call", cell, ks, args)
        return _returned(rec, cell, function, ks, args)

    return recorded


def _redispatch_of_any(rec: Recorder, cell: Cell) -> Typed:
    function = cell.function

    def recorded(ks: int, *args: Any) -> Any:
        rec.note(("redispatched_typed", cell, ks))
        return _returned(rec, cell, function, ks, args)

    return recorded


def _returned(rec: Recorder, cell: Cell, function: Callable[..., Any], ks: int, args: tuple[Any, ...]) -> Any:
    """Run a kernel and record its result."""
    try:
        result = function(ks, *args)
    except BaseException as error:
        rec.call_failed(error)
        raise
    if rec.hashes:
        rec.result_hashed(cell.operator, result)
    rec.returned(result)
    return result


def _redispatch_within_of_any(rec: Recorder, cell: Cell, ks: int, guard: type[ExcludeFixed]) -> Guarded:
    function, keys, name = cell.function, guard.keys, guard.__name__

    def redispatch_within(*args: Any) -> Any:
        state = thread.state
        excluded = state.excluded
        try:
            within = state.excluded = excluded | keys
            rec.note(("redispatched_within", cell, ks, name, state.included, excluded, within))
            result = function(ks, *args)
        except BaseException as error:
            state.excluded = excluded
            rec.call_failed(error)
            rec.note(("guard_left", name, state.included, excluded))
            raise
        state.excluded = excluded
        if rec.hashes:
            rec.result_hashed(cell.operator, result)
        rec.returned(result)
        rec.note(("guard_left", name, state.included, excluded))
        return result

    return redispatch_within
