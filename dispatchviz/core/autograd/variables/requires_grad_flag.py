"""``requires_grad_``, ``set_requires_grad``, ``detach_``.

This module mirrors ``torch/csrc/autograd/python_variable.cpp`` (the attribute), ``python_variable_methods.cpp`` (the
method) and ``VariableTypeManual.cpp`` (``detach_``). Only ``detach_`` is dispatched, and no key changes.
"""

from __future__ import annotations

from dispatchviz.core.autograd.variables.variable import is_inference, is_leaf, shallow_copy_and_detach
from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.layers.functorch.functorch_tls import check_supports_inplace_requires_grad
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor, VersionCounter
from dispatchviz.core.thread.thread_state import thread

_FUNCTIONALIZE = raw(DispatchKey.Functionalize)
_NOT_A_LEAF = "you can only change requires_grad flags of leaf variables."
_USE_DETACH = (
    " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
    "var_no_grad = var.detach()."
)
_VIEW = (
    "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, "
    "and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be "
    "called on these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
    "torch/optim/optimizer.py as the solution."
)


def requires_grad_(tensor: Tensor, flag: bool = True) -> Tensor:
    """Run ``Tensor.requires_grad_``. Raise RuntimeError for False on a computed tensor, or True on a dtype without
    gradients.
    """
    check_supports_inplace_requires_grad()
    return change_requires_grad(tensor, flag)


def change_requires_grad(tensor: Tensor, flag: bool = True) -> Tensor:
    """Set the flag, even inside of transforms, for the transforms themselves."""
    if not flag and not is_leaf(tensor):
        raise RuntimeError(_NOT_A_LEAF + _USE_DETACH)
    if flag and not tensor._dtype.can_require_grad:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    return _set_flag(tensor, flag)


def new_variable(tensor: Tensor, flag: bool) -> Tensor:
    """Return the result of a factory with this flag (``make_variable`` in ``torch/csrc/autograd/variable.h``).

    A functional tensor has the version counter of its value, so it gets copied. Raise RuntimeError for a dtype without
    gradients.
    """
    if tensor._ks & _FUNCTIONALIZE:
        tensor = shallow_copy_and_detach(tensor, VersionCounter())
        if recorder.active is not None:
            recorder.active.tensor_created(tensor)
    return make_variable(tensor, flag) if flag else tensor


def make_variable(tensor: Tensor, flag: bool) -> Tensor:
    """Set the flag of a new tensor. Raise RuntimeError for a dtype without gradients."""
    if not flag:
        return tensor
    if not tensor._dtype.can_require_grad:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return _set_flag(tensor, True)


def set_requires_grad(tensor: Tensor, flag: object) -> None:
    """Run ``Tensor.requires_grad = flag``. Raise RuntimeError in the cases of ``requires_grad_``, and for any computed
    tensor.
    """
    if not isinstance(flag, bool):
        raise RuntimeError("requires_grad must be a bool")
    if not is_leaf(tensor):
        raise RuntimeError(_NOT_A_LEAF + ("" if flag else _USE_DETACH))
    if flag and not tensor._dtype.can_require_grad:
        raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
    _set_flag(tensor, flag)


def _set_flag(tensor: Tensor, flag: bool) -> Tensor:
    if flag and is_inference(tensor) and not thread.state.inference_mode:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    tensor._requires_grad = flag
    if recorder.active is not None:
        recorder.active.requires_grad_set(tensor)
    return tensor


def detach_(tensor: Tensor) -> Tensor:
    """Drop history and flag. The Node that made the tensor keeps its hooks. Raise RuntimeError for a view."""
    if tensor._view is not None:
        raise RuntimeError(_VIEW)
    changes = tensor._requires_grad or tensor._grad_fn is not None
    tensor._requires_grad = False
    tensor._grad_fn = None
    tensor._output_nr = 0
    tensor._fw_grad = None
    if changes and recorder.active is not None:
        recorder.active.requires_grad_set(tensor, detached=True)
    return tensor
