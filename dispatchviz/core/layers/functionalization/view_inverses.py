"""Inverses of view operators: the base after a view of it was mutated (``aten/src/ATen/FunctionalInverses.cpp``).

All have the form ``inverse(base, mutated_view, reapply_views, *args)``, with the view's own arguments. If the view
covers only a part of its base, the base is copied and the part written (``*_scatter``).
"""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functionalization.operator_calls import call
from dispatchviz.core.native.iterator.wrap_dim import dim_mask, wrap_dim
from dispatchviz.core.tensor.tensor import Size, Tensor


def identity(base: Tensor, mutated_view: Tensor, reapply_views: bool) -> Tensor:
    """Return the view, which has its base's shape."""
    return mutated_view


def view(base: Tensor, mutated_view: Tensor, reapply_views: bool, size: Size) -> Tensor:
    """Return the view in the base's shape."""
    return _call("view", reapply_views, mutated_view, base._size)


def unsafe_view(base: Tensor, mutated_view: Tensor, reapply_views: bool, size: Size) -> Tensor:
    """Return the view in the base's shape."""
    return ops._unsafe_view.call(mutated_view, base._size)


def reshape_alias(base: Tensor, mutated_view: Tensor, reapply_views: bool, size: Size, stride: Size) -> Tensor:
    """Return the view in the base's geometry."""
    return _call("_reshape_alias", reapply_views, mutated_view, base._size, base._stride)


def as_strided(
    base: Tensor, mutated_view: Tensor, reapply_views: bool, size: Size, stride: Size, offset: int | None
) -> Tensor:
    """Return a copy of the base with the view written to it."""
    return _tensor("as_strided_scatter", base, mutated_view, size, stride, offset)


def select(base: Tensor, mutated_view: Tensor, reapply_views: bool, dim: int, index: int) -> Tensor:
    """Return a copy of the base with the view written to it."""
    return _tensor("select_scatter", base, mutated_view, dim, index)


def unbind(base: Tensor, mutated_view: Tensor, reapply_views: bool, index: int, dim: int) -> Tensor:
    """Return a copy of the base with the view written to it."""
    return _tensor("select_scatter", base, mutated_view, dim, index)


def slice_(
    base: Tensor, mutated_view: Tensor, reapply_views: bool, dim: int, start: int | None, end: int | None, step: int
) -> Tensor:
    """Return a copy of the base with the view written to it."""
    return _tensor("slice_scatter", base, mutated_view, dim, start, end, step)


def expand(base: Tensor, mutated_view: Tensor, reapply_views: bool, size: Size, implicit: bool) -> Tensor:
    """Return the sum over the repeated dimensions (``at::sum_to``)."""
    leading = len(mutated_view._size) - len(base._size)
    stretched = [i for i, n in enumerate(base._size) if n == 1 and mutated_view._size[leading + i] != 1]
    dims = (*range(leading), *[leading + i for i in stretched])
    if dims:
        mutated_view = ops.sum_dim_IntList.call(mutated_view, dims, True, None)
    if leading:
        return _call("view", reapply_views, mutated_view, base._size)
    return mutated_view if reapply_views else ops.clone.call(mutated_view, None)


def permute(base: Tensor, mutated_view: Tensor, reapply_views: bool, dims: Sequence[int]) -> Tensor:
    """Return the view with the inverse permutation."""
    back = [0] * len(dims)
    for position, dim in enumerate(dims):
        back[wrap_dim(dim, len(dims))] = position
    return _call("permute", reapply_views, mutated_view, tuple(back))


def t(base: Tensor, mutated_view: Tensor, reapply_views: bool) -> Tensor:
    """Return the view transposed again."""
    return _call("t", reapply_views, mutated_view)


def transpose(base: Tensor, mutated_view: Tensor, reapply_views: bool, dim0: int, dim1: int) -> Tensor:
    """Return the view transposed again."""
    return _call("transpose.int", reapply_views, mutated_view, dim0, dim1)


def squeeze(base: Tensor, mutated_view: Tensor, reapply_views: bool) -> Tensor:
    """Unsqueeze the dimensions of size 1."""
    return _unsqueezed_to(mutated_view, base._size, [True] * len(base._size), reapply_views)


def squeeze_dim(base: Tensor, mutated_view: Tensor, reapply_views: bool, dim: int | Sequence[int]) -> Tensor:
    """Unsqueeze the given dimensions of size 1."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    mask = dim_mask(dims, len(base._size)) if base._size else []
    return _unsqueezed_to(mutated_view, base._size, mask, reapply_views)


def _unsqueezed_to(tensor: Tensor, size: Size, mask: Sequence[bool], reapply_views: bool) -> Tensor:
    for dim, length in enumerate(size):
        if mask[dim] and length == 1:
            tensor = _call("unsqueeze", reapply_views, tensor, dim)
    return tensor


def unsqueeze(base: Tensor, mutated_view: Tensor, reapply_views: bool, dim: int) -> Tensor:
    """Return the view without the dimension."""
    return _call("squeeze.dim", reapply_views, mutated_view, dim)


def conj(base: Tensor, mutated_view: Tensor, reapply_views: bool) -> Tensor:
    """Return the view conjugated again."""
    return _call("_conj", reapply_views, mutated_view)


def neg_view(base: Tensor, mutated_view: Tensor, reapply_views: bool) -> Tensor:
    """Return the view negated again."""
    return _call("_neg_view", reapply_views, mutated_view)


def view_as_real(base: Tensor, mutated_view: Tensor, reapply_views: bool) -> Tensor:
    """Return the view as a complex tensor."""
    return _call("view_as_complex", reapply_views, mutated_view)


def view_as_complex(base: Tensor, mutated_view: Tensor, reapply_views: bool) -> Tensor:
    """Return the view as pairs of real numbers."""
    return _call("view_as_real", reapply_views, ops.resolve_conj.call(mutated_view))


def _call(view_name: str, reapply_views: bool, *args: object) -> Tensor:
    """Call the view operator, or the operator that copies."""
    base, dot, overload = view_name.partition(".")
    return _tensor(view_name if reapply_views else f"{base}_copy{dot}{overload}", *args)


def _tensor(name: str, *args: object) -> Tensor:
    result: Tensor = call(name, *args)
    return result
