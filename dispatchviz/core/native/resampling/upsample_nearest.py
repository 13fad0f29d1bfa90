"""``upsample_nearest1d/2d/3d``, ``_upsample_nearest_exact*`` (``aten/src/ATen/native/UpSample*.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.resampling import upsample
from dispatchviz.core.native.resampling.upsample import Factor
from dispatchviz.core.tensor.tensor import Size, Tensor


def upsample_nearest1d_vec(input: Tensor, output_size: Size | None, scale_factors: Sequence[float] | None) -> Tensor:
    """Resize rows, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(1)]
    return ops.upsample_nearest1d.call(input, size, *scales)


def upsample_nearest1d_meta(op: Structured, self: Tensor, output_size: Size, scales: Factor) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 1)


def upsample_nearest1d_out(self: Tensor, output_size: Size, scales: Factor, out: Tensor) -> None:
    """The resized rows"""
    upsample.prepare_generic(self, out, 1, 2, ones=True)
    upsample.put_upsampled("compute_indices_weights_nearest", self, out, upsample.nearest, (scales,), ("uint8",))


def upsample_nearest1d_backward_meta(
    op: Structured, grad_output: Tensor, output_size: Size, input_size: Size, scales: Factor
) -> None:
    """The old size. Raise RuntimeError for a gradient of another size."""
    upsample.set_downsampled(op, grad_output, output_size, input_size, 1)


def upsample_nearest1d_backward_out(
    grad_output: Tensor, output_size: Size, input_size: Size, scales: Factor, grad_input: Tensor
) -> None:
    """The gradients of each old element, added up"""
    upsample.put_gradients("upsample_nearest1d_backward", grad_output, grad_input, upsample.nearest, (scales,))


def upsample_nearest2d_vec(input: Tensor, output_size: Size | None, scale_factors: Sequence[float] | None) -> Tensor:
    """Resize images, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(2)]
    return ops.upsample_nearest2d.call(input, size, *scales)


def upsample_nearest2d_meta(
    op: Structured, self: Tensor, output_size: Size, scales_h: Factor, scales_w: Factor
) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 2)


def upsample_nearest2d_out(self: Tensor, output_size: Size, scales_h: Factor, scales_w: Factor, out: Tensor) -> None:
    """The resized images"""
    taps, scales = upsample.nearest, (scales_h, scales_w)
    if upsample.is_small(self, out):
        upsample.put_images("upsample_nearest2d_channels_last", self, out, taps, scales)
        return
    upsample.prepare_generic(self, out, 2, 2, ones=True)
    upsample.put_upsampled("upsample_nearest2d_channels_last", self, out, taps, scales, ("uint8",))


def upsample_nearest2d_backward_meta(
    op: Structured,
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    scales_h: Factor,
    scales_w: Factor,
) -> None:
    """The old size. Raise RuntimeError for a gradient of another size."""
    upsample.set_downsampled(op, grad_output, output_size, input_size, 2)


def upsample_nearest2d_backward_out(
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    scales_h: Factor,
    scales_w: Factor,
    grad_input: Tensor,
) -> None:
    """The gradients of each old element, added up"""
    upsample.put_gradients(
        "upsample_nearest2d_backward",
        grad_output,
        grad_input,
        upsample.nearest,
        (
            scales_h,
            scales_w,
        ),
    )


def upsample_nearest3d_vec(input: Tensor, output_size: Size | None, scale_factors: Sequence[float] | None) -> Tensor:
    """Resize volumes, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(3)]
    return ops.upsample_nearest3d.call(input, size, *scales)


def upsample_nearest3d_meta(
    op: Structured,
    self: Tensor,
    output_size: Size,
    scales_d: Factor,
    scales_h: Factor,
    scales_w: Factor,
) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 3)


def upsample_nearest3d_out(
    self: Tensor, output_size: Size, scales_d: Factor, scales_h: Factor, scales_w: Factor, out: Tensor
) -> None:
    """The resized volumes"""
    upsample.prepare_generic(self, out, 3, 2, ones=True)
    upsample.put_upsampled(
        "compute_indices_weights_nearest",
        self,
        out,
        upsample.nearest,
        (
            scales_d,
            scales_h,
            scales_w,
        ),
        ("uint8",),
    )


def upsample_nearest3d_backward_meta(
    op: Structured,
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    scales_d: Factor,
    scales_h: Factor,
    scales_w: Factor,
) -> None:
    """The old size. Raise RuntimeError for a gradient of another size."""
    upsample.set_downsampled(op, grad_output, output_size, input_size, 3)


def upsample_nearest3d_backward_out(
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    scales_d: Factor,
    scales_h: Factor,
    scales_w: Factor,
    grad_input: Tensor,
) -> None:
    """The gradients of each old element, added up"""
    upsample.put_gradients(
        "upsample_nearest3d_backward",
        grad_output,
        grad_input,
        upsample.nearest,
        (
            scales_d,
            scales_h,
            scales_w,
        ),
    )


def _upsample_nearest_exact1d_vec(
    input: Tensor, output_size: Size | None, scale_factors: Sequence[float] | None
) -> Tensor:
    """Resize rows, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(1)]
    return ops._upsample_nearest_exact1d.call(input, size, *scales)


def _upsample_nearest_exact1d_meta(op: Structured, self: Tensor, output_size: Size, scales: Factor) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 1)


def _upsample_nearest_exact1d_out(self: Tensor, output_size: Size, scales: Factor, out: Tensor) -> None:
    """The resized rows"""
    upsample.prepare_generic(self, out, 1, 2, ones=True)
    upsample.put_upsampled("compute_indices_weights_nearest", self, out, upsample.nearest_exact, (scales,), ("uint8",))


def _upsample_nearest_exact1d_backward_meta(
    op: Structured, grad_output: Tensor, output_size: Size, input_size: Size, scales: Factor
) -> None:
    """The old size. Raise RuntimeError for a gradient of another size."""
    upsample.set_downsampled(op, grad_output, output_size, input_size, 1)


def _upsample_nearest_exact1d_backward_out(
    grad_output: Tensor, output_size: Size, input_size: Size, scales: Factor, grad_input: Tensor
) -> None:
    """The gradients of each old element, added up"""
    upsample.put_gradients(
        "upsample_nearest_exact1d_backward", grad_output, grad_input, upsample.nearest_exact, (scales,)
    )


def _upsample_nearest_exact2d_vec(
    input: Tensor, output_size: Size | None, scale_factors: Sequence[float] | None
) -> Tensor:
    """Resize images, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(2)]
    return ops._upsample_nearest_exact2d.call(input, size, *scales)


def _upsample_nearest_exact2d_meta(
    op: Structured, self: Tensor, output_size: Size, scales_h: Factor, scales_w: Factor
) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 2)


def _upsample_nearest_exact2d_out(
    self: Tensor, output_size: Size, scales_h: Factor, scales_w: Factor, out: Tensor
) -> None:
    """The resized images"""
    taps, scales = upsample.nearest_exact, (scales_h, scales_w)
    if upsample.is_small(self, out):
        upsample.put_images("upsample_nearest2d_channels_last", self, out, taps, scales)
        return
    upsample.prepare_generic(self, out, 2, 2, ones=True)
    upsample.put_upsampled("upsample_nearest2d_channels_last", self, out, taps, scales, ("uint8",))


def _upsample_nearest_exact2d_backward_meta(
    op: Structured,
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    scales_h: Factor,
    scales_w: Factor,
) -> None:
    """The old size. Raise RuntimeError for a gradient of another size."""
    upsample.set_downsampled(op, grad_output, output_size, input_size, 2)


def _upsample_nearest_exact2d_backward_out(
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    scales_h: Factor,
    scales_w: Factor,
    grad_input: Tensor,
) -> None:
    """The gradients of each old element, added up"""
    upsample.put_gradients(
        "upsample_nearest_exact2d_backward",
        grad_output,
        grad_input,
        upsample.nearest_exact,
        (
            scales_h,
            scales_w,
        ),
    )


def _upsample_nearest_exact3d_vec(
    input: Tensor, output_size: Size | None, scale_factors: Sequence[float] | None
) -> Tensor:
    """Resize volumes, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(3)]
    return ops._upsample_nearest_exact3d.call(input, size, *scales)


def _upsample_nearest_exact3d_meta(
    op: Structured,
    self: Tensor,
    output_size: Size,
    scales_d: Factor,
    scales_h: Factor,
    scales_w: Factor,
) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 3)


def _upsample_nearest_exact3d_out(
    self: Tensor, output_size: Size, scales_d: Factor, scales_h: Factor, scales_w: Factor, out: Tensor
) -> None:
    """The resized volumes"""
    upsample.prepare_generic(self, out, 3, 2, ones=True)
    upsample.put_upsampled(
        "compute_indices_weights_nearest",
        self,
        out,
        upsample.nearest_exact,
        (
            scales_d,
            scales_h,
            scales_w,
        ),
        ("uint8",),
    )


def _upsample_nearest_exact3d_backward_meta(
    op: Structured,
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    scales_d: Factor,
    scales_h: Factor,
    scales_w: Factor,
) -> None:
    """The old size. Raise RuntimeError for a gradient of another size."""
    upsample.set_downsampled(op, grad_output, output_size, input_size, 3)


def _upsample_nearest_exact3d_backward_out(
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    scales_d: Factor,
    scales_h: Factor,
    scales_w: Factor,
    grad_input: Tensor,
) -> None:
    """The gradients of each old element, added up"""
    upsample.put_gradients(
        "upsample_nearest_exact3d_backward",
        grad_output,
        grad_input,
        upsample.nearest_exact,
        (
            scales_d,
            scales_h,
            scales_w,
        ),
    )
