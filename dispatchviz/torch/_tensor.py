"""``copy``, ``deepcopy`` and pickling of tensors (``torch/_tensor.py``)."""

from __future__ import annotations

import copy
import warnings
from collections import OrderedDict
from typing import Any

from dispatchviz.core.autograd.variables import variable
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch import _utils
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.overrides import handle_torch_function, has_torch_function_unary
from dispatchviz.torch.storage import TypedStorage, storage_of


def deepcopy(self: Any, memo: dict[int, Any]) -> Tensor:
    """Return a copy of the tensor and its storage; tensors that share a storage share the copy. Raise RuntimeError for
    a non-leaf.
    """
    if has_torch_function_unary(self):
        return handle_torch_function(deepcopy, (self,), self, memo)  # type: ignore[no-any-return]
    if not variable.is_leaf(self):
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, "
            "see https://github.com/pytorch/pytorch/pull/103001"
        )
    if id(self) in memo:
        return memo[id(self)]  # type: ignore[no-any-return]
    with torch.no_grad():
        made = _without_storage_copy(self) if _is_cloned(self) else _on_copied_storage(self, memo)
        if self.requires_grad:
            made.requires_grad_()
        if self.grad is not None:
            made.grad = self.grad.__deepcopy__(memo)
        made.__dict__ = copy.deepcopy(vars(self), memo)
        memo[id(self)] = made
    return made  # type: ignore[no-any-return]


def _is_cloned(self: Any) -> bool:
    """Return whether the tensor is copied by ``clone``, because it has no memory."""
    return self._device.type == "meta" or (type(self) is not Tensor and self.data_ptr() == 0)


def _without_storage_copy(self: Any) -> Any:
    """Return a clone. Raise RuntimeError for a subclass whose ``clone`` returns plain tensors, as inside
    ``__torch_function__``.
    """
    made = self.clone()
    if type(made) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that "
            "implement clone() and for which cloning returns another instance of the same subclass. You should either "
            "properly implement clone() for your subclass or override __deepcopy__() if it is intended behavior for "
            "clone() to return an instance of a different type."
        )
    return made


def _on_copied_storage(self: Any, memo: dict[int, Any]) -> Any:
    """Return a tensor with the same metadata on a copy of the storage, conjugate and negative bits included.

    Raise RuntimeError for a subclass whose ``new_empty`` returns plain tensors, NotImplementedError inside a transform.
    """
    storage = copy.deepcopy(storage_of(self), memo)
    made = self.new_empty([])
    if type(made) is not type(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types "
            "that implement new_empty() and for which that function returns another instance of the same subclass. "
            "You should either properly implement new_empty() for your subclass or override __deepcopy__() if it is "
            "intended behavior for new_empty() to return an instance of a different type."
        )
    made.set_(storage, self.storage_offset(), self.size(), self.stride())
    if self.is_conj():
        made = made.conj_physical()
    return made.neg() if self.is_neg() else made


def reduce_ex(self: Any, protocol: Any) -> tuple[Any, ...]:
    """Return the reduce value: a function that makes a leaf on a storage, and its arguments."""
    state = vars(self)
    if type(self) is Tensor and not state:
        return _reduce_ex_internal(self)
    if has_torch_function_unary(self):
        return handle_torch_function(reduce_ex, (self,), self, protocol)  # type: ignore[no-any-return]
    function, arguments = _reduce_ex_internal(self)
    return _rebuild_from_type_v2, (function, type(self), arguments, state)


def shallow(self: Any) -> Any:
    """Return what ``copy.copy`` makes of the reduce value. Another ``__copy__`` is inherited here, from msgspec."""
    function, arguments = self.__reduce_ex__(4)
    return function(*arguments)


def _warn_if_has_hooks(self: Any) -> None:
    for hook in (self._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


def _reduce_ex_internal(self: Any) -> tuple[Any, ...]:
    _warn_if_has_hooks(self)
    if self._device.type == "meta":
        meta = self._dtype, tuple(self._size), tuple(self._stride), self.requires_grad
        return _utils._rebuild_meta_tensor_no_storage, meta
    storage = TypedStorage(storage_of(self), self._dtype)
    geometry = self._offset, tuple(self._size), tuple(self._stride)
    backward_hooks: OrderedDict[Any, Any] = OrderedDict()
    arguments = (storage, *geometry, self.requires_grad, backward_hooks)
    metadata = _utils.get_tensor_metadata(self)
    return _utils._rebuild_tensor_v2, (*arguments, metadata) if metadata else arguments


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    """Return a tensor of a subclass, or with attributes."""
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    if hasattr(type(made), "__setstate__"):  # only the class of a user has it
        made.__setstate__(state)
    else:
        vars(made).update(state)
    return made
