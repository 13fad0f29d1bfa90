"""Meta kernels whose result depends on sizes alone: a size, a dtype and a layout for each operator
(``torch/_meta_registrations.py``, ``torch/_refs``, ``torch/_decomp``).

NB: one ``empty`` per result. PyTorch's Python functions call more operators, and refuse more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dispatchviz.core.call.structured import broadcast_sizes, resize_in_order
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.layers.meta.meta_registrations import itself
from dispatchviz.core.native.iterator.memory_formats import suggested
from dispatchviz.core.native.iterator.tensor_iterator import new_output, out_elementwise, result_type
from dispatchviz.core.native.iterator.wrap_dim import reduced_mask, wrap_dim
from dispatchviz.core.native.linalg.matrix_checks import (
    broadcast_batch_sizes,
    check_floating_or_complex,
    check_inputs_solver,
    check_is_matrix,
    column_major_strides,
    square_check_inputs,
)
from dispatchviz.core.native.reductions.sum_mean import reduced_size
from dispatchviz.core.native.resampling.pad_checks import check_padded, padded_size
from dispatchviz.core.tensor.dtype import DType, bool_, default_dtype, int32, int64, real_type
from dispatchviz.core.tensor.tensor import Size, Tensor

Kernel = Callable[..., Any]
SizeRule = Callable[..., Size]
"""A function from an operator's arguments to the size of its result."""

# -- rules -------------------------------------------------------------------------------------------------------------


def _blank(like: Tensor, size: Size, dtype: DType | None = None, memory_format: str | None = None) -> Tensor:
    return ops.empty_memory_format.call(size, dtype or like._dtype, "strided", like._device, None, memory_format)


def _columns(like: Tensor, size: Size) -> Tensor:
    """Return a tensor of matrices in column-major order."""
    return ops.empty_strided.call(size, column_major_strides(size), like._dtype, "strided", like._device, None)


def contiguous(size: SizeRule, dtype: DType | None = None) -> Kernel:
    """Return the kernel of an operator whose result is contiguous. The first argument gives dtype and device."""
    return lambda ks, *args: _blank(args[0], size(*args), dtype)


def alike(dtype: Callable[[DType], DType] = lambda own: own) -> Kernel:
    """Return the kernel of an operator whose result is laid out as an elementwise result of its first argument."""
    return lambda ks, self, *args: new_output(self, dtype=dtype(self._dtype))


def column_major(size: SizeRule) -> Kernel:
    """Return the kernel of an operator whose result is written by LAPACK."""
    return lambda ks, *args: _columns(args[0], size(*args))


def written(count: int, dtype: Callable[[DType], DType] = lambda own: own) -> Kernel:
    """Return the kernel of an elementwise operator of ``count`` tensors that writes to ``out``, its last argument."""

    def writes(ks: int, *args: Any) -> Tensor:
        operands = args[:count]
        out: Tensor = args[-1]
        out_elementwise(out, *operands, dtype=dtype(result_type(*operands)))
        return out

    return writes


def _real(dtype: DType) -> DType:
    """The dtype of the results of ``abs`` and ``angle``."""
    return real_type(dtype) if dtype.is_complex else dtype


def _angle(dtype: DType) -> DType:
    return _real(dtype) if dtype.is_floating_point or dtype.is_complex else default_dtype()


# -- indices and order -------------------------------------------------------------------------------------------------


def nonzero(ks: int, self: Tensor) -> NoReturn:
    """Raise NotImplementedError, since the size of the result depends on the numbers."""
    raise NotImplementedError(
        "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct "
        "data-independent implementation does not exist. This implementation returns a fake value, assuming all "
        "elements of the tensor are non-zero. To enable this registration, please set "
        "'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True."
    )


def values_out(ks: int, self: Tensor, *args: Any) -> tuple[Tensor, Tensor]:
    """Write values and indices of ``median``, ``nanmedian``, ``kthvalue`` along a dimension."""
    *k, dim, keepdim, values, indices = args
    dim = wrap_dim(dim, len(self._size))
    if k and not 1 <= k[0] <= (self._size[dim] if self._size else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    for out in (values, indices):
        resize_in_order(out, _without(self, dim, keepdim))
    return values, indices


def mode(ks: int, self: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """Return values and indices along a dimension."""
    size = _without(self, dim, keepdim)
    return _blank(self, size), _blank(self, size, int64)


def _without(self: Tensor, dim: int | tuple[int, ...], keepdim: bool) -> Size:
    dims = [dim] if isinstance(dim, int) else list(dim)
    return reduced_size(self._size, reduced_mask(dims, len(self._size)), keepdim)


def trace(ks: int, self: Tensor) -> Tensor:
    """Return a 0-dim tensor. Raise RuntimeError unless the argument is a matrix."""
    if len(self._size) != 2:
        raise RuntimeError(f"expected a matrix, but got tensor with dim {len(self._size)}")
    return _blank(self, ())


def _places(self: Any, among: Tensor, out_int32: bool) -> Tensor:
    """Return a tensor of the size of ``self``, which may be a number."""
    size = self._size if isinstance(self, Tensor) else ()
    return _blank(among, size, int32 if out_int32 else int64)


def bucketize(ks: int, self: Any, boundaries: Tensor, out_int32: bool, *args: Any) -> Tensor:
    """Return an index for each element."""
    return _places(self, boundaries, out_int32)


def searchsorted(ks: int, sorted_sequence: Tensor, self: Any, out_int32: bool, *args: Any) -> Tensor:
    """Return an index for each element."""
    return _places(self, sorted_sequence, out_int32)


def randperm_out(ks: int, n: int, generator: object, out: Tensor) -> Tensor:
    """Resize ``out`` to a vector of n elements."""
    resize_in_order(out, (n,))
    return out


def triangle(is_lower: bool) -> Kernel:
    """Return the kernel of ``tril_indices`` or ``triu_indices``, whose result has two rows."""

    def indices(ks: int, row: int, col: int, offset: int, dtype: DType | None, *options: Any) -> Tensor:
        below = [min(max(line + offset + (1 if is_lower else 0), 0), col) for line in range(row)]
        count = sum(below) if is_lower else sum(col - one for one in below)
        layout, device, pin_memory = options
        return ops.empty_memory_format.call((2, count), dtype or int64, layout, device, pin_memory, None)

    return indices


# -- matrices ----------------------------------------------------------------------------------------------------------


def addr(ks: int, self: Tensor, vec1: Tensor, vec2: Tensor, *args: Any) -> Tensor:
    """Return a tensor laid out as an elementwise result of the expanded tensor and the outer product."""
    added = ops.expand.call(self, (vec1._size[0], vec2._size[0]), False)
    return new_output(added, ops.reshape.call(vec1, (-1, 1)), vec2)


def addr_out(ks: int, self: Tensor, vec1: Tensor, vec2: Tensor, beta: Any, alpha: Any, out: Tensor) -> Tensor:
    """Write the result of ``addr`` to ``out``."""
    out_elementwise(out, self, ops.reshape.call(vec1, (-1, 1)), vec2)
    return out


def matrix_exp(ks: int, self: Tensor) -> Tensor:
    """Return a contiguous tensor."""
    square_check_inputs(self, "linalg.matrix_exp")
    check_floating_or_complex(self, "linalg.matrix_exp")
    return _blank(self, self._size)


def solve_triangular(ks: int, self: Tensor, B: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    """Return a column-major tensor. Raise RuntimeError unless both arguments fit."""
    check_inputs_solver(self, B, left, "linalg.solve_triangular")
    return _columns(B, broadcast_batch_sizes(B, self)[0])


def cholesky_inverse(ks: int, self: Tensor, upper: bool) -> Tensor:
    """Return a column-major tensor. Raise RuntimeError unless the argument is square."""
    square_check_inputs(self, "cholesky_inverse")
    return _columns(self, self._size)


def householder_product(ks: int, input: Tensor, tau: Tensor) -> Tensor:
    """Return a column-major tensor. Raise RuntimeError unless the argument has matrices."""
    check_is_matrix(input, "torch.linalg.householder_product", "input")
    return _columns(input, input._size)


def distances(x1: Tensor, x2: Tensor, *args: Any) -> Size:
    """The size of the result of ``cdist``: a matrix for each pair of a batch."""
    return (*broadcast_sizes(x1._size[:-2], x2._size[:-2]), x1._size[-2], x2._size[-2])


# -- layers ------------------------------------------------------------------------------------------------------------


def adaptive_avg_pool(count: int) -> Kernel:
    """Return the kernel of a pooling over ``count`` dimensions, whose result has the memory format of the input."""

    def pooled(ks: int, self: Tensor, output_size: Size) -> Tensor:
        form = suggested(self) if len(self._size) == count + 2 and count == 2 else None
        return _blank(self, (*self._size[:-count], *output_size), None, form)

    return pooled


def reduced_loss(rule: Kernel, where: int) -> Kernel:
    """Return the kernel of a loss. Its result is a number unless argument ``where``, the reduction, is 0."""
    return lambda ks, self, *args: _blank(self, ()) if args[where - 1] else rule(ks, self, *args)


def multilabel_margin_loss(ks: int, self: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """Return the loss, and a mask of the labels that are targets."""
    return _blank(self, () if reduction else self._size[:-1]), _blank(self, target._size)


def embedding_bag(ks: int, weight: Tensor, indices: Tensor, offsets: Tensor, *args: Any) -> tuple[Tensor, ...]:
    """Return the bags, the bag of each index, the sizes of bags and, for ``max``, the index of each element's
    source.
    """
    mode, with_last = args[1], args[4]
    bags = offsets._size[0] - with_last
    result = bags, weight._size[1]
    return (
        _blank(weight, result),
        _blank(indices, indices._size),
        _blank(indices, (bags,)),
        _blank(indices, result if mode == 2 else (0,)),
    )


def im2col(self: Tensor, kernel: Size, dilation: Size, padding: Size, stride: Size) -> Size:
    """The size (N, C * kernel, windows), without N for a single image."""
    *batch, channels, height, width = self._size
    windows = 1
    for dim, length in enumerate((height, width)):
        windows *= (length + 2 * padding[dim] - dilation[dim] * (kernel[dim] - 1) - 1) // stride[dim] + 1
    return (*batch, channels * kernel[0] * kernel[1], windows)


def col2im(self: Tensor, output_size: Size, kernel: Size, *args: Any) -> Size:
    """The size (N, C, height, width), without N for a single image."""
    *batch, rows, _ = self._size
    return (*batch, rows // (kernel[0] * kernel[1]), *output_size)


def reflection_pad2d(self: Tensor, padding: Size) -> Size:
    """The size with both edges. Raise RuntimeError for a shape that does not fit."""
    check_padded("reflection_pad2d", self, padding)
    return padded_size(self._size, padding)


# -- the tables --------------------------------------------------------------------------------------------------------

IN_PLACE = (
    "put_", "_index_put_impl_", "index_fill_.int_Scalar", "index_fill_.int_Tensor", "masked_scatter_",
    "masked_fill_.Tensor", "exponential_", "cauchy_", "log_normal_", "geometric_", "bernoulli_.Tensor",
)  # fmt: skip
"""Operators that write to their first tensor, whose size does not change."""

KERNELS: dict[str, Kernel] = {
    **dict.fromkeys(IN_PLACE, itself),
    **dict.fromkeys(("median.dim_values", "nanmedian.dim_values", "kthvalue.values"), values_out),
    **dict.fromkeys(("poisson", "_standard_gamma", "rrelu_with_noise", "flip"), alike()),
    **dict.fromkeys(("median", "nanmedian"), contiguous(lambda *args: ())),
    **dict.fromkeys(("roll", "channel_shuffle"), contiguous(lambda self, *args: self._size)),
    **dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only"), embedding_bag),
    **dict.fromkeys(("complex.out", "polar.out"), written(2, DType.to_complex)),
    "abs.out": written(1, _real),
    "nan_to_num.out": written(1),
    "isnan": alike(lambda own: bool_),
    "angle": alike(_angle),
    "nonzero": nonzero,
    "mode": mode,
    "trace": trace,
    "take": contiguous(lambda self, index: index._size),
    "count_nonzero.dim_IntList": contiguous(lambda self, dim: _without(self, dim, False), int64),
    **dict.fromkeys(("bucketize.Tensor", "bucketize.Scalar"), bucketize),
    **dict.fromkeys(("searchsorted.Tensor", "searchsorted.Scalar"), searchsorted),
    "histc": contiguous(lambda self, bins, *args: (bins,)),
    "multinomial": contiguous(lambda self, count, *args: (*self._size[:-1], count), int64),
    "randperm.generator_out": randperm_out,
    "tril_indices": triangle(True),
    "triu_indices": triangle(False),
    "addr": addr,
    "addr.out": addr_out,
    "linalg_matrix_exp": matrix_exp,
    "linalg_solve_triangular": solve_triangular,
    "linalg_householder_product": householder_product,
    "cholesky_inverse": cholesky_inverse,
    "_cholesky_solve_helper": column_major(lambda self, *args: self._size),
    "ormqr": column_major(lambda self, tau, other, *args: other._size),
    "_cdist_forward": contiguous(distances),
    "_pdist_forward": contiguous(lambda self, *args: (self._size[0] * (self._size[0] - 1) // 2,)),
    "_adaptive_avg_pool2d": adaptive_avg_pool(2),
    "_adaptive_avg_pool3d": adaptive_avg_pool(3),
    "binary_cross_entropy": reduced_loss(alike(), 3),
    "multi_margin_loss": reduced_loss(contiguous(lambda self, target, *args: target._size), 5),
    "multilabel_margin_loss_forward": multilabel_margin_loss,
    "grid_sampler_2d": contiguous(lambda input, grid, *args: (*input._size[:2], *grid._size[1:3])),
    "grid_sampler_3d": contiguous(lambda input, grid, *args: (*input._size[:2], *grid._size[1:4])),
    "max_unpool2d": contiguous(lambda self, indices, size: (*self._size[:-2], *size)),
    "im2col": contiguous(im2col),
    "col2im": contiguous(col2im),
    "reflection_pad2d": contiguous(reflection_pad2d),
}
"""The kernels by operator, without ``aten::``."""
