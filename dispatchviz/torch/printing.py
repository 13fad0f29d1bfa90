"""How tensors print (``torch/_tensor_str.py``): ``tensor([1., 2.], grad_fn=<AddBackward0>)``.

All numbers of a tensor get one width and one notation, which the whole tensor decides, or the elements that a summary
shows. Both parts of complex numbers have a width and a notation of their own.
NB: in PyTorch, printing calls operators (``reshape``, ``masked_select``, ...); here it calls none.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from dispatchviz.core import dtype as dtypes
from dispatchviz.core.autograd import variable
from dispatchviz.core.autograd.forward_ad import fw_grad, levels
from dispatchviz.core.dtype import REDUCED, bool_, complex64, complex128, float64, int64
from dispatchviz.core.functionalization.wrapper import functional_wrapper, is_functional_tensor
from dispatchviz.core.functorch.batched_tensor import BatchedTensorImpl
from dispatchviz.core.functorch.tensor_wrapper import TensorWrapperImpl
from dispatchviz.core.keyset import python_ks
from dispatchviz.core.math_bits import resolved
from dispatchviz.core.tensor import Tensor, numel
from dispatchviz.torch._tensor_str import PRINT_OPTS

_FUNCTIONAL = "_to_functional_tensor("
_TOO_LARGE, _TOO_SMALL, _TOO_WIDE = 1e8, 1e-4, 1000.0
"""A number or a ratio beyond these asks for scientific notation."""


class Words:
    """How the numbers of one tensor are written; of floating ones only finite numbers other than 0 decide."""

    def __init__(self, array: Any) -> None:
        self._plain: Callable[[Any], str] = str
        if array.dtype.kind == "f":
            counted = array[numpy.isfinite(array) & (array != 0)]
            self._plain = _float_words(counted)
        else:
            counted = array.reshape(-1)
        self.width = 1
        self.width = max((len(self._plain(value)) for value in counted.tolist()), default=1)

    def __call__(self, value: Any) -> str:
        return self._plain(value).rjust(self.width)


class ComplexWords:
    """The same for complex numbers."""

    def __init__(self, array: Any) -> None:
        self.real, self.imag = Words(array.real), Words(array.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: Any) -> str:
        imag = f"{self.imag(value.imag)}j".lstrip()
        return self.real(value.real) + ("" if imag[0] in "+-" else "+") + imag


def _float_words(counted: Any) -> Callable[[float], str]:
    """Notation for all numbers, from those that count."""
    digits, sizes = PRINT_OPTS.precision, numpy.abs(counted.astype(numpy.float64))
    scientific = counted.size > 0 and PRINT_OPTS.sci_mode
    if counted.size and PRINT_OPTS.sci_mode is None:
        largest, smallest = float(sizes.max()), float(sizes.min())
        scientific = largest / smallest > _TOO_WIDE or largest > _TOO_LARGE or smallest < _TOO_SMALL
    if scientific:
        return lambda value: f"{value:.{digits}e}"
    if bool(numpy.all(counted == numpy.ceil(counted))):
        return lambda value: f"{value:.0f}." if numpy.isfinite(value) else f"{value:.0f}"
    return lambda value: f"{value:.{digits}f}"


# -- the whole ---------------------------------------------------------------------------------------------------------


def text(tensor: Tensor, *, tensor_contents: str | None = None) -> str:
    """The tensor in words, its numbers in others' words if they are given. Reading the grad_fn of a stale view builds a
    Node, as in PyTorch."""
    if is_functional_tensor(tensor):
        return _joined(_FUNCTIONAL, text(functional_wrapper(tensor).value), [*_device(tensor), *_history(tensor)])
    if isinstance(tensor._impl, (BatchedTensorImpl, TensorWrapperImpl)):
        return _wrapper(tensor)
    suffixes = list(_suffixes(tensor))
    plain = type(tensor) is Tensor or type(tensor).__name__ == "Parameter"
    prefix = "tensor(" if plain else f"{type(tensor).__name__}("
    # NB: in PyTorch, a wrapper subclass that does not say how it prints is read through its operators
    empty = tensor._device.type == "meta" or (tensor._array is None and tensor._ks & python_ks)
    if tensor_contents is None:
        tensor_contents = "..." if empty else _numbers(tensor, len(prefix))
    return _joined(prefix, tensor_contents, suffixes)


def _joined(prefix: str, body: str, suffixes: list[str]) -> str:
    """A suffix that does not fit goes on a line of its own."""
    shown = prefix + body
    line = len(shown) - shown.rfind("\n") + 1
    indent = " " * (len(prefix) if prefix != _FUNCTIONAL else len("tensor("))
    parts = [shown]
    for suffix in suffixes:
        if line + len(suffix) + 2 > PRINT_OPTS.linewidth:
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


# -- suffixes ----------------------------------------------------------------------------------------------------------


def _suffixes(tensor: Tensor) -> Iterator[str]:
    yield from _device(tensor)
    meta, empty = tensor._device.type == "meta", numel(tensor._size) == 0
    if meta or (empty and len(tensor._size) != 1) or not (empty or PRINT_OPTS.edgeitems):
        yield f"size={tuple(tensor._size)}"
    if tensor._dtype not in _untold_dtypes(meta or empty):
        yield f"dtype={tensor._dtype}"
    yield from _history(tensor)
    if levels and (tangent := fw_grad(tensor)) is not None:
        yield f"tangent={text(tangent) if tangent._size else tangent}"


def _untold_dtypes(no_numbers: bool) -> tuple[dtypes.DType, ...]:
    """Dtypes that the reader can tell from the numbers."""
    default = dtypes.default_dtype()
    if no_numbers:
        return (default,)
    return (default, complex128 if default is float64 else complex64, int64, bool_)


def _device(tensor: Tensor) -> Iterator[str]:
    if tensor._device.type != "cpu":
        yield f"device='{tensor._device}'"


def _history(tensor: Tensor) -> Iterator[str]:
    try:
        function = variable.grad_fn(tensor)
    except RuntimeError:  # a view of the time without grad mode, written to since
        yield "grad_fn=<Invalid>"
        return
    if function is not None:
        yield f"grad_fn=<{function.name().rpartition('::')[2]}>"
    elif variable.requires_grad(tensor):
        yield "requires_grad=True"


# -- numbers -----------------------------------------------------------------------------------------------------------


def _numbers(tensor: Tensor, indent: int) -> str:
    array = resolved(tensor)
    if not isinstance(array, numpy.ndarray):
        array = array.get()
    if array.size == 0:
        return "[]"
    if tensor._dtype in REDUCED:
        array = array.astype(numpy.float32)
    summarised = array.size > PRINT_OPTS.threshold
    shown = _edges(array) if summarised else array
    words = ComplexWords(shown) if shown.dtype.kind == "c" else Words(shown)
    return _block(array, indent, summarised, words)


def _edges(array: Any) -> Any:
    """The elements that a summary shows. With none to show, a row decides by all and a matrix by none."""
    edge = PRINT_OPTS.edgeitems
    if not edge:
        return array if array.ndim == 1 else array[:0]
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            array = numpy.take(array, [*range(edge), *range(length - edge, length)], axis)
    return array


def _ends(array: Any, summarised: bool) -> list[Any]:
    """The parts of an array; None for those that are left out."""
    edge = PRINT_OPTS.edgeitems
    if not summarised or len(array) <= 2 * edge:
        return list(array)
    return [*array[:edge], None, *array[len(array) - edge :]]


def _block(array: Any, indent: int, summarised: bool, words: Words | ComplexWords) -> str:
    if array.ndim == 0:
        return words(array.item())
    if array.ndim == 1:
        return _row(array, indent, summarised, words)
    blocks = [
        "..." if part is None else _block(part, indent + 1, summarised, words) for part in _ends(array, summarised)
    ]
    between: str = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + between.join(blocks) + "]"


def _row(array: Any, indent: int, summarised: bool, words: Words | ComplexWords) -> str:
    left_out = " ..." if PRINT_OPTS.edgeitems else "..."
    items = [left_out if value is None else words(value.item()) for value in _ends(array, summarised)]
    a_line = max(1, (PRINT_OPTS.linewidth - indent) // (words.width + 2))
    lines = [", ".join(items[at : at + a_line]) for at in range(0, len(items), a_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
