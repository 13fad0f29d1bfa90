"""``torch.nn.Parameter`` and ``Buffer`` (``torch/nn/parameter.py``): tensors that modules register."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from dispatchviz.core.python_side.tensor_subclass import make_subclass
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.tensor.tensor_meta import TensorMeta, disabled_torch_function_impl
from dispatchviz.torch import _utils
from dispatchviz.torch._namespace import torch


class _ParameterMeta(TensorMeta):
    """The metaclass for which a subclass of Tensor marked with ``_is_param`` counts as a Parameter."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return type.__instancecheck__(cls, instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that modules list among their parameters. It requires grad by default.

    Raise RuntimeError for a dtype that cannot require grad.
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

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        backward_hooks: OrderedDict[Any, Any] = OrderedDict()
        arguments, state = (self.data, self.requires_grad, backward_hooks), vars(self)
        if state:
            return _utils._rebuild_parameter_with_state, (*arguments, state)
        return _utils._rebuild_parameter, arguments

    __torch_function__ = staticmethod(disabled_torch_function_impl)


class _BufferMeta(TensorMeta):
    """The metaclass for which every tensor marked with ``_is_buffer`` counts as a Buffer."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False):
            return True
        return type.__instancecheck__(cls, instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A constructor of plain, marked tensors, which become buffers when they are assigned to an attribute of a
    module.
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = torch.empty(0)
        marked = data.detach().requires_grad_(data.requires_grad)
        marked.persistent = persistent
        marked._is_buffer = True
        return marked

    __torch_function__ = staticmethod(disabled_torch_function_impl)


_ALLOWED = (
    *("__hash__", "size", "copy_", "is_complex", "is_floating_point", "half", "float", "double", "char", "short"),
    *("int", "long", "cuda", "cpu", "to", "get_device"),
)
"""The methods that an uninitialized tensor has."""


class UninitializedTensorMixin:
    """A mixin for uninitialized tensors, which a lazy module materializes at its first call."""

    cls_to_become: type

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Allocate memory, by default of the tensor's own dtype and device. Afterwards it is an ordinary tensor."""
        device, dtype = device or self.data.device, dtype or self.data.dtype
        self.data = torch.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """RuntimeError: there is no shape yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        """Raise RuntimeError."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{self.__class__.__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return self.__class__, (self.requires_grad,)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Allow moves and casts. Raise ValueError for other functions."""
        plain = func.__class__.__name__ == "method-wrapper" or func is torch._has_compatible_shallow_copy_type
        if plain or any(func is getattr(torch.Tensor, name) for name in _ALLOWED):
            return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc]
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{cls.__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """An uninitialized parameter, with dtype and device but without a shape."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """An uninitialized buffer, with dtype and device but without a shape."""

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        buffer = make_subclass(cls, torch.empty(0, device=device, dtype=dtype), requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def is_lazy(param: Any) -> bool:
    """Return whether a parameter or buffer is uninitialized."""
    return isinstance(param, UninitializedTensorMixin)


def new_parameter(module: Any, name: str, size: Any, device: Any, dtype: Any, wanted: bool = True) -> None:
    """Register an uninitialized Parameter as an attribute, or None in its place."""
    if wanted:
        setattr(module, name, torch.nn.Parameter(torch.empty(size, device=device, dtype=dtype)))
    else:
        module.register_parameter(name, None)
