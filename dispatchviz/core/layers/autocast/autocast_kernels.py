"""Autocast kernels for AutocastCPU and AutocastCUDA, one function per cast policy (``WrapFunction_`` of
``aten/src/ATen/autocast_mode.h``).

Rule 1: a kernel excludes its own Autocast key, casts the arguments, and calls the *operator* again. That is a full
call, not a redispatch, so autograd sees the casts and everything below sees their results.
Rule 2: arguments are cast from the last to the first. C++ leaves the order open. This is the order of the release
builds, and the sequence numbers of the casts' Nodes show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dispatchviz.core.call.aten import find
from dispatchviz.core.call.dispatcher import boxed_keys, call
from dispatchviz.core.keys.keys import KEY_BITS, DispatchKey
from dispatchviz.core.layers.autocast.autocast_mode import KEYS, cached_cast, get_autocast_dtype, is_eligible
from dispatchviz.core.layers.autocast.autocast_policies import APPENDED, POLICIES, CastPolicy
from dispatchviz.core.tensor.dtype import DType, float32, float64
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.guards import ExcludeDispatchKeyGuard

Wrapper = Callable[..., Any]
"""A kernel, which is called with the key set and all arguments of the schema."""

BANNED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


# -- the policies ------------------------------------------------------------------------------------------------------


def _lower_precision_fp(name: str, device_type: str) -> Wrapper:
    def lower_precision_fp(ks: int, *args: Any) -> Any:
        with _no_autocast(device_type):
            return _call_again(name, cast_all(get_autocast_dtype(device_type), args, device_type))

    return lower_precision_fp


def _fp32(name: str, device_type: str) -> Wrapper:
    def fp32(ks: int, *args: Any) -> Any:
        with _no_autocast(device_type):
            return _call_again(name, cast_all(float32, args, device_type))

    return fp32


def _fp32_set_opt_dtype(name: str, device_type: str) -> Wrapper:
    def fp32_set_opt_dtype(ks: int, *args: Any) -> Any:
        with _no_autocast(device_type):
            if is_eligible(args[0], device_type):
                args = _with_opt_dtype(name, args)
            return _call_again(name, args)

    return fp32_set_opt_dtype


def _fp32_append_dtype(name: str, device_type: str) -> Wrapper:
    def fp32_append_dtype(ks: int, *args: Any) -> Any:
        with _no_autocast(device_type):
            dtype = float32 if is_eligible(args[0], device_type) else args[0]._dtype
            return _call_again(APPENDED[name], (*args, dtype))

    return fp32_append_dtype


def _promote(name: str, device_type: str) -> Wrapper:
    def promote(ks: int, *args: Any) -> Any:
        with _no_autocast(device_type):
            dtype = promote_type(get_autocast_dtype(device_type), device_type, args)
            return _call_again(name, cast_all(dtype, args, device_type))

    return promote


def _banned(name: str, device_type: str) -> Wrapper:
    def banned(ks: int, *args: Any) -> Any:
        raise RuntimeError(BANNED)

    return banned


# -- shared helpers ----------------------------------------------------------------------------------------------------


def _no_autocast(device_type: str) -> ExcludeDispatchKeyGuard:
    return ExcludeDispatchKeyGuard(KEY_BITS[KEYS[device_type]])


def _call_again(name: str, args: Sequence[Any]) -> Any:
    op = find(f"aten::{name}")
    kernel, ks = call(op, boxed_keys(op, args))
    return kernel(ks, *args)


def cast_all(dtype: DType, args: Sequence[Any], device_type: str) -> list[Any]:
    """Return the arguments with all tensors cast to a dtype, including members of lists, in the order of Rule 2."""
    cast = [_cast(dtype, arg, device_type) for arg in reversed(args)]
    cast.reverse()
    return cast


def _cast(dtype: DType, arg: Any, device_type: str) -> Any:
    if isinstance(arg, Tensor):
        return cached_cast(dtype, arg, device_type)
    if isinstance(arg, (list, tuple)) and any(isinstance(member, Tensor) for member in arg):
        return [_cast(dtype, member, device_type) for member in arg]
    return arg


def _with_opt_dtype(name: str, args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments with float32 for each dtype that the caller could pass and did not."""
    arguments = find(f"aten::{name}").schema.arguments
    unset = [value is None and argument.type == "ScalarType?" for argument, value in zip(arguments, args, strict=True)]
    return tuple(float32 if is_unset else value for is_unset, value in zip(unset, args, strict=True))


def promote_type(current: DType, device_type: str, args: Iterable[Any]) -> DType:
    """The dtype float32 if any eligible argument has it, else the lower precision. float64 does not count.

    Raise RuntimeError if an argument has another lower precision than the device.
    """
    lower = get_autocast_dtype(device_type)
    if current is float64:
        raise RuntimeError("promote type is double in at::autocast::prioritize")
    for tensor in _tensors(args):
        if not is_eligible(tensor, device_type):
            continue
        if float32 in (current, tensor._dtype):
            current = float32
        elif not current is tensor._dtype is lower:
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return current


def _tensors(args: Iterable[Any]) -> Iterable[Tensor]:
    for arg in args:
        if isinstance(arg, Tensor):
            yield arg
        elif isinstance(arg, (list, tuple)):
            yield from _tensors(arg)


# -- the tables --------------------------------------------------------------------------------------------------------

_WRAPPERS: dict[CastPolicy, Callable[[str, str], Wrapper]] = {
    CastPolicy.lower_precision_fp: _lower_precision_fp,
    CastPolicy.fp32: _fp32,
    CastPolicy.fp32_set_opt_dtype: _fp32_set_opt_dtype,
    CastPolicy.fp32_append_dtype: _fp32_append_dtype,
    CastPolicy.promote: _promote,
    CastPolicy.banned: _banned,
}

_DEVICES = {key: device_type for device_type, key in KEYS.items()}


def _kernels(key: DispatchKey) -> dict[str, Wrapper]:
    return {name: _WRAPPERS[policy](name, _DEVICES[key]) for policy, names in POLICIES[key].items() for name in names}


KERNELS: dict[DispatchKey, dict[str, Wrapper]] = {key: _kernels(key) for key in POLICIES}
"""The kernels by key and by operator without ``aten::``."""
