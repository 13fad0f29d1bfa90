"""The facts of a tensor of an installed PyTorch, read without running an operator or the code of a subclass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import BackendComponent, DispatchKey
from dispatchviz.core.seam.outside_errors import is_from_outside, own_errors_suppressed
from dispatchviz.live.key_numbers import KeyNumbers, raw_of

Facts = tuple[tuple[int, ...], tuple[int, ...], Any, Any, int, Any, bool]
"""Sizes, strides, dtype and device (objects with the same text), key set, address of the storage (None: no memory),
whether it requires grad.
"""


class TensorFacts:
    """The reader of a tensor's facts. A fact that a tensor does not give is empty: sizes of a nested tensor, strides of
    a sparse one.
    """

    def __init__(self, torch: Any, keys: KeyNumbers) -> None:
        self._torch, self._keys = torch, keys
        self._key_set, self._raw = torch._C._dispatch_keys, raw_of(torch._C)
        self._address = torch._C._data_address
        """The function that returns the address of a tensor's storage, wherever in it the tensor begins; 0 if the
        storage is empty.

        It makes no Python object of the storage. That object would hold it, and the engine adds in place only to memory
        that has no other holder.
        """
        self._same = _Same().__getitem__
        self._function_modes = torch._C._len_torch_function_stack
        self._plain = frozenset((torch.Tensor, torch.nn.Parameter))
        self._size, self._stride = torch.Tensor.size, torch.Tensor.stride
        self._wrappers: dict[type, bool] = {}
        """For each class with a ``__torch_dispatch__``: whether its tensors have sizes and a device of their own. Only
        classes whose tensors were seen being made are here.
        """

    def of(self, tensor: Any) -> Facts:
        """Return the facts of a tensor."""
        ks = self._keys[self._raw(self._key_set(tensor))]
        if type(tensor) in self._plain and not ks & _WITHOUT_MEMORY and not self._function_modes():
            try:
                size, stride, same = tensor.size(), tensor.stride(), self._same
                address, requires_grad = self._address(tensor), tensor.requires_grad
                return same(size), same(stride), tensor.dtype, tensor.device, ks, address, requires_grad
            except RuntimeError as error:
                if is_from_outside(error):
                    raise
        with self._torch._C.DisableTorchFunction():
            return self._careful_facts(tensor, ks)

    def _careful_facts(self, tensor: Any, ks: int) -> Facts:
        """Return the facts of a subclass, which may compute its sizes itself, or of a layout without strides or
        storage.
        """
        size: tuple[int, ...] = ()
        stride: tuple[int, ...] = ()
        storage = None
        if not ks & _PYTHON or self._wrappers.get(type(tensor)):
            with own_errors_suppressed(RuntimeError):
                size = _numbers(self._size(tensor))
            with own_errors_suppressed(RuntimeError):
                stride = _numbers(self._stride(tensor))
                storage = None if ks & _WITHOUT_MEMORY else self._address(tensor)
        dtype, device, requires_grad = self._kind(tensor, ks)
        return size, stride, dtype, device, ks, storage, requires_grad

    def geometry(self, tensor: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return the sizes and strides of a tensor; None for a subclass and for a layout without them."""
        if type(tensor) in self._plain:
            with own_errors_suppressed(RuntimeError):
                return self._same(tensor.size()), self._same(tensor.stride())
        return None

    def wrapper_made(self, kind: type, is_plain: bool) -> None:
        """Note that a tensor of a class with a ``__torch_dispatch__`` is made.

        ``is_plain`` is True if it has sizes, a device and a layout without asking that class. Nothing is read from a
        class with both kinds of tensors.
        """
        self._wrappers[kind] = is_plain and self._wrappers.get(kind, True)

    def _kind(self, tensor: Any, ks: int) -> tuple[Any, Any, bool]:
        base = self._torch.Tensor
        is_asked = ks & _PYTHON and not self._wrappers.get(type(tensor))
        device = _device_of(ks) if is_asked else base.device.__get__(tensor)
        return base.dtype.__get__(tensor), device, base.requires_grad.__get__(tensor)


def _numbers(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Return sizes as numbers; empty if one of them is a symbol."""
    return tuple(sizes) if all(type(one) is int for one in sizes) else ()


def _device_of(ks: int) -> str:
    """The device of the highest backend in a set."""
    backend = max((one for one in BackendComponent if one and ks & 1 << one - 1), default=BackendComponent.CPUBit)
    return backend.name.removesuffix("Bit").lower()


_PYTHON = raw(DispatchKey.Python)
_WITHOUT_MEMORY = _PYTHON | 1 << BackendComponent.MetaBit - 1


class _Same(dict[tuple[int, ...], tuple[int, ...]]):
    """A cache that keeps one tuple for equal ones. Sizes and strides repeat often, and notes keep them for each
    tensor.
    """

    def __missing__(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        known = self[numbers] = tuple(numbers)
        return known


def tensors_in(value: Any, kind: type) -> list[Any]:
    """Return the tensors, objects of a class, in a value: the value itself, or those in its lists and tuples."""
    if isinstance(value, kind):
        return [value]
    return [one for part in value for one in tensors_in(part, kind)] if isinstance(value, (list, tuple)) else []
