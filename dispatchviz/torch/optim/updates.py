"""The common parts of all optimizers' updates: single tensors or lists, numbers or tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dispatchviz.core.tensor.dtype import bfloat16, default_dtype, float32
from dispatchviz.torch._namespace import torch

_FOREACH_DEVICES = ("cuda",)
_FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]
"""Devices that have fused kernels in PyTorch. PyTorch uses lists by default on the devices where they are faster."""


def _plain(parameter: Any) -> bool:
    return type(parameter) in (torch.Tensor, torch.nn.Parameter)


def default_to_foreach(params: list[Any], differentiable: bool) -> bool:
    """Return whether updates use foreach kernels by default."""
    return not differentiable and all(
        parameter is None or (_plain(parameter) and parameter.device.type in _FOREACH_DEVICES) for parameter in params
    )


def check_device_for_fused(parameter: Any) -> None:
    """Raise RuntimeError for a parameter that fused kernels do not accept."""
    if not (parameter.device.type in _FUSED_DEVICES and torch.is_floating_point(parameter)):
        raise RuntimeError(
            f"`fused=True` requires all the params to be floating point Tensors of supported devices: {_FUSED_DEVICES} "
            f"but {parameter.dtype} and {parameter.device.type}"
        )


def scalar_dtype(fused: bool | None = False) -> Any:
    """Return the dtype of step counters; fused kernels read float32."""
    return torch.float64 if default_dtype() is torch.float64 and not fused else torch.float32


def counter(parameter: Any, group: dict[str, Any]) -> Any:
    """Return a step counter: on the parameter's device if a kernel reads it, else on the CPU, to avoid
    synchronization.
    """
    fused = group.get("fused")
    if fused or group.get("capturable"):
        return torch.zeros((), dtype=scalar_dtype(fused), device=parameter.device)
    return torch.tensor(0.0, dtype=scalar_dtype(fused))


def check_capturable(parts: tuple[Any, ...], names: str = "params and state_steps", supports_xla: bool = True) -> None:
    """Raise AssertionError unless all parts of a parameter are on one device that can capture it."""
    kinds = {part.device.type for part in parts}
    supported = ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]
    if len(kinds) != 1 or not kinds <= set(supported):
        raise AssertionError(f"If capturable=True, {names} must be on supported devices: {supported}.")


def allow_fused(optimizer: Any, fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """Raise RuntimeError for options that fused kernels do not support. Let a ``GradScaler`` pass the scale to them."""
    if not fused:
        return
    if differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    optimizer._step_supports_amp_scaling = True
    if foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_no_scale(grad_scale: Any, found_inf: Any) -> None:
    """Raise AssertionError for a ``grad_scale``, which only fused kernels accept."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")


def make_counters_tensors(states: Any, group: dict[str, Any]) -> None:
    """Convert the number counters that older optimizers saved to tensors."""
    for parameter in group["params"]:
        state = states.get(parameter)
        if not state or torch.is_tensor(state["step"]):
            continue
        beside = group.get("capturable") or group.get("fused")
        options = {"device": parameter.device} if beside else {}
        state["step"] = torch.tensor(float(state["step"]), dtype=scalar_dtype(group.get("fused")), **options)


def moved_for_fused_kernel(lr: Any, grad_scale: Any, found_inf: Any, device: Any) -> tuple[Any, dict[str, Any]]:
    """Move a rate, a scale and a flag to the device of a group's kernel; a rate on the CPU stays there."""
    if isinstance(lr, torch.Tensor) and lr.device not in (torch.device("cpu"), device):
        lr = lr.to(device=device, non_blocking=True)
    given = {"grad_scale": grad_scale, "found_inf": found_inf}
    return lr, {name: None if one is None else one.to(device, non_blocking=True) for name, one in given.items()}


def uncount_steps(steps: list[Any], found_inf: Any) -> None:
    """Decrement the counters if a gradient was not finite."""
    if found_inf is not None:
        torch._foreach_sub_(steps, [found_inf] * len(steps))


def to_scalar(value: Any) -> Any:
    """Return a tensor of one element without dimensions, and anything else unchanged."""
    return value.squeeze() if isinstance(value, torch.Tensor) and value.dim() != 0 else value


def value_of(value: Any) -> Any:
    """Return the number in a tensor, and anything else unchanged."""
    return value.item() if isinstance(value, torch.Tensor) else value


def grouped(*lists: list[Any]) -> Iterator[tuple[list[list[Any]], list[int]]]:
    """Yield parallel lists grouped by the device and dtype of the first list's tensors, with their indices.

    PyTorch keeps the groups in a hash map. It puts a new group first, except that bfloat16 and float32 share a bucket,
    so the later one comes right before the other. NB: this holds for one device; several were not measured.
    """
    indices: dict[Any, list[int]] = {}
    for index, tensor in enumerate(lists[0]):
        indices.setdefault((tensor.device, tensor.dtype), []).append(index)
    for key in _in_order_of_hash_map(list(indices)):
        found = indices[key]
        yield [[values[index] for index in found] if values else [] for values in lists], found


def _in_order_of_hash_map(keys: list[Any]) -> list[Any]:
    order: list[Any] = []
    for device, dtype in keys:
        mates = [(device, mate) for mate in _ONE_BUCKET if dtype in _ONE_BUCKET and (device, mate) in order]
        order.insert(order.index(mates[0]) if mates else 0, (device, dtype))
    return order


_ONE_BUCKET = (float32, bfloat16)


def real_views(*tensors: Any) -> list[Any]:
    """View the state tensors of a complex parameter as real; None stays None."""
    return [None if tensor is None else torch.view_as_real(tensor) for tensor in tensors]


def view_as_real(params: list[Any], *states: list[Any]) -> None:
    """Replace complex parameters and their states by real views, in lists that a group owns."""
    for i, parameter in enumerate(params):
        if torch.is_complex(parameter):
            for values in (params, *filter(None, states)):
                values[i] = torch.view_as_real(values[i])


def chosen(
    foreach: bool | None, fused: bool | None, params: list[Any], differentiable: bool = False
) -> tuple[bool, bool]:
    """Return whether to use foreach kernels and whether to use a fused one."""
    if foreach is None and fused is None:
        foreach = default_to_foreach(params, differentiable)
    return bool(foreach), bool(fused)


def run_closure(closure: Any) -> Any:
    """Compute the loss again, with Nodes. Return None without a closure."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def check_ranges(lr: Any, named: dict[str, Any]) -> None:
    """Raise ValueError for a negative option, and for a rate of several numbers."""
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    for name, value in named.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {name}: {value}")


def count_steps(steps: list[Any]) -> None:
    """Increment all counters at once. On the CPU a tensor is added, which avoids a conversion for every counter."""
    if steps[0].device.type == "cpu":
        torch._foreach_add_(steps, torch.tensor(1.0, device="cpu"), alpha=1.0)
    else:
        torch._foreach_add_(steps, 1)
