"""What a tensor of a real PyTorch is, read without running an operator or the code of a subclass."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from dispatchviz.live.key_numbers import KeyNumbers

Facts = tuple[tuple[int, ...], tuple[int, ...], str, str, int, Any, bool]
"""Sizes, strides, dtype, device, key set, storage (None: no memory), whether it requires grad."""


class TensorFacts:
    """Reads them; what a tensor refuses to tell (the sizes of a nested one, strides of a sparse one) is empty."""

    def __init__(self, torch: Any, keys: KeyNumbers) -> None:
        self._torch, self._keys = torch, keys
        self._key_set = torch._C._dispatch_keys
        self._plain = (torch.Tensor, torch.nn.Parameter)
        self._texts: dict[Any, str] = {}
        self._python = torch._C.DispatchKey.Python

    def of(self, tensor: Any) -> Facts:
        """All of them."""
        keys = self._key_set(tensor)
        ks = self._keys[keys.raw_repr()]
        if type(tensor) in self._plain and not keys.has(self._python):
            return self._plain_facts(tensor, ks)
        with self._torch._C.DisableTorchFunctionSubclass():
            return self._careful_facts(tensor, ks)

    def _plain_facts(self, tensor: Any, ks: int) -> Facts:
        try:
            size, stride = tuple(tensor.size()), tensor.stride()
            storage = None if tensor.device.type == "meta" else tensor.untyped_storage()
        except (RuntimeError, NotImplementedError):
            return self._careful_facts(tensor, ks)
        return size, stride, self._text(tensor.dtype), self._text(tensor.device), ks, storage, tensor.requires_grad

    def _careful_facts(self, tensor: Any, ks: int) -> Facts:
        """Of a subclass, which may compute its sizes itself; of layouts without strides or storage."""
        size: tuple[int, ...] = ()
        stride: tuple[int, ...] = ()
        storage = None
        if not self._key_set(tensor).has(self._python):
            with suppress(RuntimeError, NotImplementedError):
                size = tuple(tensor.size())
            with suppress(RuntimeError, NotImplementedError):
                stride, storage = tensor.stride(), tensor.untyped_storage()
        return size, stride, self._text(tensor.dtype), self._text(tensor.device), ks, storage, tensor.requires_grad

    def _text(self, value: Any) -> str:
        known = self._texts.get(value)
        if known is None:
            known = self._texts[value] = str(value)
        return known
