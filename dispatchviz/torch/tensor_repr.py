"""``repr`` and ``format`` of tensors (``torch/_tensor_str.py``): ``tensor([1., 2.], grad_fn=<AddBackward0>)``.

Printing calls operators (``reshape``, ``masked_select``, ``item``, ...) in PyTorch's order, without grad mode and
without any modes and transforms. The numbers are in ``tensor_formatter.py``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from dispatchviz.core.autograd.variables import variable
from dispatchviz.core.bindings.torch_function import overrides
from dispatchviz.core.layers.functionalization.functional_wrapper import functional_wrapper, is_functional_tensor
from dispatchviz.core.layers.functorch.batched_tensor import BatchedTensorImpl
from dispatchviz.core.layers.functorch.tensor_wrapper import TensorWrapperImpl
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.outside_errors import is_from_outside
from dispatchviz.core.tensor import dtype as dtypes
from dispatchviz.core.tensor.dtype import bool_, complex64, complex128, float64, int64
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.thread.guards import SUBCLASSES_DISABLED, DisableFuncTorch, torch_function_disabled
from dispatchviz.torch._namespace import torch
from dispatchviz.torch._tensor_str import PRINT_OPTS
from dispatchviz.torch.tensor_formatter import numbers
from dispatchviz.torch.utils._python_dispatch import _disable_current_modes

_FUNCTIONAL = "_to_functional_tensor("
# -- the whole ---------------------------------------------------------------------------------------------------------


def text(tensor: Tensor, *, tensor_contents: str | None = None) -> str:
    """Return the repr of a tensor, with other text for its numbers if given. Reading the grad_fn of a stale view
    creates a Node, as in PyTorch.
    """
    if recorder.formatting:
        with recorder.paused():
            return _printed(tensor, tensor_contents)
    return _printed(tensor, tensor_contents)


def _printed(tensor: Tensor, contents: str | None) -> str:
    if recorder.active is not None:
        recorder.active.tensor_formatted(tensor, "Tensor.__repr__")
    try:
        with _as_by_torch_function(tensor), torch.no_grad(), _disable_current_modes(), DisableFuncTorch():
            return _text(tensor, contents)
    finally:
        if recorder.active is not None:
            recorder.active.leave()


def _as_by_torch_function(tensor: Tensor) -> AbstractContextManager[None]:
    """Disable ``__torch_function__`` while a subclass is printed."""
    return torch_function_disabled(SUBCLASSES_DISABLED) if overrides(type(tensor)) else nullcontext()


def formatted(self: Tensor, spec: str) -> str:
    """``Tensor.__format__``: a single number follows the format specification; any other tensor is written as it
    prints.
    """
    if self._size or self._device.type == "meta" or type(self) is not Tensor:
        return object.__format__(self, spec)
    if recorder.active is not None:
        recorder.active.tensor_formatted(self, "Tensor.__format__")
    try:
        tensor: Any = self
        return format(tensor.detach().item(), spec)
    finally:
        if recorder.active is not None:
            recorder.active.leave()


def _text(tensor: Tensor, contents: str | None) -> str:
    if isinstance(tensor._impl, (BatchedTensorImpl, TensorWrapperImpl)):
        return _wrapper(tensor)
    primal, tangent = torch.autograd.forward_ad.unpack_dual(tensor)
    suffixes = [*_device(tensor)]
    if is_functional_tensor(tensor):
        prefix, contents = _FUNCTIONAL, text(functional_wrapper(tensor).value)
    else:
        plain = type(tensor) is Tensor or type(tensor).__name__ == "Parameter"
        prefix = "tensor(" if plain else f"{type(tensor).__name__}("
        suffixes += _kind(tensor)
        if contents is None:
            contents = "..." if tensor._device.type == "meta" else numbers(primal, len(prefix))
    suffixes += _history(tensor)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return _joined(prefix, contents, suffixes)


def _joined(prefix: str, body: str, suffixes: list[str]) -> str:
    """Join the parts; a suffix that does not fit goes on a line of its own."""
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
    """Return the repr of a functorch tensor and the tensor that it wraps (``_functorch_wrapper_str_intern``)."""
    impl = tensor._impl
    value = textwrap.indent(repr(impl.value), " " * 4)
    if isinstance(impl, BatchedTensorImpl):
        return f"BatchedTensor(lvl={impl.level}, bdim={impl.bdim}, value=\n{value}\n)"
    return f"GradTrackingTensor(lvl={impl.level}, value=\n{value}\n)"


# -- suffixes ----------------------------------------------------------------------------------------------------------


def _kind(tensor: Tensor) -> Iterator[str]:
    """Yield the size and the dtype, unless the numbers show them."""
    meta, empty = tensor._device.type == "meta", numel(tensor._size) == 0
    if meta or (empty and len(tensor._size) != 1) or not (empty or PRINT_OPTS.edgeitems):
        yield f"size={tuple(tensor._size)}"
    if tensor._dtype not in _implied_dtypes(meta or empty):
        yield f"dtype={tensor._dtype}"


def _implied_dtypes(no_numbers: bool) -> tuple[dtypes.DType, ...]:
    """The dtypes that a repr omits, because the numbers show them."""
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
    except RuntimeError as error:  # a view from no-grad mode that was written to since
        if is_from_outside(error):
            raise
        yield "grad_fn=<Invalid>"
        return
    if function is not None:
        yield f"grad_fn=<{type(function).name(function).rpartition('::')[2]}>"
    elif variable.requires_grad(tensor):
        yield "requires_grad=True"
