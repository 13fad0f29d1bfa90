"""Output shapes and argument checks of pooling (``aten/src/ATen/native/Pool.h``, ``Pooling.cpp``)."""

from __future__ import annotations

from typing import NamedTuple

from dispatchviz.core.tensor.tensor import Size, Tensor

_NUMERALS = {1: "one int", 2: "two ints", 3: "three ints"}


class Windows(NamedTuple):
    """The kernel size, stride, padding and dilation of the windows, with one number for each spatial dimension."""

    kernel: Size
    stride: Size
    padding: Size
    dilation: Size


def windows_of(name: str, dims: int, kernel_size: Size, stride: Size, padding: Size, dilation: Size = (1,)) -> Windows:
    """The windows, with single numbers repeated; without a stride it is the kernel size.

    Raise RuntimeError for lists of another length.
    """
    either = "either " if dims == 2 else ""
    _check_length(
        kernel_size, dims, f"{name}: kernel_size must {either}be a single int, or a tuple of {_NUMERALS[dims]}"
    )
    omitted = f"{name}: stride must {either}be omitted, a single int, or a tuple of {_NUMERALS[dims]}"
    _check_length(stride or (1,), dims, omitted)
    _check_length(padding, dims, f"{name}: padding must {either}be a single int, or a tuple of {_NUMERALS[dims]}")
    be = "be either" if dims == 2 else "be"
    _check_length(dilation, dims, f"{name}: dilation must {be} a single int, or a tuple of {_NUMERALS[dims]}")
    return Windows(*(_repeated(given, dims) for given in (kernel_size, stride or kernel_size, padding, dilation)))


def _check_length(given: Size, dims: int, message: str) -> None:
    if len(given) not in (1, dims):
        raise RuntimeError(message)


def _repeated(given: Size, dims: int) -> Size:
    return tuple(given) * dims if len(given) == 1 else tuple(given)


def pooled_space(space: Size, windows: Windows, ceil_mode: bool) -> Size:
    """The output size of each dimension (``pooling_output_shape``). Raise RuntimeError for invalid settings."""
    return tuple(pooled_length(*lengths, ceil_mode) for lengths in zip(space, *windows, strict=True))


def pooled_length(length: int, kernel: int, stride: int, pad: int, dilation: int, ceil_mode: bool) -> int:
    """The number of windows. With ``ceil_mode`` the last one may extend beyond the end, but must begin inside."""
    if stride == 0:
        raise RuntimeError("stride should not be zero")
    if pad < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {pad}")
    if pad > ((kernel - 1) * dilation + 1) // 2:
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={pad}, kernel_size={kernel} and "
            f"dilation={dilation}"
        )
    more = stride - 1 if ceil_mode else 0
    count = (length + 2 * pad - dilation * (kernel - 1) - 1 + more) // stride + 1
    return count - 1 if ceil_mode and (count - 1) * stride >= length + pad else count


_SIDES = {2: ("H", "W"), 3: ("T", "H", "W")}


def check_pooled(self: Tensor, windows: Windows, space: Size, function: str = "") -> None:
    """Raise RuntimeError for invalid shapes (``pool2d_shape_check``, ``pool3d_shape_check``); the message may name
    ``function``.
    """
    dims = len(space)
    rules = (("kernel size", "k", windows.kernel), ("stride", "d", windows.stride))
    for name, letter, lengths in (*rules, ("dilation", "dilation", windows.dilation)):
        if min(lengths) <= 0:
            parts = [f"{letter}{side}: {width}" for side, width in zip(_SIDES[dims], lengths, strict=True)]
            raise RuntimeError(f"{name} should be greater than zero, but got {' '.join(parts)}")
    rank = len(self._size)
    if dims == 3 and 0 in self._size[rank - 4 :]:
        raise RuntimeError(
            f"{function}: Expected input's non-batch dimensions to have positive length, but input has a shape of "
            f"{list(self._size)} and non-batch dimension 0 has length zero!"
        )
    if rank not in (dims + 1, dims + 2) or 0 in self._size[-dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(self._size)}"
        )
    if min(space) < 1:
        planes = self._size[-dims - 1]
        given, found = ("x".join(map(str, (planes, *each))) for each in (self._size[-dims:], space))
        raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({found}). Output size is too small")


def check_1d(name: str, argument: str, given: Size) -> None:
    """Raise RuntimeError for more than one number (``check1d``)."""
    if len(given) != 1:
        raise RuntimeError(f"{name}() argument '{argument}' should contain one int (got {len(given)})")
