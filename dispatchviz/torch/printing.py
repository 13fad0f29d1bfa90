"""How tensors print (``torch/_tensor_str.py``): ``tensor([1., 2.], grad_fn=<AddBackward0>)``.

All numbers of a tensor get one width and one notation, which the whole tensor decides; long rows are broken at 80
columns, more than 1000 elements are summarised. Both parts of complex numbers have a width and a notation of their own.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from dispatchviz.core.autograd import variable
from dispatchviz.core.autograd.forward_ad import fw_grad, levels
from dispatchviz.core.dtype import bfloat16, bool_, complex64, default_dtype, int64
from dispatchviz.core.functionalization.wrapper import functional_wrapper, is_functional_tensor
from dispatchviz.core.functorch.batched_tensor import BatchedTensorImpl
from dispatchviz.core.functorch.tensor_wrapper import TensorWrapperImpl
from dispatchviz.core.keyset import python_ks
from dispatchviz.core.math_bits import resolved
from dispatchviz.core.tensor import Tensor, numel

LINE_WIDTH, THRESHOLD, EDGE_ITEMS = 80, 1000, 3
_options = {"precision": 4}
_FUNCTIONAL = "_to_functional_tensor("


class Words:
    """How the numbers of one tensor are written; only finite numbers other than 0 count for the width."""

    def __init__(self, array: Any) -> None:
        self.plain: Callable[[Any], str] = _float_words(array) if array.dtype.kind == "f" else str
        counted = array[numpy.isfinite(array) & (array != 0)] if array.dtype.kind == "f" else array.reshape(-1)
        self.width = max((len(self.plain(value)) for value in counted), default=1)

    def __call__(self, value: Any) -> str:
        written: str = self.plain(value)
        return written.rjust(self.width)


class ComplexWords:
    """The same for complex numbers."""

    def __init__(self, array: Any) -> None:
        self.real, self.imag = Words(array.real), Words(array.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: Any) -> str:
        imag = f"{self.imag(value.imag)}j".lstrip()
        return self.real(value.real) + ("" if imag[0] in "+-" else "+") + imag


def set_printoptions(precision: int = 4) -> None:
    """Digits after the point."""
    _options["precision"] = precision


def text(tensor: Tensor) -> str:
    """The tensor in words. Reading the grad_fn of a stale view builds a Node, as in PyTorch."""
    if is_functional_tensor(tensor):
        return _joined(_FUNCTIONAL, text(functional_wrapper(tensor).value), [*_device(tensor), *_history(tensor)])
    if isinstance(tensor._impl, (BatchedTensorImpl, TensorWrapperImpl)):
        return _wrapper(tensor)
    suffixes = list(_suffixes(tensor))
    plain = type(tensor) is Tensor or type(tensor).__name__ == "Parameter"
    prefix = "tensor(" if plain else f"{type(tensor).__name__}("
    # NB: in PyTorch, a wrapper subclass that does not say how it prints is read through its operators
    empty = tensor._device.type == "meta" or (tensor._array is None and tensor._ks & python_ks)
    return _joined(prefix, "..." if empty else _numbers(tensor, len(prefix)), suffixes)


def _joined(prefix: str, body: str, suffixes: list[str]) -> str:
    """A suffix that does not fit goes on a line of its own."""
    shown = prefix + body
    line = len(shown) - shown.rfind("\n") + 1
    indent = " " * (len(prefix) if prefix != _FUNCTIONAL else len("tensor("))
    parts = [shown]
    for suffix in suffixes:
        if line + len(suffix) + 2 > LINE_WIDTH:
            parts.append(f",\n{indent}{suffix}")
            line = len(indent) + len(suffix)
        else:
            parts.append(", " + suffix)
            line += len(suffix) + 2
    return "".join(parts) + ")"


def _wrapper(tensor: Tensor) -> str:
    """A tensor of functorch's, with what it wraps (``_functorch_wrapper_str_intern``)."""
    impl = tensor._impl
    value = textwrap.indent(text(impl.value), " " * 4)
    if isinstance(impl, BatchedTensorImpl):
        return f"BatchedTensor(lvl={impl.level}, bdim={impl.bdim}, value=\n{value}\n)"
    return f"GradTrackingTensor(lvl={impl.level}, value=\n{value}\n)"


def _suffixes(tensor: Tensor) -> Iterator[str]:
    yield from _device(tensor)
    if tensor._device.type == "meta" or (numel(tensor._size) == 0 and len(tensor._size) != 1):
        yield f"size={tuple(tensor._size)}"
    without = (default_dtype,) if _says_only_size(tensor) else (default_dtype, complex64, int64, bool_)
    if tensor._dtype not in without:
        yield f"dtype={tensor._dtype}"
    yield from _history(tensor)
    if levels and (tangent := fw_grad(tensor)) is not None:
        yield f"tangent={text(tangent) if tangent._size else tangent}"


def _device(tensor: Tensor) -> Iterator[str]:
    if tensor._device.type != "cpu":
        yield f"device='{tensor._device}'"


def _history(tensor: Tensor) -> Iterator[str]:
    function = variable.grad_fn(tensor)
    if function is not None:
        yield f"grad_fn=<{function.name().rpartition('::')[2]}>"
    elif variable.requires_grad(tensor):
        yield "requires_grad=True"


def _says_only_size(tensor: Tensor) -> bool:
    return tensor._device.type == "meta" or numel(tensor._size) == 0


def _numbers(tensor: Tensor, indent: int) -> str:
    array = resolved(tensor)
    if not isinstance(array, numpy.ndarray):
        array = array.get()
    if array.size == 0:
        return "[]"
    if tensor._dtype is bfloat16:
        array = array.astype(numpy.float32)
    summarised = array.size > THRESHOLD
    shown = _edges(array) if summarised else array
    words = ComplexWords(shown) if shown.dtype.kind == "c" else Words(shown)
    return _block(array, indent, summarised, words)


def _edges(array: Any) -> Any:
    """The elements that a summary shows."""
    for axis, length in enumerate(array.shape):
        if length > 2 * EDGE_ITEMS:
            keep = [*range(EDGE_ITEMS), *range(length - EDGE_ITEMS, length)]
            array = numpy.take(array, keep, axis)
    return array


def _block(array: Any, indent: int, summarised: bool, words: Words | ComplexWords) -> str:
    if array.ndim == 0:
        return words(array.item())
    if array.ndim == 1:
        return _row(array, indent, summarised, words)
    skip = summarised and len(array) > 2 * EDGE_ITEMS
    shown = [*array[:EDGE_ITEMS], None, *array[-EDGE_ITEMS:]] if skip else list(array)
    blocks = ["..." if part is None else _block(part, indent + 1, summarised, words) for part in shown]
    between: str = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + between.join(blocks) + "]"


def _row(array: Any, indent: int, summarised: bool, words: Words | ComplexWords) -> str:
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
