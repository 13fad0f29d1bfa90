"""``x[...]`` and ``x[...] = y`` in C++: select, slice, None, bool and tensor indices
(``aten/src/ATen/TensorIndexing.h``).

Every index of a tuple except tensors is one view: an integer is ``select``, a slice is ``slice``, None is
``unsqueeze``. Tensors are collected, and ``index`` reads at all of them at once. The Python part is
``torch/indexing.py``.
"""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.call.aten import UndefinedTensors
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys import key_set
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.native.iterator.scalar import Scalar, in_one_element
from dispatchviz.core.tensor.dtype import DType, bool_, int64, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor, empty_strided

INDEX_MAX = (1 << 63) - 1

Indices = list[Tensor | None]

_BATCHED = key_set.raw(DispatchKey.FuncTorchBatched, DispatchKey.BatchedNestedTensor)


class Slice(NamedTuple):
    """``start:stop:step`` with all parts filled in."""

    start: int
    stop: int
    step: int


Index = int | Slice | Tensor | bool | None
"""One index of a tuple; the ellipsis is ``...``."""


# -- single indices ----------------------------------------------------------------------------------------------------


def apply_slice(self: Tensor, dim: int, index: Slice, as_it_is: bool) -> Tensor:
    """``slice``.

    With ``as_it_is``, return the tensor itself if the slice covers it all. Raise ValueError for a step below 1.
    """
    if index.step <= 0:
        raise ValueError("step must be greater than zero")
    whole = index.start == 0 and index.step == 1 and self._size and self._size[dim] <= index.stop
    return self if as_it_is and whole else ops.slice_Tensor.call(self, dim, *index)


def apply_select(self: Tensor, dim: int, index: int, position: int) -> Tensor:
    """``select``; ``position`` is the index's position in the tuple, which the IndexError reports as the dimension."""
    if index == 0 and dim == 0 and not self._size:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
            "0-dim tensor to a number"
        )
    length = self._size[dim] if dim < len(self._size) else 0
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of bounds for dimension {position} with size {length}")
    return ops.select_int.call(self, dim, index)


def bool_as_tensor(self: Tensor, value: bool) -> Tensor:
    """The index along a new dimension that stands for a bool: [0] for True, empty for False."""
    size, device = (int(value),), self._device
    if value and device.type not in ("cpu", "cuda"):
        return ops.zeros.call(size, int64, "strided", device, None)
    empty = ops.empty_memory_format.call(size, int64, "strided", device, None, None)
    return ops.fill__Scalar.call(empty, 0.0) if value else empty


# -- several indices ---------------------------------------------------------------------------------------------------


class MultiDimIndexing:
    """An iteration over the indices of a tuple.

    ``result`` is the tensor so far, ``tensors`` are the collected index tensors.
    """

    def __init__(self, self_: Tensor, specified_dims: int) -> None:
        rank = len(self_._size)
        if specified_dims > rank:
            raise IndexError(f"too many indices for tensor of dimension {rank}")
        self.result = self_
        self.tensors: Indices = []
        self._left_over = rank - specified_dims
        """The number of dimensions that an ellipsis covers."""
        self._dim = 0

    def handle(self, index: Index, position: int) -> None:
        """Apply one index that is not an ellipsis (``handleDimInMultiDimIndexing``)."""
        if isinstance(index, bool):
            self.result = ops.unsqueeze.call(self.result, self._dim)
            self._record(bool_as_tensor(self.result, index))
        elif isinstance(index, int):
            self.result = apply_select(self.result, self._dim, index, position)
        elif isinstance(index, Slice):
            self.result = apply_slice(self.result, self._dim, index, as_it_is=True)
            self._skip(1)
        elif index is None:
            self.result = ops.unsqueeze.call(self.result, self._dim)
            self._skip(1)
        else:
            self._handle_tensor(index, position)

    def handle_ellipsis(self) -> None:
        """Skip the dimensions that the ellipsis covers."""
        self._skip(self._left_over)

    def _handle_tensor(self, index: Tensor, position: int) -> None:
        """Apply a tensor index. A 0-dim tensor is used as an integer or a bool, unless it is batched."""
        if index._size or index._ks & _BATCHED or index._dtype.can_require_grad:
            self._record(index)
        elif index._dtype in (bool_, uint8):
            self.result = ops.unsqueeze.call(self.result, self._dim)
            self._record(bool_as_tensor(self.result, bool(ops.item.call(index))))
        else:
            number = int(ops.item.call(index).real)
            self.result = apply_select(self.result, self._dim, number, position)

    def _record(self, tensor: Tensor) -> None:
        """Append an index tensor for the current dimension (``recordTensorIndex``)."""
        if not self.tensors:
            self.tensors = [None] * self._dim
        self.tensors.append(tensor)
        self._dim += len(tensor._size) if tensor._dtype in (bool_, uint8) else 1

    def _skip(self, count: int) -> None:
        self._dim += count
        if self.tensors:
            self.tensors += [None] * count


def without_trailing_none(indices: Indices) -> Indices:
    """The indices as ``index`` and ``index_put_`` receive them, with undefined tensors for dimensions that are not
    indexed.
    """
    while indices and indices[-1] is None:
        indices.pop()
    return UndefinedTensors(indices)


# -- assignment --------------------------------------------------------------------------------------------------------


def scalar_to_tensor(value: Scalar, dtype: DType, device: Device) -> Tensor:
    """A number as a 0-dim tensor; on the CPU no operator writes it. Raise RuntimeError if it does not fit."""
    if device.type != "cpu":
        return ops.scalar_tensor.call(value, dtype, "strided", device, None)
    number = in_one_element(value, dtype)
    tensor = empty_strided((), (), dtype, device)
    tensor._array[...] = number
    return tensor


def slice_prefix_1s(size: Size) -> Size:
    """The size without leading dimensions of size 1."""
    return size[next((i for i, length in enumerate(size) if length != 1), len(size)) :]


def copy_to(target: Tensor, source: Tensor) -> None:
    """Write a tensor, broadcast if needed; a number on the CPU is written by ``fill_``."""
    if target._size == source._size:
        ops.copy_.call(target, source, False)
    elif not source._size and source._device.type == "cpu":
        ops.fill__Tensor.call(target, source)
    else:
        view = ops.view.call(source, slice_prefix_1s(source._size))
        if view._size != target._size:
            view = ops.expand.call(view, target._size, False)
        ops.copy_.call(target, view, False)
