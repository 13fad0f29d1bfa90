"""Conversion of parameters to one vector, and back (``torch/nn/utils/convert_parameters.py``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dispatchviz.torch._namespace import torch


def _check_devices(parameters: list[Any]) -> None:
    if len({parameter.device if parameter.device.type == "cuda" else "cpu" for parameter in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """Return all values in one dimension. Raise TypeError for parameters on several devices."""
    owners = list(parameters)
    _check_devices(owners)
    return torch.cat([parameter.view(-1) for parameter in owners])


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Make each parameter a part of the vector. Raise TypeError for anything but a tensor, and for several devices."""
    if not isinstance(vec, torch.Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {torch.typename(vec)}")
    owners, start = list(parameters), 0
    _check_devices(owners)
    for parameter in owners:
        count = parameter.numel()
        parameter.data = vec[start : start + count].view_as(parameter).data
        start += count
