"""``upsample_linear1d``, ``upsample_bilinear2d``, ``upsample_trilinear3d`` (``aten/src/ATen/native/UpSample*.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.resampling import upsample
from dispatchviz.core.native.resampling.upsample import Factor
from dispatchviz.core.native.resampling.upsample_buffers import prepare_bytes, prepare_smooth
from dispatchviz.core.tensor.tensor import Size, Tensor


def upsample_linear1d_vec(
    input: Tensor, output_size: Size | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    """Resize rows, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(1)]
    return ops.upsample_linear1d.call(input, size, align_corners, *scales)


def upsample_linear1d_meta(
    op: Structured, self: Tensor, output_size: Size, align_corners: bool, scales: Factor
) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 1)


def upsample_linear1d_out(self: Tensor, output_size: Size, align_corners: bool, scales: Factor, out: Tensor) -> None:
    """The resized rows"""
    upsample.prepare_generic(self, out, 1, 4)
    upsample.put_upsampled(
        "compute_indices_weights_linear", self, out, upsample.linear_taps(align_corners, rounded=True), (scales,)
    )


def upsample_linear1d_backward_meta(
    op: Structured, grad_output: Tensor, output_size: Size, input_size: Size, align_corners: bool, scales: Factor
) -> None:
    """The old size. Raise RuntimeError for a gradient of another size."""
    upsample.set_downsampled(op, grad_output, output_size, input_size, 1)


def upsample_linear1d_backward_out(
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    align_corners: bool,
    scales: Factor,
    grad_input: Tensor,
) -> None:
    """The gradients of each old element, added up"""
    upsample.put_gradients(
        "upsample_linear1d_backward", grad_output, grad_input, upsample.linear_taps(align_corners), (scales,)
    )


def upsample_bilinear2d_vec(
    input: Tensor, output_size: Size | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    """Resize images, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(2)]
    return ops.upsample_bilinear2d.call(input, size, align_corners, *scales)


def upsample_bilinear2d_meta(
    op: Structured, self: Tensor, output_size: Size, align_corners: bool, scales_h: Factor, scales_w: Factor
) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 2)


def upsample_bilinear2d_out(
    self: Tensor, output_size: Size, align_corners: bool, scales_h: Factor, scales_w: Factor, out: Tensor
) -> None:
    """The resized images"""
    taps, scales = upsample.linear_taps(align_corners), (scales_h, scales_w)
    if not prepare_bytes(self, out, upsample.LINEAR_WIDTH):
        if upsample.is_small(self, out):
            upsample.put_images("upsample_bilinear2d_channels_last", self, out, taps, scales)
            return
        upsample.prepare_generic(self, out, 2, 4)
    upsample.put_upsampled("upsample_bilinear2d_channels_last", self, out, taps, scales, ("uint8",))


def upsample_bilinear2d_backward_meta(
    op: Structured,
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    align_corners: bool,
    scales_h: Factor,
    scales_w: Factor,
) -> None:
    """The old size. Raise RuntimeError for a gradient of another size."""
    upsample.set_downsampled(op, grad_output, output_size, input_size, 2)


def upsample_bilinear2d_backward_out(
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    align_corners: bool,
    scales_h: Factor,
    scales_w: Factor,
    grad_input: Tensor,
) -> None:
    """The gradients of each old element, added up"""
    upsample.put_gradients(
        "upsample_bilinear2d_backward",
        grad_output,
        grad_input,
        upsample.linear_taps(align_corners),
        (
            scales_h,
            scales_w,
        ),
    )


def upsample_trilinear3d_vec(
    input: Tensor, output_size: Size | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    """Resize volumes, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(3)]
    return ops.upsample_trilinear3d.call(input, size, align_corners, *scales)


def upsample_trilinear3d_meta(
    op: Structured,
    self: Tensor,
    output_size: Size,
    align_corners: bool,
    scales_d: Factor,
    scales_h: Factor,
    scales_w: Factor,
) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 3)


def upsample_trilinear3d_out(
    self: Tensor,
    output_size: Size,
    align_corners: bool,
    scales_d: Factor,
    scales_h: Factor,
    scales_w: Factor,
    out: Tensor,
) -> None:
    """The resized volumes"""
    upsample.prepare_generic(self, out, 3, 4)
    upsample.put_upsampled(
        "compute_indices_weights_linear",
        self,
        out,
        upsample.linear_taps(align_corners, rounded=True),
        (
            scales_d,
            scales_h,
            scales_w,
        ),
    )


def upsample_trilinear3d_backward_meta(
    op: Structured,
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    align_corners: bool,
    scales_d: Factor,
    scales_h: Factor,
    scales_w: Factor,
) -> None:
    """The old size. Raise RuntimeError for a gradient of another size."""
    upsample.set_downsampled(op, grad_output, output_size, input_size, 3)


def upsample_trilinear3d_backward_out(
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    align_corners: bool,
    scales_d: Factor,
    scales_h: Factor,
    scales_w: Factor,
    grad_input: Tensor,
) -> None:
    """The gradients of each old element, added up"""
    upsample.put_gradients(
        "upsample_trilinear3d_backward",
        grad_output,
        grad_input,
        upsample.linear_taps(align_corners),
        (
            scales_d,
            scales_h,
            scales_w,
        ),
    )


def _upsample_bilinear2d_aa_vec(
    input: Tensor, output_size: Size | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    """Resize images without aliasing, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(2)]
    return ops._upsample_bilinear2d_aa.call(input, size, align_corners, *scales)


def _upsample_bilinear2d_aa_meta(
    op: Structured, self: Tensor, output_size: Size, align_corners: bool, scales_h: Factor, scales_w: Factor
) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 2)


def _upsample_bilinear2d_aa_out(
    self: Tensor, output_size: Size, align_corners: bool, scales_h: Factor, scales_w: Factor, out: Tensor
) -> None:
    """The images, resized without aliasing"""
    prepare_smooth(self, out, upsample.LINEAR_WIDTH, align_corners, (scales_h, scales_w))
    upsample.put_upsampled(
        "compute_index_ranges_weights",
        self,
        out,
        upsample.linear_smooth(align_corners),
        (
            scales_h,
            scales_w,
        ),
        ("uint8",),
    )


def _upsample_bilinear2d_aa_backward_meta(
    op: Structured,
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    align_corners: bool,
    scales_h: Factor,
    scales_w: Factor,
) -> None:
    """The old size. Raise RuntimeError for a gradient of another size."""
    upsample.set_downsampled(op, grad_output, output_size, input_size, 2)


def _upsample_bilinear2d_aa_backward_out(
    grad_output: Tensor,
    output_size: Size,
    input_size: Size,
    align_corners: bool,
    scales_h: Factor,
    scales_w: Factor,
    grad_input: Tensor,
) -> None:
    """The gradients of each old element, added up"""
    upsample.put_gradients(
        "upsample_bilinear2d_aa_backward",
        grad_output,
        grad_input,
        upsample.linear_smooth(align_corners),
        (
            scales_h,
            scales_w,
        ),
    )
