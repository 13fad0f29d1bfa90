"""``torch.Size`` (``torch/csrc/Size.cpp``)."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from dispatchviz.core.bindings.invalid_arguments import type_name
from dispatchviz.core.device.declared_in_c import DeclaredInC


class Size(tuple[int, ...], metaclass=DeclaredInC, name="torch.Size"):
    """A shape: a tuple of ints that prints as ``torch.Size([2, 2])``. Its slices and sums are shapes too."""

    def __new__(cls, values: Iterable[Any] = ()) -> Size:
        """Create a shape. Raise TypeError for anything but ints."""
        found = tuple.__new__(cls, values)
        if all(type(value) is int for value in found):
            return found
        return tuple.__new__(cls, map(_whole, range(len(found)), found))

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """Return the number of elements of a tensor of this shape."""
        return math.prod(self)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type(other).__name__}) to torch.Size")
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return Size(other + tuple(self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, count: Any) -> Size:
        return Size(tuple(self) * count)

    __rmul__ = __mul__

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found


def _whole(index: int, value: Any) -> int:
    try:
        return int(operator.index(value))
    except TypeError:
        message = f"torch.Size() takes an iterable of 'int' (item {index} is '{type_name(value)}')"
        raise TypeError(message) from None
