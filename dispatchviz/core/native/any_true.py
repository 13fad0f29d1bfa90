"""Is something true (``aten/src/ATen/native/ReduceOps.cpp``).

A reduction to one value, as sums are (``reductions.py``): it writes into a view of its output that has the reduced
dimensions with a stride of 0.
"""

from __future__ import annotations

from dispatchviz.core.backend import array_module
from dispatchviz.core.dtype import bool_, uint8
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator import store
from dispatchviz.core.structured import Structured
from dispatchviz.core.tensor import Tensor, numel


def any_meta(op: Structured, self: Tensor) -> None:
    """One bool; uint8 stays uint8, as it came before bool."""
    if op.variant == "out" and op.output._dtype not in (bool_, uint8):
        raise RuntimeError(f"any only supports bool tensor for result, got: {op.output._dtype.legacy}")
    op.set_output_raw_strided((), (), uint8 if self._dtype is uint8 else bool_, self._device)


def any_all_out(self: Tensor, out: Tensor) -> None:
    """Whether an element is not zero."""
    count = numel(self._size)
    if count == 0:
        ops.fill__Scalar.call(out, 0)
    elif count == 1:
        ops.copy_.call(out, ops.to_dtype.call(ops.view_as.call(self, out), bool_, False, False, None), False)
    else:
        _reduce(self, out)


def _reduce(self: Tensor, out: Tensor) -> None:
    dims = len(self._size)
    viewed = ops.as_strided.call(out, (1,) * dims, (0,) * dims, None)
    source = self
    if out._device.type == "cpu":
        if self._dtype is not out._dtype:
            source = ops.to_dtype.call(self, out._dtype, False, False, None)
        ops.fill__Scalar.call(viewed, 0)
    store(viewed, array_module(out._device.type).any(source._array, None, None, True))


def _is_any_true(self: Tensor) -> Tensor:
    """RuntimeError for anything but bool."""
    if self._dtype is not bool_:
        raise RuntimeError(
            'self.scalar_type() == at::kBool INTERNAL ASSERT FAILED at "aten/src/ATen/native/ReduceOps.cpp":2148, '
            "please report a bug to PyTorch. "
        )
    result: Tensor = ops.any.call(self)
    return result
