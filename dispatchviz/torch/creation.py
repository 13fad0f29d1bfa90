"""``torch.tensor`` and ``torch.Size`` (``torch/csrc/utils/tensor_new.cpp``).

The literal is written into a new CPU tensor below autograd and below every mode, then brought to its device with
``to``, then lifted: the calls that PyTorch makes, under the guards that it holds.
"""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core import keyset
from dispatchviz.core.autograd.requires_grad_flag import requires_grad_
from dispatchviz.core.binding import Binding
from dispatchviz.core.device import CPU, Device, concrete
from dispatchviz.core.dtype import BY_NUMPY, DType, default_dtype, float64, of_scalar
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.guards import AutoDispatchBelowADInplaceOrView, ExcludeDispatchKeyGuard
from dispatchviz.core.keys import DispatchKey
from dispatchviz.core.tensor import Tensor

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


class Size(tuple[int, ...]):
    """A shape: a tuple that prints as ``torch.Size([2, 2])``."""

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """How many elements a tensor of this shape has."""
        return int(numpy.prod(self, dtype=numpy.int64))


def _new_tensor(data: Any, dtype: DType | None, device: Device | None, pin_memory: bool, requires_grad: bool) -> Tensor:
    values, found = _values(data)
    dtype = found if dtype is None else dtype
    device = concrete(device or (data._device if isinstance(data, Tensor) else CPU))
    with AutoDispatchBelowADInplaceOrView():
        with ExcludeDispatchKeyGuard(_MODES), ExcludeDispatchKeyGuard(_TRACER):
            tensor = ops.empty_memory_format.call(values.shape, dtype, None, CPU, None, None)
        tensor._array[...] = values
        with ExcludeDispatchKeyGuard(_MODES):
            tensor = ops.to_device.call(tensor, device, dtype, False, False, None)
    with AutoDispatchBelowADInplaceOrView(), ExcludeDispatchKeyGuard(_TRACER):
        tensor = ops.lift_fresh.call(tensor)
    ops.detach_.call(tensor)
    return requires_grad_(tensor, requires_grad) if requires_grad else tensor


def _values(data: Any) -> tuple[Any, DType]:
    """The numbers as an array, and the dtype that they ask for."""
    if isinstance(data, Tensor):
        return numpy.asarray(data._array if data._device.type == "cpu" else data._array.get()), data._dtype
    if isinstance(data, (numpy.ndarray, numpy.generic)):
        array = numpy.asarray(data)
        return array, BY_NUMPY[array.dtype]
    array = numpy.asarray(_plain(data))
    if array.dtype == object or array.dtype.kind in "US":
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    found = default_dtype if array.size == 0 else of_scalar(array.reshape(-1)[0].item())
    return array, default_dtype if found is float64 else found


def _plain(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        lengths = {len(part) for part in data if isinstance(part, (list, tuple))}
        if len(lengths) > 1:
            first, *rest = (len(part) for part in data)
            wrong = next(length for length in rest if length != first)
            raise ValueError(f"expected sequence of length {first} at dim 1 (got {wrong})")
        return [_plain(part) for part in data]
    return data.item() if isinstance(data, Tensor) else data


class _TensorBinding(Binding):
    """``torch.tensor`` takes any data, so only its keywords are parsed."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """TypeError without data."""
        if not args and "data" not in kwargs:
            raise TypeError('tensor() missing 1 required positional arguments: "data"')
        data = args[0] if args else kwargs.pop("data")
        run = self._run[0]
        self_parser = self._parser
        _, values = self_parser.parse((), kwargs)
        from dispatchviz.core import recorder

        if recorder.active is None:
            return run(data, *values)
        return self._watched_data(data, values)

    def _watched_data(self, data: Any, values: list[Any]) -> Any:
        from dispatchviz.core import recorder

        rec = recorder.active
        assert rec is not None
        names = [p.name for p in self._parser.signatures[0].parameters]
        shown = [("data", data), *zip(names, values, strict=True)]
        text = "tensor(object data, " + self.overloads[0][0].removeprefix("tensor(")
        rec.binding_entered("torch.tensor", "THPVariable_tensor", text, 1, shown, "")
        try:
            return self._run[0](data, *values)
        except BaseException as error:
            rec.error_raised(error)
            raise
        finally:
            rec.leave()


_KEYWORDS = (
    "tensor(*, torch.dtype dtype = None, torch.device device = None, bool pin_memory = False, "
    "bool requires_grad = False)"
)

tensor = _TensorBinding("torch.tensor", ((_KEYWORDS, _new_tensor, ""),))
"""``torch.tensor(data, *, dtype=None, device=None, requires_grad=False)``"""
