"""``_nested_tensor_from_mask_left_aligned``: tests whether a padding mask is left-aligned
(``NestedTensorTransformerFunctions.cpp`` in ``aten/src/ATen/native/nested``).
"""

from __future__ import annotations

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import bool_, int32, int64
from dispatchviz.core.tensor.tensor import Tensor


def NestedTensor_nested_tensor_from_mask_left_aligned(t: Tensor, mask: Tensor) -> bool:
    """Return whether every row of the mask (batch, length) is left-aligned: no kept element follows a masked one.

    Raise RuntimeError if the mask does not fit the batch.
    """
    if mask._dtype is not bool_:
        raise RuntimeError(f"Expected mask to be of ScalarType Bool, but got {mask._dtype.legacy} instead.")
    if len(mask._size) != 2:
        raise RuntimeError("Padding mask should be 2D")
    if len(t._size) != 3:
        raise RuntimeError("Input should be a 3D tensor, N * L * D")
    if mask._size != t._size[:2]:
        raise RuntimeError("Mask size should match input size")
    batch, length = mask._size
    end = ops.zeros.call((batch, 1), bool_, "strided", mask._device, None)
    numbers = ops.to_dtype.call(ops.cat.call([mask, end], 1), int32, False, False, None)
    first_gap = ops.argmin.call(numbers, 1, False)
    kept = ops.select_int.call(ops.cumsum.call(mask, 1, None), 1, length - 1)
    kept = ops.to_dtype_layout.call(kept, int64, "strided", mask._device, False, False, False, None)
    return ops.equal.call(first_gap, kept)
