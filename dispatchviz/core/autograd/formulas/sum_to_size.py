"""``sum_to``, ``is_expandable_to``: the reduction of a gradient to the shape before broadcasting
(``aten/src/ATen/ExpandUtils.h``).
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.tensor import Size, Tensor


def is_expandable_to(shape: Size, target: Size) -> bool:
    """Return whether broadcasting ``shape`` can give ``target``."""
    if len(shape) > len(target):
        return False
    pairs = zip(reversed(shape), reversed(target), strict=False)
    return all(length in (1, wanted) for length, wanted in pairs)


def sum_to(tensor: Tensor, shape: Size) -> Tensor:
    """Sum the broadcast dimensions of ``tensor`` away. ``shape`` must be expandable to the tensor's shape."""
    if not shape:
        return ops.sum.call(tensor, None)
    leading = len(tensor._size) - len(shape)
    dims = _reduced_dims(tensor._size, shape, leading)
    if dims:
        tensor = ops.sum_dim_IntList.call(tensor, dims, True, None)
    return ops.view.call(tensor, shape) if leading else tensor


def _reduced_dims(size: Size, shape: Size, leading: int) -> Size:
    stretched = [leading + i for i, wanted in enumerate(shape) if wanted == 1 and size[leading + i] != 1]
    return (*range(leading), *stretched)
