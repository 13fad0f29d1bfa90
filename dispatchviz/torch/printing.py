"""How tensors print (``torch/_tensor_str.py``): ``tensor([1., 2.], grad_fn=<AddBackward0>)``.

All numbers of a tensor get one width and one notation, which the whole tensor decides; long rows are broken at 80
columns, more than 1000 elements are summarised.

NB: in PyTorch complex numbers have rules of their own; here they print as Python prints them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from dispatchviz.core.autograd import variable
from dispatchviz.core.dtype import bool_, default_dtype, int64
from dispatchviz.core.tensor import Tensor, numel

LINE_WIDTH, THRESHOLD, EDGE_ITEMS = 80, 1000, 3
_options = {"precision": 4}


class Words:
    """How the numbers of one tensor are written; only finite numbers other than 0 count for the width."""

    def __init__(self, array: Any) -> None:
        self.plain: Callable[[Any], str] = _float_words(array) if array.dtype.kind == "f" else str
        counted = array[numpy.isfinite(array) & (array != 0)] if array.dtype.kind == "f" else array.reshape(-1)
        self.width = max((len(self.plain(value)) for value in counted), default=1)

    def __call__(self, value: Any) -> str:
        written: str = self.plain(value)
        return written.rjust(self.width)


def set_printoptions(precision: int = 4) -> None:
    """Digits after the point."""
    _options["precision"] = precision


def text(tensor: Tensor) -> str:
    """The tensor in words. Reading the grad_fn of a stale view builds a Node, as in PyTorch."""
    suffixes = list(_suffixes(tensor))
    prefix = "tensor("
    body = "..." if tensor._array is None else _numbers(tensor, len(prefix))
    line = len(body) - body.rfind("\n") + (len(prefix) if "\n" not in body else 0)
    parts = [prefix + body]
    for suffix in suffixes:
        if line + len(suffix) + 2 > LINE_WIDTH:
            parts.append(",\n" + " " * len(prefix) + suffix)
            line = len(prefix) + len(suffix)
        else:
            parts.append(", " + suffix)
            line += len(suffix) + 2
    return "".join(parts) + ")"


def _suffixes(tensor: Tensor) -> Iterator[str]:
    if tensor._device.type != "cpu":
        yield f"device='{tensor._device}'"
    if tensor._array is None or (numel(tensor._size) == 0 and len(tensor._size) != 1):
        yield f"size={tuple(tensor._size)}"
    if tensor._dtype not in (default_dtype, int64, bool_) or (
        numel(tensor._size) == 0 and tensor._dtype is not default_dtype
    ):
        yield f"dtype={tensor._dtype}"
    function = variable.grad_fn(tensor)
    if function is not None:
        yield f"grad_fn=<{function.name().rpartition('::')[2]}>"
    elif variable.requires_grad(tensor):
        yield "requires_grad=True"


def _numbers(tensor: Tensor, indent: int) -> str:
    array = tensor._array if isinstance(tensor._array, numpy.ndarray) else tensor._array.get()
    if array.size == 0:
        return "[]"
    summarised = array.size > THRESHOLD
    words = Words(_edges(array) if summarised else array)
    return _block(array, indent, summarised, words)


def _edges(array: Any) -> Any:
    """The elements that a summary shows."""
    for axis, length in enumerate(array.shape):
        if length > 2 * EDGE_ITEMS:
            keep = [*range(EDGE_ITEMS), *range(length - EDGE_ITEMS, length)]
            array = numpy.take(array, keep, axis)
    return array


def _block(array: Any, indent: int, summarised: bool, words: Words) -> str:
    if array.ndim == 0:
        return words(array.item())
    if array.ndim == 1:
        return _row(array, indent, summarised, words)
    skip = summarised and len(array) > 2 * EDGE_ITEMS
    shown = [*array[:EDGE_ITEMS], None, *array[-EDGE_ITEMS:]] if skip else list(array)
    blocks = ["..." if part is None else _block(part, indent + 1, summarised, words) for part in shown]
    between: str = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + between.join(blocks) + "]"


def _row(array: Any, indent: int, summarised: bool, words: Words) -> str:
    skip = summarised and len(array) > 2 * EDGE_ITEMS
    shown: list[Any] = [*array[:EDGE_ITEMS], None, *array[-EDGE_ITEMS:]] if skip else list(array)
    items = [" ..." if value is None else words(value) for value in shown]
    a_line = max(1, (LINE_WIDTH - indent) // (words.width + 2))
    lines = [", ".join(items[at : at + a_line]) for at in range(0, len(items), a_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _float_words(array: Any) -> Callable[[Any], str]:
    finite = numpy.abs(array[numpy.isfinite(array) & (array != 0)].astype(numpy.float64))
    digits = _options["precision"]
    if finite.size == 0:
        return lambda value: f"{value:.0f}." if math.isfinite(value) else str(value)
    whole = bool(numpy.all(finite == numpy.ceil(finite)))
    spread = finite.max() / finite.min() > 1000 or finite.max() > 1e8
    if spread or (not whole and finite.min() < 1e-4):
        return lambda value: f"{value:.{digits}e}"
    if whole:
        return lambda value: f"{value:.0f}." if math.isfinite(value) else str(value)
    return lambda value: f"{value:.{digits}f}"
