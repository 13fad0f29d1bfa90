"""``torch.nn.Parameter`` and ``Buffer`` (``torch/nn/parameter.py``): tensors that say what they are to modules."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.tensor import Tensor
from dispatchviz.core.tensor_meta import TensorMeta, disabled_torch_function_impl
from dispatchviz.core.tensor_subclass import make_subclass
from dispatchviz.torch._face import torch


class _ParameterMeta(TensorMeta):
    """A subclass of Tensor that was marked with ``_is_param`` counts as a Parameter."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return type.__instancecheck__(cls, instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that modules list among their parameters; requires grad unless told otherwise.

    RuntimeError for a dtype that cannot require grad.
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = torch.empty(0)
        if type(data) is Tensor or type(data) is Parameter:
            return make_subclass(cls, data, requires_grad)
        parameter = data.detach().requires_grad_(requires_grad)
        if type(parameter) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns "
                f"an instance of the same type, but return type {type(parameter).__name__} was found instead. To use "
                "the type as a Parameter, please correct the detach() semantics defined by its __torch_dispatch__() "
                "implementation."
            )
        parameter._is_param = True
        return parameter

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            original: Any = self
            data = original.data.clone(memory_format=torch.preserve_format)
            memo[id(self)] = type(self)(data, original.requires_grad)
        return memo[id(self)]

    __torch_function__ = staticmethod(disabled_torch_function_impl)


class _BufferMeta(TensorMeta):
    """Every tensor that was marked with ``_is_buffer`` counts as a Buffer."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False):
            return True
        return type.__instancecheck__(cls, instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """Makes a plain, marked tensor, which becomes a buffer when it is assigned to an attribute of a module."""

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = torch.empty(0)
        marked = data.detach().requires_grad_(data.requires_grad)
        marked.persistent = persistent
        marked._is_buffer = True
        return marked

    __torch_function__ = staticmethod(disabled_torch_function_impl)


def is_lazy(param: Any) -> bool:
    """Whether a parameter waits for its shape. NB: in PyTorch, lazy modules have such; there are none here."""
    return False
