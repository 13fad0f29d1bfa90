"""What a tensor of a real PyTorch is, read without running an operator or the code of a subclass."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import BackendComponent, DispatchKey
from dispatchviz.live.key_numbers import KeyNumbers

Facts = tuple[tuple[int, ...], tuple[int, ...], int, Any]
"""Sizes, strides, key set, where its storage begins (None: no memory)."""


class TensorFacts:
    """Reads them; what a tensor refuses to tell (the sizes of a nested one, strides of a sparse one) is empty."""

    def __init__(self, torch: Any, keys: KeyNumbers) -> None:
        self._torch, self._keys = torch, keys
        self._key_set = torch._C._dispatch_keys
        self._address = torch._C._data_address
        self._plain = frozenset((torch.Tensor, torch.nn.Parameter))

    def of(self, tensor: Any) -> Facts:
        """All of them."""
        ks = self._keys[self._key_set(tensor).raw_repr()]
        if type(tensor) in self._plain and not ks & _WITHOUT_MEMORY:
            try:
                return tensor.size(), tensor.stride(), ks, self._memory(tensor)
            except (RuntimeError, NotImplementedError):
                pass
        with self._torch._C.DisableTorchFunctionSubclass():
            return self._careful_facts(tensor, ks)

    def _memory(self, tensor: Any) -> int:
        """Where its storage begins; 0 if that is empty. No Python object of the storage is made: that would hold it,
        and the engine adds in place only to what nobody else holds."""
        return int(self._address(tensor))  # of the storage, wherever in it the tensor begins

    def _careful_facts(self, tensor: Any, ks: int) -> Facts:
        """Of a subclass, which may compute its sizes itself; of layouts without strides or storage."""
        size: tuple[int, ...] = ()
        stride: tuple[int, ...] = ()
        storage = None
        if not ks & _PYTHON:
            with suppress(RuntimeError, NotImplementedError):
                size = tensor.size()
            with suppress(RuntimeError, NotImplementedError):
                stride = tensor.stride()
                storage = None if ks & _WITHOUT_MEMORY else self._memory(tensor)
        return size, stride, ks, storage


_PYTHON = raw(DispatchKey.Python)
_WITHOUT_MEMORY = _PYTHON | 1 << BackendComponent.MetaBit - 1
