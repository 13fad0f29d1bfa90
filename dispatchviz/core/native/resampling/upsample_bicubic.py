"""``upsample_bicubic2d``, with and without antialiasing (``aten/src/ATen/native/UpSample*.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence

from dispatchviz.core.call.structured import Structured
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.resampling import upsample
from dispatchviz.core.native.resampling.upsample import Factor
from dispatchviz.core.native.resampling.upsample_buffers import prepare_bytes, prepare_smooth
from dispatchviz.core.tensor.tensor import Size, Tensor


def upsample_bicubic2d_vec(
    input: Tensor, output_size: Size | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    """Resize images, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(2)]
    return ops.upsample_bicubic2d.call(input, size, align_corners, *scales)


def upsample_bicubic2d_meta(
    op: Structured, self: Tensor, output_size: Size, align_corners: bool, scales_h: Factor, scales_w: Factor
) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 2)


def upsample_bicubic2d_out(
    self: Tensor, output_size: Size, align_corners: bool, scales_h: Factor, scales_w: Factor, out: Tensor
) -> None:
    """The resized images"""
    if not prepare_bytes(self, out, upsample.CUBIC_WIDTH):
        upsample.prepare_generic(self, out, 2, 8)
    upsample.put_upsampled(
        "compute_indices_weights_cubic",
        self,
        out,
        upsample.cubic(align_corners),
        (
            scales_h,
            scales_w,
        ),
        ("uint8",),
    )


def upsample_bicubic2d_backward_meta(
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


def upsample_bicubic2d_backward_out(
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
        "upsample_bicubic2d_backward",
        grad_output,
        grad_input,
        upsample.cubic(align_corners),
        (
            scales_h,
            scales_w,
        ),
    )


def _upsample_bicubic2d_aa_vec(
    input: Tensor, output_size: Size | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    """Resize images without aliasing, to a size or by factors."""
    size = upsample.output_size_of(input, output_size, scale_factors)
    scales = [upsample.scale(scale_factors, dim) for dim in range(2)]
    return ops._upsample_bicubic2d_aa.call(input, size, align_corners, *scales)


def _upsample_bicubic2d_aa_meta(
    op: Structured, self: Tensor, output_size: Size, align_corners: bool, scales_h: Factor, scales_w: Factor
) -> None:
    """The new size. Raise RuntimeError if it is invalid."""
    upsample.set_upsampled(op, self, output_size, 2)


def _upsample_bicubic2d_aa_out(
    self: Tensor, output_size: Size, align_corners: bool, scales_h: Factor, scales_w: Factor, out: Tensor
) -> None:
    """The images, resized without aliasing"""
    prepare_smooth(self, out, upsample.CUBIC_WIDTH, align_corners, (scales_h, scales_w))
    upsample.put_upsampled(
        "compute_index_ranges_weights",
        self,
        out,
        upsample.cubic_smooth(align_corners),
        (
            scales_h,
            scales_w,
        ),
        ("uint8",),
    )


def _upsample_bicubic2d_aa_backward_meta(
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


def _upsample_bicubic2d_aa_backward_out(
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
        "upsample_bicubic2d_aa_backward",
        grad_output,
        grad_input,
        upsample.cubic_smooth(align_corners),
        (
            scales_h,
            scales_w,
        ),
    )
