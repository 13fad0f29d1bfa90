"""Tensor methods that call Python functions, and what a tensor says of its memory (``python_variable_methods.cpp``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from dispatchviz.core.autograd import variable
from dispatchviz.core.autograd.legacy_type import type_string
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator import store
from dispatchviz.core.tensor import Tensor


def _check(self: Tensor, name: str) -> None:
    """RuntimeError for a tensor that requires grad, TypeError outside of the CPU."""
    if variable.requires_grad(self):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if self._device.type == "cuda":
        raise TypeError(f"{name} is only implemented on CPU tensors")


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Calls a function for each number, in place; no operator runs."""
    _check(self, "apply_")
    if self._array is not None:
        store(self, numpy.array([callable(x) for x in self._array.reshape(-1).tolist()]).reshape(self._size))
    return self


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Calls a function for each pair of numbers, in place. TypeError for tensors of two types."""
    if type_string(tensor) != type_string(self):
        raise TypeError(f"map_: expected {type_string(self)} for 'other' (got {type_string(tensor)})")
    _check(self, "map_")
    if tensor._size != self._size:
        tensor = ops.expand.call(tensor, self._size, False)
    if self._array is not None:
        pairs = zip(self._array.reshape(-1).tolist(), tensor._array.reshape(-1).tolist(), strict=True)
        store(self, numpy.array([callable(*pair) for pair in pairs]).reshape(self._size))
    return self


def data_ptr(self: Tensor) -> int:
    """Address of the first element; 0 where there is none."""
    array: Any = self._array
    if array is None or not array.size:
        return 0
    return int(array.__array_interface__["data"][0] if isinstance(array, numpy.ndarray) else array.data.ptr)
