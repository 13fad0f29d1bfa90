"""Bindings that PyTorch writes by hand (``tools/autograd/templates/python_variable_methods.cpp``).

Some check their arguments before they dispatch: ``contiguous()`` of a contiguous tensor calls no operator at all, and
``to`` picks one of four overloads by its arguments.
"""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.variables.requires_grad_flag import requires_grad_
from dispatchviz.core.bindings.binding import Binding
from dispatchviz.core.bindings.default_device import check_compiled
from dispatchviz.core.device.device import Device
from dispatchviz.core.device.streams import Stream
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.native.iterator.memory_formats import in_format
from dispatchviz.core.tensor import conj_neg_bits
from dispatchviz.core.tensor.dtype import DType, type_meta_name
from dispatchviz.core.tensor.tensor import Tensor


def to_device_and_dtype(
    self: Tensor,
    device: Device | None,
    dtype: DType | None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Any:
    """Call the overload of ``to`` that follows from which of dtype and device are passed (``dispatch_to``)."""
    if device is not None:
        check_compiled(device)
    if device is not None and dtype is not None:
        return ops.to_device.call(self, device, dtype, non_blocking, copy, memory_format)
    if device is not None:
        options = (self._dtype, "strided", device, None)
        return ops.to_dtype_layout.call(self, *options, non_blocking, copy, memory_format)
    if dtype is not None:
        return ops.to_dtype.call(self, dtype, non_blocking, copy, memory_format)
    if not copy and memory_format is None:
        return self
    options = (self._dtype, "strided", self._device, None)
    return ops.to_dtype_layout.call(self, *options, non_blocking, copy, memory_format)


def _to_dtype(self: Tensor, dtype: DType, non_blocking: bool, copy: bool, memory_format: Any) -> Any:
    return to_device_and_dtype(self, None, dtype, non_blocking, copy, memory_format)


def _to_tensor(self: Tensor, tensor: Tensor, non_blocking: bool, copy: bool, memory_format: Any) -> Any:
    return to_device_and_dtype(self, tensor._device, tensor._dtype, non_blocking, copy, memory_format)


def _contiguous(self: Tensor, memory_format: Any) -> Any:
    return in_format(self, memory_format)


def _copy_(self: Tensor, other: Tensor, non_blocking: bool) -> Any:
    return ops.copy_.call(self, other, non_blocking)


def _record_stream(self: Tensor, s: Any) -> None:
    """Run ``Tensor.record_stream``. Raise TypeError unless ``s`` is a stream."""
    stream = getattr(s, "_stream", None)
    if not isinstance(stream, Stream):
        raise TypeError("expected Stream object")
    ops.record_stream.call(self, stream)


def _nonzero(self: Tensor, as_tuple: bool, out: Tensor | None = None) -> Any:
    """Call ``nonzero``, or ``nonzero_numpy`` for one tensor per dimension."""
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if as_tuple:
        return tuple(ops.nonzero_numpy.call(self))
    return ops.nonzero.call(self) if out is None else ops.nonzero_out.call(self, out)


def _conj(self: Tensor) -> Any:
    """Call ``_conj`` for a complex tensor. Return a real tensor itself, without a call (``Tensor::conj``)."""
    return ops._conj.call(self) if self._dtype.is_complex else self


def _set_storage(
    self: Tensor, source: Any, storage_offset: int | None = None, size: Any = None, stride: Any = None
) -> Any:
    bytes_ = getattr(source, "_untyped_storage", source)
    memory = bytes_._storage
    memory.device = bytes_.device
    if size is None or storage_offset is None:
        return ops.set__source_Storage.call(self, memory)
    return ops.set__source_Storage_storage_offset.call(self, memory, storage_offset, size, stride or ())


def _set_tensor(self: Tensor, source: Tensor) -> Any:
    """Set the tensor. Raise RuntimeError for another dtype, which the operator itself would accept."""
    if source._dtype is not self._dtype:
        names = type_meta_name(source._dtype), type_meta_name(self._dtype)
        raise RuntimeError("Could not set tensor of type {} to a tensor of type {}".format(*names))
    return ops.set__source_Tensor.call(self, source)


def _set_geometry(self: Tensor, source: Tensor, storage_offset: int, size: Any, stride: Any) -> Any:
    return ops.set__source_Tensor_storage_offset.call(self, source, storage_offset, size, stride or ())


_TO = ", bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)"

Tensor_to = Binding(
    "Tensor.to",
    (f"to(torch.device device = None, torch.dtype dtype = None{_TO}", to_device_and_dtype, ""),
    (f"to(torch.dtype dtype{_TO}", _to_dtype, ""),
    (f"to(Tensor tensor{_TO}", _to_tensor, ""),
)
Tensor_contiguous = Binding(
    "Tensor.contiguous",
    ("contiguous(*, torch.memory_format memory_format = 'contiguous_format')", _contiguous, ""),
)
Tensor_copy_ = Binding(
    "Tensor.copy_",
    ("copy_(Tensor other, bool non_blocking = False)", _copy_, "aten::copy_"),
    ("copy_(Tensor other, bool async)|deprecated", _copy_, "aten::copy_"),
)
_GEOMETRY = "SymInt storage_offset, tuple of SymInts size, tuple of SymInts stride = None"
Tensor_set_ = Binding(
    "Tensor.set_",
    ("set_()", "ops.set_.call", "aten::set_"),
    ("set_(torch.Storage source)", _set_storage, "aten::set_"),
    (f"set_(torch.Storage source, {_GEOMETRY})", _set_storage, "aten::set_"),
    ("set_(Tensor source)", _set_tensor, "aten::set_"),
    (f"set_(Tensor source, {_GEOMETRY})", _set_geometry, "aten::set_"),
)
nonzero = Binding(
    "torch.nonzero",
    ("nonzero(Tensor input, *, bool as_tuple = False, Tensor out = None)", _nonzero, "aten::nonzero"),
)
Tensor_nonzero = Binding(
    "Tensor.nonzero",
    ("nonzero()", "ops.nonzero.call", "aten::nonzero"),
    ("nonzero(*, bool as_tuple)", _nonzero, "aten::nonzero"),
)
conj = Binding("conj", ("conj(Tensor input)", _conj, "aten::_conj"))
Tensor_conj = Binding("Tensor.conj", ("conj()", _conj, "aten::_conj"))
is_conj = Binding("is_conj", ("is_conj(Tensor input)", conj_neg_bits.is_conj, ""))
Tensor_is_conj = Binding("Tensor.is_conj", ("is_conj()", conj_neg_bits.is_conj, ""))
is_neg = Binding("is_neg", ("is_neg(Tensor input)", conj_neg_bits.is_neg, ""))
Tensor_is_neg = Binding("Tensor.is_neg", ("is_neg()", conj_neg_bits.is_neg, ""))
_is_zerotensor = Binding("_is_zerotensor", ("_is_zerotensor(Tensor input)", conj_neg_bits.is_zerotensor, ""))
Tensor__is_zerotensor = Binding("Tensor._is_zerotensor", ("_is_zerotensor()", conj_neg_bits.is_zerotensor, ""))
Tensor_record_stream = Binding(
    "Tensor.record_stream",
    ("record_stream(Stream s)", _record_stream, "aten::record_stream"),
)
Tensor_detach_ = Binding("Tensor.detach_", ("detach_()", "ops.detach_.call", "aten::detach_"))
Tensor_item = Binding("Tensor.item", ("item()", "ops.item.call", "aten::item"))
Tensor_requires_grad_ = Binding(
    "Tensor.requires_grad_",
    ("requires_grad_(bool requires_grad = True)", requires_grad_, ""),
)


def _shorthand(name: str, dtype: DType) -> Binding:
    """The binding for which ``x.double()`` is ``to(torch.float64)``."""

    def convert(self: Tensor, memory_format: Any) -> Any:
        return ops.to_dtype.call(self, dtype, False, False, memory_format)

    return Binding(
        f"Tensor.{name}",
        (f"{name}(*, torch.memory_format memory_format = None)", convert, "aten::to.dtype"),
    )


def shorthands(by_name: dict[str, DType]) -> dict[str, Binding]:
    """Bindings for ``float``, ``double``, ``long``, ..."""
    return {f"Tensor_{name}": _shorthand(name, dtype) for name, dtype in by_name.items()}
