"""``torch.Tensor(...)``, ``torch.FloatTensor(...)`` and the like (``legacy_tensor_generic_ctor_new``).

Numbers are a size, a sequence is data, a tensor is aliased, and a NumPy array shares its memory.
"""

from __future__ import annotations

from typing import Any

import numpy

from dispatchviz.core.bindings.default_device import check_compiled, set_default_device
from dispatchviz.core.bindings.invalid_arguments import type_name
from dispatchviz.core.bindings.parameter_types import Parameter, is_index
from dispatchviz.core.bindings.parameter_values import converted
from dispatchviz.core.device.device import CPU, CUDA, Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.table.pytorch_registrations import chosen_build
from dispatchviz.core.tensor import dtype as dtypes
from dispatchviz.core.tensor.dtype import DType, type_meta_name
from dispatchviz.core.tensor.tensor import UNSET, Tensor, legacy_constructor
from dispatchviz.core.thread.warning import warn_python_once
from dispatchviz.torch._namespace import torch
from dispatchviz.torch.size import Size
from dispatchviz.torch.tensor_from_numpy import from_numpy
from dispatchviz.torch.tensor_new import new_from_data

_FIELDS = ("_ks", "_array", "_storage", "_size", "_stride", "_offset", "_dtype", "_device")


def new(args: tuple[Any, ...], dtype: DType | None, device: Device) -> Tensor:
    """Create a tensor. ``dtype`` None means the default dtype for new tensors, and allows any dtype for an alias. Raise
    TypeError for anything but data and sizes.
    """
    if len(args) == 1 and isinstance(args[0], Tensor):
        return _alias(args[0], dtype, device)
    if (
        len(args) == 1 and isinstance(args[0], numpy.ndarray) and not is_index(args[0])
    ):  # an array of the dtype shares its memory
        wanted = dtype or dtypes.default_dtype()
        return ops.to_device.call(from_numpy(args[0]), device, wanted, False, False, None)
    if len(args) == 1 and not isinstance(args[0], Size) and not is_index(args[0]):
        return new_from_data(_sequence(args[0]), dtype or dtypes.default_dtype(), device)
    return ops.empty_memory_format.call(_size(args), dtype or dtypes.default_dtype(), None, device, None, None)


def _alias(tensor: Tensor, dtype: DType | None, device: Device) -> Tensor:
    if dtype is not None and tensor._dtype is not dtype:
        raise TypeError(f"expected {_options(dtype, device)} (got {_options(tensor._dtype, tensor._device)})")
    return ops.alias.call(tensor)


def _options(dtype: DType, device: Device) -> str:
    return (
        f"TensorOptions(dtype={type_meta_name(dtype)}, device={device}, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
    )


def _sequence(data: Any) -> Any:
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type_name(data)}'")
    if isinstance(data, (dict, numpy.dtype)) or not (hasattr(type(data), "__getitem__") and hasattr(data, "__len__")):
        raise TypeError(f"new(): data must be a sequence (got {type_name(data)})")
    return data if isinstance(data, tuple) else list(data)


def _size(args: tuple[Any, ...]) -> tuple[int, ...]:
    if not args:
        return (0,)
    given = args[0] if len(args) == 1 and isinstance(args[0], Size) else args
    return converted("new", _SIZE, given, 0)  # type: ignore[no-any-return]


_SIZE = Parameter("size", "tuple of SymInts", None, True, False, 0, False)


def _construct(tensor: Tensor) -> None:
    """Initialize a half-made tensor whose fields hold the arguments of the user."""
    given = tuple(value for name in _FIELDS if (value := getattr(tensor, name)) is not UNSET)
    made = new(given, None, CPU)
    for name in Tensor.__struct_fields__:
        setattr(tensor, name, getattr(made, name))


legacy_constructor.run = _construct


class tensortype(type):
    """The class of ``torch.FloatTensor``: a tensor is an instance if its dtype and device match."""

    dtype: DType
    device: Device

    def __call__(cls, *args: Any) -> Any:
        """Create a tensor of this type from data or a size, or an alias of a tensor. Raise TypeError for a CUDA type in
        a build without CUDA.
        """
        if cls.device.type == "cuda":
            if chosen_build() == "cpu":
                name = f"{cls.__module__}.{cls.__name__}"
                raise TypeError(f"type {name} not available. Torch not compiled with CUDA enabled.")
            check_compiled(cls.device)
        return new(args, cls.dtype, cls.device)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and (instance._dtype, instance._device.type) == (
            cls.dtype,
            cls.device.type,
        )

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def _types(module: str, device: Device) -> dict[str, tensortype]:
    return {
        f"{dtype.legacy}Tensor": tensortype(
            f"{dtype.legacy}Tensor", (), {"__module__": module, "dtype": dtype, "device": device}
        )
        for dtype in dtypes.ALL
        if not dtype.is_complex
    }


TYPES = _types("torch", CPU)
"""The CPU types by name."""
CUDA_TYPES = _types("torch.cuda", CUDA)


def type_named(name: object) -> tensortype:
    """Return the type for ``torch.DoubleTensor`` or its name. Raise ValueError for an unknown name, TypeError for
    anything else.
    """
    if isinstance(name, tensortype):
        return name
    if isinstance(name, type):
        name = name.__name__ if name.__module__ == "builtins" else f"{name.__module__}.{name.__name__}"
    if isinstance(name, bytes):
        name = name.decode()
    if not isinstance(name, str):
        raise TypeError("dtype must be a type, str, or dtype object")
    for types in (TYPES, CUDA_TYPES):
        for found in types.values():
            if name == f"{found.__module__}.{found.__name__}":
                return found
    raise ValueError(f"invalid type: '{name}'")


def set_default_tensor_type(t: tensortype | str, /) -> None:
    """Set the default dtype, and for a CUDA type also the default device. Warn that the function is deprecated.

    Raise TypeError for anything but a type, for a CUDA type in a build without CUDA, and for an integral type.
    """
    chosen = _imported(t) if isinstance(t, str) else t
    warn_python_once("set_default_tensor_type", _DEPRECATED, "torch/csrc/tensor/python_tensor.cpp:434")
    if not isinstance(chosen, tensortype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if chosen.device.type == "cuda" and chosen_build() == "cpu":
        raise TypeError(f"type torch.cuda.{chosen.__name__} not available. Torch not compiled with CUDA enabled.")
    dtypes.set_default_dtype(chosen.dtype)
    set_default_device(chosen.device if chosen.device.type == "cuda" else None)


_DEPRECATED = (
    "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
    "torch.set_default_device() as alternatives."
)


def _imported(name: str) -> Any:
    """Return an object by its dotted name, such as ``torch.DoubleTensor``. Errors of the import pass through."""
    first, *parts = name.split(".")
    found = torch if first == "torch" else __import__(first)
    for part in parts:
        found = getattr(found, part)
    return found
