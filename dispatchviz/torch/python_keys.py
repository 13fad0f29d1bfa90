"""The part of ``torch._C`` for modes and subclasses, and the methods of ``Tensor`` for them
(``torch/csrc/autograd/init.cpp``, ``python_variable.cpp``).

Importing this module installs the methods and gives the machine its ``func``; the rest is for ``torch._C``.
"""

from __future__ import annotations

from functools import cache
from types import TracebackType
from typing import Any

from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.keys.key_set import DispatchKeySet, raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.python_side import dispatch_modes, tensor_subclass
from dispatchviz.core.python_side.py_interpreter import interpreter
from dispatchviz.core.python_side.python_fallback import RestorePythonTLSSnapshot
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.tensor.tensor_meta import (
    TensorMeta,
    disabled_torch_dispatch_impl,
    disabled_torch_function_impl,
    set_root,
)
from dispatchviz.core.thread import guards
from dispatchviz.core.thread.guards import ExcludeDispatchKeyGuard, IncludeDispatchKeyGuard
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.torch._ops import overload_of

_TensorMeta = TensorMeta
_disabled_torch_dispatch_impl = disabled_torch_dispatch_impl
_disabled_torch_function_impl = disabled_torch_function_impl
_RestorePythonTLSSnapshot = RestorePythonTLSSnapshot


# -- the mode stack ---------------------------------------------------------------------------------------------------


def _push_on_torch_dispatch_stack(mode: Any) -> None:
    """Push a mode, which then intercepts calls first."""
    dispatch_modes.push(mode)


def _pop_torch_dispatch_stack(mode_key: Any = None) -> Any:
    """Pop the newest mode. Raise RuntimeError if there is none."""
    return dispatch_modes.pop()


def _len_torch_dispatch_stack() -> int:
    """Return the number of modes."""
    return len(thread.state.modes)


def _get_dispatch_stack_at(index: int) -> Any:
    """Return a mode by its index; the oldest is 0. Raise RuntimeError if there are fewer."""
    return dispatch_modes.mode_at(index)


# -- guards -----------------------------------------------------------------------------------------------------------


class _DisableTorchDispatch(ExcludeDispatchKeyGuard):
    """A guard that keeps modes and subclasses from intercepting calls."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(raw(DispatchKey.Python, DispatchKey.PythonTLSSnapshot, DispatchKey.PreDispatch))


class _EnablePreDispatch(IncludeDispatchKeyGuard):
    """A guard under which calls begin at PreDispatch."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(raw(DispatchKey.PreDispatch))


class _EnablePythonDispatcher(IncludeDispatchKeyGuard):
    """A guard under which the Python dispatcher chooses the kernels of every call, level by level."""

    __slots__ = ("_was_on",)

    def __init__(self) -> None:
        super().__init__(raw(DispatchKey.PythonDispatcher))

    def __enter__(self) -> None:
        self._was_on, thread.state.python_dispatcher = thread.state.python_dispatcher, True
        super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        super().__exit__(kind, error, at)
        thread.state.python_dispatcher = self._was_on


class _DisablePythonDispatcher:
    """A guard under which only the C++ dispatcher chooses kernels."""

    def __enter__(self) -> None:
        state = thread.state
        self._saved, self._was_on = state.included, state.python_dispatcher
        state.included, state.python_dispatcher = state.included & ~raw(DispatchKey.PythonDispatcher), False
        if recorder.active is not None:
            recorder.active.guard_entered("DisablePythonDispatcher", self._saved, state.excluded)

    def __exit__(self, *error: object) -> None:
        thread.state.included, thread.state.python_dispatcher = self._saved, self._was_on
        if recorder.active is not None:
            recorder.active.guard_left("DisablePythonDispatcher")


class DisableTorchFunctionSubclass:
    """A guard under which no ``__torch_function__`` of a subclass is called."""

    _how = guards.SUBCLASSES_DISABLED

    def __enter__(self) -> None:
        self._guard = guards.torch_function_disabled(self._how)
        self._guard.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._guard.__exit__(*error)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A guard under which no ``__torch_function__`` of a subclass or a mode is called."""

    _how = guards.ALL_DISABLED


# -- methods of Tensor ------------------------------------------------------------------------------------------------


def _make_subclass(cls: Any, data: Any, require_grad: bool = False) -> Any:
    """Return a detached alias of ``data`` as an instance of ``cls``. Raise TypeError if ``cls`` is not a tensor
    class.
    """
    tensor_subclass.check_class(cls)
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
    return tensor_subclass.make_subclass(cls, data, require_grad)


def _make_wrapper_subclass(
    cls: Any,
    size: Any,
    strides: Any = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: DispatchKeySet | None = None,
    storage_size: int | None = None,
) -> Any:
    """Return a tensor without memory, on any device. The errors are those of ``core``'s ``make_wrapper_subclass``.

    NB: in PyTorch, sizes, strides, device and layout may be dispatched to ``__torch_dispatch__``.
    """
    tensor_subclass.check_class(cls)
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"_make_wrapper_subclass(): argument 'size' (position 2) must be tuple of ints, not {type(size).__name__}"
        )
    if dispatch_sizes_strides_policy is not None or dispatch_device or dispatch_layout:
        raise NotImplementedError("sizes, device and layout from __torch_dispatch__ are not in dispatchviz's model yet")
    return tensor_subclass.make_wrapper_subclass(
        cls,
        tuple(size),
        None if strides is None else tuple(strides),
        storage_offset,
        dtype,
        None if device is None else Device(device),
        requires_grad,
        0 if _extra_dispatch_keys is None else _extra_dispatch_keys.raw_repr(),
    )


def _legacy_new(cls: Any, *args: Any) -> Any:
    """Create a tensor: ``T(tensor)`` is an alias, ``T(2, 3)`` is uninitialized, ``T([1., 2.])`` has these values."""
    from dispatchviz.torch import legacy_constructors  # circular: bindings are made from Tensor's methods

    return tensor_subclass.new_with_class(legacy_constructors.new(args, None, CPU), cls)


def _torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """``Tensor.__torch_function__``: run the function and make its results instances of ``cls``."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with guards.torch_function_disabled(guards.SUBCLASSES_DISABLED):
        result = func(*args, **(kwargs or {}))
    return result if func in _default_nowrap_functions() else tensor_subclass.converted(result, cls)


@cache
def _default_nowrap_functions() -> tuple[Any, ...]:
    """``get_default_nowrap_functions``"""
    return tuple(vars(Tensor)[name].__get__ for name in ("_base", "grad"))


def _install(cls: Any) -> None:
    """Install the methods on ``Tensor``, once."""
    cls.__module__ = "torch"
    cls._make_subclass = staticmethod(_make_subclass)
    cls._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)
    cls.as_subclass = tensor_subclass.as_subclass
    cls.__torch_dispatch__ = staticmethod(disabled_torch_dispatch_impl)
    _torch_function.__qualname__ = "Tensor.__torch_function__"
    cls.__torch_function__ = classmethod(_torch_function)
    set_root(cls, _legacy_new)
    interpreter.op_overload = overload_of


_install(Tensor)
