"""A hash of a tensor's dtype, shape and numbers, and the results of an operator that have numbers of their own.

Two results have the same hash if they have the same dtype, the same shape and, in contiguous order, the same numbers.
Strides, device, conj and neg bits, and the order in memory make no difference. All NaN count as one number, with any
payload, and -0.0 counts as 0.0, as in ``torch.equal``.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from dispatchviz.core.device.array_library import on_host
from dispatchviz.core.tensor.conj_neg_bits import resolved

if TYPE_CHECKING:
    from dispatchviz.core.schema.function_schema import FunctionSchema
    from dispatchviz.core.tensor.tensor import Tensor

SIZE = 8
"""The number of bytes of a hash."""

_UNWRITTEN = re.compile(
    r"aten::(_?(new_)?(empty|resize)|(as_strided|unsqueeze|squeeze|t|transpose|swapaxes|swapdims|detach|set)_(\.|$))"
)
"""Operators that write no numbers. Their result has memory that may not have been written (``empty``), so its numbers
are arbitrary; or a tensor got another geometry in place.
"""


def result_hash(tensor: Tensor) -> str | None:
    """The hash as hexadecimal digits; None for a tensor without memory of its own (meta, wrappers of a transform)."""
    array = None if tensor._storage.buffer is None else resolved(tensor)
    if array is None:
        return None
    return hash_of(tensor._dtype, tensor._size, on_host(array))


def hash_of(dtype: object, size: tuple[int, ...], array: Any) -> str:
    """The hash of elements of a dtype, which is of the model or of an installed PyTorch."""
    hashed = hashlib.blake2b(f"{dtype} {size}".encode(), digest_size=SIZE)
    hashed.update(_numbers(array).tobytes())
    return hashed.hexdigest()


def _numbers(array: Any) -> Any:
    """The numbers in contiguous order, with one representative for all that are equal, or NaN."""
    if array.dtype.kind in "biu":
        return array
    numbers = np.array(array, order="C")
    parts = numbers.view(numbers.real.dtype) if numbers.dtype.kind == "c" and numbers.ndim else numbers
    with np.errstate(all="ignore"):
        parts += parts.dtype.type(0)  # -0.0 + 0.0 is 0.0
        parts[parts != parts] = np.nan
    return numbers


def has_own_numbers(schema: FunctionSchema) -> tuple[bool, ...]:
    """A flag for each return, True if its numbers are new: neither those of a view, whose base has them, nor unwritten
    memory.
    """
    unwritten = writes_nothing(schema)
    return tuple([not unwritten and (each.alias is None or each.is_write) for each in schema.returns])


def writes_nothing(schema: FunctionSchema) -> bool:
    """Return whether an operator computes no numbers: its result is arbitrary, or existed before."""
    return _UNWRITTEN.match(schema.name) is not None
