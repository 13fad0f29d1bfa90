"""``apply_``, ``map_``, ``map2_``, ``dim_order``, ``data_ptr`` of Tensor (``python_variable_methods.cpp``)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy

from dispatchviz.core.autograd.variables import variable
from dispatchviz.core.autograd.variables.legacy_type import type_string
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.strides import compared, memory_order
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor import layout
from dispatchviz.core.tensor.tensor import Tensor


def _check(self: Tensor, name: str) -> None:
    """Raise RuntimeError for a tensor that requires grad, TypeError for a tensor that is not on the CPU."""
    if variable.requires_grad(self):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if self._device.type == "cuda":
        raise TypeError(f"{name} is only implemented on CPU tensors")


def _store(self: Tensor, numbers: Any) -> None:
    store(self, numbers)
    if recorder.active is not None:
        recorder.active.memory_written(self)


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Call a function for each number, in place. No operator runs."""
    _check(self, "apply_")
    if self._array is not None:
        _store(self, numpy.array([callable(x) for x in self._array.reshape(-1).tolist()]).reshape(self._size))
    return self


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Call a function for each pair of numbers, in place. Raise TypeError for tensors of two types."""
    if type_string(tensor) != type_string(self):
        raise TypeError(f"map_: expected {type_string(self)} for 'other' (got {type_string(tensor)})")
    _check(self, "map_")
    if tensor._size != self._size:
        tensor = ops.expand.call(tensor, self._size, False)
    if self._array is not None:
        pairs = zip(self._array.reshape(-1).tolist(), tensor._array.reshape(-1).tolist(), strict=True)
        _store(self, numpy.array([callable(*pair) for pair in pairs]).reshape(self._size))
    return self


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Call a function for each triple of numbers, in place. Raise TypeError for tensors of two types."""
    for name, other in (("x", x), ("y", y)):
        if type_string(other) != type_string(self):
            raise TypeError(f"map2_: expected {type_string(self)} for argument '{name}' (got {type_string(other)})")
    _check(self, "map2_")
    y, x = (t if t._size == self._size else ops.expand.call(t, self._size, False) for t in (y, x))
    if self._array is not None:
        threes = zip(*(t._array.reshape(-1).tolist() for t in (self, x, y)), strict=True)
        _store(self, numpy.array([callable(*three) for three in threes]).reshape(self._size))
    return self


def dim_order(self: Tensor, *, ambiguity_check: bool | list[layout.memory_format] = False) -> tuple[int, ...]:
    """Return the dimensions from the slowest to the fastest in memory.

    ``ambiguity_check`` (True or memory formats) raises RuntimeError if several orders fit. Raise TypeError for another
    check.
    """
    wanted = [] if isinstance(ambiguity_check, bool) else ambiguity_check
    if not isinstance(wanted, list) or not all(isinstance(one, layout.memory_format) for one in wanted):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    size, stride = self._size, self._stride
    several = any(a == b for a, b in pairwise(stride)) or 1 in size
    if ambiguity_check is not False and several and sum(_is_laid_out(self, one) for one in wanted) != 1:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    if len(size) < 2:
        return tuple(range(len(size)))
    plain, channels_last = (_is_laid_out(self, one) for one in (layout.contiguous_format, layout.channels_last))
    if plain and not channels_last:
        return tuple(range(len(size)))
    if channels_last and not plain:
        return (0, *range(2, len(size)), 1)
    order = memory_order(size, [stride])
    if ambiguity_check is not False and any(compared(size, [stride], a, b) >= 0 for a, b in pairwise(order)):
        raise RuntimeError("The tensor does not have unique dim order.")
    return tuple(reversed(order))


def _is_laid_out(tensor: Tensor, memory_format: layout.memory_format) -> bool:
    return tensor.is_contiguous(memory_format=memory_format)  # type: ignore[attr-defined,no-any-return]


def data_ptr(self: Tensor) -> int:
    """Return the address of the first element, or 0 if there is none."""
    array: Any = self._array
    if array is None or not array.size:
        return 0
    return int(array.__array_interface__["data"][0] if isinstance(array, numpy.ndarray) else array.data.ptr)
