"""The kernel of two operands that are alike: meta, output and loop in one, without a ``Structured``.

Most calls of ``add`` and ``mul`` have two contiguous tensors on the CPU with one shape and one dtype. For these, this
module does what the meta function and the impl function do, in less than half the time, and a recorder gets one note
instead of four. All other calls, and recordings that read the numbers of tensors, take the long way. The events are the
same on both, and the source pane shows the lines of the long one.

The second operand may also be a Python number of the same kind, if nothing could see that PyTorch casts it with
``to.dtype``, ``_to_copy``, ``empty_strided`` and ``copy_`` (``unseen_calls.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from dispatchviz.core.call.unseen_calls import are_unseen
from dispatchviz.core.native.iterator.tensor_iterator import converted, quiet
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import NO_MODE, Mode, process_modes
from dispatchviz.core.tensor.dtype import REDUCED, float32, float64, int8, int16, int32, int64, uint8
from dispatchviz.core.tensor.tensor import CONTIGUOUS_STRIDES, Tensor, allocated_like


class AlikeLoop(Struct, frozen=True, eq=False):
    """A structured kernel for two operands that are alike, in its functional and its in-place variant."""

    family: str
    """The name of the structured family, ``add_Tensor``."""
    kernel: str
    """PyTorch's name of the impl function on the CPU."""
    impl: Callable[..., None]
    """Our impl function, which traces show."""
    function: Callable[..., Any]
    """The function of NumPy that ``impl`` runs for such operands."""

    def run(self, a: Tensor, b: Tensor) -> Tensor | None:
        """Return the result; None if the operands are not alike."""
        if not _are_alike(a, b):
            return self._with_number(a, b) if b._wrapped_number else None
        result = allocated_like(a)
        quiet.run(self.function, a._array, b._array, result._array)
        return result

    def run_in_place(self, a: Tensor, b: Tensor) -> bool:
        """Write the result to ``a``. Return False, and do nothing, if the operands are not alike or share memory."""
        if a._storage is b._storage:
            return False
        if not _are_alike(a, b):
            return b._wrapped_number and self._with_number(a, b, a) is not None
        array = a._array
        quiet.run(self.function, array, b._array, array)
        return True

    def _with_number(self, a: Tensor, number: Tensor, result: Tensor | None = None) -> Tensor | None:
        """Return the result for a number, or None. A given ``result`` is ``a`` itself."""
        dtype = a._dtype
        if number._dtype not in _KINDS.get(dtype, ()) or not _is_contiguous(a) or not are_unseen(number):
            return None
        result = allocated_like(a) if result is None else result
        quiet.run(self.function, a._array, converted(number._array, dtype), result._array)
        return result


def _are_alike(a: Tensor, b: Tensor) -> bool:
    size, stride, device = a._size, a._stride, a._device
    return (
        b._dtype is a._dtype
        and b._device is device
        and b._size == size
        and b._stride == stride == CONTIGUOUS_STRIDES[size]
        and (size != () or _is_plain(a, b))
        and device.type == "cpu"
    )


def _is_plain(a: Tensor, b: Tensor) -> bool:
    """Return whether two 0-dim tensors are treated as larger ones are."""
    return not (a._wrapped_number and b._wrapped_number) and a._dtype not in REDUCED


def _is_contiguous(a: Tensor) -> bool:
    return a._stride == CONTIGUOUS_STRIDES[a._size] and a._device.type == "cpu" and not a._wrapped_number


_KINDS = {
    **dict.fromkeys((float32, float64), (int64, float64)),
    **dict.fromkeys((uint8, int8, int16, int32, int64), (int64,)),
}
"""The dtypes of numbers, by the dtypes of tensors that they do not change."""

_run, _run_in_place = AlikeLoop.run, AlikeLoop.run_in_place


def _recorded_run(self: AlikeLoop, a: Tensor, b: Tensor) -> Tensor | None:
    rec = recorder.active
    if rec is None:
        return _run(self, a, b)
    if rec.numbers or not _are_alike(a, b):
        return None
    size, stride, dtype, device = a._size, a._stride, a._dtype, a._device
    number, storage = next(rec.tensor_numbers), next(rec.storage_numbers)
    try:
        result = allocated_like(a, number, storage)
    except BaseException:
        rec.note(("meta_entered", self.family))
        raise
    names = self.family, self.kernel, self.impl
    rec.note(("alike_computed", *names, number, size, stride, dtype, device, result._ks, storage))
    quiet.run(self.function, a._array, b._array, result._array)
    return result


def _recorded_run_in_place(self: AlikeLoop, a: Tensor, b: Tensor) -> bool:
    rec = recorder.active
    if rec is None:
        return _run_in_place(self, a, b)
    if rec.numbers or a._number < rec.first_tensor or a._storage is b._storage or not _are_alike(a, b):
        return False
    rec.note(("alike_in_place", self.family, self.kernel, self.impl, a._number, a._size, a._dtype))
    return _run_in_place(self, a, b)


process_modes.hot_function(AlikeLoop, "run", {NO_MODE: _run, Mode.RECORDING: _recorded_run})
process_modes.hot_function(AlikeLoop, "run_in_place", {NO_MODE: _run_in_place, Mode.RECORDING: _recorded_run_in_place})
