"""Batch rules of reductions (``BatchRulesReduceOps.cpp``).

Reductions over everything become reductions over all dimensions that the user sees, or over one dimension that they
were flattened to. Reductions over named dimensions are one boxed rule that renumbers the dimensions. ``BOXED`` has the
positions of an operator's arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dispatchviz.core.call.dispatcher import call_boxed
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.functorch.batch_rules.batch_rules_helper import (
    contiguous,
    move_batch_dim_to_front,
    physical_dim,
    rank_without_batch_dim,
)
from dispatchviz.core.layers.functorch.batch_rules.boxed_rules import participates
from dispatchviz.core.layers.functorch.batched_tensor import make_batched, unwrap_at_level
from dispatchviz.core.layers.functorch.plumbing import Batched, Kernel, checked_layer, exclude_batched, plumbed
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.table.operator_entry import OperatorEntry
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Size, Tensor

# -- over everything ---------------------------------------------------------------------------------------------------


def sum_decomp(ks: int, self: Tensor, dtype: DType | None) -> Tensor:
    """Sum over every dimension by number."""
    return ops.sum_dim_IntList.call(self, tuple(range(len(self._size))), False, dtype)


def mean_decomp(ks: int, self: Tensor, dtype: DType | None) -> Tensor:
    """Average over every dimension by number."""
    return ops.mean_dim.call(self, tuple(range(len(self._size))), False, dtype)


def prod_decomp(ks: int, self: Tensor, dtype: DType | None) -> Tensor:
    """Flatten, then reduce."""
    return ops.prod_dim_int.call(_flat(self), 0, False, dtype)


def max_decomp(ks: int, self: Tensor) -> Tensor:
    """Flatten, then reduce."""
    return ops.max_dim.call(_flat(self), 0, False)[0]


def min_decomp(ks: int, self: Tensor) -> Tensor:
    """Flatten, then reduce."""
    return ops.min_dim.call(_flat(self), 0, False)[0]


def any_decomp(ks: int, self: Tensor) -> Tensor:
    """Flatten, then reduce."""
    return ops.any_dim.call(_flat(self), 0, False)


def all_decomp(ks: int, self: Tensor) -> Tensor:
    """Flatten, then reduce."""
    return ops.all_dim.call(_flat(self), 0, False)


def _flat(self: Tensor) -> Tensor:
    return ops.flatten_using_ints.call(self, 0, -1)


def _is_any_true(self: Tensor, bdim: int | None) -> Batched:
    """Return one answer for all examples."""
    return ops._is_any_true.call(self), None


def _is_all_true(self: Tensor, bdim: int | None) -> Batched:
    """Return one answer for all examples."""
    return ops._is_all_true.call(self), None


def dist_decomp(ks: int, self: Tensor, other: Tensor, p: Scalar) -> Tensor:
    """Return the norm of the difference."""
    return ops.norm_Scalar.call(ops.sub_Tensor.call(self, other, 1), p)


# -- over named dimensions ---------------------------------------------------------------------------------------------


class ArgumentPositions(NamedTuple):
    """The positions of a reduction's arguments."""

    dim: int = 1
    keepdim: int | bool = 2
    """The argument's position; True if the rank is always kept, False if it never is."""

    def keeps(self, args: list[Any]) -> bool:
        """Return whether the rank is kept."""
        return self.keepdim if isinstance(self.keepdim, bool) else bool(args[self.keepdim])


def reduction(positions: ArgumentPositions) -> Callable[[OperatorEntry, int, list[Any]], None]:
    """Return the boxed rule of a reduction (``boxed_reduction_batch_rule``)."""

    def rule(op: OperatorEntry, ks: int, stack: list[Any]) -> None:
        with exclude_batched():
            level = checked_layer("boxed_reduction_batch_rule").level
            if any(participates(value, level) for value in stack[len(stack) - len(op.schema.arguments) :]):
                _reduce(op, stack, positions, level)
                return
            with exclude_batched():
                call_boxed(op, stack)

    return rule


def _reduce(op: OperatorEntry, stack: list[Any], positions: ArgumentPositions, level: int) -> None:
    begin = len(stack) - len(op.schema.arguments)
    args = stack[begin:]
    value, bdim = unwrap_at_level(args[0], level)
    physical = move_batch_dim_to_front(value, bdim)
    rank = rank_without_batch_dim(physical, bdim)
    one_dim = not op.schema.arguments[positions.dim].type.startswith(("int[", "SymInt["))
    if one_dim and args[positions.dim] is None and len(physical._size) > 1:
        physical = ops.flatten_using_ints.call(physical, 1, -1)
    dims = _named(args[positions.dim], rank, one_dim)
    # a 0-dim tensor may be reduced over dimension 0: each example gets one for it
    squeezed = rank == 0 and len(dims) == 1 and dims[0] in (0, -1)
    wanted = (1,) if squeezed else tuple(physical_dim(physical, bdim is not None, dim) for dim in dims)
    args[0] = ops.unsqueeze.call(physical, -1) if squeezed else physical
    squeezed = squeezed and positions.keeps(args)
    args[positions.dim] = wanted[0] if one_dim else wanted
    stack[begin:] = args
    call_boxed(op, stack)
    results = (ops.squeeze_dim.call(result, -1) if squeezed else result for result in stack[begin:])
    stack[begin:] = [make_batched(result, 0, level) for result in results]


def _named(dim: Size | int | None, rank: int, one_dim: bool) -> Size:
    """The dimensions that the user means. None named means all; a 0-dim tensor counts as having one."""
    if isinstance(dim, int):
        return (dim,)
    if dim is None and one_dim:
        return (0,)  # it is the dimension of the flattened tensor
    return tuple(dim) if dim else tuple(range(max(1, rank)))


_SAME_RANK = ArgumentPositions(1, True)
_THIRD_SAME_RANK = ArgumentPositions(2, True)
_CORRECTION = ArgumentPositions(1, 3)

ARGUMENT_POSITIONS: dict[str, ArgumentPositions] = {
    **dict.fromkeys(
        ("sum.dim_IntList", "mean.dim", "prod.dim_int", "any.dim", "all.dim", "any.dims", "all.dims"),
        ArgumentPositions(),
    ),
    **dict.fromkeys(("amax", "amin", "max.dim", "min.dim", "argmax", "argmin", "logsumexp"), ArgumentPositions()),
    "aminmax": ArgumentPositions(),
    "count_nonzero.dim_IntList": ArgumentPositions(1, False),
    **dict.fromkeys(("nansum", "median.dim", "nanmedian.dim", "mode"), ArgumentPositions()),
    **dict.fromkeys(("_fft_r2c", "_fft_c2r", "_fft_c2c"), _SAME_RANK),
    **dict.fromkeys(("cumsum", "cumprod", "sort", "_softmax", "_log_softmax"), _SAME_RANK),
    **dict.fromkeys(("cummax", "cummin", "logcumsumexp", "_safe_softmax"), _SAME_RANK),
    **dict.fromkeys(("sort.stable", "topk", "rot90"), _THIRD_SAME_RANK),
    **dict.fromkeys(("std.correction", "var.correction", "std_mean.correction", "var_mean.correction"), _CORRECTION),
    **dict.fromkeys(("linalg_vector_norm", "norm.ScalarOpt_dim", "kthvalue"), ArgumentPositions(2, 3)),
}

# -- backward of softmax -----------------------------------------------------------------------------------------------


def _softmax_backward_data(
    grad_output: Tensor,
    grad_output_bdim: int | None,
    output: Tensor,
    output_bdim: int | None,
    dim: int,
    input_dtype: DType,
) -> Batched:
    """Expand both tensors. An example of one element gets zeros."""
    grad, out = _expanded((grad_output, grad_output_bdim), (output, output_bdim))
    if len(out._size) == 1 and dim in (0, -1):
        return ops.zeros_like.call(grad, None, None, None, None, None), 0
    axis = physical_dim(out, True, dim)
    return ops._softmax_backward_data.call(grad, contiguous(out), axis, input_dtype), 0


def _log_softmax_backward_data(
    grad_output: Tensor,
    grad_output_bdim: int | None,
    output: Tensor,
    output_bdim: int | None,
    dim: int,
    input_dtype: DType,
) -> Batched:
    """Expand both tensors. An example of one element gets zeros."""
    grad, out = _expanded((grad_output, grad_output_bdim), (output, output_bdim))
    if len(out._size) == 1 and dim in (0, -1):
        return ops.zeros_like.call(grad, None, None, None, None, None), 0
    return ops._log_softmax_backward_data.call(grad, out, physical_dim(out, True, dim), input_dtype), 0


def _expanded(a: Batched, b: Batched) -> tuple[Tensor, Tensor]:
    """Expand the tensor that is not batched like the other one (``expand_bdims``)."""
    first, second = move_batch_dim_to_front(*a), move_batch_dim_to_front(*b)
    flagpole = second if a[1] is None else first
    first = ops.expand_as.call(first, flagpole) if a[1] is None else first
    return first, ops.expand_as.call(second, flagpole) if b[1] is None else second


def median_decomp(ks: int, self: Tensor) -> Tensor:
    """Return the median of the flattened examples."""
    return ops.median_dim.call(ops.flatten_using_ints.call(self, 0, -1), 0, False)[0]


def nanmedian_decomp(ks: int, self: Tensor) -> Tensor:
    """Return the median of the flattened examples, without nan."""
    return ops.nanmedian_dim.call(ops.flatten_using_ints.call(self, 0, -1), 0, False)[0]


def norm_scalar_decomp(ks: int, self: Tensor, p: Scalar) -> Tensor:
    """Return the norm over all dimensions, each named."""
    return ops.norm_ScalarOpt_dim.call(self, p, tuple(range(len(self._size))), False)


KERNELS: dict[str, Kernel] = {
    "median": median_decomp,
    "nanmedian": nanmedian_decomp,
    "norm.Scalar": norm_scalar_decomp,
    "sum": sum_decomp,
    "mean": mean_decomp,
    "prod": prod_decomp,
    "max": max_decomp,
    "min": min_decomp,
    "any": any_decomp,
    "all": all_decomp,
    "dist": dist_decomp,
    "_is_all_true": plumbed("_is_all_true", _is_all_true),
    "_is_any_true": plumbed("_is_any_true", _is_any_true),
    "_softmax_backward_data": plumbed("_softmax_backward_data", _softmax_backward_data),
    "_log_softmax_backward_data": plumbed("_log_softmax_backward_data", _log_softmax_backward_data),
}
"""Kernels for FuncTorchBatched."""
BOXED = {name: reduction(places) for name, places in ARGUMENT_POSITIONS.items()}
"""Operators with the boxed rule."""
