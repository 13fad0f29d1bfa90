"""``TensorArg`` checks of dtype, dimensions, size and contiguity; their messages name an argument by its position
(``aten/src/ATen/TensorUtils.cpp``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dispatchviz.core.autograd.variables.legacy_type import type_string
from dispatchviz.core.call import dispatcher
from dispatchviz.core.call.aten import keys_of
from dispatchviz.core.keys.key_set import raw
from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.tensor.dtype import DType
from dispatchviz.core.tensor.tensor import Tensor


class TensorArg(NamedTuple):
    """A tensor argument with its name and position (``TensorArg``)."""

    tensor: Tensor
    name: str
    position: int

    def __str__(self) -> str:
        return f"argument #{self.position} '{self.name}'"


def argument_error(where: str, what: str) -> RuntimeError:
    """The error of a check, with the function that made it."""
    return RuntimeError(f"{what} (while checking arguments for {where})")


def check_scalar_types(where: str, given: TensorArg, *dtypes: DType) -> None:
    """Raise RuntimeError for a tensor of another dtype (``checkScalarTypes``; ``checkScalarType`` for one dtype)."""
    if given.tensor._dtype not in dtypes:
        listed = ", ".join(dtype.legacy for dtype in dtypes)
        wanted = f"one of the following scalar types: {listed}" if len(dtypes) > 1 else f"scalar type {listed}"
        found = type_string(given.tensor)
        raise argument_error(where, f"Expected tensor for {given} to have {wanted}; but got {found} instead")


def check_same_type(where: str, one: TensorArg, other: TensorArg) -> None:
    """Raise RuntimeError for tensors of two dtypes or devices (``checkSameType``)."""
    types = type_string(one.tensor), type_string(other.tensor)
    if types[0] != types[1]:
        raise argument_error(
            where,
            f"Expected tensor for {one} to have the same type as tensor for {other}; but type {types[0]} does not "
            f"equal {types[1]}",
        )


def check_dim(where: str, given: TensorArg, rank: int) -> None:
    """Raise RuntimeError for another rank (``checkDim``)."""
    found = len(given.tensor._size)
    if found != rank:
        raise argument_error(
            where, f"Expected {rank}-dimensional tensor, but got {found}-dimensional tensor for {given}"
        )


def check_dim_range(where: str, given: TensorArg, low: int, high: int) -> None:
    """Raise RuntimeError for a rank below ``low``, or of ``high`` and more (``checkDimRange``)."""
    found = len(given.tensor._size)
    if not low <= found < high:
        raise argument_error(
            where, f"Expected {low} to {high - 1} dimensions, but got {found}-dimensional tensor for {given}"
        )


def check_size(where: str, given: TensorArg, dim: int, length: int) -> None:
    """Raise RuntimeError for another size of a dimension (``checkSize``)."""
    found = given.tensor._size[dim]
    if found != length:
        raise argument_error(
            where, f"Expected tensor to have size {length} at dimension {dim}, but got size {found} for {given}"
        )


def check_contiguous(where: str, given: TensorArg) -> None:
    """Raise RuntimeError unless the tensor is contiguous (``checkContiguous``)."""
    if not given.tensor._is_contiguous:
        raise argument_error(where, f"Expected contiguous tensor, but got non-contiguous tensor for {given}")


def check_same_size(where: str, one: TensorArg, other: TensorArg) -> None:
    """Raise RuntimeError for two shapes (``checkSameSize``)."""
    sizes = list(one.tensor._size), list(other.tensor._size)
    if sizes[0] != sizes[1]:
        raise argument_error(
            where,
            f"Expected tensor for {one} to have same size as tensor for {other}; but {sizes[0]} does not equal "
            f"{sizes[1]}",
        )


def check_same_device(*tensors: Tensor) -> None:
    """Raise RuntimeError for the first tensor on another device than its predecessors; numbers on the CPU are
    allowed.
    """
    devices = [each._device for each in tensors if each._size or each._device.type != "cpu"]
    for device in devices:
        if device is not devices[0]:
            raise RuntimeError(f"Tensor on device {device} is not on the expected device {devices[0]}!")


UNDEFINED_TENSOR_KEYS = raw(DispatchKey.AutogradOther)


def call_with_undefined(operator: Any, *args: Any) -> Any:
    """Call ``operator.call(*args)`` if some argument None is an undefined tensor."""
    keys = keys_of([arg for arg in args if isinstance(arg, Tensor)]) | UNDEFINED_TENSOR_KEYS
    kernel, ks = dispatcher.call(operator.entry, keys)
    return kernel(ks, *args)


def call_maybe_undefined(operator: Any, tensor: Tensor | None, *args: Any) -> Any:
    """Call ``operator.call(*args)``; ``tensor`` is the only argument that may be an undefined tensor."""
    return operator.call(*args) if tensor is not None else call_with_undefined(operator, *args)


def call_of_node(operator: Any, *args: Any) -> Any:
    """Call an operator in a derivative formula, in which None is an undefined tensor: a missing saved tensor or
    gradient.
    """
    missing = any(args[position] is None for _, position in operator.entry.tensor_parameters)
    return call_with_undefined(operator, *args) if missing else operator.call(*args)
