"""The calls of ``__torch_dispatch__``: of the newest mode, then of the tensors that have one.

This module mirrors ``dispatch`` and ``detach`` of ``torch/csrc/PyInterpreter.cpp`` and
``handle_torch_function_no_python_arg_parser`` of ``torch/csrc/utils/python_arg_parser.cpp``.

Rule 1: the newest mode comes first. It is off the stack while its handler runs.
Rule 2: then one tensor of each class with the Python key, in the order of the arguments, subclasses before their bases.
Rule 3: a handler that returns NotImplemented passes the call on to the next one. If all do, a TypeError is raised.

Not here: the include and exclude sets in force (``python_fallback.py``), the mode stack (``dispatch_modes.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dispatchviz.core.autograd.variables import view_replay
from dispatchviz.core.call.dispatcher import tensor_arguments
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.python_side.dispatch_modes import StashTorchDispatchModeGuard
from dispatchviz.core.python_side.operator_arguments import python_arguments
from dispatchviz.core.python_side.py_interpreter import interpreter
from dispatchviz.core.python_side.python_kernels import push_results
from dispatchviz.core.seam import recorder
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    from dispatchviz.core.record.events.torch_dispatch_events import TorchDispatchKind
    from dispatchviz.core.table.operator_entry import OperatorEntry

_PYTHON = KEY_BITS[DispatchKey.Python]


def dispatch(op: OperatorEntry, stack: list[Any]) -> None:
    """Pop the arguments off the stack, call ``__torch_dispatch__`` with them and push the result.

    Raise TypeError if no handler accepts the call, RuntimeError for a result that does not fit the schema.
    """
    at = len(stack) - len(op.schema.arguments)
    values = stack[at:]
    del stack[at:]
    args, kwargs = python_arguments(op.schema, values)
    overloaded = overloaded_arguments(tensor for _, tensor in tensor_arguments(op, values))
    push_results(op, stack, handle_torch_dispatch(op, overloaded, tuple(args), kwargs), "__torch_dispatch__")
    if overloaded:
        view_replay.record_view(op, values, stack[at:])


def overloaded_arguments(tensors: Iterable[Any]) -> list[Any]:
    """The overloaded arguments: one tensor of each class with the Python key, in the order of handling."""
    found: list[Any] = []
    for tensor in tensors:
        if tensor._ks & _PYTHON and all(type(tensor) is not type(known) for known in found):
            bases = (i for i, known in enumerate(found) if isinstance(tensor, type(known)))
            found.insert(next(bases, len(found)), tensor)
    return found


def handle_torch_dispatch(
    op: OperatorEntry, overloaded: Sequence[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Return the result of the first handler that accepts the call. Raise TypeError if none does."""
    types = tuple(type(tensor) for tensor in overloaded)
    mode = None
    if thread.state.modes:
        with StashTorchDispatchModeGuard() as mode:
            result = _call_handler("mode", mode, op, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for tensor in overloaded:
        result = _call_handler("subclass", tensor, op, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise _no_handler(op, mode, overloaded)


def _call_handler(
    kind: TorchDispatchKind,
    handler: Any,
    op: OperatorEntry,
    types: tuple[type, ...],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> Any:
    rec = recorder.active
    if rec is None:
        return handler.__torch_dispatch__(interpreter.op_overload(op), types, args, dict(kwargs))
    owner = type(handler).__name__
    rec.torch_dispatch_entered(kind, owner, op, types, args, kwargs)
    try:
        result = handler.__torch_dispatch__(interpreter.op_overload(op), types, args, dict(kwargs))
        rec.torch_dispatch_left(owner, result)
        return result
    except BaseException as error:
        rec.error_raised(error)
        raise
    finally:
        rec.leave()


def _no_handler(op: OperatorEntry, mode: Any, overloaded: Sequence[Any]) -> TypeError:
    lines = [] if mode is None else [f"  - mode object {mode!r}\n"]
    lines += [f"  - tensor subclass {type(tensor)!r}\n" for tensor in overloaded]
    name = f"torch._ops.{op.schema.name.replace('::', '.')}.{op.schema.overload or 'default'}"
    return TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
        f"{''.join(lines)}\nFor more information, try re-running with TORCH_LOGS=not_implemented"
    )


def detach(tensor: Any) -> Any | None:
    """Return a detached alias made by ``__torch_dispatch__``; None if neither a mode nor the tensor's class has one.

    It is called when a tensor is copied without a dispatcher call: for a saved output or ``.data``. The thread-local
    include and exclude sets are unchanged, and a mode always receives the tensor's class in ``types``.
    """
    state = thread.state
    if state.excluded & _PYTHON or not (state.modes or tensor._ks & _PYTHON):
        return None
    from dispatchviz.core.call.aten import find

    return handle_torch_dispatch(find("aten::detach"), [tensor], (tensor,), {})
