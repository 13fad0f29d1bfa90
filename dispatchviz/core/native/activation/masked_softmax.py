"""``_masked_softmax`` and its gradient (``aten/src/ATen/native/SoftMax.cpp``): masked elements get probability 0."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, not_implemented, quiet, store
from dispatchviz.core.native.iterator.wrap_dim import wrap_dim
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.tensor import Tensor


def masked_softmax(self: Tensor, mask: Tensor, dim: int | None, mask_type: int | None) -> Tensor:
    """softmax in which masked elements get 0. ``mask_type``: 0 for a mask (L, L) of pairs, 1 for a mask (B, L) of keys,
    2 for the shape of self.

    Raise RuntimeError for another shape, or if the mask is not boolean.
    """
    given, mask = mask, _contiguous(mask)
    if given._dtype is not bool_:
        raise RuntimeError("Mask should be a boolean tensor")
    if len(mask._size) != 2 or len(self._size) != 4:
        mask_type = 2
    _check_shape(self, mask, mask_type)
    if mask_type in (0, 1) and dim != len(self._size) - 1:
        middle = self._size[0] if mask_type else 1, 1, 1 if mask_type else self._size[2], self._size[2]
        whole = ops.view.call(given if mask_type else mask, middle)
        mask = _contiguous(ops.expand.call(whole, self._size, False))
    output = ops.empty_like.call(self, None, None, None, None, None)
    source = _contiguous(self)
    axis = wrap_dim(len(self._size) - 1 if dim is None else dim, len(self._size))
    if not source._size:
        source = ops.view.call(source, (1,))
    if not self._dtype.is_floating_point:
        raise not_implemented("masked_softmax", self._dtype)
    if mask_type is None:
        raise RuntimeError("Mask Type should be defined")
    _store(output, source, mask, mask_type, axis)
    return output


def _contiguous(tensor: Tensor) -> Tensor:
    return tensor if tensor._is_contiguous else ops.contiguous.call(tensor, "contiguous_format")


def _check_shape(self: Tensor, mask: Tensor, mask_type: int | None) -> None:
    size, found = self._size, mask._size
    if mask_type == 2 and size != found:
        raise RuntimeError("For mask_type == 2 mask shape should match input shape")
    if mask_type == 1 and (size[0], size[2]) != found:
        raise RuntimeError("For mask_type == 1 mask shape should be (B, L)")
    if mask_type == 0 and (size[2], size[2]) != found:
        raise RuntimeError("For mask_type == 0 mask shape should be (L, L)")


def _store(output: Tensor, source: Tensor, mask: Tensor, mask_type: int, axis: int) -> None:
    if 0 in output._size:
        return
    xp: Any = array_module(source._device.type)
    values = source._array.astype(accumulated(source._dtype).numpy)
    hidden = mask._array
    if mask_type == 1 and hidden.ndim == 2 and values.ndim == 4:
        hidden = hidden[:, None, None, :]
    hidden = xp.broadcast_to(hidden, values.shape)

    def probabilities() -> Any:
        maximum = xp.max(xp.where(hidden, -xp.inf, values), axis, keepdims=True)
        powers = xp.where(hidden, 0, xp.exp(values - maximum))
        return powers / xp.sum(powers, axis, keepdims=True)

    store(output, quiet.run(probabilities).reshape(output._size))


def masked_softmax_backward(grad_output: Tensor, output: Tensor, mask: Tensor, dim: int | None) -> Tensor:
    """output * (grad - sum of grad * output), or 0 where masked."""
    if grad_output._size != mask._size:
        raise RuntimeError("Mask shape should match grad shape")
    if mask._dtype is not bool_:
        raise RuntimeError("Mask should be a boolean tensor")
    grad, result, mask = _contiguous(grad_output), _contiguous(output), _contiguous(mask)
    axis = wrap_dim(len(grad._size) - 1 if dim is None else dim, len(grad._size))
    grad_input = ops.empty_like.call(grad, None, None, None, None, None)
    xp: Any = array_module(grad._device.type)
    number = accumulated(grad._dtype).numpy
    shape = grad._size or (1,)
    numbers, probabilities = (t._array.astype(number).reshape(shape) for t in (grad, result))
    hidden = mask._array.reshape(shape)

    def gradient() -> Any:
        total = xp.sum(xp.where(hidden, 0, numbers * probabilities), axis, keepdims=True)
        return xp.where(hidden, 0, (numbers - total) * probabilities)

    if 0 not in grad._size:
        store(grad_input, quiet.run(gradient).reshape(grad._size))
    return grad_input
