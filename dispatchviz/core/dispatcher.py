"""Calling operators: how a call finds its cell (``aten/src/ATen/core/dispatch/Dispatcher.h``).

A call joins the arguments' keys with the thread's included set, takes away the excluded set, applies the operator's
mask and runs the kernel of the cell that the highest key names. A redispatch takes the set as it is given: no
arguments, no thread state, no mask.

Rule 1: the cell and the effective set of a call are a function of (operator, set before the mask), of a redispatch of
(operator, set); ``OperatorEntry`` keeps both as derived tables.
Rule 2: with no recorder, all that recording costs here is one check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from dispatchviz.core import recorder
from dispatchviz.core.operator import Cell, OperatorEntry
from dispatchviz.core.recorder import Recorder
from dispatchviz.core.thread_state import thread

_BACKENDS = 0xFFFF


Function = Callable[..., Any]
"""A kernel: called with the key set and all arguments."""


def call(op: OperatorEntry, argument_keys: int) -> tuple[Function, int]:
    """``Dispatcher::call``: the kernel to run and its set; ``argument_keys`` is the OR of the tensors' sets."""
    state = thread.state
    cell, ks = op.lookup[(argument_keys | state.included) & (_BACKENDS | ~state.excluded)]
    if recorder.active is None:
        return cell.function, ks
    return partial(_watched, recorder.active, "call", op, cell), ks


def redispatch(op: OperatorEntry, ks: int) -> Function:
    """``Dispatcher::redispatch``: the kernel for a set that is used unchanged."""
    cell = op.redispatch_lookup[ks]
    return cell.function if recorder.active is None else partial(_watched, recorder.active, "redispatch", op, cell)


def call_boxed(op: OperatorEntry, stack: list[Any]) -> None:
    """``Dispatcher::callBoxed``: pops the arguments from the stack and pushes the returns.

    Only tensor arguments count for the key set (``DispatchKeyExtractor.h``, boxed form).
    """
    state = thread.state
    cell, ks = op.lookup[(boxed_keys(op, stack) | state.included) & (_BACKENDS | ~state.excluded)]
    _run_boxed("callBoxed", op, cell, ks, stack)


def redispatch_boxed(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """``Dispatcher::redispatchBoxed``."""
    _run_boxed("redispatchBoxed", op, op.redispatch_lookup[ks], ks, stack)


def boxed_keys(op: OperatorEntry, args: Sequence[Any]) -> int:
    """OR of the key sets of the tensors among the arguments, found by the schema's positions."""
    keys = 0
    for _, tensor in tensor_arguments(op, args):
        keys |= tensor._ks
    return keys


def tensor_arguments(op: OperatorEntry, args: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Name and value of each defined tensor among the arguments; the members of a list are ``tensors[0]``, ..."""
    for position in op.schema.tensor_positions:
        name, value = op.schema.arguments[position].name, args[position]
        if isinstance(value, (list, tuple)):
            yield from ((f"{name}[{i}]", member) for i, member in enumerate(value) if member is not None)
        elif value is not None:
            yield name, value


def _run_boxed(how: str, op: OperatorEntry, cell: Cell, ks: int, stack: list[Any]) -> None:
    if recorder.active is None:
        cell.boxed(ks, stack)
        return
    below = len(stack) - len(op.schema.arguments)

    def run() -> tuple[Any, ...]:
        cell.boxed(ks, stack)
        return tuple(stack[below:])

    _told(recorder.active, how, op, cell, ks, stack[below:], run)


def _watched(rec: Recorder, how: str, op: OperatorEntry, cell: Cell, ks: int, *args: Any) -> Any:
    """The same typed call, told step by step."""
    return _told(rec, how, op, cell, ks, args, lambda: cell.function(ks, *args))


def _told(
    rec: Recorder, how: str, op: OperatorEntry, cell: Cell, ks: int, args: Sequence[Any], run: Callable[[], Any]
) -> Any:
    """Says how the key set came about, which cell it picks, and what the kernel gives back."""
    rec.dispatched(how, op, ks)
    try:
        if how in ("call", "callBoxed"):
            rec.key_set_computed(op, tensor_arguments(op, args), ks)
        rec.kernel_selected(op, cell)
        return _kernel_told(rec, op, cell, ks, run)
    except BaseException as error:
        rec.error_raised(error)
        raise
    finally:
        rec.leave()


def _kernel_told(rec: Recorder, op: OperatorEntry, cell: Cell, ks: int, run: Callable[[], Any]) -> Any:
    rec.kernel_entered(op, cell, ks)
    try:
        result = run()
        rec.kernel_returned(result)
        return result
    except BaseException as error:
        rec.error_raised(error)
        raise
    finally:
        rec.leave()
