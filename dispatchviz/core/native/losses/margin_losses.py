"""``multi_margin_loss``, ``multilabel_margin_loss`` (``aten/src/ATen/native/LossMulti.h``, ``LossMultiMargin.cpp``,
``LossMultiLabelMargin.cpp``); ``reduction``: ``at::Reduction``.

self is (N, classes) or one row.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.indexing.ufunc_at import ufunc_at
from dispatchviz.core.native.iterator.argument_checks import TensorArg, check_same_size
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import not_implemented, store
from dispatchviz.core.native.losses.mse_nll_loss import MEAN, NONE
from dispatchviz.core.tensor.dtype import DType, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, numel


def _rows_of(self: Tensor) -> Size:
    """The number of rows and classes. Raise RuntimeError if there are no classes, and for other ranks."""
    size = self._size
    if len(size) > 2 or (size and not size[-1]):
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(size)}")
    return size if len(size) == 2 else (1, *(size or (1,)))


def _check_dtypes(kernel: str, self: Tensor, target: Tensor, others: tuple[Tensor | None, ...] = ()) -> None:
    if self._dtype.name not in ("float32", "float64"):
        raise not_implemented(kernel, self._dtype)
    wanted: list[tuple[Tensor | None, DType]] = [(target, int64), *((other, self._dtype) for other in others)]
    for tensor, dtype in wanted:
        if tensor is not None and tensor._dtype is not dtype:
            raise RuntimeError(f"expected scalar type {dtype.legacy} but found {tensor._dtype.legacy}")


def _empty(like: Tensor) -> Tensor:
    return ops.empty_memory_format.call((0,), like._dtype, "strided", like._device, None, None)


def _times_grad(grad_input: Tensor, gradient: Any, grad_output: Tensor, reduction: int) -> None:
    """Store the slopes, multiplied by the gradient of their row or of the whole loss."""
    grad = grad_output._array.reshape(-1)
    by_row = reduction == NONE and grad_output._size
    store(grad_input, (gradient * (grad[: len(gradient), None] if by_row else grad[0])).reshape(grad_input._size))


# -- multi_margin_loss -------------------------------------------------------------------------------------------------


def multi_margin_loss(
    self: Tensor, target: Tensor, p: Scalar, margin: Scalar, weight: Tensor | None, reduction: int
) -> Tensor:
    """The mean over classes of max(0, margin - x[y] + x[i]) ** p, with p 1 or 2."""
    return multi_margin_loss_out(self, target, p, margin, weight, reduction, _empty(self))


def multi_margin_loss_out(
    self: Tensor, target: Tensor, p: Scalar, margin: Scalar, weight: Tensor | None, reduction: int, out: Tensor
) -> Tensor:
    """The ``out=`` version of ``multi_margin_loss``."""
    rows, classes = _check_multi(self, target, p, weight)
    ops.resize_.call(out, (rows,) if reduction == NONE and target._size else (), None)
    if not numel(self._size):
        return out
    self, target = in_format(self), in_format(target)
    _check_dtypes("multi_margin_loss_cpu_kernel", self, target, (weight,))
    z, weights = _gaps(self, target, margin, weight, (rows, classes))
    losses = ((z if p == 1 else z * z) * weights).sum(1) / self._dtype.numpy.type(classes)
    if reduction != NONE or not out._size:
        losses = losses.sum(dtype="float64") / (rows if reduction == MEAN else 1)
    store(out, losses)
    return out


def _check_multi(self: Tensor, target: Tensor, p: Scalar, weight: Tensor | None) -> Size:
    if int(p) not in (1, 2):  # type: ignore[arg-type]
        raise RuntimeError("only p == 1 and p == 2 supported")
    rows, classes = _rows_of(self)
    if len(target._size) > 1 or numel(target._size) != rows:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{rows}], but got {list(target._size)}. Input has shape {list(self._size)}."
        )
    if weight is not None and (len(weight._size) > 1 or numel(weight._size) != classes):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight._size)}")
    return rows, classes


def _gaps(self: Tensor, target: Tensor, margin: Scalar, weight: Tensor | None, size: Size) -> tuple[Any, Any]:
    """The amount by which each class violates the margin, 0 for the target; and the weight of each row's target."""
    xp: Any = array_module(self._device.type)
    values, indices = self._array.reshape(size), target._array.reshape(-1, 1)
    if ((indices < 0) | (indices >= size[1])).any():
        raise RuntimeError("target out of range")
    kind = self._dtype.numpy.type
    z = kind(margin) - xp.take_along_axis(values, indices, 1) + values
    others = (z > 0) & (indices != xp.arange(size[1]))
    weights = kind(1) if weight is None else weight._array.reshape(-1)[indices]
    return xp.where(others, z, kind(0)), weights


def multi_margin_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    p: Scalar,
    margin: Scalar,
    weight: Tensor | None,
    reduction: int,
) -> Tensor:
    """The gradient: positive for the classes within the margin, negative for the target."""
    args = (grad_output, self, target, p, margin, weight, reduction)
    return multi_margin_loss_backward_out(*args, _empty(self))


def multi_margin_loss_backward_out(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    p: Scalar,
    margin: Scalar,
    weight: Tensor | None,
    reduction: int,
    grad_input: Tensor,
) -> Tensor:
    """Write the result of ``multi_margin_loss_backward`` into ``grad_input``."""
    rows, classes = _check_multi(self, target, p, weight)
    ops.resize_as_.call(grad_input, self, None)
    if not grad_input._is_contiguous:
        raise RuntimeError("grad_input must be contiguous")
    if not numel(self._size):
        return grad_input
    self, target = in_format(self), in_format(target)
    weight = weight if weight is None else in_format(weight)
    _check_dtypes("multi_margin_loss_backward_cpu_kernel", self, target, (weight,))
    z, weights = _gaps(self, target, margin, weight, (rows, classes))
    g = self._dtype.numpy.type(1 / (rows * classes if reduction == MEAN else classes))
    gradient = (g * (z > 0) if p == 1 else 2 * g * z) * weights
    xp: Any = array_module(self._device.type)
    xp.put_along_axis(gradient, target._array.reshape(-1, 1), -gradient.sum(1, keepdims=True), 1)
    _times_grad(grad_input, gradient, grad_output, reduction)
    return grad_input


# -- multilabel_margin_loss --------------------------------------------------------------------------------------------


def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The first result of ``multilabel_margin_loss_forward``."""
    return ops.multilabel_margin_loss_forward.call(self, target, reduction)[0]


def multilabel_margin_loss_out(self: Tensor, target: Tensor, reduction: int, out: Tensor) -> Tensor:
    """The ``out=`` version of ``multilabel_margin_loss``."""
    return ops.multilabel_margin_loss_forward_output.call(self, target, reduction, out, _empty(self))[0]


def multilabel_margin_loss_forward(self: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """The total amount by which other classes come within 1 of each target class, and a mask of the target classes.

    Targets end at -1.
    """
    output = _empty(self)
    return multilabel_margin_loss_forward_out(self, target, reduction, output, _empty(self))


def multilabel_margin_loss_forward_out(
    self: Tensor, target: Tensor, reduction: int, output: Tensor, is_target: Tensor
) -> tuple[Tensor, Tensor]:
    """Write ``multilabel_margin_loss_forward`` into both outputs."""
    rows, classes = _check_multilabel(self, target)
    ops.resize_.call(output, (rows,) if reduction == NONE and len(target._size) > 1 else (), None)
    ops.resize_as_.call(is_target, target, None)
    if not is_target._is_contiguous:
        raise RuntimeError("is_target must be contiguous")
    ops.zero_.call(is_target)
    if not numel(self._size):
        return output, is_target
    _check_range(TensorArg(target, "target", 2), -1, classes - 1)
    self, target = in_format(self), in_format(target)
    _check_dtypes("multilabel_margin_loss_forward_out_frame", self, target)
    xp: Any = array_module(self._device.type)
    indices, listed = _listed(xp, target._array.reshape(rows, classes))
    marks = is_target._array.reshape(rows, classes)
    marks[xp.nonzero(listed)[0], indices[listed]] = 1
    z = _all_gaps(xp, self._array.reshape(rows, classes), indices, listed, marks)
    losses = z.sum((1, 2), dtype="float64") / classes
    if reduction != NONE or not output._size:
        losses = losses.sum() / (rows if reduction == MEAN else 1)
    store(output, losses)
    return output, is_target


def _check_multilabel(self: Tensor, target: Tensor) -> Size:
    rows, classes = _rows_of(self)
    if len(self._size) <= 1:
        fits = len(target._size) <= 1 and numel(target._size) == classes
    else:
        fits = target._size == (rows, classes)
    if not fits:
        raise RuntimeError(f"inconsistent target size: {list(target._size)} for input of size: {list(self._size)}")
    return rows, classes


def _check_range(given: TensorArg, least: int, most: int) -> None:
    if ops.item.call(ops.min.call(given.tensor)) < least:  # type: ignore[operator]
        raise RuntimeError(f"{given} is out of range")
    if ops.item.call(ops.max.call(given.tensor)) > most:  # type: ignore[operator]
        raise RuntimeError(f"{given} is out of range")


def _listed(xp: Any, target: Any) -> tuple[Any, Any]:
    """The classes that the targets list, and a mask that is True before the first -1."""
    listed = xp.cumsum(target < 0, 1) == 0
    return xp.where(listed, target, 0), listed


def _all_gaps(xp: Any, values: Any, indices: Any, listed: Any, marks: Any) -> Any:
    """(row, listed class, other class): the amount by which the other class violates the margin, else 0."""
    z = 1 - xp.take_along_axis(values, indices, 1)[:, :, None] + values[:, None]
    return xp.where((z > 0) & listed[:, :, None] & (marks == 0)[:, None], z, values.dtype.type(0))


def multilabel_margin_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor
) -> Tensor:
    """The gradient: positive for the classes within the margin, negative for the target classes."""
    grad_input = ops.zeros_like.call(self, None, None, None, None, "contiguous_format")
    return multilabel_margin_loss_backward_out(grad_output, self, target, reduction, is_target, grad_input)


def multilabel_margin_loss_backward_out(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor, grad_input: Tensor
) -> Tensor:
    """Write the result of ``multilabel_margin_loss_backward`` into ``grad_input``."""
    rows, classes = _check_multilabel(self, target)
    given = TensorArg(target, "target", 3)
    check_same_size("multilabel_margin_loss_backward_cpu_template", given, TensorArg(is_target, "is_target", 5))
    ops.resize_as_.call(grad_input, self, None)
    if not numel(grad_input._size):
        return grad_input
    if not grad_input._is_contiguous:
        raise RuntimeError("grad_input must be contiguous")
    ops.zero_.call(grad_input)
    _check_range(given, -1, classes - 1)
    self, target, is_target = in_format(self), in_format(target), in_format(is_target)
    _check_dtypes("multilabel_margin_loss_backward_out_frame", self, target, (is_target,))
    _check_range(TensorArg(is_target, "is_target", 5), 0, 1)
    gradient = _gradient(self, target, is_target, (rows, classes))
    gradient = gradient * self._dtype.numpy.type(1 / (rows * classes if reduction == MEAN else classes))
    if reduction == NONE and grad_output._size and grad_output._size != (rows,):
        raise RuntimeError(
            f"Expected a tensor of dimension 1 and tensor.size[0] == {rows} but got: dimension "
            f"{len(grad_output._size)} and tensor.size[0] = {grad_output._size[0]}"
        )
    _times_grad(grad_input, gradient, grad_output, reduction)
    return grad_input


def _gradient(self: Tensor, target: Tensor, is_target: Tensor, size: Size) -> Any:
    xp: Any = array_module(self._device.type)
    indices, listed = _listed(xp, target._array.reshape(size))
    within = _all_gaps(xp, self._array.reshape(size), indices, listed, is_target._array.reshape(size)) > 0
    gradient = within.sum(1).astype(self._dtype.numpy)
    row = xp.broadcast_to(xp.arange(size[0])[:, None], size)
    ufunc_at("subtract", gradient, (row[listed], indices[listed]), within.sum(2)[listed].astype(self._dtype.numpy))
    return gradient
