"""Adapters that run a kernel of one calling convention in the other (``aten/src/ATen/core/boxing``).

A typed kernel takes ``(ks, *args)``. A boxed kernel takes ``(op, ks, stack)``, pops its arguments off the stack, left
to right in schema order, and pushes its returns, the first one deepest. ``typed_form`` and ``boxed_form`` return any
kernel in the convention that they name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.key_set import highest
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.seam import recorder

if TYPE_CHECKING:
    from dispatchviz.core.table.operator_entry import OperatorEntry

Typed = Callable[..., Any]
"""A kernel that is called as ``function(ks, *args)``."""
Boxed = Callable[[int, list[Any]], None]
"""A kernel that is called as ``function(ks, stack)``."""


def typed_form(op: OperatorEntry, kernel: Kernel) -> Typed:
    """Return the kernel as ``function(ks, *args)``. A kernel that cannot run raises when it is called."""
    if kernel.fallthrough:
        return _run_fallthrough
    if kernel.function is None:
        return _only_in_pytorch(op, kernel)
    return _box(op, kernel.function) if kernel.boxed else kernel.function


def boxed_form(op: OperatorEntry, kernel: Kernel) -> Boxed:
    """Return the kernel as ``function(ks, stack)``."""
    function = kernel.function
    if function is None or kernel.fallthrough or not kernel.boxed:
        return _unbox(op, typed_form(op, kernel))
    return lambda ks, stack: function(op, ks, stack)


def _box(op: OperatorEntry, function: Callable[..., Any]) -> Typed:
    """Return a typed function that puts the arguments on a stack, runs the kernel and takes the returns off the
    stack.
    """

    def boxed(ks: int, *args: Any) -> Any:
        stack = list(args)
        if recorder.active is not None:
            recorder.active.boxed(op, stack, op.schema.arguments)
        function(op, ks, stack)
        if recorder.active is not None:
            recorder.active.unboxed(op, stack, op.schema.returns)
        return _returned(op.schema, args, stack)

    return boxed


def _unbox(op: OperatorEntry, function: Typed) -> Boxed:
    """Return a boxed function that takes the arguments off the stack, runs the kernel and pushes the returns. PyTorch
    generates this wrapper for typed kernels.
    """
    count, returns = len(op.schema.arguments), len(op.schema.returns)

    def unboxed(ks: int, stack: list[Any]) -> None:
        at = len(stack) - count
        args = stack[at:]
        if recorder.active is not None:
            recorder.active.unboxed(op, args, op.schema.arguments)
        result = function(ks, *args)
        stack[at:] = result if returns > 1 else [result] * returns
        if recorder.active is not None:
            recorder.active.boxed(op, stack[at:], op.schema.returns)

    return unboxed


def _returned(schema: FunctionSchema, args: tuple[Any, ...], stack: list[Any]) -> Any:
    """The result for a typed caller: the returns, or, for in-place and out= operators, the arguments that they write.

    In C++ those operators return references to their arguments, and ignore the values that the kernel pushed.
    """
    values = [args[position] for position in schema.returned_arguments] or stack
    return values[0] if len(values) == 1 else tuple(values) if values else None


def _only_in_pytorch(op: OperatorEntry, kernel: Kernel) -> Typed:
    def run(ks: int, *args: Any) -> Any:
        raise NotImplementedError(
            f"the dispatch table entry of {op.name} for {highest(ks)} holds PyTorch's kernel {kernel.name} "
            f"({kernel.debug or 'location unknown'}), which dispatchviz does not implement"
        )

    return run


def _run_fallthrough(ks: int, *args: Any) -> Any:
    """Raise the internal assertion. Only a redispatch gets here: calls never pick a key that the mask has removed."""
    raise RuntimeError(
        '0 INTERNAL ASSERT FAILED at "aten/src/ATen/core/boxing/KernelFunction.cpp":14, please report a bug to '
        "PyTorch. fallthrough_kernel was executed but it should have been short-circuited by the dispatcher. This "
        "could occur if you registered a fallthrough kernel as a override for a specific operator (as opposed to a "
        "backend fallback); this is NOT currently supported, and we do not intend to add support for it in the near "
        "future.  If you do find yourself in need of this, let us know in the bug tracker."
    )
