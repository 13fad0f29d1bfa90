"""``torch.tensor`` (``torch/csrc/utils/tensor_new.cpp``).

The data is written into a new CPU tensor below autograd and below every mode. The tensor is then brought to its device
with ``to`` and lifted. These are PyTorch's calls, under the guards that PyTorch holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy

from dispatchviz.core.autograd.variables.requires_grad_flag import make_variable
from dispatchviz.core.bindings.binding import Binding
from dispatchviz.core.bindings.default_device import device_or_default
from dispatchviz.core.bindings.torch_function import mode_enabled
from dispatchviz.core.device.device import CPU, Device
from dispatchviz.core.device.missing_devices import ensure_has_index
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.keys import key_set
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.native.iterator.tensor_iterator import store
from dispatchviz.core.tensor.conj_neg_bits import resolved
from dispatchviz.core.tensor.dtype import DType, bool_, int64, uint8
from dispatchviz.core.tensor.tensor import Size, Tensor, contiguous_strides, empty_strided, numel
from dispatchviz.core.thread.guards import AutoDispatchBelowADInplaceOrView, ExcludeDispatchKeyGuard
from dispatchviz.core.thread.restoring_state import restores_state
from dispatchviz.core.thread.warning import issue
from dispatchviz.torch.infer_scalar_type import inferred_dtype, numbers_in
from dispatchviz.torch.tensor_from_numpy import from_numpy, known_dtype

_MODES = key_set.raw(
    DispatchKey.Fake,
    DispatchKey.Python,
    DispatchKey.FuncTorchDynamicLayerBackMode,
    DispatchKey.Functionalize,
    DispatchKey.DeferredInit,
    DispatchKey.PythonTLSSnapshot,
    DispatchKey.FuncTorchDynamicLayerFrontMode,
)
"""The mode keys to exclude while the data becomes a tensor, so that no mode sees a half-made one."""
_TRACER = key_set.raw(DispatchKey.Tracer)


def new_tensor(data: Any, dtype: DType | None, device: Device | None, pin_memory: bool, requires_grad: bool) -> Tensor:
    if isinstance(data, Tensor):
        issue(COPY.format("torch.tensor"))
    return copied_data(data, dtype, device, requires_grad)


COPY = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)


def copied_data(data: Any, dtype: DType | None, device: Device | None, requires_grad: bool) -> Tensor:
    """Return a new tensor with a copy of numbers, of an array or of another tensor."""
    device = ensure_has_index(device_or_default(device or (data._device if isinstance(data, Tensor) else None)))
    if isinstance(data, Tensor):
        tensor = ops.to_device.call(ops.detach.call(data), device, dtype or data._dtype, False, True, None)
    elif isinstance(data, numpy.ndarray):
        tensor = _copied(data, dtype, device)
    else:
        tensor = new_from_data(data, dtype, device)
    ops.detach_.call(tensor)
    return make_variable(tensor, requires_grad)


def new_from_data(data: Any, dtype: DType | None, device: Device) -> Tensor:
    """Return a new tensor of numbers (``internal_new_from_data``); the dtype defaults to that of the numbers."""
    return _from_values(*_values(data, dtype), device, _tensors_in(data))


def _copied(data: Any, dtype: DType | None, device: Device) -> Tensor:
    shared = from_numpy(data)
    return ops.to_device.call(shared, device, dtype or shared._dtype, False, True, None)


def indexing_tensor(data: Any, device: Device) -> Tensor:
    """Return a sequence as an index: int64, or a mask (``indexing_tensor_from_data``)."""
    if isinstance(data, numpy.ndarray):
        return _from_array(data, device)
    data = data if isinstance(data, (list, tuple, str, bytes)) else list(data)
    found = inferred_dtype(data)
    return _from_values(*_values(data, found if found in (bool_, uint8) else int64), device, _tensors_in(data))


def _from_array(data: Any, device: Device) -> Tensor:
    """``tensor_from_numpy``, then ``to`` the dtype of an index. The memory is not shared, because no one writes to the
    tensor.
    """
    found = known_dtype(data.dtype)
    tensor = empty_strided(data.shape, contiguous_strides(data.shape), found, CPU)
    tensor._array[...] = data
    lifted_too = ops.lift_fresh.call(tensor)
    return ops.to_device.call(lifted_too, device, found if found in (bool_, uint8) else int64, False, False, None)


@restores_state
def _from_values(
    size: Size, dtype: DType, read: Callable[[], Any], device: Device, inside: Sequence[Tensor] = ()
) -> Tensor:
    """Return a tensor of the numbers. ``inside`` are tensors in the data, whose ``item`` is called one by one.

    A meta tensor has no numbers to read, and is neither moved nor lifted.
    """
    with AutoDispatchBelowADInplaceOrView():
        with ExcludeDispatchKeyGuard(_MODES), ExcludeDispatchKeyGuard(_TRACER):
            if device.type == "meta":
                return ops.empty_memory_format.call(size, dtype, None, device, None, None)
            tensor = ops.empty_memory_format.call(size, dtype, None, CPU, None, None)
            values = read()
            for part in inside:
                ops.item.call(part)
        store(tensor, values)
        with ExcludeDispatchKeyGuard(_MODES):
            tensor = ops.to_device.call(tensor, device, dtype, False, False, None)
    return lifted(tensor)


@restores_state
def lifted(tensor: Tensor) -> Tensor:
    """Return a tensor of Python data, lifted into the active transforms (``lift_fresh``)."""
    with AutoDispatchBelowADInplaceOrView(), ExcludeDispatchKeyGuard(_TRACER):
        return ops.lift_fresh.call(tensor)


def _values(data: Any, dtype: DType | None) -> tuple[Size, DType, Callable[[], Any]]:
    """Return the shape, the dtype (inferred unless given) and a function that reads the numbers."""
    if isinstance(data, Tensor):
        array = resolved(data)
        host = numpy.asarray(array if data._device.type == "cpu" else array.get())
        return data._size, dtype or data._dtype, lambda: host
    if isinstance(data, (numpy.ndarray, numpy.generic)):
        array = numpy.asarray(data)
        return array.shape, dtype or known_dtype(array.dtype), lambda: array
    return numbers_in(data, dtype)


def _tensors_in(data: Any) -> list[Tensor]:
    """Return the tensors that are single numbers in nested lists, in order."""
    if isinstance(data, Tensor):
        return [data] if numel(data._size) == 1 else []
    if not isinstance(data, (list, tuple)) or set(map(type, data)) <= {float, int, bool}:
        return []
    return [one for part in data for one in _tensors_in(part)]


class DataBinding(Binding):
    """The binding of ``torch.tensor`` and similar functions. They take any data, so only their keywords are parsed."""

    data = "data"
    """The name of the data parameter."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function. Raise TypeError without data."""
        name = self.__name__
        if not args and self.data not in kwargs:
            raise TypeError(f'{name}() missing 1 required positional arguments: "{self.data}"')
        if len(args) > 1:
            raise TypeError(f"{name}() takes 1 positional argument but {len(args)} were given")
        if mode_enabled():
            return self.handle_torch_function([], args, kwargs)
        data = args[0] if args else kwargs.pop(self.data)
        _, values = self._parser.parse((), kwargs)
        return self._run_parsed(0, [data, *values])

    @cached_property
    def trace_description(self) -> tuple[str, str, list[tuple[str, tuple[str, ...], str]]]:
        """The description for traces, with the first parameter, which is not parsed."""
        name, function, [(_, names, operator)] = super().trace_description
        head = f"{self.__name__}("
        text = f"{head}object {self.data}, " + self.overloads[0][0].removeprefix(head)
        return name, function, [(text, (self.data, *names), operator)]


_KEYWORDS = (
    "tensor(*, torch.dtype dtype = None, torch.device device = None, bool pin_memory = False, "
    "bool requires_grad = False)"
)

tensor = DataBinding("torch.tensor", (_KEYWORDS, new_tensor, ""))
"""``torch.tensor(data, *, dtype=None, device=None, requires_grad=False)``"""
