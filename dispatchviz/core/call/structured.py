"""Structured kernels: one meta function, one impl function, three ways to provide the output.

This module mirrors ``at::impl::MetaBase`` and the classes that torchgen writes around it. A meta function checks its
arguments and calls ``set_output_*``; only then does the output exist. The variants differ in where the output comes
from:

    Functional   a new tensor (``create_out``); DefaultBackend: the same through the dispatcher
    InPlace      self, which must already have the right shape (``check_inplace``)
    Out          the caller's tensor, resized if its shape differs (``resize_out``)

If a kernel needs other strides than those of the output, it requests them (``set_output_strided``). InPlace and Out
then allocate a proxy: the impl writes to the proxy, which is copied to the output afterwards.

Not here: which meta and impl belong together (``generated/register_*``), what they compute (``native``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from msgspec import Struct, field

from dispatchviz.core.call.deterministic_algorithms import fill_grown_storage
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.process_modes import NO_MODE, Mode, process_modes
from dispatchviz.core.tensor.dtype import DType, type_meta_name
from dispatchviz.core.tensor.tensor import (
    Size,
    Tensor,
    allocated,
    cannot_allocate,
    check_numel,
    contiguous_strides,
    empty_strided,
    is_of_numpy,
    numel,
    strided,
)
from dispatchviz.core.tensor.tensor_subclass_like import is_tensor_subclass_like
from dispatchviz.core.thread.warning import warn_python

if TYPE_CHECKING:
    from dispatchviz.core.record.events.structured_events import SetOutputMethod, StructuredVariant

RAW_STRIDED: Final = "set_output_raw_strided"
STRIDED: Final = "set_output_strided"
CONTIGUOUS: Final = "set_output_contiguous"
"""The three ways in which a meta function requests its output: any strides, these strides, contiguous strides."""


IMPROVABLE = "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)"
"""The text that ``TORCH_CHECK`` appends to a condition without a message."""


class Structured(Struct, eq=False, gc=False):
    """A structured kernel while it runs."""

    family: str
    """PyTorch's name of it (``add_Tensor``)."""
    output: Tensor = field(default=None)  # type: ignore[assignment]  # set_output provides it
    target: Tensor = field(default=None)  # type: ignore[assignment]
    """The tensor that the impl writes to: the output, a proxy if the kernel needs other strides, or an iterator's
    temporary.
    """
    operands: tuple[tuple[object, Tensor], ...] = ()
    """Pairs of an argument and the tensor that the iterator reads instead: an operand that it cast, or a number that it
    wrapped.
    """
    temporary: Tensor | None = None
    """An iterator's output of the common dtype, if the given output has another dtype."""

    variant: ClassVar[StructuredVariant]
    recorded_as: ClassVar[StructuredVariant | None] = None
    """The name of the variant in events, if it is not ``variant``."""

    def set_output_raw_strided(self, size: Size, stride: Size, dtype: DType, device: Device) -> None:
        """Set an output that may have any strides. ``stride`` counts only if the output is created or resized here."""
        self._provide(size, stride, dtype, device, RAW_STRIDED)

    def set_output_strided(self, size: Size, stride: Size, dtype: DType, device: Device) -> None:
        """Set an output that must have exactly these strides."""
        self._provide(size, stride, dtype, device, STRIDED)

    def set_output_contiguous(self, size: Size, dtype: DType, device: Device) -> None:
        """Set an output that must be contiguous (``set_output_contiguous``)."""
        self._provide(size, contiguous_strides(size), dtype, device, CONTIGUOUS)

    def _provide(self, size: Size, stride: Size, dtype: DType, device: Device, method: SetOutputMethod) -> None:
        resized = self._acquire_output(size, stride, dtype, device, method)
        output = self.target = self.output
        if method != RAW_STRIDED and output._stride != stride:
            self.target = empty_strided(size, stride, dtype, device)
        if recorder.active is not None:
            proxy = None if self.target is output else self.target
            recorded_as = self.recorded_as or self.variant
            recorder.active.output_allocated(recorded_as, output, resized, size, dtype, method, proxy)

    def _acquire_output(self, size: Size, stride: Size, dtype: DType, device: Device, method: SetOutputMethod) -> bool:
        """Set ``output``. Return whether it was resized."""
        raise NotImplementedError

    def use_temporary(self, size: Size, stride: Size) -> None:
        """Write to a temporary of TensorIterator, which was allocated before the size was computed."""
        temporary = self.target = self.temporary  # type: ignore[assignment]
        if temporary is not None and temporary._size != size:
            resize_output(temporary, size, stride)
            if temporary._stride != stride:
                ops.as_strided_.call(temporary, size, stride, None)

    def read(self, *arguments: Any) -> list[Any]:
        """The arguments that the impl reads: TensorIterator's cast operands instead of the originals."""
        operands = {id(argument): operand for argument, operand in self.operands}
        return [operands.get(id(argument), argument) for argument in arguments]

    def enter_meta(self) -> None:
        """Record that the meta function begins."""
        if recorder.active is not None:
            recorder.active.note(("meta_entered", self.family))

    def enter_impl(self, kernel: str, impl: Callable[..., None], *others: Structured) -> None:
        """Record that the impl function begins. ``kernel`` is PyTorch's name (``ufunc_add_CUDA``), ``others`` are the
        further outputs.
        """
        rec = recorder.active
        if rec is not None:
            number = self.target._number
            first = number if number >= rec.first_tensor else rec.serial(self.target)
            numbers = (first, *[rec.serial(op.target) for op in others]) if others else (first,)
            rec.note(("impl_entered", kernel, impl, numbers))

    def leave_meta(self) -> None:
        """Record that the meta function ends and that no impl follows."""
        if recorder.active is not None:
            recorder.active.note(recorder.LEAVE)

    def finish(self) -> Tensor:
        """Return the output after the impl has written it, or after meta if there is no impl."""
        if self.target is self.temporary:
            self._cast_output()
        if recorder.active is not None:
            recorder.active.note(recorder.LEAVE)
        return self.output if self.target is self.output else self.bring_back()

    def _cast_output(self) -> None:
        """Cast the temporary to the output, the last step of the impl (``TensorIteratorBase::cast_outputs``)."""
        ops.copy_.call(self.output, self.target, False)
        self.target = self.output

    def bring_back(self) -> Tensor:
        """Return the output, after copying a proxy to it."""
        if self.target is not self.output:
            if recorder.active is not None:
                recorder.active.proxy_copied(self.target, self.output)
            ops.copy_.call(self.output, self.target, False)
        return self.output


class Functional(Structured, gc=False):
    """The functional variant: it creates its output without dispatching."""

    variant: ClassVar[StructuredVariant] = "functional"

    def set_output_raw_strided(self, size: Size, stride: Size, dtype: DType, device: Device) -> None:
        """Create the output with exactly these strides."""
        self.output = self.target = allocated(size, stride, dtype, device)

    def _acquire_output(self, size: Size, stride: Size, dtype: DType, device: Device, method: SetOutputMethod) -> bool:
        self.output = empty_strided(size, stride, dtype, device)
        return False


def _recorded_creation(self: Functional, size: Size, stride: Size, dtype: DType, device: Device) -> None:
    rec = recorder.active
    if rec is None:
        self.output = self.target = allocated(size, stride, dtype, device)
        return
    number, storage = next(rec.tensor_numbers), -1 if device.type == "meta" else next(rec.storage_numbers)
    output = self.output = self.target = allocated(size, stride, dtype, device, number, storage)
    rec.note(("output_created", number, size, stride, dtype, device, output._ks, storage))
    if rec.numbers:
        rec.memory_allocated(storage)


process_modes.hot_function(
    Functional,
    "set_output_raw_strided",
    {NO_MODE: Functional.set_output_raw_strided, Mode.RECORDING: _recorded_creation},
)


class DefaultBackend(Functional):
    """The variant that creates its output through the dispatcher, and so serves every backend.

    CompositeExplicitAutogradNonFunctional runs it: meta, then the out operator, which the backend has.
    """

    recorded_as = "default backend"

    def set_output_raw_strided(self, size: Size, stride: Size, dtype: DType, device: Device) -> None:
        """Provide the output as the other variants do. There is no faster way here."""
        self._provide(size, stride, dtype, device, RAW_STRIDED)

    def _acquire_output(self, size: Size, stride: Size, dtype: DType, device: Device, method: SetOutputMethod) -> bool:
        images = stride == _channels_last(size)
        if images or stride == contiguous_strides(size):
            memory_format = "channels_last" if images else None
            self.output = ops.empty_memory_format.call(size, dtype, "strided", device, False, memory_format)
        else:
            self.output = ops.empty_strided.call(size, stride, dtype, "strided", device, False)
        return False


class InPlace(Structured, gc=False):
    """The in-place variant: it writes to self."""

    variant: ClassVar[StructuredVariant] = "in-place"

    def set_output_raw_strided(self, size: Size, stride: Size, dtype: DType, device: Device) -> None:
        """Check self, which nearly always has the size, dtype and device already."""
        output = self.output
        if output._size == size and output._dtype is dtype and output._device is device and 0 not in output._stride:
            self.target = output
        else:
            self._provide(size, stride, dtype, device, RAW_STRIDED)

    def _acquire_output(self, size: Size, stride: Size, dtype: DType, device: Device, method: SetOutputMethod) -> bool:
        output = self.output
        if output._dtype is not dtype:
            raise _bad_in_place("dtype", type_meta_name(output._dtype), type_meta_name(dtype))
        if output._device is not device:
            raise _bad_in_place("device", output._device, device)
        check_no_internal_overlap(output)
        if output._size != size:
            raise _bad_in_place("size", list(output._size), list(size))
        return False


def _recorded_check(self: InPlace, size: Size, stride: Size, dtype: DType, device: Device) -> None:
    output, rec = self.output, recorder.active
    if (
        rec is not None
        and output._size == size
        and output._dtype is dtype
        and output._device is device
        and 0 not in output._stride
    ):
        self.target = output
        number = output._number if output._number >= rec.first_tensor else rec.serial(output)
        rec.note(("output_passed", number, size, dtype, self.variant))
    else:
        self._provide(size, stride, dtype, device, RAW_STRIDED)


process_modes.hot_function(
    InPlace, "set_output_raw_strided", {NO_MODE: InPlace.set_output_raw_strided, Mode.RECORDING: _recorded_check}
)


class Out(InPlace):
    """The out= variant: it writes to the caller's tensor."""

    variant = "out"

    def _acquire_output(self, size: Size, stride: Size, dtype: DType, device: Device, method: SetOutputMethod) -> bool:
        if self.output._dtype is not dtype:
            expected, found = type_meta_name(dtype), type_meta_name(self.output._dtype)
            raise RuntimeError(f"Expected out tensor to have dtype {expected}, but got {found} instead")
        if self.output._device is not device:
            raise RuntimeError(f"Expected out tensor to have device {device}, but got {self.output._device} instead")
        check_no_internal_overlap(self.output)
        if self.output._size == size:
            return False
        resize_output(self.output, size, stride)
        if stride and (method != RAW_STRIDED or self.output._stride != stride):
            ops.as_strided_.call(self.output, size, stride, None)
        return True


def _bad_in_place(what: str, input_value: object, output_value: object) -> RuntimeError:
    return RuntimeError(
        f"Bad in-place call: input tensor {what} {input_value} and output tensor {what} {output_value} should match"
    )


def check_no_internal_overlap(tensor: Tensor) -> None:
    """Raise RuntimeError if elements of the output overlap because of expanded dimensions
    (``assert_no_internal_overlap``).
    """
    if (
        0 in tensor._stride
        and 0 not in tensor._size
        and any(step == 0 and length > 1 for step, length in zip(tensor._stride, tensor._size, strict=True))
    ):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def warn_of_resizing(output: Tensor, size: Size) -> None:
    """Warn if an output that has elements is about to be resized (``resize_output_check``)."""
    if numel(output._size):
        warn_python(
            f"An output with one or more elements was resized since it had shape {list(output._size)}, which does not "
            f"match the required output shape {list(size)}. This behavior is deprecated, and in a future PyTorch "
            "release outputs will not be resized unless they have zero elements. You can explicitly reuse an out "
            "tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            "aten/src/ATen/native/Resize.cpp:30",
        )


def resize_output(output: Tensor, size: Size, stride: Size) -> None:
    """Resize the caller's tensor (``resize_output``), with PyTorch's warning if it has elements already.

    PyTorch calls the function for CPU directly and others through the dispatcher. The new strides are contiguous, or
    those of the memory format ``channels_last``. Callers set other strides afterwards.
    """
    warn_of_resizing(output, size)
    in_order = contiguous_strides(size)
    if output._device.type == "cpu" and not is_tensor_subclass_like(output):
        resize(output, size, in_order)
    else:
        ops.resize_.call(output, size, None)
    if stride == _channels_last(size):
        resize(output, size, stride)


def resize_in_order(out: Tensor, size: Size) -> None:
    """Resize to contiguous strides, unless the tensor has that size already."""
    if out._size != size:
        resize_output(out, size, contiguous_strides(size))


def _channels_last(size: Size) -> Size | None:
    """The strides of the memory format ``channels_last``; None unless there are four dimensions."""
    if len(size) != 4:
        return None
    return size[1] * size[2] * size[3], 1, size[1] * size[3], size[1]


def resize(tensor: Tensor, size: Size, stride: Size) -> None:
    """Give a tensor another geometry, with more memory if its storage is too small."""
    buffer = tensor._storage.buffer
    grown_from = None
    if buffer is not None and buffer.size < tensor._offset + numel(size):
        grown_from = buffer.nbytes
        try:
            fresh = type(buffer)(tensor._offset + numel(size), buffer.dtype)
        except (ValueError, MemoryError) as error:
            if not is_of_numpy(error):
                raise
            check_numel(size)
            raise cannot_allocate(size, tensor._dtype) from None
        fresh[: buffer.size] = buffer.reshape(-1)
        tensor._storage.buffer = buffer = fresh
    before = tensor._size, tensor._stride
    tensor._size, tensor._stride = size, stride
    if buffer is not None:
        tensor._array = strided(buffer, size, stride, tensor._offset)
    if recorder.active is not None and before != (size, stride):
        recorder.active.geometry_changed(tensor)
    if grown_from is not None:
        fill_grown_storage(tensor, grown_from)


@lru_cache(maxsize=4096)
def broadcast_sizes(a: Size, b: Size) -> Size:
    """The common shape of two operands. Raise RuntimeError if there is none."""
    if a == b:
        return a
    width = max(len(a), len(b))
    result = []
    for i in range(-1, -width - 1, -1):
        left, right = (a[i] if -i <= len(a) else 1), (b[i] if -i <= len(b) else 1)
        if left != right and left != 1 and right != 1:
            raise RuntimeError(
                f"The size of tensor a ({left}) must match the size of tensor b ({right}) at non-singleton dimension "
                f"{width + i}"
            )
        result.append(right if left == 1 else left)
    return tuple(reversed(result))
