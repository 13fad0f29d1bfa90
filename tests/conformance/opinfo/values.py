"""The same values on both sides: PyTorch's tensors are serialized, then created again for PyTorch and for the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
import torch

import dispatchviz.torch as model_torch
from dispatchviz.core.device.device import CPU
from dispatchviz.core.native.random.generator import Generator
from dispatchviz.core.tensor.conj_neg_bits import is_zerotensor
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import VersionCounter, alias_of, allocated, reinterpreted


class Untranslatable(Exception):
    """A value that the model cannot represent (a sparse tensor, another device)."""


@dataclass
class WrittenTensor:
    """A strided CPU tensor as numbers."""

    original: torch.Tensor
    """The original tensor, kept alive because written tensors are distinguished by identity."""
    memory: numpy.ndarray[Any, Any]
    """The bytes of its storage."""
    requires_grad: bool


@dataclass
class Side:
    """The constructors of tensors on one of the two sides."""

    name: str
    torch: Any
    tensor: Callable[[WrittenTensor, dict[int, Any]], Any]
    """A function from a written tensor and the storages created so far, by identity."""
    plain: Callable[[Any], Any]
    """A function from a dtype, device or format to this side's."""


def written(value: Any) -> Any:
    """Return a sample's value with its tensors written. Raise Untranslatable for tensors that are not plain."""
    if isinstance(value, torch.Tensor):
        return _written_tensor(value)
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        parts = [written(part) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: written(part) for key, part in value.items()}
    return value


def _written_tensor(value: torch.Tensor) -> WrittenTensor:
    if value.layout is not torch.strided or value.device.type != "cpu" or type(value) not in _PLAIN_TENSORS:
        raise Untranslatable(f"{type(value).__name__} of {value.layout} on {value.device}")
    if str(value.dtype).removeprefix("torch.") not in _DTYPES:
        raise Untranslatable(f"dtype {value.dtype}")
    storage = value.untyped_storage()
    memory = torch.empty(0, dtype=torch.uint8).set_(storage).numpy().copy()  # type: ignore[call-overload]
    return WrittenTensor(value, memory, value.requires_grad)


_PLAIN_TENSORS = (torch.Tensor, torch.nn.Parameter)
_DTYPES = {name for name, value in vars(model_torch).items() if isinstance(value, DType)}


def made(value: Any, side: Side, memo: dict[int, Any], storages: dict[int, Any]) -> Any:
    """Return a written value on one side. A tensor that occurs twice is one tensor, and a storage one storage."""
    if isinstance(value, WrittenTensor):
        key = id(value.original)
        if key not in memo:
            memo[key] = side.tensor(value, storages)
        return memo[key]
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        parts = [made(part, side, memo, storages) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: made(part, side, memo, storages) for key, part in value.items()}
    return side.plain(value)


# -- PyTorch -----------------------------------------------------------------------------------------------------------


def _torch_tensor(value: WrittenTensor, storages: dict[int, Any]) -> torch.Tensor:
    original = value.original.detach()
    key = original.untyped_storage()._cdata
    if key not in storages:
        storages[key] = torch.from_numpy(value.memory).clone().untyped_storage()
    tensor = torch.empty(0, dtype=original.dtype)
    tensor.set_(storages[key], original.storage_offset(), original.size(), original.stride())  # type: ignore[call-overload]
    return _with_bits(torch, original, tensor).requires_grad_(value.requires_grad)


def _with_bits(side: Any, original: torch.Tensor, tensor: Any) -> Any:
    if original.is_conj():
        tensor = side._conj(tensor)
    if original.is_neg():
        tensor = side._neg_view(tensor)
    return tensor.detach() if original.is_conj() or original.is_neg() else tensor


PYTORCH = Side("PyTorch", torch, _torch_tensor, lambda value: value)


# -- the model ---------------------------------------------------------------------------------------------------------


def _model_tensor(value: WrittenTensor, storages: dict[int, Any]) -> Any:
    original = value.original.detach()
    dtype = model_dtype(original.dtype)
    key = original.untyped_storage()._cdata
    if key not in storages:
        flat = value.memory[: len(value.memory) // dtype.itemsize * dtype.itemsize].view(dtype.numpy)
        base = allocated((flat.size,), (1,), dtype, CPU)
        base._array[...] = flat
        storages[key] = base
    if original.dim() > 64:
        raise Untranslatable("NumPy has at most 64 dimensions")
    geometry = tuple(original.size()), tuple(original.stride()), original.storage_offset()
    base = storages[key]
    plain = alias_of(base, *geometry) if base._dtype is dtype else reinterpreted(base, dtype, *geometry)
    plain._version_counter = VersionCounter()
    tensor = _with_bits(model_torch, original, plain)
    try:
        return tensor.requires_grad_() if value.requires_grad else tensor
    except NotImplementedError as refusal:
        raise Untranslatable(str(refusal)) from None


def model_dtype(dtype: torch.dtype) -> DType:
    """Return the model's dtype of that name. Raise Untranslatable if it has none."""
    found = getattr(model_torch, str(dtype).removeprefix("torch."), None)
    if not isinstance(found, DType):
        raise Untranslatable(f"dtype {dtype}")
    return found


def _model_word(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return model_dtype(value)
    if isinstance(value, torch.device):
        return model_torch.device(str(value))
    if isinstance(value, (torch.memory_format, torch.layout)):
        return _named(str(value))
    if isinstance(value, torch.Generator):
        return Generator()
    if isinstance(value, torch.nn.Module):
        return _model_module(value)
    return model_torch.Size(value) if isinstance(value, torch.Size) else value


def _model_module(value: torch.nn.Module) -> Any:
    """Return a module of the same class with the same settings. Raise Untranslatable for parameters, buffers or
    parts.
    """
    if value.state_dict() or list(value.children()):
        raise Untranslatable(f"{type(value).__name__} with something in it")
    module = getattr(model_torch.nn, type(value).__name__)()
    for name, setting in vars(value).items():
        if not name.startswith("_"):
            setattr(module, name, setting)
    return module


def _named(name: str) -> Any:
    word = name.removeprefix("torch.")
    if word not in vars(model_torch):
        raise Untranslatable(name)
    return vars(model_torch)[word]


MODEL = Side("model", model_torch, _model_tensor, _model_word)


# -- the way back ------------------------------------------------------------------------------------------------------


def numbers(value: Any) -> torch.Tensor:
    """Return a tensor's elements, with bits resolved, as a contiguous PyTorch tensor."""
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().resolve_neg().contiguous()
    if is_zerotensor(value):
        return torch.zeros(value._size, dtype=getattr(torch, value._dtype.name))
    array = model_torch.resolve_neg(model_torch.resolve_conj(value.detach()))._array
    name = value._dtype.name
    if name == "bfloat16":
        return torch.from_numpy(numpy.array(array, order="C").view(numpy.int16)).view(torch.bfloat16)
    return torch.from_numpy(numpy.array(array, order="C"))
