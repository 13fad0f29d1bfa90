"""``OperatorBase``: the base class of operators in Python, and the handle of an operator in C++.

Mirrors ``OperatorBase`` of ``torch/_ops.py``.

``py_impl`` stores kernels for the Python dispatcher; ordinary calls do not use them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.bindings.pybind import bound
from dispatchviz.core.bindings.python_keys import DispatchKey as PythonKey
from dispatchviz.core.call.dispatcher import boxed_keys, redispatch_boxed, run_boxed
from dispatchviz.core.kernel.boxing import boxed_form
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.python_side.ivalue import DTYPE_NUMBERS, to_object
from dispatchviz.core.python_side.operator_arguments import stack_for
from dispatchviz.core.schema.function_schema import FunctionSchema as CoreSchema
from dispatchviz.core.table.library import process
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.torch.function_schema import FunctionSchema

Function = Callable[..., Any]

_BACKENDS = 0xFFFF
_PYTHON_DISPATCHER = KEY_BITS[DispatchKey.PythonDispatcher]


class OperatorBase:
    """Base class of OpOverload: kernels by key that were registered in Python."""

    def __init__(self) -> None:
        self._dispatch_cache: dict[Any, Any] = {}
        self.py_kernels: dict[Any, Function] = {}
        self.python_key_table: dict[type, Function] = {}
        """Mode or subclass -> the function to run for it."""

    def name(self) -> str:
        """Return the full name."""
        raise NotImplementedError

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        """Return whether Python registered a kernel for this key."""
        return k in self.py_kernels

    def has_kernel_for_any_dispatch_key(self, ks: Any) -> bool:
        """Return whether Python registered a kernel for a runtime key of the set."""
        return any(not key.is_alias and ks.has(key) for key in self.py_kernels)

    def py_impl(self, k: Any) -> Callable[[Function], Function]:
        """Decorator: register a kernel for a key, a mode or a subclass.

        Raise RuntimeError for a second kernel under a key, AssertionError for anything else and for the key Python.
        """
        return lambda function: self._register_python_kernel(k, function)

    def _register_python_kernel(self, k: Any, function: Function) -> Function:
        if isinstance(k, type):
            _check(k not in self.python_key_table, f"{k} already registered in python_key_table")
            self.python_key_table[k] = function
        else:
            _check(isinstance(k, DispatchKey | PythonKey), f"expected DispatchKey, got {type(k)}")
            _check(k != DispatchKey.Python, "Please register a mode for the DispatchKey.Python key instead.")
            if k in self.py_kernels:
                raise RuntimeError(
                    f"Trying to override a python impl for DispatchKey.{k.name} on operator {self.name()}"
                )
            self.py_kernels[k] = function
        self._dispatch_cache.clear()
        return function


def _check(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)


class OperatorHandle:
    """``torch._C._DispatchOperatorHandle``"""

    __module__ = "torch._C"
    __qualname__ = "_DispatchOperatorHandle"
    _entry: OperatorEntry

    def __init__(self, *_: object) -> None:
        raise TypeError("torch._C._DispatchOperatorHandle: No constructor defined!")

    @staticmethod
    def of(entry: OperatorEntry) -> OperatorHandle:
        """Return the handle of an operator."""
        made = OperatorHandle.__new__(OperatorHandle)
        made._entry = entry
        return made

    @bound("schema(self: torch._C._DispatchOperatorHandle) -> torch._C.FunctionSchema")
    def schema(self) -> FunctionSchema:
        return FunctionSchema(self._entry.schema)

    @bound("debug(self: torch._C._DispatchOperatorHandle) -> str")
    def debug(self) -> str:
        return self._entry.debug

    @bound("redispatch_boxed(self: object, arg0: c10::DispatchKeySet, *args, **kwargs) -> object")
    def redispatch_boxed(self, keyset: Any, *args: Any, **kwargs: Any) -> Any:
        stack = stack_for(self._entry.schema, args, kwargs)
        redispatch_boxed(self._entry, keyset.raw_repr(), stack)
        return results(self._entry, stack)


def results(op: OperatorEntry, stack: list[Any]) -> Any:
    """Return the value of a call in Python: None for no results, the value for one, a tuple for several.

    Dtypes are returned as their numbers, because TorchScript treats them as ints.
    """
    return results_of(op.schema, stack)


def results_of(schema: CoreSchema, stack: list[Any]) -> Any:
    """Return the value of a call, as ``results`` does, from a schema alone."""
    values = [_result(declared.type, value) for declared, value in zip(schema.returns, stack, strict=False)]
    if not values:
        return None
    return values[0] if len(values) == 1 else tuple(values)


def _result(type_: str, value: Any) -> Any:
    seen = to_object(type_, value)
    return DTYPE_NUMBERS[value.name] if type_ == "ScalarType" else seen


def call_for_dispatch_key(op: OperatorEntry, key: DispatchKey, stack: list[Any]) -> None:
    """``callBoxedForDispatchKey``: run the kernel registered for a key, or its backend fallback.

    The key set that the kernel receives is computed as for a call. Raise RuntimeError if there is neither.

    NB: in PyTorch, the process ends if there is neither.
    """
    kernel = op.kernel(key) or process.fallbacks.get(key)
    if kernel is None:
        raise RuntimeError(f"{op.name} has neither a kernel nor a backend fallback for {key}")
    state = thread.state
    base = (boxed_keys(op, stack) | state.included) & (_BACKENDS | ~state.excluded)
    ks = base & op.mask_for(base)
    cell = op.redispatch_lookup[ks & ~_PYTHON_DISPATCHER]
    if cell.kernel is kernel:  # always, if the Python dispatcher calls
        run_boxed("callBoxedForDispatchKey", op, cell, ks, stack)
    else:
        boxed_form(op, kernel)(ks, stack)
