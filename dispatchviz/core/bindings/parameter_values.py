"""Arguments that fit, as what the C++ side gets (``PythonArgs::toInt64``, ``intlist``, ``scalar`` ... of
``torch/csrc/utils/python_arg_parser.h``).

A number in a tensor is read by an operator, ``item``. Of lists, only the first element was looked at before.
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
    """A value that the parameter takes, unpacked. TypeError, ValueError, OverflowError for what does not fit then."""
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
    """The number in a tensor, which an operator reads."""
    from dispatchviz.core.generated import operators as ops

    if recorder.active is not None and recorder.active.finds_callers:
        recorder.active.find_caller(False)
    return ops.item.call(tensor)


def number_as_tensor(value: complex) -> Tensor:
    """A Python number as a wrapped 0-dim tensor."""
    return _wrapped_scalar_tensor()(value)


@functools.cache
def _wrapped_scalar_tensor() -> Callable[[complex], Tensor]:
    """Looked up once: an import within a function takes as long as the tensor."""
    from dispatchviz.core.native.arithmetic.binary_ops import wrapped_scalar_tensor

    return wrapped_scalar_tensor


# -- single values -----------------------------------------------------------------------------------------------------


def _tensor(value: Any) -> Any:
    return number_as_tensor(_scalar(value)) if isinstance(value, NUMBERS) else value


def _long(value: Any) -> int:
    """``THPUtils_unpackLong``"""
    number = operator.index(value)
    if number not in _LONG:
        raise ValueError("Overflow when unpacking long long")
    return number


def _int(value: Any) -> int:
    return number_in(value) if isinstance(value, Tensor) else _long(value)


def _sym_int(value: Any) -> int:
    """RuntimeError for a tensor that holds a bool, which the check has let pass."""
    if isinstance(value, Tensor) and value._dtype is bool_:
        number_in(value)
        raise RuntimeError("scalar.isIntegral( false) " + _ASSERTED.format("pybind.cpp", 27))
    return _int(value)


def _double(value: Any) -> float:
    """RuntimeError for a tensor that holds a complex number."""
    number = number_in(value) if isinstance(value, Tensor) else value
    if isinstance(value, Tensor) and number.imag:
        raise RuntimeError("value cannot be converted to type double without overflow")
    return float(number.real if isinstance(value, Tensor) else number)


def _scalar(value: Any) -> Any:
    """NumPy's single numbers as Python's; of a complex64 only the real part, as ``float`` sees it."""
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
    """A device by its name, or a CUDA device by its number."""
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
    """RuntimeError for what only has an index, which the check has let pass."""
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
    """RuntimeError for a bool."""
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
    """What ``PyFloat_AsDouble`` makes of it, which reads no texts. TypeError if nothing."""
    if isinstance(value, (str, bytes, bytearray)):
        raise TypeError
    return float(value)


def _tensors(values: Any, argument: int) -> list[Tensor]:
    """The parser has not looked into it, as in PyTorch."""
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
