"""Autograd of operators that take or return lists of tensors: ``cat``, ``stack``, ``unbind``.

PyTorch generates these (``torch/csrc/autograd/generated/VariableType_*.cpp``, ``Functions.cpp``, the formulas in
``FunctionsManual.cpp``). Here they are written by hand. A list has one edge per member.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dispatchviz.core.autograd.formulas.complex_gradients import handle_r_to_c
from dispatchviz.core.autograd.forward_mode.forward_ad import (
    forward_formula,
    is_fw_grad_defined,
    levels,
    set_fw_grad,
    tangent_or_zero,
    tangents_of_list,
)
from dispatchviz.core.autograd.graph.node import Gradients, Node, TraceableFunction
from dispatchviz.core.autograd.graph.saved_variable import keep
from dispatchviz.core.autograd.variables.variable import collect_next_edges, compute_requires_grad, set_history
from dispatchviz.core.autograd.variables.view_info import as_view, several_views
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys.key_set import after_ADInplaceOrView_keyset, after_autograd_keyset
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Size, Tensor
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView, AutoDispatchBelowAutograd


class _OfList(TraceableFunction):
    """The base class of Nodes with an edge per member of ``tensors``."""

    __slots__ = ("tensors_args_scalartypes",)
    edge_names = ("tensors",)

    tensors_args_scalartypes: tuple[DType, ...]

    def apply(self, grads: Gradients) -> Gradients:
        count = len(self.tensors_args_scalartypes)
        grad = grads[0]
        if grad is None or not self.task_should_compute_output_any(*range(count)):
            return [None] * count
        return list(self.parts(grad))

    def parts(self, grad: Tensor) -> list[Tensor]:
        """Return the gradient of each member."""
        raise NotImplementedError

    def per_member(self, grad: Tensor) -> list[Tensor]:
        """Return grad for each member, or its real part if the member is real."""
        real = ops.real.call(grad) if grad._dtype.is_complex else grad
        return [grad if dtype.is_complex else real for dtype in self.tensors_args_scalartypes]


class _AlongDim(_OfList):
    """The base class of Nodes that save the dimension."""

    __slots__ = ("dim",)
    saved_attributes = ("dim",)
    saved_integers = ("dim",)

    dim: int


class StackBackward0(_AlongDim):
    """stack(tensors, dim)    tensors: grad.select(dim, i) of each"""

    __slots__ = ()
    saved_attributes = ("dim",)
    saved_integers = ("dim",)

    def parts(self, grad: Tensor) -> list[Tensor]:
        dtypes = self.tensors_args_scalartypes
        return [handle_r_to_c(dtype, ops.select_int.call(grad, self.dim, i)) for i, dtype in enumerate(dtypes)]


class CatBackward0(_AlongDim):
    """cat(tensors, dim)    tensors: grad.narrow(dim, start, size) of each"""

    __slots__ = ("tensors_args_sizes",)
    saved_attributes = ("dim",)
    saved_integers = ("dim",)

    tensors_args_sizes: tuple[Size, ...]

    def parts(self, grad: Tensor) -> list[Tensor]:
        dim = wrap_dim(self.dim, len(grad._size))
        found, end = [], 0
        for size, own in zip(self.tensors_args_sizes, self.per_member(grad), strict=True):
            if size == (0,):
                found.append(ops.zeros.call((0,), own._dtype, "strided", own._device, None))
                continue
            end += size[dim]
            found.append(ops.narrow.call(own, dim, end - size[dim], size[dim]))
        return found


class BlockDiagBackward0(_OfList):
    """block_diag(tensors)    tensors: the block of each; that of a vector is still a row, as in PyTorch"""

    __slots__ = ("tensors_args_sizes",)

    tensors_args_sizes: tuple[Size, ...]

    def parts(self, grad: Tensor) -> list[Tensor]:
        found, row, column = [], 0, 0
        for size, own in zip(self.tensors_args_sizes, self.per_member(grad), strict=True):
            height, width = ((1, 1, *size)[-2:]) if size else (1, 1)
            rows = ops.slice_Tensor.call(own, 0, row, row + height, 1)
            block = ops.slice_Tensor.call(rows, 1, column, column + width, 1)
            for _ in range(2 - len(size)):
                block = ops.squeeze_dim.call(block, -1)
            found.append(block)
            row, column = row + height, column + width
        return found


class UnbindBackward0(Node):
    """unbind(self, dim)    self: stack(grads, dim)"""

    __slots__ = ("dim",)
    edge_names = ("self",)
    saved_attributes = ("dim",)
    saved_integers = ("dim",)

    dim: int

    def apply(self, grads: Gradients) -> Gradients:
        known = next((grad for grad in grads if grad is not None), None)
        if known is None or not self.task_should_compute_output(0):
            return [None]

        def zeros() -> Tensor:
            zero = ops.zeros.call((), known._dtype, "strided", known._device, None)
            return ops.expand.call(zero, known._size, False)

        return [ops.stack.call([zeros() if grad is None else grad for grad in grads], self.dim)]


class UnbindBackward0_copy(UnbindBackward0):
    """The Node of ``unbind_copy``."""

    __slots__ = ()


# -- kernels -----------------------------------------------------------------------------------------------------------


def cat(ks: int, tensors: list[Tensor], dim: int) -> Tensor:
    """Concatenate, and save the sizes, by which the gradient is split."""
    grad_fn = None
    if compute_requires_grad(*tensors):
        grad_fn = CatBackward0()
        _fill(grad_fn, tensors, dim)
        grad_fn.tensors_args_sizes = tuple(tensor._size for tensor in tensors)
    with AutoDispatchBelowADInplaceOrView():
        result = ops.cat.redispatch(ks & after_autograd_keyset, tensors, dim)
    if grad_fn is not None:
        set_history(result, grad_fn)
    if levels and (tangents := tangents_of_list(tensors)) is not None:
        with forward_formula("cat_jvp(tensors, dim)"):
            tangent = ops.cat.call(tangents, dim)
        set_fw_grad(result, tangent)
    return result


def stack(ks: int, tensors: list[Tensor], dim: int) -> Tensor:
    """Stack, and save the dimension."""
    grad_fn = None
    if compute_requires_grad(*tensors):
        grad_fn = StackBackward0()
        _fill(grad_fn, tensors, dim)
    with AutoDispatchBelowADInplaceOrView():
        result = ops.stack.redispatch(ks & after_autograd_keyset, tensors, dim)
    if grad_fn is not None:
        set_history(result, grad_fn)
    if levels and (tangents := tangents_of_list(tensors)) is not None:
        with forward_formula("stack_jvp(tensors, dim)"):
            tangent = ops.stack.call(tangents, dim)
        set_fw_grad(result, tangent)
    return result


def block_diag(ks: int, tensors: list[Tensor]) -> Tensor:
    """Arrange the blocks, and save the sizes, by which the gradient is split."""
    grad_fn = None
    if compute_requires_grad(*tensors):
        grad_fn = BlockDiagBackward0()
        collect_next_edges(grad_fn, *tensors)
        grad_fn.tensors_args_scalartypes = tuple(tensor._dtype for tensor in tensors)
        grad_fn.tensors_args_sizes = tuple(tensor._size for tensor in tensors)
    with AutoDispatchBelowADInplaceOrView():
        result = ops.block_diag.redispatch(ks & after_autograd_keyset, tensors)
    if grad_fn is not None:
        set_history(result, grad_fn)
    if levels and (tangents := tangents_of_list(tensors)) is not None:
        with forward_formula("block_diag_jvp(tensors)"):
            tangent = ops.block_diag.call(tangents)
        set_fw_grad(result, tangent)
    return result


def _fill(grad_fn: _AlongDim, tensors: Sequence[Tensor], dim: int) -> None:
    collect_next_edges(grad_fn, *tensors)
    grad_fn.dim = keep(grad_fn, "dim", dim)
    grad_fn.tensors_args_scalartypes = tuple(tensor._dtype for tensor in tensors)


def unbind(ks: int, self: Tensor, dim: int) -> list[Tensor]:
    """Unbind, with one Node that has as many inputs as there are results."""
    return _unbound(UnbindBackward0, ops.unbind_int, AutoDispatchBelowAutograd, ks, self, dim)


def unbind_copy(ks: int, self: Tensor, dim: int) -> list[Tensor]:
    """Unbind into copies, with one Node that has as many inputs as there are results."""
    return _unbound(UnbindBackward0_copy, ops.unbind_copy_int, AutoDispatchBelowADInplaceOrView, ks, self, dim)


def _unbound(kind: type[UnbindBackward0], op: Any, guard: Any, ks: int, self: Tensor, dim: int) -> list[Tensor]:
    grad_fn: UnbindBackward0 | None = None
    any_has_forward_grad = levels and is_fw_grad_defined(self)
    if compute_requires_grad(self):
        grad_fn = kind()
        collect_next_edges(grad_fn, self)
        grad_fn.dim = keep(grad_fn, "dim", dim)
    with guard():
        results: list[Tensor] = op.redispatch(ks & after_autograd_keyset, self, dim)
    if grad_fn is not None:
        for result in results:
            set_history(result, grad_fn)
    if any_has_forward_grad:
        with forward_formula("unbind(self_t, dim)", "auto_linear"):
            tangents = op.call(tangent_or_zero(self), dim)
        for result, tangent in zip(results, tangents, strict=True):
            set_fw_grad(result, tangent)
    return results


def unbind_below(ks: int, self: Tensor, dim: int) -> list[Tensor]:
    """Return views that must not be written to while their Node counts."""
    with AutoDispatchBelowADInplaceOrView():
        results = ops.unbind_int.redispatch(ks & after_ADInplaceOrView_keyset, self, dim)
    return [as_view(self, result, several_views()) for result in results]


def chunk_below(ks: int, self: Tensor, chunks: int, dim: int) -> list[Tensor]:
    """Return the chunks as views. It is called if autograd keys are excluded; otherwise ``chunk`` is decomposed into
    ``split``.
    """
    with AutoDispatchBelowADInplaceOrView():
        results = ops.chunk.redispatch(ks & after_ADInplaceOrView_keyset, self, chunks, dim)
    return [as_view(self, result, several_views()) for result in results]


def narrow_below(ks: int, self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return the part as a view. It is called if autograd keys are excluded."""
    with AutoDispatchBelowADInplaceOrView():
        result = ops.narrow.redispatch(ks & after_ADInplaceOrView_keyset, self, dim, start, length)
    return as_view(self, result)


AUTOGRAD_KERNELS: dict[str, Callable[..., Any]] = {
    "cat": cat,
    "stack": stack,
    "unbind.int": unbind,
    "unbind_copy.int": unbind_copy,
    "block_diag": block_diag,
}
"""Kernels for the alias Autograd."""

INPLACE_OR_VIEW_KERNELS: dict[str, Callable[..., Any]] = {
    "unbind.int": unbind_below,
    "chunk": chunk_below,
    "narrow": narrow_below,
}
"""Kernels for ADInplaceOrView."""
