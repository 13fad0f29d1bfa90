"""Autograd of operators that take a list of indices: ``index``, ``index_put``.

PyTorch generates these (``torch/csrc/autograd/generated/VariableType_*.cpp``, ``Functions.cpp``); here they are written
by hand. Indices are saved each for itself, and have no edge.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.autograd.checks import check_inplace
from dispatchviz.core.autograd.node import Gradients, TraceableFunction
from dispatchviz.core.autograd.saved_variable import SavedVariable, keep, save
from dispatchviz.core.autograd.variable import collect_next_edges, compute_requires_grad, set_history
from dispatchviz.core.autograd.views import rebase_history
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.guards import AutoDispatchBelowADInplaceOrView, AutoDispatchBelowAutograd
from dispatchviz.core.keyset import after_autograd_keyset
from dispatchviz.core.tensor import Size, Tensor, TensorOptions, options_of

Indices = list[Tensor | None]


class _OfIndices(TraceableFunction):
    """Base: keeps the indices."""

    __slots__ = ("indices_",)
    saved_variables = ("indices",)

    indices_: list[SavedVariable]

    def indices(self) -> Indices:
        """The indices, unpacked."""
        return [index.unpack(self) for index in self.indices_]

    def release_variables(self) -> None:
        for index in self.indices_:
            index.reset_data()


class IndexBackward0(_OfIndices):
    """index(self, indices)    self: zeros with grad added at the indices"""

    __slots__ = ("self_options", "self_sym_sizes")
    edge_names = ("self",)
    saved_variables = ("indices",)
    saved_attributes = ("self_sym_sizes",)
    saved_integers = ("self_sym_sizes",)

    self_sym_sizes: Size
    self_options: TensorOptions

    def apply(self, grads: Gradients) -> Gradients:
        indices, grad = self.indices(), grads[0]
        if grad is None or not self.task_should_compute_output(0):
            return [None]
        options = self.self_options
        zeros = ops.new_zeros.call(grad, self.self_sym_sizes, options.dtype, "strided", options.device, None)
        return [ops._index_put_impl_.call(zeros, indices, grad, True, True)]


class IndexPutBackward0(_OfIndices):
    """index_put(self, indices, values, accumulate)    self: grad without what was written    values: grad[indices]"""

    __slots__ = ("accumulate", "values_like")
    edge_names = ("self", "values")
    saved_variables = ("indices",)
    saved_attributes = ("accumulate",)

    accumulate: bool
    values_like: tuple[Size, TensorOptions]

    def apply(self, grads: Gradients) -> Gradients:
        indices, grad = self.indices(), grads[0]
        found: Gradients = [None, None]
        if grad is None:
            return found
        if self.task_should_compute_output(0):
            found[0] = grad if self.accumulate else ops.index_put.call(grad, indices, self._zeros(), False)
        if self.task_should_compute_output(1):
            found[1] = ops.index_Tensor.call(grad, indices)
        return found

    def _zeros(self) -> Tensor:
        size, options = self.values_like
        return ops.zeros.call(size, options.dtype, "strided", options.device, None)


# -- kernels -----------------------------------------------------------------------------------------------------------


def index(ks: int, self: Tensor, indices: Indices) -> Tensor:
    """Keeps the indices, and the geometry of what was read."""
    grad_fn: IndexBackward0 | None = None
    if compute_requires_grad(self):
        grad_fn = IndexBackward0()
        collect_next_edges(grad_fn, self)
        grad_fn.indices_ = _saved(grad_fn, indices)
        grad_fn.self_options = options_of(self)
        grad_fn.self_sym_sizes = keep(grad_fn, "self_sym_sizes", self._size)
    with AutoDispatchBelowADInplaceOrView():
        result = ops.index_Tensor.redispatch(ks & after_autograd_keyset, self, indices)
    if grad_fn is not None:
        set_history(result, grad_fn)
    return result


def _saved(grad_fn: _OfIndices, indices: Indices) -> list[SavedVariable]:
    return [save(grad_fn, "indices", one) for one in indices]


def index_put(ks: int, self: Tensor, indices: Indices, values: Tensor, accumulate: bool) -> Tensor:
    """A new tensor with what was written."""
    grad_fn = _index_put_node(compute_requires_grad(self, values), self, indices, values, accumulate)
    with AutoDispatchBelowADInplaceOrView():
        result = ops.index_put.redispatch(ks & after_autograd_keyset, self, indices, values, accumulate)
    if grad_fn is not None:
        set_history(result, grad_fn)
    return result


def index_put_(ks: int, self: Tensor, indices: Indices, values: Tensor, accumulate: bool) -> Tensor:
    """In place."""
    requires_grad = compute_requires_grad(self, values)
    check_inplace(self, requires_grad)
    grad_fn = _index_put_node(requires_grad, self, indices, values, accumulate)
    with AutoDispatchBelowAutograd():
        ops.index_put_.redispatch(ks & after_autograd_keyset, self, indices, values, accumulate)
    if grad_fn is not None:
        rebase_history(self, grad_fn)
    return self


def _index_put_impl_(ks: int, self: Tensor, indices: Indices, values: Tensor, accumulate: bool, unsafe: bool) -> Tensor:
    """In place."""
    requires_grad = compute_requires_grad(self, values)
    check_inplace(self, requires_grad)
    grad_fn = _index_put_node(requires_grad, self, indices, values, accumulate, IndexPutImplBackward0)
    with AutoDispatchBelowAutograd():
        ops._index_put_impl_.redispatch(ks & after_autograd_keyset, self, indices, values, accumulate, unsafe)
    if grad_fn is not None:
        rebase_history(self, grad_fn)
    return self


class IndexPutImplBackward0(IndexPutBackward0):
    """_index_put_impl_: as index_put"""

    __slots__ = ()


def _index_put_node(
    requires_grad: bool,
    self: Tensor,
    indices: Indices,
    values: Tensor,
    accumulate: bool,
    kind: type[IndexPutBackward0] = IndexPutBackward0,
) -> IndexPutBackward0 | None:
    if not requires_grad:
        return None
    grad_fn = kind()
    collect_next_edges(grad_fn, self, values)
    grad_fn.accumulate = keep(grad_fn, "accumulate", accumulate)
    grad_fn.indices_ = _saved(grad_fn, indices)
    grad_fn.values_like = (values._size, options_of(values))
    return grad_fn


AUTOGRAD_KERNELS: dict[str, Callable[..., Any]] = {
    "index.Tensor": index,
    "index_put": index_put,
    "index_put_": index_put_,
    "_index_put_impl_": _index_put_impl_,
}
"""Under the alias Autograd."""
