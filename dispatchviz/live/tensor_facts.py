"""What a tensor of a real PyTorch is, read without running an operator or the code of a subclass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import BackendComponent, DispatchKey
from dispatchviz.core.seam.outside_errors import is_from_outside, own_errors_suppressed
from dispatchviz.live.key_numbers import KeyNumbers, raw_of

Facts = tuple[tuple[int, ...], tuple[int, ...], Any, Any, int, Any, bool]
"""Sizes, strides, dtype and device (objects whose text is theirs), key set, where its storage begins (None: no memory),
whether it requires grad."""


class TensorFacts:
    """Reads them; what a tensor refuses to tell (the sizes of a nested one, strides of a sparse one) is empty."""

    def __init__(self, torch: Any, keys: KeyNumbers) -> None:
        self._torch, self._keys = torch, keys
        self._key_set, self._raw = torch._C._dispatch_keys, raw_of(torch._C)
        self._address = torch._C._data_address
        """Where its storage begins, wherever in it the tensor does; 0 if that is empty. No Python object of the storage
        is made: that would hold it, and the engine adds in place only to what nobody else holds."""
        self._same = _Same().__getitem__
        self._function_modes = torch._C._len_torch_function_stack
        self._plain = frozenset((torch.Tensor, torch.nn.Parameter))
        self._size, self._stride = torch.Tensor.size, torch.Tensor.stride
        self._wrappers: dict[type, bool] = {}
        """By class with a ``__torch_dispatch__`` whether its tensors have sizes and a device that are not asked of it;
        of those whose making was seen."""

    def of(self, tensor: Any) -> Facts:
        """All of them."""
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
        """Of a subclass, which may compute its sizes itself; of layouts without strides or storage."""
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
        """Its sizes and strides; None of a subclass, and of a layout without them."""
        if type(tensor) in self._plain:
            with own_errors_suppressed(RuntimeError):
                return self._same(tensor.size()), self._same(tensor.stride())
        return None

    def wrapper_made(self, kind: type, is_plain: bool) -> None:
        """A tensor of a class with a ``__torch_dispatch__`` is made; ``is_plain``: without asking that class, it has
        sizes, a device and a layout. Of a class with tensors of both kinds nothing is read."""
        self._wrappers[kind] = is_plain and self._wrappers.get(kind, True)

    def _kind(self, tensor: Any, ks: int) -> tuple[Any, Any, bool]:
        base = self._torch.Tensor
        is_asked = ks & _PYTHON and not self._wrappers.get(type(tensor))
        device = _device_of(ks) if is_asked else base.device.__get__(tensor)
        return base.dtype.__get__(tensor), device, base.requires_grad.__get__(tensor)


def _numbers(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Symbols are not told."""
    return tuple(sizes) if all(type(one) is int for one in sizes) else ()


def _device_of(ks: int) -> str:
    """The device of the highest backend in a set."""
    backend = max((one for one in BackendComponent if one and ks & 1 << one - 1), default=BackendComponent.CPUBit)
    return backend.name.removesuffix("Bit").lower()


_PYTHON = raw(DispatchKey.Python)
_WITHOUT_MEMORY = _PYTHON | 1 << BackendComponent.MetaBit - 1


class _Same(dict[tuple[int, ...], tuple[int, ...]]):
    """The same tuple for equal ones: there are few sizes and strides, and notes keep one for each tensor."""

    def __missing__(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        known = self[numbers] = tuple(numbers)
        return known
