"""``torch.tensor`` (``torch/csrc/utils/tensor_new.cpp``).

The literal is written into a new CPU tensor below autograd and below every mode, then brought to its device with
``to``, then lifted: the calls that PyTorch makes, under the guards that it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy

from dispatchviz.core import keyset, recorder
from dispatchviz.core.autograd.requires_grad_flag import make_variable
from dispatchviz.core.binding import Binding
from dispatchviz.core.default_device import device_or_default
from dispatchviz.core.device import CPU, Device, concrete
from dispatchviz.core.dtype import BY_NUMPY, DType, bool_, default_dtype, default_of_number, int64, of_scalar, uint8
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.guards import AutoDispatchBelowADInplaceOrView, ExcludeDispatchKeyGuard
from dispatchviz.core.keys import DispatchKey
from dispatchviz.core.math_bits import resolved
from dispatchviz.core.native.iterator import quiet
from dispatchviz.core.tensor import Tensor, contiguous_strides, empty_strided
from dispatchviz.core.torch_function import mode_enabled
from dispatchviz.torch.numpy_memory import from_numpy

_MODES = keyset.raw(
    DispatchKey.Fake,
    DispatchKey.Python,
    DispatchKey.FuncTorchDynamicLayerBackMode,
    DispatchKey.Functionalize,
    DispatchKey.DeferredInit,
    DispatchKey.PythonTLSSnapshot,
    DispatchKey.FuncTorchDynamicLayerFrontMode,
)
"""Kept out while the literal becomes a tensor, so that no mode sees a half-made one."""
_TRACER = keyset.raw(DispatchKey.Tracer)


def new_tensor(data: Any, dtype: DType | None, device: Device | None, pin_memory: bool, requires_grad: bool) -> Tensor:
    device = concrete(device_or_default(device or (data._device if isinstance(data, Tensor) else None)))
    tensor = _copied(data, dtype, device) if isinstance(data, numpy.ndarray) else new_from_data(data, dtype, device)
    ops.detach_.call(tensor)
    return make_variable(tensor, requires_grad)


def new_from_data(data: Any, dtype: DType | None, device: Device) -> Tensor:
    """A new tensor of numbers (``internal_new_from_data``); their dtype, if none is given."""
    values, found = _values(data)
    return _from_values(values, found if dtype is None else dtype, device, _tensors_in(data))


def _copied(data: Any, dtype: DType | None, device: Device) -> Tensor:
    shared = from_numpy(data)
    return ops.to_device.call(shared, device, dtype or shared._dtype, False, True, None)


def indexing_tensor(data: Any, device: Device) -> Tensor:
    """A sequence as an index: int64, or a mask (``indexing_tensor_from_data``)."""
    if isinstance(data, numpy.ndarray):
        return _from_array(data, device)
    data = data if isinstance(data, (list, tuple, str, bytes)) else list(data)
    values, found = _values(data)
    return _from_values(values, found if found in (bool_, uint8) else int64, device, _tensors_in(data))


def _from_array(data: Any, device: Device) -> Tensor:
    """``tensor_from_numpy``, then to the dtype of an index. Nobody writes to it, so the memory is not shared here."""
    found = BY_NUMPY[data.dtype]
    tensor = empty_strided(data.shape, contiguous_strides(data.shape), found, CPU)
    tensor._array[...] = data
    lifted_too = ops.lift_fresh.call(tensor)
    return ops.to_device.call(lifted_too, device, found if found in (bool_, uint8) else int64, False, False, None)


def _from_values(values: Any, dtype: DType, device: Device, inside: Sequence[Tensor] = ()) -> Tensor:
    """``inside``: tensors among the data, whose numbers are asked for one by one."""
    with AutoDispatchBelowADInplaceOrView():
        with ExcludeDispatchKeyGuard(_MODES), ExcludeDispatchKeyGuard(_TRACER):
            tensor = ops.empty_memory_format.call(values.shape, dtype, None, CPU, None, None)
            for part in inside:
                ops.item.call(part)
        quiet.run(tensor._array.__setitem__, ..., values)
        with ExcludeDispatchKeyGuard(_MODES):
            tensor = ops.to_device.call(tensor, device, dtype, False, False, None)
    return lifted(tensor)


def lifted(tensor: Tensor) -> Tensor:
    """A tensor made of Python data, as transforms shall see it."""
    with AutoDispatchBelowADInplaceOrView(), ExcludeDispatchKeyGuard(_TRACER):
        return ops.lift_fresh.call(tensor)


def _values(data: Any) -> tuple[Any, DType]:
    """The numbers as an array, and the dtype that they ask for."""
    if isinstance(data, Tensor):
        array = resolved(data)
        return numpy.asarray(array if data._device.type == "cpu" else array.get()), data._dtype
    if isinstance(data, (numpy.ndarray, numpy.generic)):
        array = numpy.asarray(data)
        return array, BY_NUMPY[array.dtype]
    if not isinstance(data, (list, tuple, bool, int, float, complex)):
        raise _no_dtype(data)
    array = numpy.asarray(_plain(data, 1))
    _check_numbers(data)
    found = default_dtype() if array.size == 0 else of_scalar(array.reshape(-1)[0].item())
    return array, default_of_number(found)


def _plain(data: Any, dim: int) -> Any:
    """Nested lists of numbers; ``dim`` is the dimension of what is inside ``data``."""
    if not isinstance(data, (list, tuple)):
        return resolved(data).item() if isinstance(data, Tensor) else data
    nested = [isinstance(part, (list, tuple)) for part in data]
    if data and isinstance(data[0], str):
        raise ValueError("too many dimensions 'str'")
    if any(nested) and not nested[0]:
        raise TypeError(f"'{type(data[nested.index(True)]).__name__}' object cannot be interpreted as an integer")
    for part in data if any(nested) else ():
        if not isinstance(part, (list, tuple)):
            raise TypeError(f"expected sequence at dim {dim} (got {type(part).__name__})")
        if len(part) != len(data[0]):
            raise ValueError(f"expected sequence of length {len(data[0])} at dim {dim} (got {len(part)})")
    return [_plain(part, dim + 1) for part in data]


def _check_numbers(data: Any) -> None:
    """What is in nested lists must have a dtype. TypeError for a text, RuntimeError for anything else."""
    if isinstance(data, (list, tuple)):
        for part in data:
            _check_numbers(part)
    elif not isinstance(data, (bool, int, float, complex, Tensor, numpy.generic, numpy.ndarray)):
        raise _no_dtype(data)


def _no_dtype(data: Any) -> Exception:
    if isinstance(data, (str, bytes)):
        return TypeError(f"new(): invalid data type '{type(data).__name__}'")
    return RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _tensors_in(data: Any) -> list[Tensor]:
    """The tensors in nested lists, in their order."""
    if not isinstance(data, (list, tuple)):
        return []
    return [one for part in data for one in ([part] if isinstance(part, Tensor) else _tensors_in(part))]


class DataBinding(Binding):
    """``torch.tensor`` and the like take any data, so only their keywords are parsed."""

    data = "data"
    """Name of the parameter."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """TypeError without data."""
        name = self.__name__
        if not args and self.data not in kwargs:
            raise TypeError(f'{name}() missing 1 required positional arguments: "{self.data}"')
        if len(args) > 1:
            raise TypeError(f"{name}() takes 1 positional argument but {len(args)} were given")
        if mode_enabled():
            return self.overridden([], args, kwargs)
        data = args[0] if args else kwargs.pop(self.data)
        _, values = self._parser.parse((), kwargs)
        if recorder.active is None:
            return self._run[0](data, *values)
        return self._parsed_and_told(recorder.active, 0, [data, *values])

    @cached_property
    def told(self) -> tuple[str, str, list[tuple[str, tuple[str, ...], str]]]:
        """Its first parameter is not among those that are parsed."""
        name, function, [(_, names, operator)] = super().told
        head = f"{self.__name__}("
        text = f"{head}object {self.data}, " + self.overloads[0][0].removeprefix(head)
        return name, function, [(text, (self.data, *names), operator)]


_KEYWORDS = (
    "tensor(*, torch.dtype dtype = None, torch.device device = None, bool pin_memory = False, "
    "bool requires_grad = False)"
)

tensor = DataBinding("torch.tensor", ((_KEYWORDS, new_tensor, ""),))
"""``torch.tensor(data, *, dtype=None, device=None, requires_grad=False)``"""
