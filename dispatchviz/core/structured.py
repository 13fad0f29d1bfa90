"""Structured kernels: one meta function, one impl function, three ways to provide the output.

Mirrors ``at::impl::MetaBase`` and the classes that torchgen writes around it. A meta function checks its arguments and
calls ``set_output_*``; only then does the output exist. The variants differ in where it comes from:

    Functional   a new tensor
    InPlace      self, which must already have the right shape
    Out          the caller's tensor, resized if its shape differs

Not here: which meta and impl belong together (``generated/register_*``), what they compute (``native``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct, field

from dispatchviz.core import recorder
from dispatchviz.core.device import Device
from dispatchviz.core.dtype import DType, type_meta_name
from dispatchviz.core.tensor import Size, Tensor, allocated, empty_strided, numel, strided


class Structured(Struct, eq=False, gc=False):
    """A structured kernel while it runs."""

    family: str
    """PyTorch's name of it (``add_Tensor``)."""
    output: Tensor = field(default=None)  # type: ignore[assignment]  # set_output provides it
    target: Tensor = field(default=None)  # type: ignore[assignment]
    """What the impl writes: the output, or a proxy where a kernel needs strides that the output does not have."""

    variant: ClassVar[str] = ""

    def set_output_raw_strided(self, size: Size, stride: Size, dtype: DType, device: Device) -> None:
        """Any strides will do: ``stride`` counts only for an output that is created or resized here."""
        self._provide(size, stride, dtype, device, exact=False)

    def set_output_strided(self, size: Size, stride: Size, dtype: DType, device: Device) -> None:
        """The kernel needs exactly these strides."""
        self._provide(size, stride, dtype, device, exact=True)

    def _provide(self, size: Size, stride: Size, dtype: DType, device: Device, exact: bool) -> None:
        if recorder.active is not None:
            recorder.active.meta_computed(self.family, size, dtype)
        resized = self._take_output(size, stride, dtype, device)
        self.target = self.output
        if exact and self.output._stride != stride:
            self.target = empty_strided(size, stride, dtype, device)
        if recorder.active is not None:
            recorder.active.output_allocated(self.variant, self.output, resized)

    def _take_output(self, size: Size, stride: Size, dtype: DType, device: Device) -> bool:
        """Sets ``output``; says whether it was resized."""
        raise NotImplementedError

    def finish(self, kernel: str, impl: Callable[..., None]) -> Tensor:
        """After the impl has written ``target``: the output. ``kernel`` is PyTorch's name (``ufunc_add_CUDA``)."""
        output = self.output
        if self.target is not output:
            output._array[...] = self.target._array
        rec = recorder.active
        if rec is not None:
            number = output._number
            rec.note(("impl_ran", kernel, impl, number if number >= rec.first_tensor else rec.serial(output)))
        return output


class Functional(Structured, gc=False):
    """Creates its output, without dispatching."""

    variant = "functional"

    def set_output_raw_strided(self, size: Size, stride: Size, dtype: DType, device: Device) -> None:
        """A new tensor with just these strides."""
        self.output = self.target = allocated(size, stride, dtype, device)

    def _take_output(self, size: Size, stride: Size, dtype: DType, device: Device) -> bool:
        self.output = empty_strided(size, stride, dtype, device)
        return False


def _told_output(self: Functional, size: Size, stride: Size, dtype: DType, device: Device) -> None:
    rec = recorder.active
    if rec is None:
        self.output = self.target = allocated(size, stride, dtype, device)
        return
    number, storage = next(rec.tensor_numbers), -1 if device.type == "meta" else next(rec.storage_numbers)
    output = self.output = self.target = allocated(size, stride, dtype, device, number, storage)
    rec.note(("output_created", self.family, number, size, stride, dtype, device, output._ks, storage))


recorder.while_listening(Functional, set_output_raw_strided=_told_output)


class InPlace(Structured, gc=False):
    """Writes to self."""

    variant = "in-place"

    def set_output_raw_strided(self, size: Size, stride: Size, dtype: DType, device: Device) -> None:
        """Nearly always self is just what is needed."""
        output = self.output
        if output._size == size and output._dtype is dtype and output._device is device and 0 not in output._stride:
            self.target = output
        else:
            self._provide(size, stride, dtype, device, exact=False)

    def _take_output(self, size: Size, stride: Size, dtype: DType, device: Device) -> bool:
        output = self.output
        if output._dtype is not dtype:
            raise _bad_in_place("dtype", type_meta_name(output._dtype), type_meta_name(dtype))
        _check_written(output, device)
        if output._size != size:
            raise _bad_in_place("size", list(output._size), list(size))
        return False


def _told_in_place(self: InPlace, size: Size, stride: Size, dtype: DType, device: Device) -> None:
    output, rec = self.output, recorder.active
    if (
        rec is not None
        and output._size == size
        and output._dtype is dtype
        and output._device is device
        and 0 not in output._stride
    ):
        self.target = output
        rec.note(("output_given", self.family, rec.serial(output), size, dtype, self.variant))
    else:
        self._provide(size, stride, dtype, device, exact=False)


recorder.while_listening(InPlace, set_output_raw_strided=_told_in_place)


class Out(InPlace):
    """Writes to the caller's tensor."""

    variant = "out"

    def _take_output(self, size: Size, stride: Size, dtype: DType, device: Device) -> bool:
        if self.output._dtype is not dtype:
            expected, found = type_meta_name(dtype), type_meta_name(self.output._dtype)
            raise RuntimeError(f"Expected out tensor to have dtype {expected}, but got {found} instead")
        _check_written(self.output, device)
        if self.output._size == size:
            return False
        resize_output(self.output, size, stride)
        return True


def _bad_in_place(what: str, given: object, made: object) -> RuntimeError:
    return RuntimeError(f"Bad in-place call: input tensor {what} {given} and output tensor {what} {made} should match")


def _check_written(output: Tensor, device: Device) -> None:
    if output._device != device:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{output._device} and {device}!"
        )
    check_no_internal_overlap(output)


def check_no_internal_overlap(tensor: Tensor) -> None:
    """RuntimeError if two elements of a tensor that is to be written share memory (expanded dimensions)."""
    if 0 in tensor._stride and any(
        step == 0 and length > 1 for step, length in zip(tensor._stride, tensor._size, strict=True)
    ):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def resize_output(output: Tensor, size: Size, stride: Size) -> None:
    """``resize_output``: as ``resize``, with PyTorch's warning if there are elements already."""
    if numel(output._size):
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(output._size)}, which does not "
            f"match the required output shape {list(size)}. This behavior is deprecated, and in a future PyTorch "
            "release outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
            "tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            UserWarning,
            stacklevel=2,
        )
    resize(output, size, stride)


def resize(tensor: Tensor, size: Size, stride: Size) -> None:
    """Gives a tensor another geometry, with more memory if its storage is too small."""
    buffer = tensor._storage.buffer
    if buffer is not None and buffer.size < tensor._offset + numel(size):
        fresh = type(buffer)(tensor._offset + numel(size), buffer.dtype)
        fresh[: buffer.size] = buffer.reshape(-1)
        tensor._storage.buffer = buffer = fresh
    tensor._size, tensor._stride = size, stride
    if buffer is not None:
        tensor._array = strided(buffer, size, stride, tensor._offset)


@lru_cache(maxsize=4096)
def broadcast_sizes(a: Size, b: Size) -> Size:
    """The common shape of two operands. RuntimeError if there is none."""
    if a == b:
        return a
    width = max(len(a), len(b))
    result = []
    for i in range(-width, 0):
        left, right = (a[i] if -i <= len(a) else 1), (b[i] if -i <= len(b) else 1)
        if left != right and left != 1 and right != 1:
            raise RuntimeError(
                f"The size of tensor a ({left}) must match the size of tensor b ({right}) at non-singleton dimension "
                f"{width + i}"
            )
        result.append(right if left == 1 else left)
    return tuple(result)
