"""The attributes ``.grad`` and ``.data`` (``torch/csrc/autograd/python_variable.cpp``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.variables.variable import is_leaf, requires_grad, shallow_copy_and_detach
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import functorch_batched_ks
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.dtype import type_meta_name
from dispatchviz.core.tensor.tensor import Tensor, VersionCounter
from dispatchviz.core.thread.warning import warn_python

_NOT_A_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
    "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the "
    "leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
)


def get_grad(tensor: Tensor) -> Tensor | None:
    """Return ``.grad``. Warn for a tensor that will never get one."""
    if tensor._grad is None and not tensor._retains_grad and not is_leaf(tensor):
        warn_python(_NOT_A_LEAF, "build/aten/src/ATen/core/TensorBody.h:493")
    return tensor._grad


def set_grad(tensor: Tensor, value: Any) -> None:
    """Set ``.grad``. Raise TypeError or RuntimeError with PyTorch's text for anything that cannot be this tensor's
    gradient.
    """
    if value is None:
        _assign(tensor, None)
        return
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value._dtype is not tensor._dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{type_meta_name(value._dtype)}' to a tensor with grad_dtype "
            f"'{tensor._dtype.legacy}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's "
            "dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow any dtype. "
            "Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break downstream "
            "systems that assume they match."
        )
    if value._device.type != tensor._device.type:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{value._device.type}' to a tensor with device type "
            f"'{tensor._device.type}'. Please ensure that the gradient and the tensor are on the same device"
        )
    if value._size != tensor._size:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value._size)}' to a tensor of size "
            f"'{list(tensor._size)}'. Please ensure that the gradient and the tensor are the same size"
        )
    _assign(tensor, value)


def _assign(tensor: Tensor, value: Tensor | None) -> None:
    before, tensor._grad = tensor._grad, value
    if recorder.active is not None and before is not value:
        recorder.active.grad_set(tensor)


def get_data(tensor: Tensor) -> Tensor:
    """Return ``.data``: the same memory without history and with a version counter of its own."""
    if tensor._ks & functorch_batched_ks:
        raise RuntimeError("accessing `data` under vmap transform is not allowed")
    alias = shallow_copy_and_detach(tensor, VersionCounter())
    if recorder.active is not None and alias._number < 0:  # it did not come from a handler
        recorder.active.tensor_created(alias)
    return alias


def set_data(tensor: Tensor, value: Any) -> None:
    """Set ``.data``: take another tensor's memory. A leaf's accumulator is dropped if dtype or device change.

    Raise TypeError if the value is not a tensor, RuntimeError if it cannot require grad and this tensor does.
    """
    if not isinstance(value, Tensor):
        raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
    if not ops._has_compatible_shallow_copy_type.call(tensor, value):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
        )
    if requires_grad(tensor) and not value._dtype.can_require_grad:
        raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
    if tensor._dtype is not value._dtype or tensor._device != value._device:
        tensor._accumulator = None
    before = tensor._ks
    for field in ("_ks", "_array", "_storage", "_size", "_stride", "_offset", "_dtype", "_device"):
        setattr(tensor, field, getattr(value, field))
    if recorder.active is not None:
        recorder.active.data_set(tensor, before)
