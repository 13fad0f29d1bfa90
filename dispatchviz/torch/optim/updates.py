"""What the updates of all optimizers have in common: single tensors or lists, numbers or tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dispatchviz.core.tensor.dtype import bfloat16, default_dtype, float32
from dispatchviz.torch._namespace import torch

_FOREACH_DEVICES = ("cuda",)
_FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]
"""Devices for which PyTorch has such kernels; it takes lists by default where they are faster."""


def _plain(parameter: Any) -> bool:
    return type(parameter) in (torch.Tensor, torch.nn.Parameter)


def default_to_foreach(params: list[Any], differentiable: bool) -> bool:
    """Return whether updates use foreach kernels by default."""
    return not differentiable and all(
        parameter is None or (_plain(parameter) and parameter.device.type in _FOREACH_DEVICES) for parameter in params
    )


def check_device_for_fused(parameter: Any) -> None:
    """RuntimeError for a parameter that no fused kernel takes."""
    if not (parameter.device.type in _FUSED_DEVICES and torch.is_floating_point(parameter)):
        raise RuntimeError(
            f"`fused=True` requires all the params to be floating point Tensors of supported devices: {_FUSED_DEVICES} "
            f"but {parameter.dtype} and {parameter.device.type}"
        )


def scalar_dtype(fused: bool | None = False) -> Any:
    """Of counters of steps; fused kernels read float32."""
    return torch.float64 if default_dtype() is torch.float64 and not fused else torch.float32


def counter(parameter: Any, group: dict[str, Any]) -> Any:
    """A step counter: on the parameter's device if a kernel reads it, else on the CPU, without synchronization."""
    fused = group.get("fused")
    if fused or group.get("capturable"):
        return torch.zeros((), dtype=scalar_dtype(fused), device=parameter.device)
    return torch.tensor(0.0, dtype=scalar_dtype(fused))


def check_capturable(parts: tuple[Any, ...], names: str = "params and state_steps", supports_xla: bool = True) -> None:
    """AssertionError unless everything of a parameter is on one device that can capture it."""
    kinds = {part.device.type for part in parts}
    supported = ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]
    if len(kinds) != 1 or not kinds <= set(supported):
        raise AssertionError(f"If capturable=True, {names} must be on supported devices: {supported}.")


def allow_fused(optimizer: Any, fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """RuntimeError for what fused kernels cannot do; a ``GradScaler`` leaves the scale to them."""
    if not fused:
        return
    if differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    optimizer._step_supports_amp_scaling = True
    if foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_no_scale(grad_scale: Any, found_inf: Any) -> None:
    """AssertionError for a ``grad_scale``, which only fused kernels take."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError("Expected grad_scale and found_inf to be None")


def make_counters_tensors(states: Any, group: dict[str, Any]) -> None:
    """Of a state that older optimizers saved, which counted in numbers."""
    for parameter in group["params"]:
        state = states.get(parameter)
        if not state or torch.is_tensor(state["step"]):
            continue
        beside = group.get("capturable") or group.get("fused")
        options = {"device": parameter.device} if beside else {}
        state["step"] = torch.tensor(float(state["step"]), dtype=scalar_dtype(group.get("fused")), **options)


def of_fused_kernels(lr: Any, grad_scale: Any, found_inf: Any, device: Any) -> tuple[Any, dict[str, Any]]:
    """A rate, a scale and a flag where a group's kernel reads them; a rate on the CPU stays there."""
    if isinstance(lr, torch.Tensor) and lr.device not in (torch.device("cpu"), device):
        lr = lr.to(device=device, non_blocking=True)
    given = {"grad_scale": grad_scale, "found_inf": found_inf}
    return lr, {name: None if one is None else one.to(device, non_blocking=True) for name, one in given.items()}


def uncount_steps(steps: list[Any], found_inf: Any) -> None:
    """One less where a gradient was not finite."""
    if found_inf is not None:
        torch._foreach_sub_(steps, [found_inf] * len(steps))


def to_scalar(value: Any) -> Any:
    """A tensor of one element without dimensions; anything else as it is."""
    return value.squeeze() if isinstance(value, torch.Tensor) and value.dim() != 0 else value


def value_of(value: Any) -> Any:
    """The number in a tensor."""
    return value.item() if isinstance(value, torch.Tensor) else value


def grouped(*lists: list[Any]) -> Iterator[tuple[list[list[Any]], list[int]]]:
    """Parallel lists grouped by the device and dtype of the first one's tensors, with their indices.

    PyTorch keeps the groups in a hash map, which puts a new one first, but a bfloat16 one right before a float32 one
    and the other way round, since these two fall into one bucket. NB: true of one device; several were not measured.
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
    """Of what belongs to a complex parameter, each as pairs of real numbers; a missing one stays missing."""
    return [None if tensor is None else torch.view_as_real(tensor) for tensor in tensors]


def view_as_real(params: list[Any], *states: list[Any]) -> None:
    """Replace complex parameters and their states by such views, in lists that a group owns."""
    for i, parameter in enumerate(params):
        if torch.is_complex(parameter):
            for values in (params, *filter(None, states)):
                values[i] = torch.view_as_real(values[i])


def chosen(
    foreach: bool | None, fused: bool | None, params: list[Any], differentiable: bool = False
) -> tuple[bool, bool]:
    """Choose single tensor, foreach or fused."""
    if foreach is None and fused is None:
        foreach = default_to_foreach(params, differentiable)
    return bool(foreach), bool(fused)


def run_closure(closure: Any) -> Any:
    """The loss, computed again with Nodes."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def check_ranges(lr: Any, named: dict[str, Any]) -> None:
    """ValueError for an option below 0, and for a rate of several numbers."""
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    for name, value in named.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {name}: {value}")


def count_steps(steps: list[Any]) -> None:
    """One more, all at once; on the CPU a tensor is added, so that a number need not become one for every step."""
    if steps[0].device.type == "cpu":
        torch._foreach_add_(steps, torch.tensor(1.0, device="cpu"), alpha=1.0)
    else:
        torch._foreach_add_(steps, 1)
