"""``Variable``: the former name of tensors with a history (``torch/autograd/variable.py``)."""

from __future__ import annotations

from typing import Any

from dispatchviz.core.autograd.variables.requires_grad_flag import set_requires_grad
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.tensor.dtype import default_dtype
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.torch._C._engine import ImperativeEngine

__all__ = ["Variable", "VariableMeta"]


class VariableMeta(type):
    """The metaclass that makes every tensor a Variable."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class Variable(metaclass=VariableMeta):
    """The old constructor, which returns a detached alias of a tensor. Raise TypeError for anything but a tensor."""

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False) -> Any:
        if data is None:
            return ops.empty_memory_format.call((0,), default_dtype(), None, None, None, None)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        variable = ops.detach.call(data)
        set_requires_grad(variable, requires_grad)
        return variable
