"""References to a gradient: whether AccumulateGrad may steal it, and an input buffer may add in place.

PyTorch asks the reference count of the tensor (``is_tensor_stealable`` in ``variable.h``, ``can_accumulate_inplace``
in ``input_buffer.cpp``). CPython counts references too, and a Tensor here is what a TensorImpl is there: the count
says the same, whoever holds on: a hook that kept the gradient, a saved variable, a view's base, the caller's list of
root gradients, the other output of ``x + y``. Tracking ownership by hand could not see the first of these.

Rule 1: the question is only asked about an element of a list, ``tensors[i]``. An element fetched for the call is
counted twice, by the list and by the call, on every CPython version; a local variable is not (3.14 borrows).
Rule 2: whoever calls must not have the tensor in a variable of its own, and the recorder keeps no reference.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any


def reference_count(tensors: list[Any], index: int) -> int:
    """How many references to ``tensors[index]`` exist, the list's own included."""
    return getrefcount(tensors[index]) - 1


def holds_only_reference_to_memory(tensors: list[Any], index: int) -> bool:
    """The list is the only holder of the tensor, and the tensor the only holder of its storage."""
    return getrefcount(tensors[index]) == 2 and getrefcount(tensors[index]._storage) == 2
