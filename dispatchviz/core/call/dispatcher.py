"""The dispatcher: from a key set to an entry of an operator's dispatch table
(``aten/src/ATen/core/dispatch/Dispatcher.h``).

A call joins the arguments' keys with the thread-local include set, removes the exclude set, applies the operator's mask
and runs the kernel for the highest key that remains. A redispatch uses its key set unchanged: no arguments, no thread
state, no mask.

Rule 1: the operator and the key set before the mask decide the entry and the effective set of a call. The operator and
the key set decide the entry of a redispatch. ``OperatorEntry`` keeps both as derived tables.
Rule 2: without a recorder, recording costs one check here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dispatchviz.core.seam import recorder
from dispatchviz.core.table.operator_entry import Cell, OperatorEntry
from dispatchviz.core.thread.thread_state import restore_state, save_state, thread

if TYPE_CHECKING:
    from dispatchviz.core.record.events.dispatch_events import CallKind

_BACKENDS = 0xFFFF


Function = Callable[..., Any]
"""A kernel, which is called with the key set and all arguments."""


def call(op: OperatorEntry, argument_keys: int) -> tuple[Function, int]:
    """Return the kernel to run and its key set (``Dispatcher::call``). ``argument_keys`` is the OR of the tensors' key
    sets.
    """
    state = thread.state
    base = (argument_keys | state.included) & (_BACKENDS | ~state.excluded)
    return op.kernels[base]


def redispatch(op: OperatorEntry, ks: int) -> Function:
    """Return the kernel for a key set that is used unchanged (``Dispatcher::redispatch``)."""
    return op.redispatch_kernels[ks]


def call_boxed(op: OperatorEntry, stack: list[Any]) -> None:
    """Pop the arguments from the stack and push the returns (``Dispatcher::callBoxed``).

    Only tensor arguments count for the key set (``DispatchKeyExtractor.h``, boxed form).
    """
    state = thread.state
    saved = save_state()
    try:
        cell, ks = op.lookup[(boxed_keys(op, stack) | state.included) & (_BACKENDS | ~state.excluded)]
        run_boxed("callBoxed", op, cell, ks, stack)
    except BaseException:  # it may be the call of ``torch.ops``
        restore_state(saved)
        raise


def redispatch_boxed(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
    """Redispatch a boxed call (``Dispatcher::redispatchBoxed``)."""
    run_boxed("redispatchBoxed", op, op.redispatch_lookup[ks], ks, stack)


def entry_for(op: OperatorEntry, args: Sequence[Any]) -> tuple[Cell, int]:
    """Return the entry for a call with Python objects, and its key set (``pyobject_dispatch_vectorcall``)."""
    state = thread.state
    return op.lookup[(boxed_keys(op, args) | state.included) & (_BACKENDS | ~state.excluded)]


def run_with_objects(
    how: CallKind, cell: Cell, python: Function, ks: int, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Return the result of a Python kernel. The arguments and the result are its own objects, without a stack."""
    rec = recorder.active
    if rec is None:
        return python(ks, *args, **kwargs)
    if how == "pyobject_dispatch":
        rec.called(how, cell, ks, args)
    else:
        rec.redispatched(how, cell, ks)
    try:
        result = python(ks, *args, **kwargs)
    except BaseException as error:
        rec.call_failed(error)
        raise
    if rec.hashes:
        rec.result_hashed(cell.operator, result)
    if rec.numbers:
        rec.numbers_after(cell.operator, args, result)
    rec.returned(result)
    return result


def boxed_keys(op: OperatorEntry, args: Sequence[Any]) -> int:
    """The OR of the key sets of the tensors among the arguments, found by the schema's positions."""
    keys = 0
    for _, tensor in tensor_arguments(op, args):
        keys |= tensor._ks
    return keys


def tensor_arguments(op: OperatorEntry, args: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each defined tensor among the arguments. The members of a list are ``tensors[0]``, ..."""
    for name, position in op.tensor_parameters:
        value = args[position]
        if isinstance(value, (list, tuple)):
            yield from ((f"{name}[{i}]", member) for i, member in enumerate(value) if member is not None)
        elif value is not None:
            yield name, value


def generator_keys(op: OperatorEntry, args: Sequence[Any]) -> int:
    """The keys that a random generator among the arguments adds to the key set; 0 without one."""
    generator = None if op.generator_position is None else args[op.generator_position]
    return 0 if generator is None else int(generator.key_set)


def run_boxed(how: CallKind, op: OperatorEntry, cell: Cell, ks: int, stack: list[Any]) -> None:
    """Run the kernel of an entry, which pops its arguments and pushes its returns."""
    rec = recorder.active
    if rec is None:
        cell.boxed(ks, stack)
        return
    below = len(stack) - len(op.schema.arguments)
    args = tuple(stack[below:]) if rec.numbers else ()
    if how in ("callBoxed", "pyobject_dispatch"):
        rec.called(how, cell, ks, stack[below:])
    else:
        rec.redispatched(how, cell, ks)
    try:
        cell.boxed(ks, stack)
    except BaseException as error:
        rec.call_failed(error)
        raise
    if rec.hashes:
        rec.result_hashed(op, tuple(stack[below:]))
    if rec.numbers:
        rec.numbers_after(op, args, tuple(stack[below:]))
    rec.returned(tuple(stack[below:]))
