"""The keys Conjugate, Negative and ZeroTensor in a tensor's key set, which decide how its memory is read.

This module mirrors ``is_conj``, ``_set_conj``, ``is_neg``, ``_set_neg`` and ``_is_zerotensor`` of
``c10/core/TensorImpl.h``. The kernels that set the keys are in ``native/arithmetic/conj.py`` and
``native/factories/zero_tensor.py``. The fallbacks that make the values real before other kernels run are in
``conj_neg_fallback.py`` and ``zero_tensor_fallback.py``.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.seam import recorder
from dispatchviz.core.tensor.tensor import Tensor

CONJUGATE, NEGATIVE, ZERO = raw(DispatchKey.Conjugate), raw(DispatchKey.Negative), raw(DispatchKey.ZeroTensor)


def is_conj(tensor: Tensor) -> bool:
    """Return whether its elements are the conjugates of the numbers in memory."""
    return bool(tensor._ks & CONJUGATE)


def is_neg(tensor: Tensor) -> bool:
    """Return whether its elements are the negatives of the numbers in memory."""
    return bool(tensor._ks & NEGATIVE)


def is_zerotensor(tensor: Tensor) -> bool:
    """Return whether it is all zeros and has no memory."""
    return bool(tensor._ks & ZERO)


def set_conj(tensor: Tensor, conj: bool) -> None:
    """Set or remove the key in the tensor's own key set. Raise RuntimeError for ``conj`` of a tensor that is not
    complex.
    """
    if conj and not tensor._dtype.is_complex:
        raise RuntimeError(
            'isComplexType(typeMetaToScalarType(dtype())) INTERNAL ASSERT FAILED at "c10/core/TensorImpl.h":1470, '
            "please report a bug to PyTorch. "
        )
    set_key_set(tensor, tensor._ks | CONJUGATE if conj else tensor._ks & ~CONJUGATE)


def set_neg(tensor: Tensor, neg: bool) -> None:
    """Set or remove the key in the tensor's own key set."""
    set_key_set(tensor, tensor._ks | NEGATIVE if neg else tensor._ks & ~NEGATIVE)


def set_key_set(tensor: Tensor, ks: int) -> None:
    """Set and record the key set of an existing tensor."""
    before = tensor._ks
    tensor._ks = ks
    if before != ks and recorder.active is not None:
        recorder.active.key_set_changed(tensor, before)


def resolved(tensor: Tensor) -> Any:
    """The array of the tensor's elements, which is its memory itself if it has none of the three bits. None on meta."""
    if not tensor._ks & (CONJUGATE | NEGATIVE | ZERO):
        return tensor._array
    if tensor._ks & ZERO and tensor._device.type != "meta":
        return array_module(tensor._device.type).zeros(tensor._size, tensor._dtype.numpy)
    return with_bits(tensor._array, tensor._ks)


def with_bits(array: Any, ks: int) -> Any:
    """The array, conjugated and negated as the bits of a key set require."""
    if array is None:
        return None
    if ks & CONJUGATE:
        array = array.conj()[...]  # NumPy gives a number, not an array, for a 0-dim array
    return (-array)[...] if ks & NEGATIVE else array
