"""Kernels that are Python functions, as ``torch.library`` registers them.

This module mirrors ``PythonKernelHolder`` of ``torch/csrc/utils/python_dispatch.cpp``: a boxed kernel that pops its
arguments, passes them to the function as Python objects and pushes the function's result. Both conversions are
recorded. The kernel does not change the thread's state: no key is excluded while it runs.

Not here: the rules of ``torch.library`` (``dispatchviz.torch``), the objects themselves (``operator_arguments.py``,
``ivalue.py``).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from dispatchviz.core.bindings.python_keys import DispatchKeySet
from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.kernel.kernel_names import function_name
from dispatchviz.core.python_side.ivalue import CastError, to_ivalue
from dispatchviz.core.python_side.operator_arguments import python_arguments
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from dispatchviz.core.table.operator_entry import OperatorEntry

POINTER = "PythonKernelHolder"
"""The function pointer that all Python kernels share, so that invariants cannot distinguish them."""
FALLTHROUGH_POINTER = "fallthrough_kernel"


def fallthrough_kernel(*_: Any) -> None:
    """Represent a fallthrough where a kernel is expected. Raise NotImplementedError if it is called."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def python_kernel(
    function: Callable[..., Any],
    debug: str,
    with_keyset: bool = False,
    op_object: Callable[[OperatorEntry], Any] | None = None,
) -> Kernel:
    """Return a Python function as a kernel.

    ``with_keyset``: the function's first argument is the received DispatchKeySet. ``op_object`` returns the next
    argument from the operator, as fallbacks need it. The result must fit the schema: see ``push_results``.
    """

    @functools.wraps(function, assigned=("__doc__", "__name__"), updated=())
    def run(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
        schema = op.schema  # the function may destroy the library that defined it
        at = len(stack) - len(schema.arguments)
        if recorder.active is not None:
            recorder.active.unboxed(op, stack[at:], schema.arguments)
        args, kwargs = python_arguments(schema, stack[at:])
        del stack[at:]
        leading = [DispatchKeySet.from_raw_repr(ks)] if with_keyset else []
        if op_object is not None:
            leading.append(op_object(op))
        _push(schema, stack, function(*leading, *args, **kwargs), POINTER)
        if recorder.active is not None:
            recorder.active.boxed(op, stack[at:], schema.returns)

    def run_with_objects(ks: int, *args: Any, **kwargs: Any) -> Any:
        return function(*([DispatchKeySet.from_raw_repr(ks)] if with_keyset else ()), *args, **kwargs)

    python = run_with_objects if op_object is None else None
    return Kernel(function_name(function), run, debug, boxed=True, pointer=POINTER, python=python)


def fallthrough(debug: str) -> Kernel:
    """The kernel that ``torch.library.fallthrough_kernel`` registers."""
    return Kernel("fallthrough_kernel", None, debug, boxed=True, fallthrough=True, pointer=FALLTHROUGH_POINTER)


def push_results(op: OperatorEntry, stack: list[Any], result: Any, msg: str) -> None:
    """Push the result of Python code onto the stack (``pushPyOutToStack``). ``msg`` names that code in errors.

    Raise RuntimeError if there is a result but the schema has none, and for a result of a wrong type. Raise TypeError
    if several results are not in a sequence. None is an undefined tensor. A sequence that is too short pushes only its
    own results.

    NB: in PyTorch, a sequence that is too long ends the process; here it is a RuntimeError.
    """
    _push(op.schema, stack, result, msg)


def _push(schema: FunctionSchema, stack: list[Any], result: Any, msg: str) -> None:
    returns = schema.returns
    if not returns:
        if result is not None:
            raise RuntimeError(
                f"Expected {msg} for {schema.full_name} to return None but it returned something else instead."
            )
        return
    try:
        stack.extend([to_ivalue(returns[0].type, result)] if len(returns) == 1 else _several(schema, result))
    except CastError as error:
        raise RuntimeError(str(error)) from None


def _several(schema: FunctionSchema, result: Any) -> list[Any]:
    if not isinstance(result, Sequence) or isinstance(result, str):
        raise TypeError(f"Object of type '{type(result).__name__}' is not an instance of 'sequence'")
    returns = schema.returns
    if len(result) > len(returns):
        raise RuntimeError(
            f"{schema.full_name} returns {len(returns)} values, but its Python kernel returned {len(result)}"
        )
    return [to_ivalue(declared.type, value) for declared, value in zip(returns, result, strict=False)]
