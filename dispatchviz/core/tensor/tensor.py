"""The tensor: a view of a storage, a key set, and autograd's fields (``c10/core/TensorImpl.h``).

Sizes, strides and the offset are in elements and always explicit, so that they are PyTorch's even where an array
library would normalize them; the array behind it is a view of the storage's flat buffer (absent on meta). ``None``
stands for the undefined tensor everywhere in ``core``.

Not here: what the fields mean to autograd (``autograd/variables/variable.py``), methods for users
(``generated/python_bindings`` installs them on this class), how many bytes are printed (``torch/tensor_repr.py``).
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
    """Flat memory, of the dtype of the tensor that it was made for; views may read it as another."""

    buffer: Any
    """A 1-d array, None on meta."""
    _number: int = -1
    """Given by the recorder."""
    kind: str = ""
    """``"pinned"`` or ``"shared"``, which is only said: all memory is alike."""
    exposed: bool = False
    """NumPy or the program has it in its hands, too, and may change it unseen."""


class VersionCounter(Struct, eq=False, gc=False):
    """Counts in-place writes; shared by a tensor, its views and its detached aliases."""

    value: int = 0
    number: int = -1
    """Serial number over all recordings; -1 before the first that speaks of it."""


class DetachedVersionCounter(VersionCounter, eq=False, gc=False):
    """Of an inference tensor that was detached outside of inference mode: no other inference tensor has one."""


class ViewMeta:
    """``DifferentiableViewMeta``: ``base`` is the root base, never a view itself."""

    __slots__ = ("attr_version", "base", "creation_meta", "forward_base", "refusal")

    def __init__(self, base: Tensor, creation_meta: CreationMeta, attr_version: int, refusal: str = "") -> None:
        self.base = base
        self.creation_meta = creation_meta
        self.attr_version = attr_version
        self.forward_base: Tensor | None = base
        """The tensor whose tangent this one's is a view of; None if they have nothing to do with each other."""
        self.refusal = refusal
        """Why its history cannot be rebuilt after a write; empty for all views but those without a derivative."""


class TensorOptions(NamedTuple):
    """What a new tensor is to be like."""

    dtype: DType
    device: Device


UNSET: Any = object()
"""The value of arguments that a caller of ``torch.Tensor(...)`` has not passed."""


class LegacyConstructor:
    """What ``torch.Tensor(...)`` does; ``dispatchviz.torch`` sets it (``torch/legacy_constructors.py``)."""

    run: Callable[[Tensor], None]


legacy_constructor = LegacyConstructor()


class Tensor(Struct, eq=False, weakref=True, dict=True, metaclass=TensorMeta):
    """A multi-dimensional array on a device.

    Built by ``empty_strided`` and ``alias_of`` below; users get theirs from the factory functions. It is a Struct
    because one is made for every result: that takes half the time of a constructor in Python.
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
    """The last that every tensor has; without it, a user has called ``torch.Tensor(...)``."""
    _number: int = -1
    """Given by the recorder."""
    _requires_grad: bool = False
    """The flag of a leaf; ``variable.requires_grad`` is the whole answer."""
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
    """What a tensor that only wraps another one knows: a ``BatchedTensorImpl`` inside ``vmap``."""

    def __post_init__(self) -> None:
        if self._device.__class__ is not Device:
            legacy_constructor.run(self)

    @property
    def _is_contiguous(self) -> bool:
        return is_contiguous(self._size, self._stride)


class _ContiguousStrides(dict[Size, Size]):
    """Contiguous strides by size: a table, since every new tensor needs them."""

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
    """Row-major and dense; strides of dimensions of size 1 do not matter."""
    if 0 in size:
        return True
    expected = contiguous_strides(size)
    return all(length == 1 or a == b for length, a, b in zip(size, stride, expected, strict=True))


@lru_cache(maxsize=4096)
def is_non_overlapping_and_dense(size: Size, stride: Size) -> bool:
    """Some order of the dimensions makes it contiguous; holds for every empty tensor."""
    if 0 in size:
        return True
    step = 1
    for width, length in sorted((b, a) for a, b in zip(size, stride, strict=True) if a != 1):
        if width != step:
            return False
        step *= length
    return True


def numel(size: Size) -> int:
    """How many elements a shape has; 1 for a 0-dim one."""
    count = 1
    for length in size:
        count *= length
    return count


def extent(size: Size, stride: Size) -> int:
    """How many elements of memory a geometry spans from its first element."""
    if 0 in size:
        return 0
    last = 0
    for length, step in zip(size, stride, strict=True):
        last += (length - 1) * step
    return last + 1


_key_set = cache(tensor_key_set)


class _OrdinaryKeys(dict[str, int]):
    """The keys of a new tensor outside of inference mode, by the type of its device: a table, as for strides."""

    def __missing__(self, kind: str) -> int:
        found = self[kind] = tensor_key_set(kind, inference=False)
        return found


_ORDINARY_KEYS = _OrdinaryKeys()
_empty = numpy.empty


def empty_strided(size: Size, stride: Size, dtype: DType, device: Device) -> Tensor:
    """A new tensor with uninitialized memory, with the keys that its device and the thread's inference mode give."""
    tensor = allocated(size, stride, dtype, device)
    if recorder.active is not None:
        recorder.active.tensor_created(tensor)
    return tensor


def allocated(
    size: Size, stride: Size, dtype: DType, device: Device, number: int = -1, storage_number: int = -1
) -> Tensor:
    """``empty_strided`` without recording; a recorder may pass the numbers of tensor and storage."""
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


def is_of_numpy(error: ValueError | MemoryError) -> bool:
    """Return whether NumPy refuses an array. Another MemoryError belongs to the program, as what comes from outside
    does.
    """
    if isinstance(error, MemoryError):
        return type(error).__module__.startswith("numpy")
    return not is_from_outside(error)


def check_numel(size: Size) -> None:
    """``safe_compute_numel``: RuntimeError for more elements than 63 bits count, or products on the way beyond 64."""
    if _overflows(size) or numel(size) >> 63:
        raise RuntimeError("numel: integer multiplication overflow")


def _overflows(size: Size) -> bool:
    """Return whether a product on the way has more than 64 bits, also before a length of 0."""
    return any(count >> 64 for count in accumulate(size, mul))


def cannot_allocate(size: Size, dtype: DType) -> Exception:
    """The RuntimeError for memory that cannot be allocated, PyTorch's; our own where only NumPy has no such array."""
    if min(size, default=0) < 0:
        return RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    if len(size) > 64:
        return NotImplementedError("a tensor of dispatchviz's model has at most 64 dimensions, as NumPy's arrays")
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
    """For a geometry that PyTorch allows: NumPy counts the bytes of an array even if they share memory."""
    return NotImplementedError(
        f"a tensor of dispatchviz's model has less than 2**63 bytes, dimensions of size 0 not counted: {list(size)}"
    )


def from_blob(buffer: Any, size: Size, stride: Size, dtype: DType) -> Tensor:
    """``from_blob``: a new CPU tensor on existing flat memory."""
    keys = _key_set("cpu", thread.state.inference_mode)
    tensor = Tensor(keys, strided(buffer, size, stride, 0), Storage(buffer), size, stride, 0, dtype, CPU)
    if recorder.active is not None:
        recorder.active.tensor_created(tensor)
    return tensor


def expose(tensor: Tensor) -> None:
    """Its memory is handed out, to NumPy or to the program."""
    tensor._storage.exposed = True
    if recorder.active is not None:
        recorder.active.memory_exposed(tensor)


def without_memory(size: Size, dtype: DType, device: Device, keys: int) -> Tensor:
    """A new contiguous tensor without an array, with ``keys`` in its set."""
    ks = _key_set(device.type, thread.state.inference_mode) | keys
    tensor = Tensor(ks, None, Storage(None), size, contiguous_strides(size), 0, dtype, device)
    if recorder.active is not None:
        recorder.active.tensor_created(tensor)
    return tensor


def strided(buffer: Any, size: Size, stride: Size, offset: int) -> Any:
    """An array view of flat memory with a geometry in elements."""
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
    """A tensor on the same storage with its own geometry and the same version counter; it has no history.

    RuntimeError if the geometry leaves the storage. The result keeps the key set of ``base``.
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
    """As ``alias_of``, with another dtype on the same memory: size, stride and offset count its elements."""
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
    """Dtype and device of a tensor."""
    return TensorOptions(tensor._dtype, tensor._device)


class TypeAndSize(NamedTuple):
    """What a Node keeps of a tensor that it only needs zeros like."""

    size: Size
    options: TensorOptions


def type_and_size(tensor: Tensor) -> TypeAndSize:
    """Size, dtype and device of a tensor."""
    return TypeAndSize(tensor._size, options_of(tensor))
