"""``copy``, ``deepcopy`` and pickling of tensors (``torch/_tensor.py``, ``torch/_utils.py``).

NB: in PyTorch, unpickling and ``copy`` create a tensor by ``empty`` and put it on its storage by ``set_``; here they
call no operator.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy

from dispatchviz.core.autograd.variables import variable
from dispatchviz.core.autograd.variables.requires_grad_flag import make_variable
from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import Device
from dispatchviz.core.python_side.tensor_subclass import new_with_class
from dispatchviz.core.tensor import dtype as dtypes
from dispatchviz.core.tensor.tensor import Size, Storage, Tensor, empty_strided, strided
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.overrides import handle_torch_function, has_torch_function_unary
from dispatchviz.torch.storage import storage_of


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


def reduce_ex(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Return the reduce value. A shallow copy shares the storage, a pickled tensor has its numbers; both are leaves."""
    geometry = (self._size, self._stride, self._offset, self._dtype.name, self._device.type)
    cls = None if type(self) is Tensor else type(self)
    return _rebuild_tensor, (_PickledStorage(self._storage), *geometry, variable.requires_grad(self), cls), vars(self)


def shallow(self: Any) -> Tensor:
    """Return the ``copy.copy`` of a tensor: a leaf on the same storage."""
    function, arguments, attributes = self.__reduce_ex__(4)
    made: Tensor = function(*arguments)
    vars(made).update(attributes)
    return made


class _PickledStorage:
    """A storage in ``__reduce_ex__``: the storage itself in a shallow copy, bytes in a pickle."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def __reduce__(self) -> tuple[Any, ...]:
        buffer = self.storage.buffer
        host = buffer if buffer is None or isinstance(buffer, numpy.ndarray) else buffer.get()
        return _kept, (None if host is None else (host.dtype.name, host.tobytes()),)


def _kept(content: tuple[str, bytes] | None) -> _PickledStorage:
    if content is None:
        return _PickledStorage(Storage(None))
    name, numbers = content
    dtype = next(dtype.numpy for dtype in dtypes.ALL if dtype.numpy.name == name)
    return _PickledStorage(Storage(numpy.frombuffer(bytearray(numbers), dtype)))


def _rebuild_tensor(
    storage_data: _PickledStorage,
    size: Size,
    stride: Size,
    offset: int,
    dtype: str,
    device: str,
    requires_grad: bool,
    cls: Any,
) -> Tensor:
    like = empty_strided((0,) if size else (), (1,) if size else (), getattr(dtypes, _NAMES[dtype]), Device(device))
    like._size, like._stride, like._offset = size, stride, offset
    if storage_data.storage.buffer is not None:
        storage_data.storage.buffer = array_module(device).asarray(storage_data.storage.buffer)
    return _on(storage_data.storage, like, cls, requires_grad)


_NAMES = {dtype.name: "bool_" if dtype.name == "bool" else dtype.name for dtype in dtypes.ALL}


def _on(storage: Storage, like: Tensor, cls: Any, requires_grad: bool | None = None) -> Tensor:
    """Return a leaf with the geometry of a tensor, on a storage."""
    made = empty_strided(like._size, like._stride, like._dtype, like._device)
    made._storage, made._offset = storage, like._offset
    if storage.buffer is not None:
        buffer = storage.buffer.reshape(-1).view(like._dtype.numpy)
        made._array = strided(buffer, like._size, like._stride, like._offset)
    made._version_counter.value = 1  # PyTorch sets the storage in place
    made = make_variable(made, variable.requires_grad(like) if requires_grad is None else requires_grad)
    return made if cls in (None, Tensor) else new_with_class(made, cls)
