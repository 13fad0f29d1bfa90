"""Instances of users' subclasses of Tensor: ``_make_subclass``, ``_make_wrapper_subclass``, ``as_subclass``.

This module mirrors ``torch/csrc/autograd/python_variable.cpp``. An instance of a subclass is a Tensor whose class is
changed after its creation. If the class has a ``__torch_dispatch__``, the tensor gets the two Python keys at that
moment.

Not here: the classes themselves (``tensor_meta.py``), calling ``__torch_dispatch__`` (``torch_dispatch.py``).
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.variables.requires_grad_flag import make_variable
from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import python_ks, tensor_key_set
from dispatchviz.core.python_side.dispatch_modes import StashTorchDispatchStackGuard
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.dtype import DType, default_dtype
from dispatchviz.core.tensor.tensor import Size, Storage, Tensor, contiguous_strides
from dispatchviz.core.tensor.tensor_meta import has_torch_dispatch
from dispatchviz.core.thread.thread_state import thread


def new_with_class(tensor: Tensor, cls: type) -> Any:
    """Return the tensor as an instance of ``cls`` (``THPVariable_NewWithVar``).

    Raise RuntimeError if it is an instance of another subclass already, since a tensor has one Python object.
    """
    if type(tensor) is not Tensor and not issubclass(type(tensor), cls):
        raise RuntimeError(
            f"Creating a new Tensor subclass {cls.__name__} but the raw Tensor object is already associated to a "
            f"python object of type {type(tensor).__name__} which is not a subclass of the requested type"
        )
    if type(tensor) is Tensor:
        tensor.__class__ = cls
    if has_torch_dispatch(cls) and not tensor._ks & python_ks:
        before = tensor._ks
        tensor._ks |= python_ks
        if recorder.active is not None:
            recorder.active.key_set_changed(tensor, before)
    return tensor


def make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Any:
    """Return a detached alias of ``data`` as an instance of ``cls``. Raise TypeError if that is not a tensor class."""
    check_class(cls)
    with StashTorchDispatchStackGuard():
        detached = ops.detach.call(data)
    return new_with_class(make_variable(detached, require_grad), cls)


def as_subclass(tensor: Tensor, cls: Any) -> Any:
    """Return an alias of ``tensor``, with its history, as an instance of ``cls``. Raise TypeError if that is not a
    tensor class.
    """
    check_class(cls)
    with StashTorchDispatchStackGuard():
        alias = ops.alias.call(tensor)
    return new_with_class(alias, cls)


def make_wrapper_subclass(
    cls: Any,
    size: Size,
    strides: Size | None = None,
    storage_offset: int | None = None,
    dtype: DType | None = None,
    device: Device | None = None,
    requires_grad: bool = False,
    extra_keys: int = 0,
) -> Any:
    """Return a tensor without memory, on any device, as an instance of ``cls``.

    It has the keys of a tensor of that device, and the Python keys. Raise TypeError if ``cls`` is not a tensor class
    with a ``__torch_dispatch__``. Raise RuntimeError for strides that do not fit the size, for a device without tensors
    and for a dtype that cannot require grad.
    """
    check_class(cls)
    if not has_torch_dispatch(cls):
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    stride = contiguous_strides(size) if strides is None else strides
    if len(stride) != len(size):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    device = device or CPU
    keys = tensor_key_set(device.type, thread.state.inference_mode) | extra_keys
    tensor = Tensor(keys, None, Storage(None), size, stride, storage_offset or 0, dtype or default_dtype(), device)
    if recorder.active is not None:
        recorder.active.tensor_created(tensor)
    return new_with_class(make_variable(tensor, requires_grad), cls)


def check_class(cls: Any) -> None:
    """Raise TypeError unless ``cls`` is a subclass of Tensor."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. "
            "Make sure your class inherits from Tensor."
        )


# -- results, by default ----------------------------------------------------------------------------------------------


def converted(result: Any, cls: Any) -> Any:
    """Return the result with its tensors as instances of ``cls`` (``_convert``)."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else as_subclass(result, cls)
    if isinstance(result, (tuple, list)):
        parts = [converted(part, cls) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result
