"""``x[...]`` and ``x[...] = value``: from Python's indices to views and tensors
(``torch/csrc/autograd/python_variable_indexing.cpp``), and other access to a tensor as to a list
(``torch/_tensor.py``).
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import cached_property
from numbers import Number
from typing import Any

import numpy

from dispatchviz.core.bindings.binding import Binding
from dispatchviz.core.bindings.invalid_arguments import type_name
from dispatchviz.core.bindings.torch_function import flattened, mode_enabled, overloaded_args
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.tensor_indexing import (
    INDEX_MAX,
    Index,
    MultiDimIndexing,
    Slice,
    apply_select,
    apply_slice,
    bool_as_tensor,
    copy_to,
    scalar_to_tensor,
    slice_prefix_1s,
    without_trailing_none,
)
from dispatchviz.core.seam.outside_errors import is_from_outside
from dispatchviz.core.tensor.dtype import bool_, uint8
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread import warning
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView
from dispatchviz.torch.tensor_new import indexing_tensor, lifted

_FILE = "torch/csrc/autograd/python_variable_indexing.cpp"
_LONGEST_TUPLE = 32
"""A sequence of at least this length is one index, regardless of its items."""


class _SubscriptBinding(Binding):
    """The binding of a subscript. It has no argument parser, because any object may be an index."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function that the binding implements."""
        if type(args[0]) is not Tensor or mode_enabled():
            overloaded = overloaded_args(flattened(args, kwargs))
            if overloaded or mode_enabled():
                return self.handle_torch_function(overloaded, args, kwargs)
        return self._run_parsed(0, list(args))

    @cached_property
    def trace_description(self) -> tuple[str, str, list[tuple[str, tuple[str, ...], str]]]:
        """The description for traces, in which PyTorch's function has no underscores."""
        name, function, signatures = super().trace_description
        return name, function.replace("__", ""), signatures


# -- indices -----------------------------------------------------------------------------------------------------------


def _is_long(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or isinstance(value, numpy.integer)


def _unpack_long(value: Any) -> int:
    number = int(value)
    if not -INDEX_MAX - 1 <= number <= INDEX_MAX:
        raise ValueError("Overflow when unpacking long long")
    return number


def _is_sequence(value: Any) -> bool:
    """``PySequence_Check``"""
    return hasattr(type(value), "__getitem__") and not isinstance(value, (dict, numpy.generic, numpy.dtype))


def _unpack_slice(index: slice) -> Slice:
    """Return the limits and the step of a slice; a missing end is as far as possible. Raise ValueError for the step
    0.
    """
    step = 1 if index.step is None else _slice_index(index.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    start = (INDEX_MAX if step < 0 else 0) if index.start is None else _slice_index(index.start)
    stop = (-INDEX_MAX - 1 if step < 0 else INDEX_MAX) if index.stop is None else _slice_index(index.stop)
    return Slice(start, stop, step)


def _slice_index(value: Any) -> int:
    if not hasattr(type(value), "__index__"):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return min(max(operator.index(value), -INDEX_MAX - 1), INDEX_MAX)


def _converted(self: Tensor, index: Any) -> Index:
    """Return one index of a tuple in the form that indexing uses. Raise IndexError for an invalid index."""
    if _is_long(index):
        return _unpack_long(index)
    if isinstance(index, slice):
        return _unpack_slice(index)
    if index is None or isinstance(index, (bool, Tensor)):
        return index
    if _is_sequence(index):
        return indexing_tensor(index, self._device)
    try:
        return operator.index(index)
    except TypeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "
            f"{type_name(index)})"
        ) from None


def _as_tuple(index: Any) -> tuple[Any, ...]:
    """``wrapTuple``: a short sequence with more than numbers in it counts as a tuple."""
    if isinstance(index, tuple):
        return index
    return tuple(index) if _treat_sequence_as_tuple(index) else (index,)


def _treat_sequence_as_tuple(index: Any) -> bool:
    if isinstance(index, (Tensor, numpy.ndarray)) or not _is_sequence(index):
        return False
    try:
        length = len(index)
    except TypeError:
        return False
    if length >= _LONGEST_TUPLE:
        return False
    for position in range(length):
        try:
            part = index[position]
        except Exception as error:
            if is_from_outside(error):
                raise
            return False
        if isinstance(part, (Tensor, slice)) or _is_sequence(part):
            return _warned(349)
        if part is None or part is Ellipsis:
            return _warned(359)
    return False


def _warned(line: int) -> bool:
    warning.warn_python(
        "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; "
        "use x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, "
        "x[torch.tensor(seq)], which will result either in an error or a different result",
        f"{_FILE}:{line}",
    )
    return True


def _specified_dims(indices: Sequence[Any]) -> int:
    """Return the number of indexed dimensions."""
    return sum(
        len(index._size) if isinstance(index, Tensor) and index._dtype in (bool_, uint8) else 1
        for index in indices
        if index is not None and index is not Ellipsis and not isinstance(index, bool)
    )


def _apply_slicing(self: Tensor, indices: tuple[Any, ...]) -> MultiDimIndexing:
    """Apply all views; return the result and the tensors that remain as indices."""
    indexing = MultiDimIndexing(self, _specified_dims(indices))
    for position, index in enumerate(indices):
        if index is Ellipsis:
            indexing.handle_ellipsis()
        else:
            indexing.handle(_converted(self, index), position)
    return indexing


# -- reading -----------------------------------------------------------------------------------------------------------


def _getitem(self: Tensor, index: Any) -> Tensor:
    if index is None:
        return ops.unsqueeze.call(self, 0)
    if index is Ellipsis:
        return ops.alias.call(self)
    if _is_long(index):
        return apply_select(self, 0, _unpack_long(index), 0)
    if isinstance(index, slice):
        return apply_slice(self, 0, _unpack_slice(index), as_it_is=False)
    if isinstance(index, bool):
        result = ops.unsqueeze.call(self, 0)
        return ops.index_Tensor.call(result, [bool_as_tensor(result, index)])
    indexing = _apply_slicing(self, _as_tuple(index))
    if indexing.tensors:
        return ops.index_Tensor.call(indexing.result, without_trailing_none(indexing.tensors))
    return ops.alias.call(self) if indexing.result is self else indexing.result


# -- writing -----------------------------------------------------------------------------------------------------------


def value_to_tensor(self: Tensor, value: Any) -> Tensor:
    """Return the value as a tensor. Raise TypeError for anything but tensors and numbers."""
    if isinstance(value, Tensor):
        return value
    if not (_is_long(value) or isinstance(value, (bool, float, complex))):
        namespace = "torch.cuda." if self._device.type == "cuda" else "torch."
        raise TypeError(f"can't assign a {type_name(value)} to a {namespace}{self._dtype.legacy}Tensor")
    number = _unpack_long(value) if _is_long(value) else int(value) if isinstance(value, bool) else value
    with AutoDispatchBelowADInplaceOrView():
        tensor = scalar_to_tensor(number, self._dtype, self._device)
    return lifted(tensor) if self._device.type == "cpu" else tensor


def _setitem(self: Tensor, index: Any, value: Any) -> None:
    source = value_to_tensor(self, value)
    if index is False:
        return
    if index is Ellipsis:
        copy_to(self, source)
    elif index is None or index is True:
        copy_to(ops.unsqueeze.call(self, 0), source)
    elif _is_long(index):
        copy_to(apply_select(self, 0, _unpack_long(index), 0), source)
    elif isinstance(index, slice):
        copy_to(apply_slice(self, 0, _unpack_slice(index), as_it_is=True), source)
    else:
        _set_several(_apply_slicing(self, _as_tuple(index)), source)


def _set_several(indexing: MultiDimIndexing, source: Tensor) -> None:
    if not indexing.tensors:
        copy_to(indexing.result, source)
        return
    size = slice_prefix_1s(source._size)
    values = source if size == source._size else ops.view.call(source, size)
    ops.index_put_.call(indexing.result, without_trailing_none(indexing.tensors), values, False)


def _delitem(self: Tensor, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


# -- as a list ---------------------------------------------------------------------------------------------------------


def _iter(self: Any) -> Iterator[Any]:
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    return iter(self.unbind(0))


def _contains(self: Any, element: Any) -> bool:
    if isinstance(element, (Tensor, Number)):
        return bool((element == self).any().item())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


def _reversed(self: Any) -> Any:
    return self.flip(0) if self._size else self


def _len(self: Tensor) -> int:
    if not self._size:
        raise TypeError("len() of a 0-d tensor")
    return self._size[0]


METHODS: dict[str, Any] = {
    "__getitem__": _SubscriptBinding("Tensor.__getitem__", ("__getitem__(object index)", _getitem, "")),
    "__setitem__": _SubscriptBinding("Tensor.__setitem__", ("__setitem__(object index, object value)", _setitem, "")),
    "__delitem__": _delitem,
    "__iter__": _iter,
    "__contains__": _contains,
    "__reversed__": _reversed,
    "__len__": _len,
}
"""The methods for Tensor."""
