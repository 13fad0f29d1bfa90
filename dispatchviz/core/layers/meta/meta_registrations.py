"""Python meta kernels of layers, ``masked_fill``, ``index_select``, ``var``, ``arange``, ``isin``: output shapes only
(``torch/_meta_registrations.py``, ``torch/_refs``).

They mirror ``torch/_meta_registrations.py``, and the calls that ``torch/_refs`` and ``torch/_decomp`` make there.

NB: one ``empty`` per result. PyTorch's Python functions call more operators. They have error texts of their own, of
which only those of convolutions and of ``native_group_norm`` are here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dispatchviz.core.call.structured import broadcast_sizes, resize_in_order
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.arithmetic.where import where_self_out
from dispatchviz.core.native.convolution.conv_params import check_kernel, params_of
from dispatchviz.core.native.convolution.convolution import convolved_size
from dispatchviz.core.native.factories.arange import arange_count
from dispatchviz.core.native.iterator.argument_checks import check_same_device
from dispatchviz.core.native.iterator.memory_formats import CONTIGUOUS, of_either
from dispatchviz.core.native.iterator.scalar import Scalar
from dispatchviz.core.native.iterator.tensor_iterator import accumulated, new_output
from dispatchviz.core.native.iterator.wrap_dim import reduced_mask, wrap_dim
from dispatchviz.core.native.reductions.sum_mean import reduced_size
from dispatchviz.core.tensor.dtype import DType, bool_, int64
from dispatchviz.core.tensor.tensor import Size, Tensor, numel

Optional = Tensor | None


def _blank(like: Tensor, size: Size, dtype: DType | None = None, memory_format: str | None = None) -> Tensor:
    return ops.empty_memory_format.call(size, dtype or like._dtype, "strided", like._device, None, memory_format)


# -- element by element ------------------------------------------------------------------------------------------------


def _same(self: Tensor) -> Tensor:
    """Return a tensor laid out as an elementwise result."""
    return new_output(self, dtype=self._dtype)


def itself(ks: int, self: Tensor, *args: Any) -> Tensor:
    """Return the tensor, which is written in place."""
    return self


def where_out(ks: int, condition: Tensor, self: Tensor, other: Tensor, out: Tensor) -> Tensor:
    """Apply the C++ rule, which handles tensors without data."""
    return where_self_out(condition, self, other, out)


def masked_fill(ks: int, self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Return a contiguous tensor, for any layout of the argument."""
    check_same_device(mask, self)
    return _blank(self, broadcast_sizes(mask._size, self._size))


def log_sigmoid_forward(ks: int, self: Tensor) -> tuple[Tensor, Tensor]:
    """Return the result and a buffer of the same size, as the CPU's."""
    return _same(self), _same(self)


# -- layers ------------------------------------------------------------------------------------------------------------


def convolution(
    ks: int,
    input: Tensor,
    weight: Tensor,
    bias: Optional,
    stride: Size,
    padding: Size,
    dilation: Size,
    transposed: bool,
    output_padding: Size,
    groups: int,
) -> Tensor:
    """Return a contiguous tensor. Raise RuntimeError if the channels do not fit, or the kernel is larger than the
    padded input.
    """
    params = params_of(weight, stride, padding, dilation, transposed, output_padding, groups)
    if not transposed:
        if weight._size[1] * groups != input._size[1]:
            raise RuntimeError("Invalid channel dimensions")
        check_kernel(input, weight, params)
    return _blank(input, convolved_size(input, weight, params))


def convolution_backward(
    ks: int, grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Size | None, *args: Any
) -> tuple[Optional, ...]:
    """Return the gradients in the memory format that input or weight suggests."""
    wanted = args[-1]
    layout = of_either(input, weight)
    sizes = ((input._size, layout), (weight._size, layout), (tuple(bias_sizes or ()), CONTIGUOUS))
    return tuple(
        _blank(grad_output, size, None, form) if asked else None
        for asked, (size, form) in zip(wanted, sizes, strict=True)
    )


def native_batch_norm(ks: int, input: Tensor, *args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return the result, and means and inverse deviations of the channels, even if none are computed."""
    channels, within = input._size[1:2], accumulated(input._dtype)
    return _same(input), _blank(input, channels, within), _blank(input, channels, within)


def native_batch_norm_backward(
    ks: int, grad_out: Tensor, input: Tensor, weight: Optional, *args: Any
) -> tuple[Optional, ...]:
    """Return the gradients of the input, the weight and the bias."""
    return _gradients(input, weight, args[-1])


def native_group_norm(
    ks: int, input: Tensor, weight: Optional, bias: Optional, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the contiguous result, and mean and rstd for each group. Raise RuntimeError for sizes that do not fit."""
    for name, number in (("number of channels", C), ("HxW", HxW), ("num groups", group)):
        if number <= 0:
            raise RuntimeError(f"Expected {name} to be greater than 0, got {number}")
    shape = f"torch.Size({list(input._size)})"
    if C % group:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{shape} and num_groups={group}"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor._size != (C,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape torch.Size({list(tensor._size)}) and input of shape {shape}"
            )
    if len(input._size) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(input._size)}")
    return _blank(input, input._size), _blank(input, (N, group)), _blank(input, (N, group))


def native_group_norm_backward(
    ks: int, grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Optional, *args: Any
) -> tuple[Optional, ...]:
    """Return the gradients of the input, the weight and the bias."""
    return _gradients(input, weight, args[-1])


def native_layer_norm_backward(
    ks: int,
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Size,
    mean: Tensor,
    rstd: Tensor,
    weight: Optional,
    bias: Optional,
    wanted: list[bool],
) -> tuple[Optional, ...]:
    """Return the gradients of the input and, if they exist, of the weight and the bias."""
    asked = [wanted[0], wanted[1] and weight is not None, wanted[2] and bias is not None]
    return tuple(
        _same(tensor) if wants and tensor is not None else None
        for wants, tensor in zip(asked, (input, weight, bias), strict=True)
    )


def _gradients(input: Tensor, weight: Optional, wanted: list[bool]) -> tuple[Optional, ...]:
    channels, dtype = input._size[1:2], None if weight is None else weight._dtype
    first = new_output(input, dtype=input._dtype) if wanted[0] else None
    return first, *(_blank(input, channels, dtype) if asked else None for asked in wanted[1:])


# -- the rest ----------------------------------------------------------------------------------------------------------


def index_select(ks: int, self: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return a contiguous tensor. A multi-dimensional index counts as its elements do."""
    dim = wrap_dim(dim, len(self._size))
    return _blank(self, (*self._size[:dim], numel(index._size), *self._size[dim + 1 :]) if self._size else ())


def embedding_dense_backward(ks: int, grad_output: Tensor, indices: Tensor, num_weights: int, *args: Any) -> Tensor:
    """Return a tensor with the shape of the weight."""
    return _blank(grad_output, (num_weights, grad_output._size[-1]))


def std_var(ks: int, self: Tensor, dim: list[int] | None, correction: Scalar | None, keepdim: bool) -> Tensor:
    """Return the result of ``std`` and ``var``, which accept integers here."""
    return _blank(self, reduced_size(self._size, reduced_mask(dim, len(self._size)), keepdim))


def std_var_mean(ks: int, self: Tensor, *args: Any) -> tuple[Tensor, Tensor]:
    """Return the results of ``std_mean`` and ``var_mean``."""
    return std_var(ks, self, *args), std_var(ks, self, *args)


def arange_from_zero(ks: int, end: Scalar, *options: Any) -> Tensor:
    """Call the overload with a step."""
    return ops.arange_start_step.call(0, end, 1, *options)


def arange_one_by_one(ks: int, start: Scalar, end: Scalar, *options: Any) -> Tensor:
    """Call the overload with a step."""
    return ops.arange_start_step.call(start, end, 1, *options)


def arange(
    ks: int,
    start: Scalar,
    end: Scalar,
    step: Scalar,
    dtype: DType | None,
    layout: str | None,
    device: Device | None,
    pin_memory: bool | None,
) -> Tensor:
    """Return the range. Its dtype is int64 for integers if none is requested."""
    if dtype is None and all(isinstance(number, int) for number in (start, end, step)):
        dtype = int64
    return ops.empty_memory_format.call((arange_count(start, end, step),), dtype, layout, device, pin_memory, None)


def isin(ks: int, element: Scalar, test_elements: Tensor, *args: Any) -> Tensor:
    """Return a 0-dim tensor. The C++ rule gives a vector without elements."""
    return _blank(test_elements, (), bool_)


def isin_out(ks: int, element: Scalar, test_elements: Tensor, assume_unique: bool, invert: bool, out: Tensor) -> Tensor:
    """Write a 0-dim result to ``out``."""
    resize_in_order(out, ())
    return out


KERNELS: dict[str, Callable[..., Any]] = {
    "where.self_out": where_out,
    "masked_fill.Scalar": masked_fill,
    "masked_fill_.Scalar": itself,
    "log_sigmoid_forward": log_sigmoid_forward,
    "bernoulli_.float": itself,
    "convolution": convolution,
    "convolution_backward": convolution_backward,
    "native_batch_norm": native_batch_norm,
    "native_batch_norm_backward": native_batch_norm_backward,
    "native_group_norm": native_group_norm,
    "native_group_norm_backward": native_group_norm_backward,
    "native_layer_norm_backward": native_layer_norm_backward,
    "index_select": index_select,
    "isin.Scalar_Tensor": isin,
    "isin.Scalar_Tensor_out": isin_out,
    "embedding_dense_backward": embedding_dense_backward,
    "std.correction": std_var,
    "var.correction": std_var,
    "std_mean.correction": std_var_mean,
    "var_mean.correction": std_var_mean,
    "arange": arange_from_zero,
    "arange.start": arange_one_by_one,
    "arange.start_step": arange,
}
"""The kernels by operator, without ``aten::``."""
