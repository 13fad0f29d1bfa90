"""The conversion of accepted arguments to the values that the C++ side gets (``PythonArgs::toInt64``, ``intlist``,
``scalar`` ... of ``torch/csrc/utils/python_arg_parser.h``).

An operator, ``item``, reads the number in a tensor. The parser has checked only the first element of each list, so the
others are checked here.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy

from dispatchviz.core.bindings.invalid_arguments import type_name
from dispatchviz.core.bindings.parameter_types import DTYPES_OF_TYPES, NUMBERS, Parameter, is_index, is_int
from dispatchviz.core.call.structured import IMPROVABLE
from dispatchviz.core.device.device import Device
from dispatchviz.core.seam import recorder
from dispatchviz.core.seam.outside_errors import is_from_outside
from dispatchviz.core.tensor.dtype import bool_
from dispatchviz.core.tensor.layout import text_of
from dispatchviz.core.tensor.tensor import Tensor

_LONG = range(-(1 << 63), 1 << 63)
_NO_BOOL = f"Expected scalar.isIntegral( false) to be true, but got false.  {IMPROVABLE}"
_ASSERTED = 'INTERNAL ASSERT FAILED at "torch/csrc/utils/{}":{}, please report a bug to PyTorch. '


def converted(function: str, parameter: Parameter, value: Any, position: int) -> Any:
    """Return the converted value. Raise TypeError, ValueError or OverflowError if the conversion fails."""
    if value is None:
        return None
    if parameter.type == "tuple of Tensors":
        return _tensors(value, position)
    unpack = _BY_TYPE.get(parameter.type)
    if unpack is not None:
        return unpack(value)
    inside = _INSIDE.get(parameter.type)
    return value if inside is None else inside(function, parameter, value)


def number_in(tensor: Tensor) -> Any:
    """Return the number in a tensor, read by an operator."""
    from dispatchviz.core.generated import operators as ops

    if recorder.active is not None and recorder.active.finds_callers:
        recorder.active.find_caller(False)
    return ops.item.call(tensor)


def number_as_tensor(value: complex) -> Tensor:
    """Return a Python number as a wrapped 0-dim tensor."""
    return _wrapped_scalar_tensor()(value)


@functools.cache
def _wrapped_scalar_tensor() -> Callable[[complex], Tensor]:
    """Return ``wrapped_scalar_tensor``. It is looked up once, since an import within a function takes as long as
    creating the tensor.
    """
    from dispatchviz.core.native.arithmetic.binary_ops import wrapped_scalar_tensor

    return wrapped_scalar_tensor


# -- single values -----------------------------------------------------------------------------------------------------


def _tensor(value: Any) -> Any:
    return number_as_tensor(_scalar(value)) if isinstance(value, NUMBERS) else value


def _long(value: Any) -> int:
    """Convert a value to an int (``THPUtils_unpackLong``)."""
    number = operator.index(value)
    if number not in _LONG:
        raise ValueError("Overflow when unpacking long long")
    return number


def _int(value: Any) -> int:
    return number_in(value) if isinstance(value, Tensor) else _long(value)


def _sym_int(value: Any) -> int:
    """Convert a size. Raise RuntimeError for a tensor that holds a bool, which the check accepts."""
    if isinstance(value, Tensor) and value._dtype is bool_:
        number_in(value)
        raise RuntimeError("scalar.isIntegral( false) " + _ASSERTED.format("pybind.cpp", 27))
    return _int(value)


def _double(value: Any) -> float:
    """Convert a value to a float. Raise RuntimeError for a tensor that holds a complex number."""
    number = number_in(value) if isinstance(value, Tensor) else value
    if isinstance(value, Tensor) and number.imag:
        raise RuntimeError("value cannot be converted to type double without overflow")
    return float(number.real if isinstance(value, Tensor) else number)


def _scalar(value: Any) -> Any:
    """Convert a NumPy scalar to a Python number. A complex64 keeps only its real part, as ``float`` sees it."""
    if isinstance(value, Tensor):
        return number_in(value)
    if isinstance(value, numpy.integer) and int(value) not in _LONG:
        raise TypeError("an integer is required")
    if isinstance(value, (int, numpy.integer)) and not isinstance(value, bool):
        return _of_64_bits(int(value))
    if not isinstance(value, numpy.generic):
        return value
    return complex(value) if isinstance(value, complex) else float(value)


def _of_64_bits(number: int) -> int:
    if number < _LONG.start:
        raise OverflowError("can't convert negative int to unsigned")
    if number >= 1 << 64:
        raise OverflowError("int too big to convert")
    return number


def _device(value: Any) -> Device:
    """Return a device, given by its name or by the index of a CUDA device."""
    if isinstance(value, Device):
        return value
    if is_int(value):
        return Device("cuda", _long(value))
    return Device(value.decode() if isinstance(value, bytes) else str(value))


_BY_TYPE: dict[str, Callable[[Any], Any]] = {
    "Tensor": _tensor,
    "Number": _scalar,
    "int": _int,
    "SymInt": _sym_int,
    "float": _double,
    "torch.device": _device,
    "str": lambda value: value.decode() if isinstance(value, bytes) else value,
    "torch.dtype": lambda value: DTYPES_OF_TYPES.get(value, value),
    "torch.layout": text_of,
    "torch.memory_format": text_of,
}


# -- lists -------------------------------------------------------------------------------------------------------------


def _ints(function: str, parameter: Parameter, value: Any) -> tuple[int, ...]:
    if not isinstance(value, (list, tuple)):
        return (_one_for_all(parameter, value),) * max(parameter.broadcast, 1)
    return tuple([_element(function, parameter, part, position) for position, part in enumerate(value)])


def _one_for_all(parameter: Parameter, value: Any) -> int:
    """Convert one int that is given for a whole tuple. Raise RuntimeError for an object that only has an index, which
    the check accepts.
    """
    if isinstance(value, Tensor):
        return int(number_in(value))
    if not is_int(value):
        line = 658 if parameter.type == "tuple of ints" else 573
        raise RuntimeError(
            "PyList_Check(arg) " + _ASSERTED.format("python_arg_parser.h", line) + "expected tuple or list"
        )
    return _long(value)


def _element(function: str, parameter: Parameter, part: Any, position: int) -> int:
    try:
        if not isinstance(part, bool) and not is_index(part):
            raise ValueError(f"type must be tuple of ints,but got {type_name(part)}")
        if isinstance(part, Tensor):
            return int(number_in(part)) if parameter.type == "tuple of ints" else _whole(part)
        return _long(part)
    except ValueError as error:
        if is_from_outside(error):
            raise
        where = f"argument '{parameter.name}' failed to unpack the object at pos {position + 1}"
        raise TypeError(f'{function}(): {where} with error "{error}"') from None


def _whole(tensor: Tensor) -> int:
    """Return the whole number in a tensor. Raise RuntimeError for a bool."""
    number = number_in(tensor)
    if tensor._dtype is bool_:
        raise RuntimeError(_NO_BOOL)
    return number  # type: ignore[no-any-return]


def _floats(function: str, parameter: Parameter, value: Any) -> tuple[float, ...]:
    found = []
    for position, part in enumerate(value):
        try:
            found.append(_float(part))
        except TypeError:
            raise TypeError(
                f"{function}(): argument '{parameter.name}' must be tuple of floats, but found element of type "
                f"{type_name(part)} at pos {position + 1}"
            ) from None
    return tuple(found)


def _float(value: Any) -> float:
    """Convert a value as ``PyFloat_AsDouble`` does, which reads no strings. Raise TypeError if that fails."""
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError
    return float(value)


def _tensors(values: Any, argument: int) -> list[Tensor]:
    """Return the list of tensors. Raise TypeError for another element: as in PyTorch, the parser has not checked them
    all.
    """
    for position, value in enumerate(values):
        if not isinstance(value, Tensor):
            found = type_name(value)
            raise TypeError(f"expected Tensor as element {position} in argument {argument}, but got {found}")
    return list(values)


_INSIDE: dict[str, Callable[[str, Parameter, Any], Any]] = {
    "tuple of ints": _ints,
    "tuple of SymInts": _ints,
    "tuple of floats": _floats,
}
