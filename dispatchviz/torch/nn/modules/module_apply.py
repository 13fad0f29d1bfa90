"""Conversion and moves of a module's tensors: ``to``, ``cuda``, ``double``, ``apply`` (``Module._apply``)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

from dispatchviz.torch._namespace import torch
from dispatchviz.torch.nn.modules.named_members import members_changed

Convert = Callable[[Any], Any]


class ApplyMixin:
    """The part of ``Module`` that replaces the data of its tensors."""

    _buffers: dict[str, Any]
    _parameters: dict[str, Any]
    children: Callable[[], Iterator[Any]]

    def _apply(self, fn: Convert, recurse: bool = True) -> Any:
        """Apply ``fn`` to every tensor: submodules first, then own parameters with their gradients, then buffers."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is not None:
                self._convert_parameter(fn, name, parameter)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._convert_buffer(fn, name, buffer)
        return self

    def _convert_buffer(self, fn: Convert, name: str, buffer: Any) -> None:
        converted = self._buffers[name] = fn(buffer)
        if converted is not buffer:
            members_changed(self)

    def _convert_parameter(self, fn: Convert, name: str, parameter: Any) -> None:
        """Convert a parameter: the same object with other data if the types allow it, else a new Parameter."""
        with torch.no_grad():
            converted = fn(parameter)
        gradient = parameter.grad
        if torch._has_compatible_shallow_copy_type(parameter, converted):
            parameter.data = converted
        else:
            parameter = torch.nn.Parameter(converted, parameter.requires_grad)
            self._parameters[name] = parameter
            members_changed(self)
        if gradient is None:
            return
        with torch.no_grad():
            converted = fn(gradient)
        if torch._has_compatible_shallow_copy_type(gradient, converted):
            parameter.grad.data = converted
        else:
            parameter.grad = converted.requires_grad_(gradient.requires_grad)

    def apply(self, fn: Callable[[Any], Any]) -> Any:
        """Apply ``fn`` to every submodule, then to this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def cuda(self, device: Any = None) -> Any:
        """Move all tensors to a CUDA device."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def cpu(self) -> Any:
        """Move all tensors to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def type(self, dst_type: Any) -> Any:
        """Convert all tensors to a dtype."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def share_memory(self) -> Any:
        """Mark all parameters and buffers as shared between processes."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def float(self) -> Any:
        """Convert floating tensors to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Any:
        """Convert floating tensors to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Any:
        """Convert floating tensors to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Any:
        """Convert floating tensors to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Any:
        """Replace all tensors by uninitialized ones of the same shapes on a device."""
        return self._apply(lambda tensor: torch.empty_like(tensor, device=device), recurse=recurse)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Move all tensors to a device, and convert floating ones to a dtype. Raise TypeError for an integral dtype."""
        device, dtype, non_blocking, format = torch._C._nn._parse_to(*args, **kwargs)
        if dtype is not None:
            _check_dtype(dtype)

        def convert(tensor: Any) -> Any:
            fits = tensor.is_floating_point() or tensor.is_complex()
            options = {"memory_format": format} if format is not None and tensor.dim() in (4, 5) else {}
            try:
                return tensor.to(device, dtype if fits else None, non_blocking, **options)
            except NotImplementedError as error:
                if str(error) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
                    "from meta to a different device."
                ) from None

        return self._apply(convert)


def _check_dtype(dtype: Any) -> None:
    if not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
    if dtype.is_complex:
        warnings.warn(
            "Complex modules are a new feature under active development whose design may change, and some modules "
            "might not work as expected when using complex tensors as parameters or buffers. Please file an issue at "
            "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a complex module does not work "
            "as expected.",
            stacklevel=3,
        )
