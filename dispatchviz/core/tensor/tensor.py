"""The tensor: a view of a storage, a key set, and autograd's fields (``c10/core/TensorImpl.h``).

Sizes, strides and the offset are in elements and always explicit, so that they are PyTorch's even where an array
library would normalize them. The array behind the tensor is a view of the storage's flat buffer (absent on meta).
``None`` means the undefined tensor everywhere in ``core``.

Not here: autograd's use of the fields (``autograd/variables/variable.py``), methods for users
(``generated/python_bindings`` installs them on this class), how tensors are printed (``torch/tensor_repr.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from itertools import accumulate
from math import prod
from operator import mul
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from msgspec import Struct, field

from dispatchviz.core.device.array_library import array_module
from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.keys.key_set import tensor_key_set
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.outside_errors import is_from_outside
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor_meta import TensorMeta
from dispatchviz.core.thread.thread_state import thread

if TYPE_CHECKING:
    import weakref

    from dispatchviz.core.autograd.forward_mode.forward_grad import ForwardGrad
    from dispatchviz.core.autograd.graph.node import Node
    from dispatchviz.core.autograd.hooks.hooks import TensorHooks
    from dispatchviz.core.record.events.tensor_events import CreationMeta

Size = tuple[int, ...]


class Storage(Struct, eq=False, gc=False):
    """Flat memory, of the dtype of the tensor for which it was made. Views may read it as another dtype."""

    buffer: Any
    """The 1-d array; None on meta."""
    _number: int = -1
    """The number given by the recorder."""
    kind: str = ""
    """``"pinned"`` or ``"shared"``. It is only a label: all memory is alike."""
    exposed: bool = False
    """True if NumPy or the program has access to the memory too, and may change it unseen."""
    device: Any = None
    """The device, once the storage was given to ``set_``."""


class VersionCounter(Struct, eq=False, gc=False):
    """A counter of in-place writes, shared by a tensor, its views and its detached aliases."""

    value: int = 0
    number: int = -1
    """The serial number over all recordings; -1 until a recording first mentions the counter."""


class DetachedVersionCounter(VersionCounter, eq=False, gc=False):
    """The counter of an inference tensor that was detached outside of inference mode. Other inference tensors have no
    counter.
    """


class ViewMeta:
    """``DifferentiableViewMeta``: ``base`` is the root base, never a view itself."""

    __slots__ = ("attr_version", "base", "creation_meta", "forward_base", "refusal")

    def __init__(self, base: Tensor, creation_meta: CreationMeta, attr_version: int, refusal: str = "") -> None:
        self.base = base
        self.creation_meta = creation_meta
        self.attr_version = attr_version
        self.forward_base: Tensor | None = base
        """The tensor whose tangent has this tensor's as a view; None if the tangents are independent."""
        self.refusal = refusal
        """The reason why its history cannot be rebuilt after a write; empty unless the view has no derivative."""


class TensorOptions(NamedTuple):
    """The dtype and the device of a new tensor."""

    dtype: DType
    device: Device


UNSET: Any = object()
"""The value of arguments that a caller of ``torch.Tensor(...)`` has not passed."""


class LegacyConstructor:
    """The implementation of ``torch.Tensor(...)``, which ``dispatchviz.torch`` sets
    (``torch/legacy_constructors.py``).
    """

    run: Callable[[Tensor], None]


legacy_constructor = LegacyConstructor()


class Tensor(Struct, eq=False, weakref=True, dict=True, metaclass=TensorMeta):
    """A multi-dimensional array on a device.

    ``empty_strided`` and ``alias_of`` below create it; users call the factory functions. It is a Struct because one is
    created for every result, and that takes half the time of a constructor in Python.
    """

    _ks: int = UNSET
    """The raw key set."""
    _array: Any = UNSET
    """A view of the storage's buffer with this geometry; None on meta."""
    _storage: Storage = UNSET
    _size: Size = UNSET
    _stride: Size = UNSET
    _offset: int = UNSET
    _dtype: DType = UNSET
    _device: Device = UNSET
    """The last field that every tensor has. If it is missing, a user has called ``torch.Tensor(...)``."""
    _number: int = -1
    """The number given by the recorder."""
    _requires_grad: bool = False
    """The flag of a leaf. ``variable.requires_grad`` is the complete answer."""
    _grad_fn: Node | None = None
    _output_nr: int = 0
    _grad: Tensor | None = None
    _version_counter: VersionCounter = field(default_factory=VersionCounter)
    _view: ViewMeta | None = None
    _accumulator: weakref.ref[Any] | None = None
    _hooks: TensorHooks | None = None
    _retains_grad: bool = False
    _wrapped_number: bool = False
    _fw_grad: ForwardGrad | None = None
    """Its tangents, while a dual level is open (``autograd/forward_mode/forward_ad.py``)."""
    _impl: Any = None
    """The wrapped tensor and its level, for a wrapper such as a ``BatchedTensorImpl`` inside ``vmap``."""

    def __post_init__(self) -> None:
        if self._device.__class__ is not Device:
            legacy_constructor.run(self)

    @property
    def _is_contiguous(self) -> bool:
        return is_contiguous(self._size, self._stride)


class _ContiguousStrides(dict[Size, Size]):
    """Contiguous strides by size. They are cached, since every new tensor needs them."""

    def __missing__(self, size: Size) -> Size:
        strides: list[int] = []
        step = 1
        for length in reversed(size):
            strides.append(step)
            step *= max(length, 1)
        if len(self) >= 4096:
            self.clear()
        found = self[size] = tuple(reversed(strides))
        return found


CONTIGUOUS_STRIDES = _ContiguousStrides()


def contiguous_strides(size: Size) -> Size:
    """Row-major strides in elements; a dimension of size 0 counts as 1."""
    return CONTIGUOUS_STRIDES[size]


@lru_cache(maxsize=4096)
def is_contiguous(size: Size, stride: Size) -> bool:
    """Return whether the geometry is row-major and dense. Strides of dimensions of size 1 do not matter."""
    if 0 in size:
        return True
    expected = contiguous_strides(size)
    return all(length == 1 or a == b for length, a, b in zip(size, stride, expected, strict=True))


@lru_cache(maxsize=4096)
def is_non_overlapping_and_dense(size: Size, stride: Size) -> bool:
    """Return whether some order of the dimensions makes the geometry contiguous. True for every empty tensor."""
    if 0 in size:
        return True
    step = 1
    for width, length in sorted((b, a) for a, b in zip(size, stride, strict=True) if a != 1):
        if width != step:
            return False
        step *= length
    return True


def numel(size: Size) -> int:
    """The number of elements of a shape; 1 for a 0-dim shape."""
    count = 1
    for length in size:
        count *= length
    return count


def extent(size: Size, stride: Size) -> int:
    """The number of elements of memory that a geometry spans from its first element."""
    if 0 in size:
        return 0
    last = 0
    for length, step in zip(size, stride, strict=True):
        last += (length - 1) * step
    return last + 1


_key_set = cache(tensor_key_set)


class _OrdinaryKeys(dict[str, int]):
    """The keys of a new tensor outside of inference mode, by the type of its device. They are cached, like strides."""

    def __missing__(self, kind: str) -> int:
        found = self[kind] = tensor_key_set(kind, inference=False)
        return found


_ORDINARY_KEYS = _OrdinaryKeys()
_empty = numpy.empty


def empty_strided(size: Size, stride: Size, dtype: DType, device: Device) -> Tensor:
    """Return a new tensor with uninitialized memory. Its device and the thread's inference mode give its keys."""
    tensor = allocated(size, stride, dtype, device)
    if recorder.active is not None:
        recorder.active.tensor_created(tensor)
    return tensor


def allocated(
    size: Size, stride: Size, dtype: DType, device: Device, number: int = -1, storage_number: int = -1
) -> Tensor:
    """Return the tensor of ``empty_strided`` without recording it. A recorder may pass the numbers of tensor and
    storage.
    """
    kind = device.type
    if kind == "meta":
        array, storage = None, Storage(None)
    else:
        empty = _empty if kind == "cpu" else array_module(kind).empty
        try:
            if stride == CONTIGUOUS_STRIDES[size]:
                array = empty(size, dtype.numpy)
                storage = Storage(array, storage_number)
            else:
                storage = Storage(empty(extent(size, stride), dtype.numpy), storage_number)
                array = strided(storage.buffer, size, stride, 0)
        except (ValueError, MemoryError) as error:
            if kind != "cpu" or not is_of_numpy(error):
                raise
            raise cannot_allocate(size, dtype) from None
    keys = _key_set(kind, True) if thread.state.inference_mode else _ORDINARY_KEYS[kind]
    return Tensor(keys, array, storage, size, stride, 0, dtype, device, number)


def allocated_like(tensor: Tensor, number: int = -1, storage_number: int = -1) -> Tensor:
    """Return the tensor of ``allocated`` with the geometry, dtype and device of a contiguous tensor on the CPU.

    It asks nothing about them, which saves 2 % of an addition.
    """
    size, stride, dtype = tensor._size, tensor._stride, tensor._dtype
    try:
        array = _empty(size, dtype.numpy)
    except MemoryError:
        return allocated(size, stride, dtype, tensor._device, number, storage_number)
    keys = _key_set("cpu", True) if thread.state.inference_mode else _ORDINARY_KEYS["cpu"]
    return Tensor(keys, array, Storage(array, storage_number), size, stride, 0, dtype, tensor._device, number)


def is_of_numpy(error: ValueError | MemoryError) -> bool:
    """Return whether NumPy raised an error for an array. Other MemoryErrors belong to the program, like all exceptions
    from outside.
    """
    if isinstance(error, MemoryError):
        return type(error).__module__.startswith("numpy")
    return not is_from_outside(error)


def check_numel(size: Size) -> None:
    """Raise RuntimeError if the number of elements exceeds 63 bits, or an intermediate product 64
    (``safe_compute_numel``).
    """
    if _overflows(size) or numel(size) >> 63:
        raise RuntimeError("numel: integer multiplication overflow")


def _overflows(size: Size) -> bool:
    """Return whether an intermediate product has more than 64 bits, even before a length of 0."""
    return any(count >> 64 for count in accumulate(size, mul))


def cannot_allocate(size: Size, dtype: DType) -> Exception:
    """Return PyTorch's RuntimeError for memory that cannot be allocated, or our own error if only NumPy cannot make the
    array.
    """
    if min(size, default=0) < 0:
        return RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if len(size) > 64:
        return NotImplementedError("a tensor of dispatchviz's model has at most 64 dimensions, like NumPy's arrays")
    count = numel(size) * dtype.itemsize
    if count >= 1 << 63 or _overflows(size):
        return RuntimeError(f"Storage size calculation overflowed with sizes={list(size)}")
    if not count:
        return too_large(size)
    return RuntimeError(
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
        f"allocate {count} bytes. Error code 12 (Cannot allocate memory)"
    )


def too_large(size: Size) -> NotImplementedError:
    """Return the error for a geometry that PyTorch allows. NumPy counts the bytes of an array even if elements share
    memory.
    """
    return NotImplementedError(
        f"a tensor of dispatchviz's model has fewer than 2**63 bytes, not counting dimensions of size 0: {list(size)}"
    )


def from_blob(buffer: Any, size: Size, stride: Size, dtype: DType) -> Tensor:
    """Return a new CPU tensor on existing flat memory (``from_blob``)."""
    keys = _key_set("cpu", thread.state.inference_mode)
    tensor = Tensor(keys, strided(buffer, size, stride, 0), Storage(buffer), size, stride, 0, dtype, CPU)
    if recorder.active is not None:
        recorder.active.tensor_created(tensor)
    return tensor


def expose(tensor: Tensor) -> None:
    """Note that NumPy or the program gets access to its memory."""
    tensor._storage.exposed = True
    if recorder.active is not None:
        recorder.active.memory_exposed(tensor)


def without_memory(size: Size, dtype: DType, device: Device, keys: int) -> Tensor:
    """Return a new contiguous tensor without an array, with ``keys`` in its set."""
    ks = _key_set(device.type, thread.state.inference_mode) | keys
    tensor = Tensor(ks, None, Storage(None), size, contiguous_strides(size), 0, dtype, device)
    if recorder.active is not None:
        recorder.active.tensor_created(tensor)
    return tensor


def strided(buffer: Any, size: Size, stride: Size, offset: int) -> Any:
    """Return an array view of flat memory, with a geometry in elements."""
    flat = buffer.reshape(-1)
    width = flat.itemsize
    steps = tuple([step * width for step in stride])
    start = offset * width if 0 not in size else 0  # neither library takes an offset into no memory
    if isinstance(flat, numpy.ndarray):
        try:
            return numpy.ndarray(size, flat.dtype, flat, start, steps)
        except ValueError as error:
            if not is_from_outside(error) and (prod(size) * width >> 63 or 0 in size):
                check_numel(size)
                raise too_large(size) from None
            raise
    return type(flat)(size, flat.dtype, flat.data + start, steps)  # CuPy's constructor: (..., memptr, strides)


def alias_of(base: Tensor, size: Size, stride: Size, offset: int) -> Tensor:
    """Return a tensor on the same storage with its own geometry, the same version counter, and no history.

    The result keeps the key set of ``base``. Raise RuntimeError if the geometry leaves the storage.
    """
    buffer = base._storage.buffer
    if buffer is not None and buffer.dtype != base._dtype.numpy:  # the base is a view of another dtype
        buffer = buffer.reshape(-1).view(base._dtype.numpy)
    if buffer is not None and offset + extent(size, stride) > buffer.size and 0 not in size:
        if (offset + extent(size, stride)) * base._dtype.itemsize >> 63:
            raise RuntimeError(
                f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}"
            )
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{base._dtype.itemsize} requiring a storage size of "
            f"{(offset + extent(size, stride)) * base._dtype.itemsize} are out of bounds for storage of size "
            f"{buffer.size * base._dtype.itemsize}"
        )
    array = None if buffer is None else strided(buffer, size, stride, offset)
    tensor = Tensor(base._ks, array, base._storage, size, stride, offset, base._dtype, base._device)
    tensor._version_counter = base._version_counter
    if recorder.active is not None:
        recorder.active.tensor_created(tensor)
    return tensor


def reinterpreted(base: Tensor, dtype: DType, size: Size, stride: Size, offset: int) -> Tensor:
    """Return an alias as ``alias_of`` does, with another dtype. Size, stride and offset count elements of that
    dtype.
    """
    array = base._array
    if array is not None:
        memory = base._storage.buffer.reshape(-1).view(numpy.uint8)
        whole = memory[: memory.size // dtype.itemsize * dtype.itemsize]
        array = strided(whole.view(dtype.numpy), size, stride, offset)
    tensor = Tensor(base._ks, array, base._storage, size, stride, offset, dtype, base._device)
    tensor._version_counter = base._version_counter
    if recorder.active is not None:
        recorder.active.tensor_created(tensor)
    return tensor


def options_of(tensor: Tensor) -> TensorOptions:
    """The dtype and device of a tensor."""
    return TensorOptions(tensor._dtype, tensor._device)


class TypeAndSize(NamedTuple):
    """The facts that a Node saves about a tensor of whose shape it only needs zeros."""

    size: Size
    options: TensorOptions


def type_and_size(tensor: Tensor) -> TypeAndSize:
    """The size, dtype and device of a tensor."""
    return TypeAndSize(tensor._size, options_of(tensor))
