"""``torch._C._DispatchOperatorHandle`` and ``torch._C._SafeKernelFunction``: an operator, and the kernel of one of its
dispatch table entries.

Mirrors ``ophandle_call_boxed`` and its neighbors in ``torch/csrc/utils/python_dispatch.cpp``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.bindings import pybind
from dispatchviz.core.bindings.pybind import bound
from dispatchviz.core.call.dispatcher import call_boxed
from dispatchviz.core.kernel.boxing import boxed_form
from dispatchviz.core.kernel.kernel_function import Kernel
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.python_side.operator_arguments import stack_for
from dispatchviz.core.schema.schema_parser import OperatorName, parse_name
from dispatchviz.core.table.library import process
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.torch.operator_base import OperatorHandle as _DispatchOperatorHandle
from dispatchviz.torch.operator_base import results

pybind.CONVERTERS["torch._C._DispatchOperatorHandle"] = pybind.instances_of(_DispatchOperatorHandle)


class _SafeKernelFunction:
    """The kernel that a dispatch table entry had when it was looked up."""

    __module__ = "torch._C"

    _op: OperatorEntry
    _kernel: Kernel

    def __init__(self, *_: object) -> None:
        raise TypeError("torch._C._SafeKernelFunction: No constructor defined!")

    @bound("call_boxed(self: torch._C._SafeKernelFunction, arg0: c10::DispatchKeySet, *args, **kwargs) -> object")
    def call_boxed(self, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        stack = stack_for(self._op.schema, args, kwargs)
        boxed_form(self._op, self._kernel)(keyset.raw_repr(), stack)
        return results(self._op, stack)

    @property
    def op_handle(self) -> _DispatchOperatorHandle:
        """The operator."""
        return _DispatchOperatorHandle.of(self._op)

    @bound("__repr__(self: torch._C._SafeKernelFunction) -> str")
    def __repr__(self) -> str:
        return f"SafeKernelFunction(debug='{self._kernel.debug}')"


def find_op(name: str) -> OperatorEntry | None:
    """``findOp``: find an operator, even one that was only implemented. Raise RuntimeError for an invalid operator
    name.
    """
    return process.get(str(parse_name(name)))


def existing_op(name: str) -> OperatorEntry:
    """Return the operator. Raise RuntimeError if there is none."""
    op = find_op(name)
    if op is None:
        raise RuntimeError(f"operator {name} does not exist")
    return op


@bound("_dispatch_find_schema_or_throw(arg0: str, arg1: str) -> torch._C._DispatchOperatorHandle")
def _dispatch_find_schema_or_throw(name: str, overload: str) -> _DispatchOperatorHandle:
    return _DispatchOperatorHandle.of(process.find(str(OperatorName(name, overload))))


@bound("_dispatch_call_boxed(arg0: torch._C._DispatchOperatorHandle, *args, **kwargs) -> object")
def _dispatch_call_boxed(handle: _DispatchOperatorHandle, *args: Any, **kwargs: Any) -> Any:
    op = handle._entry
    stack = stack_for(op.schema, args, kwargs)
    call_boxed(op, stack)
    return results(op, stack)


@bound("_dispatch_set_report_error_callback(arg0: torch._C._DispatchOperatorHandle, arg1: object) -> None")
def _dispatch_set_report_error_callback(handle: _DispatchOperatorHandle, callback: Any) -> None:
    handle._entry.report_error_callback = lambda key: callback(key)  # even None is called


@bound(
    "_dispatch_get_computed_kernel_for_dispatch_key(arg0: str, arg1: c10::DispatchKey) -> torch._C._SafeKernelFunction"
)
def _dispatch_get_computed_kernel_for_dispatch_key(name: str, key: DispatchKey) -> _SafeKernelFunction:
    """Return the kernel in the stored dispatch table entry.

    NB: in PyTorch, the process ends if the entry is stale and would have no kernel if it were computed now.
    """
    op = existing_op(name)
    if key.is_alias:
        raise RuntimeError("Alias keys do not have runtime kernel registrations.")
    kernel = op.redispatch_lookup[key.bits].kernel
    if kernel is None:
        raise RuntimeError(f"no kernel for {key} for {op.name}")
    made = _SafeKernelFunction.__new__(_SafeKernelFunction)
    made._op, made._kernel = op, kernel
    return made
