"""The cast policy of each operator under autocast, measured on an installed PyTorch (CPU).

PyTorch does not expose policies. So each operator is called under autocast with tensors that the policies treat
differently, and the first cast shows the policy. Later errors about the nonsensical arguments do not matter. For
CUDA the tensors are wrapper subclasses without data.

    to bfloat16                    lower_precision_fp: that is the requested dtype, the tensors are float16
    to float32                     fp32; but fp32_set_opt_dtype if a given dtype prevents it
    none, another overload runs    fp32_append_dtype
    PyTorch's own error            promote, which supports no third dtype; or the operator is banned

The file is JSON: ``torch`` (release) and, per key, the policy by operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from truth import records
from truth.formats.json_text import json_text
from truth.observers.builds import only_in_cuda_builds

DEVICES = {"AutocastCPU": "cpu", "AutocastCUDA": "cuda"}
PROMOTES = "Unexpected floating ScalarType in at::autocast::prioritize"
BANNED = "are unsafe to autocast"


class Stop(Exception):
    """Raised when the first operator below the autocast kernel is called."""


class FirstCall(TorchDispatchMode):
    """A mode that records the first operator with its arguments, and stops there."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen = (func, args, kwargs or {})
        raise Stop


class OnDevice(torch.Tensor):
    """A tensor without data that reports a device; the mode intercepts its calls first."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError(func)


def _tensor(device: str) -> torch.Tensor:
    if device == "cpu":
        return torch.ones(2, 2, dtype=torch.float16)
    make: Any = torch.Tensor._make_wrapper_subclass
    return make(OnDevice, (2, 2), dtype=torch.float16, device=device)  # type: ignore[no-any-return]


def _argument(type_: str, device: str) -> Any:
    """An argument of a type."""
    if type_.startswith("Tensor"):
        return _tensor(device)
    if type_.startswith(("List[Tensor", "List[Optional[Tensor")):
        return [_tensor(device)]
    plain = {"int": 1, "float": 1.0, "bool": False, "number": 1, "str": "fro"}
    if type_.startswith("List["):
        return [0, 1]
    return plain.get(type_)


def _arguments(op: Any, device: str, dtype: torch.dtype | None) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments for an operator."""
    args, kwargs = [], {}
    for argument in op._schema.arguments:
        type_ = str(argument.type)
        value = _argument(type_, device) if not type_.startswith("Optional") else None
        value = dtype if argument.name == "dtype" else value
        if argument.kwarg_only:
            kwargs[argument.name] = value
        else:
            args.append(value)
    return args, kwargs


def _operator(name: str) -> Any:
    base, _, overload = name.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def policy(name: str, key: str) -> str:
    """The policy of an operator. Raise RuntimeError if its behavior fits none."""
    op = _operator(name)
    try:
        called, dtypes = _first_call(op, key, None)
    except RuntimeError as error:
        if PROMOTES in str(error):
            return "promote"
        if BANNED in str(error):
            return "banned"
        raise
    if called.name() != name and called.name().partition(".")[0] == name.partition(".")[0]:
        return "fp32_append_dtype"
    if torch.bfloat16 in dtypes:
        return "lower_precision_fp"
    return "fp32" if _casts_in_spite_of_a_dtype(op, key) else "fp32_set_opt_dtype"


def _casts_in_spite_of_a_dtype(op: Any, key: str) -> bool:
    """Return whether the operator casts to float32 regardless of its argument ``dtype``, if it has one."""
    if not any(argument.name == "dtype" for argument in op._schema.arguments):
        return True
    try:
        return torch.float32 in _first_call(op, key, torch.float64)[1]
    except RuntimeError:  # it got past the cast
        return False


def _first_call(op: Any, key: str, dtype: torch.dtype | None) -> tuple[Any, set[torch.dtype]]:
    """The first operator called inside, and the dtypes of its arguments."""
    args, kwargs = _arguments(op, DEVICES[key], dtype)
    mode = FirstCall()
    try:
        with torch.no_grad(), mode:
            op.redispatch(torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key)), *args, **kwargs)
    except Stop:
        func, args, kwargs = mode.seen
        return func, {value for value in (*args, *kwargs.values()) if isinstance(value, torch.dtype)}
    raise RuntimeError(f"{op} under {key} called nothing")


def registered(key: str) -> list[str]:
    """The operators that have a kernel of their own under a key in each build."""
    names = torch._C._dispatch_get_all_op_names()
    found = (name for name in names if torch._C._dispatch_has_kernel_for_dispatch_key(name, key))
    return sorted(name for name in found if not only_in_cuda_builds(_registered_at(name, key)))


def _registered_at(name: str, key: str) -> str:
    lines = torch._C._dispatch_dump(name).splitlines()
    return str(next(line for line in lines if line.startswith(f"{key}: ")))


def everything() -> dict[str, Any]:
    """The contents of the file."""
    found: dict[str, Any] = {"torch": torch.__version__.split("+")[0]}
    for key, device in DEVICES.items():
        torch.set_autocast_dtype(device, torch.bfloat16)
        found[key] = {name: policy(name, key) for name in registered(key)}
    return found


def files(part: str) -> Iterator[tuple[Path, str]]:
    """The file and its text."""
    yield records.HERE / "autocast_policies.json", json_text(everything())
