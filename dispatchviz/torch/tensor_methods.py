"""The attributes, operators and methods of Tensor beside the generated bindings (``torch/_tensor.py``).

``install`` puts all of them on the class, once.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from types import FunctionType
from typing import Any

from dispatchviz.core.autograd.engine import backward_grad
from dispatchviz.core.autograd.hooks import tensor_hooks
from dispatchviz.core.autograd.variables import grad_attribute, requires_grad_flag, variable
from dispatchviz.core.bindings import python_bindings_manual as manual
from dispatchviz.core.bindings.binding import Alias, Binding, bind
from dispatchviz.core.bindings.python_arg_parser import PythonArgParser
from dispatchviz.core.bindings.torch_function import handle_torch_function, multiple_dispatch_failed, overrides
from dispatchviz.core.device.device import Device
from dispatchviz.core.generated import operators as ops
from dispatchviz.core.generated import python_bindings as bindings
from dispatchviz.core.keys.key_set import python_ks
from dispatchviz.core.layers.functionalization.functional_wrapper import is_functional_tensor
from dispatchviz.core.tensor import conj_neg_bits
from dispatchviz.core.tensor import dtype as dtypes
from dispatchviz.core.tensor.tensor import Tensor, numel
from dispatchviz.core.tensor.tensor_meta import root_of
from dispatchviz.core.thread.guards import ENABLED
from dispatchviz.core.thread.thread_state import thread
from dispatchviz.core.thread.warning import warn_python_once
from dispatchviz.torch import (
    _tensor,
    indexing,
    lacking_methods,
    legacy_constructors,
    python_variable_methods,
    removed_linalg,
    storage,
    tensor_conversions,
    tensor_properties,
    to_numpy,
    unique_elements,
)
from dispatchviz.torch.as_tensor import new_tensor_like
from dispatchviz.torch.formats import strided
from dispatchviz.torch.functional import norm, stft
from dispatchviz.torch.size import Size
from dispatchviz.torch.split_meshgrid import split_method
from dispatchviz.torch.tensor_properties import read_only, undeletable
from dispatchviz.torch.tensor_repr import formatted, text

_SHORTHANDS = {
    "bool": dtypes.bool_,
    "byte": dtypes.uint8,
    "char": dtypes.int8,
    "short": dtypes.int16,
    "int": dtypes.int32,
    "long": dtypes.int64,
    "half": dtypes.float16,
    "bfloat16": dtypes.bfloat16,
    "float": dtypes.float32,
    "double": dtypes.float64,
    "cfloat": dtypes.complex64,
    "cdouble": dtypes.complex128,
}

_OPERATORS = {
    "__add__": "add",
    "__radd__": "add",
    "__sub__": "sub",
    "__mul__": "mul",
    "__rmul__": "mul",
    "__truediv__": "div",
    "__matmul__": "matmul",
    "__mod__": "remainder",
    "__rand__": "bitwise_and",
    "__ror__": "bitwise_or",
    "__rxor__": "bitwise_xor",
    "__iadd__": "add_",
    "__isub__": "sub_",
    "__imul__": "mul_",
    "__itruediv__": "div_",
    "__imod__": "remainder_",
    "__ifloordiv__": "floor_divide_",
}
"""Python's operators and the method for each."""

_COMPARISONS = {
    "__eq__": "eq",
    "__ne__": "ne",
    "__lt__": "lt",
    "__le__": "le",
    "__gt__": "gt",
    "__ge__": "ge",
}
"""Python's comparisons and the method for each."""


def install(cls: type[Tensor]) -> None:
    """Install the attributes and methods of Tensor."""
    bind(vars(bindings), cls)
    bind(vars(manual), cls)
    bind(manual.shorthands(_SHORTHANDS), cls)
    for name, method in _OPERATORS.items():
        setattr(cls, name, Alias(f"Tensor.{name}", getattr(cls, method)))
    for name, method in _COMPARISONS.items():
        setattr(cls, name, _comparison(name, getattr(cls, method)))
    for name, value in {**_METHODS, **indexing.METHODS, **_PROPERTIES, **lacking_methods.LACKING}.items():
        setattr(cls, name, value)
    for function in (_backward, _register_hook, _register_post_accumulate_grad_hook):  # TypeErrors name them
        name = function.__name__.removeprefix("_")
        function.__name__, function.__qualname__ = name, f"Tensor.{name}"
    _set_names(cls)
    _make_overridable(cls)
    cls.__hash__ = _identity  # type: ignore[assignment,method-assign]  # by identity, although == compares elements


def _comparison(name: str, binding: Binding) -> Callable[..., Any]:
    """Return a comparison as a plain function. Python binds any other descriptor by calling its ``__get__``, and
    ``slot_tp_richcompare`` drops an exception that a signal handler raises there.
    """
    alias = Alias(f"Tensor.{name}", binding)

    def compare(*args: Any, **kwargs: Any) -> Any:
        return alias(*args, **kwargs)

    compare.__name__, compare.__qualname__ = name, alias.__qualname__
    return compare


def _set_names(cls: type[Tensor]) -> None:
    """Set ``__name__`` and ``__qualname__`` of the methods as in PyTorch, for ``__torch_function__``."""
    for name, value in (_METHODS | indexing.METHODS).items():
        given = getattr(value, "__name__", name)
        if isinstance(value, FunctionType) and given != name and (given in _RENAMED or re.match("_[^_]|<", given)):
            value.__name__, value.__qualname__ = name, f"Tensor.{name}"


_RENAMED = (
    "method",
    "operator",
    "new_tensor_like",
    "split_method",
    "text",
    "numpy",
    "array",
    "deepcopy",
    "reduce_ex",
)


def _make_overridable(cls: type[Tensor]) -> None:
    """Route attributes and plain methods of subclasses through their ``__torch_function__``.

    NB: in PyTorch, modes see those of plain tensors too.
    """
    root = root_of(cls)
    for name, value in _PROPERTIES.items():
        setattr(root, name, _overridable_property(name, value))
    for name, value in (_METHODS | indexing.METHODS).items():
        if not name.startswith("__") or name in _OVERRIDABLE:
            setattr(root, name, _overridable_method(name, value))


_OVERRIDABLE = {
    *("__repr__", "__format__", "__len__", "__contains__", "__reversed__", "__dir__", "__array__", "__array_wrap__"),
    *("__bool__", "__float__", "__int__", "__complex__", "__index__", "__invert__", "__reduce_ex__"),
    *("__rsub__", "__rdiv__", "__rtruediv__", "__rpow__", "__rmod__", "__floordiv__", "__rfloordiv__"),
    *("__rlshift__", "__rrshift__", "__rmatmul__"),
}
"""Methods in Python that call ``__torch_function__`` themselves. For the others, the operator that they call does."""

_POSITIONAL = {"split": 1} | dict.fromkeys(("norm", "unique", "backward", "__repr__", "__array__", "__array_wrap__"), 0)
"""Methods that PyTorch writes in Python, and how many arguments they pass by position. All others are passed by name,
defaults included.
"""


def _torch_function_arguments(name: str, plain: Any, args: tuple[Any, ...], kwargs: Any) -> tuple[tuple[Any, ...], Any]:
    if name not in _POSITIONAL:
        return args, kwargs
    bound = inspect.signature(plain).bind(None, *args, **kwargs)
    bound.apply_defaults()
    _, *given = bound.arguments.items()
    count = _POSITIONAL[name]
    return tuple(value for _, value in given[:count]), dict(given[count:])


def _overridable_property(name: str, plain: property) -> property:
    def read(self: Tensor) -> Any:
        if overrides(type(self)) and thread.state.torch_function == ENABLED:
            return _call_torch_function(f"{name}.__get__", plain.__get__, self, ())
        return plain.__get__(self)

    def write(self: Tensor, value: Any) -> None:
        if overrides(type(self)) and thread.state.torch_function == ENABLED:
            _call_torch_function(f"{name}.__set__", plain.__set__, self, (value,))
        else:
            plain.__set__(self, value)

    return property(read, write, plain.fdel)


def _overridable_method(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        if overrides(type(self)) and thread.state.torch_function == ENABLED:
            return _call_torch_function(name, plain, self, *_torch_function_arguments(name, plain, args, kwargs))
        return plain(self, *args, **kwargs)

    method.__name__ = name
    return method


def _call_torch_function(name: str, function: Any, self: Tensor, args: tuple[Any, ...], kwargs: Any = None) -> Any:
    result = handle_torch_function(function, [self], (self, *args), kwargs or {})
    if result is NotImplemented:
        raise multiple_dispatch_failed(f"torch.Tensor.{name}", [self])
    return result


def _identity(self: Tensor) -> int:
    return id(self)


# -- attributes --------------------------------------------------------------------------------------------------------


def _set_requires_grad(self: Tensor, value: bool) -> None:
    requires_grad_flag.set_requires_grad(self, value)


def _set_part(part: Any, self: Tensor, value: Any) -> None:
    target = part.call(self)
    ops.copy_.call(target, indexing.value_to_tensor(target, value), False)


_PROPERTIES: dict[str, Any] = {
    "shape": property(lambda self: Size(self._size), doc="Sizes of the dimensions."),
    "dtype": property(lambda self: self._dtype),
    "device": property(lambda self: self._device),
    "layout": property(lambda self: strided),
    "ndim": property(lambda self: len(self._size)),
    "is_cuda": property(lambda self: self._device.type == "cuda"),
    "is_meta": property(lambda self: self._device.type == "meta"),
    **tensor_properties.PROPERTIES,
    "nbytes": property(lambda self: numel(self._size) * self._dtype.itemsize),
    "itemsize": property(lambda self: self._dtype.itemsize),
    "requires_grad": property(variable.requires_grad, _set_requires_grad, undeletable("requires_grad must be a bool")),
    "grad": property(
        grad_attribute.get_grad, grad_attribute.set_grad, lambda self: grad_attribute.set_grad(self, None)
    ),
    "grad_fn": property(variable.grad_fn),
    "is_leaf": property(variable.is_leaf),
    "output_nr": property(lambda self: self._output_nr),
    "retains_grad": property(lambda self: self._retains_grad),
    "data": property(
        grad_attribute.get_data,
        grad_attribute.set_data,
        undeletable("Deleting tensor data is not allowed. Delete tensor instead!"),
    ),
    "real": property(lambda self: ops.real.call(self), lambda self, value: _set_part(ops.real, self, value)),
    "imag": property(lambda self: ops.imag.call(self), lambda self, value: _set_part(ops.imag, self, value)),
    "_base": property(lambda self: None if self._view is None else self._view.base),
    "_backward_hooks": property(lambda self: None if self._hooks is None else self._hooks.backward),
    "_post_accumulate_grad_hooks": property(lambda self: None if self._hooks is None else self._hooks.post_accumulate),
    "_version": property(variable.current_version),
}
_PROPERTIES |= {name: read_only(name, each.fget) for name, each in _PROPERTIES.items() if each.fset is None}


# -- methods -----------------------------------------------------------------------------------------------------------


def _no_arguments(name: str, function: Callable[[Tensor], Any]) -> Callable[..., Any]:
    """Return a method without arguments, with PyTorch's error if some are given."""

    def method(self: Tensor, *args: Any) -> Any:
        if args:
            raise TypeError(f"TensorBase.{name}() takes no arguments ({len(args)} given)")
        return function(self)

    return method


def _numel(self: Tensor) -> int:
    return numel(self._size)


def _size(self: Tensor, dim: Any = None) -> Any:
    return Size(self._size) if dim is None else _dimension("size", self._size, dim)


def _stride(self: Tensor, dim: Any = None) -> Any:
    return self._stride if dim is None else _dimension("stride", self._stride, dim)


def _backward(
    self: Tensor, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Run the engine from this tensor."""
    backward_grad.backward(self, gradient, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)


def _register_hook(self: Tensor, hook: Callable[[Tensor], Any]) -> Any:
    """Register ``hook(grad)``, which runs when the gradient is complete and may return another one."""
    return tensor_hooks.register_hook(self, hook)


def _register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> Any:
    """Register ``hook(leaf)``, which runs after ``leaf.grad`` was updated."""
    return tensor_hooks.register_post_accumulate_grad_hook(self, hook)


def _tolist(self: Tensor) -> Any:
    if self._ks & python_ks:
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")
    if conj_neg_bits.is_zerotensor(self) or is_functional_tensor(self):
        raise RuntimeError("tolist() shouldn't be called on a tensor with unallocated storage")
    data = ops.resolve_neg.call(ops.resolve_conj.call(self))
    if data._device.type != "cpu":  # tensor_list.cpp: toBackend(Backend::CPU)
        data = ops.to_dtype_layout.call(data, data._dtype, "strided", Device("cpu"), False, False, False, None)
    return to_numpy.values_on_host(data).tolist()


def _lu(self: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    LU, pivots, infos = bindings._lu_with_info(self, pivot=pivot, check_errors=not get_infos)
    return (LU, pivots, infos) if get_infos else (LU, pivots)


def _norm(self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return norm(self, p, dim, keepdim, dtype=dtype)


def _format(self: Tensor, spec: str) -> str:
    """Format a tensor. A single number follows the format specification; any other tensor is written as it prints."""
    return formatted(self, spec)


def _item(self: Any) -> Any:
    return self.item()


def _python_number(self: Tensor) -> Any:
    if numel(self._size) != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    return _item(self)


def _after_scalar_warning(self: Tensor) -> Tensor:
    """Return the tensor. Warn as PyTorch does if it requires grad, since its number leaves the graph."""
    if thread.state.grad_mode and variable.requires_grad(self):
        warn_python_once(
            "number of a graph",
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
            "Consider using tensor.detach() first.",
            "torch/csrc/autograd/generated/python_variable_methods.cpp:822",
        )
    return self


def _real_number(self: Tensor, kind: str) -> Any:
    """Return the real part. Raise RuntimeError if the imaginary part is not zero, naming the C++ type to convert to."""
    number = _python_number(self)
    if number.imag:
        raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
    return number.real


def _index(self: Tensor) -> int:
    if numel(self._size) != 1 or self._dtype.can_require_grad:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(_item(self))


def _dimension(name: str, values: tuple[int, ...], given: Any) -> int:
    """Return the value for one dimension. PyTorch unpacks the argument twice, so ``item`` of a tensor is called
    twice.
    """
    _, (dim,) = _DIM[name].parse((given,), {})
    if isinstance(given, Tensor):
        _DIM[name].parse((given,), {})
    count = len(values)
    if not -max(count, 1) <= dim < max(count, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(count, 1)}, {max(count, 1) - 1}], "
            f"but got {dim})"
        )
    return int(values[dim])


_DIM = {name: PythonArgParser((f"{name}(int dim = None)",)) for name in ("size", "stride")}


def _invert(self: Any) -> Any:
    if self._dtype.can_require_grad:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return self.bitwise_not()


def _rsub(self: Tensor, other: Any) -> Any:
    return bindings.rsub(self, other)


def _rdiv(self: Any, other: Any) -> Any:
    return self.reciprocal().mul(other)


def _rpow(self: Tensor, other: Any) -> Any:
    return bindings.pow(other, self)


def _without_type_error(function: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: Tensor, other: Any) -> Any:
        try:
            return function(self, other)
        except TypeError:
            return NotImplemented

    return operator


def _dir(self: Tensor) -> list[str]:
    return [name for name in object.__dir__(self) if name not in lacking_methods.LACKING]


_rtruediv = _without_type_error(_rdiv)

_METHODS: dict[str, Any] = {
    "size": _size,
    "stride": _stride,
    "dim": _no_arguments("dim", lambda self: len(self._size)),
    "numel": _numel,
    "nelement": _numel,
    "split": split_method,
    **unique_elements.METHODS,
    "storage_offset": lambda self: self._offset,
    "storage": storage.storage,
    "untyped_storage": storage.untyped_storage,
    **tensor_properties.METHODS,
    **tensor_conversions.METHODS,
    "is_floating_point": lambda self: self._dtype.is_floating_point,
    "is_complex": lambda self: self._dtype.is_complex,
    "is_signed": _no_arguments("is_signed", lambda self: self._dtype.is_signed),
    "is_inference": variable.is_inference,
    "element_size": lambda self: self._dtype.itemsize,
    "norm": _norm,
    "lu": _lu,
    "stft": stft,
    "get_device": lambda self: -1 if self._device.type == "cpu" else self._device.index,
    "ndimension": lambda self: len(self._size),
    "data_ptr": python_variable_methods.data_ptr,
    "const_data_ptr": python_variable_methods.data_ptr,
    "new": lambda self, *args: legacy_constructors.new(args, self._dtype, self._device),
    "new_tensor": new_tensor_like,
    "apply_": python_variable_methods.apply_,
    "map_": python_variable_methods.map_,
    "map2_": python_variable_methods.map2_,
    "dim_order": python_variable_methods.dim_order,
    **removed_linalg.METHODS,
    "__array__": to_numpy.array,
    "__copy__": _tensor.shallow,
    "__deepcopy__": _tensor.deepcopy,
    "__reduce_ex__": _tensor.reduce_ex,
    "backward": _backward,
    "register_hook": _register_hook,
    "register_post_accumulate_grad_hook": _register_post_accumulate_grad_hook,
    "retain_grad": _no_arguments("retain_grad", tensor_hooks.retain_grad),
    "_is_view": lambda self: self._view is not None,
    "numpy": to_numpy.numpy,
    "tolist": _tolist,
    "__bool__": lambda self: ops.is_nonzero.call(self),
    "__float__": lambda self: float(_real_number(_after_scalar_warning(self), "double")),
    "__int__": lambda self: int(_real_number(self, "int64_t")),
    "__complex__": lambda self: complex(_python_number(_after_scalar_warning(self))),
    "__index__": _index,
    "__repr__": text,
    "__dir__": _dir,
    "__format__": _format,
    "__abs__": lambda self: self.abs(),
    "__neg__": lambda self: self.neg(),
    "__pos__": lambda self: self.positive(),
    "__invert__": _invert,
    "__pow__": _without_type_error(lambda self, other: self.pow(other)),
    "__rmod__": _without_type_error(lambda self, other: bindings.remainder(other, self)),
    "__floordiv__": _without_type_error(lambda self, other: bindings.floor_divide(self, other)),
    "__rfloordiv__": _without_type_error(lambda self, other: bindings.floor_divide(other, self)),
    "__rlshift__": _without_type_error(lambda self, other: bindings.bitwise_left_shift(other, self)),
    "__rrshift__": _without_type_error(lambda self, other: bindings.bitwise_right_shift(other, self)),
    "__rmatmul__": _without_type_error(lambda self, other: bindings.matmul(other, self)),
    "__ipow__": _without_type_error(lambda self, other: self.pow_(other)),
    "__rsub__": _without_type_error(_rsub),
    "__rdiv__": _rtruediv,
    "__rtruediv__": _rtruediv,
    "__rpow__": _without_type_error(_rpow),
}
