"""The Python objects that each type of parameter accepts (``FunctionParameter::check`` of
``torch/csrc/utils/python_arg_parser.cpp``).

Rule 1: an ``int`` parameter accepts no bool, but it accepts a NumPy integer and a 0-dim tensor that holds a whole
number.
Rule 2: a size (``SymInt``) also accepts a tensor with one whole number or bool, and any object with ``__index__``.
Rule 3: only the first element of a list is checked here. A tuple of known size also accepts a single int.
Rule 4: numbers of any kind accept a 0-dim tensor that does not require grad.

Not here: the conversion of the value (``parameter_values.py``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from dispatchviz.core.bindings.torch_function import overrides
from dispatchviz.core.device.device import Device
from dispatchviz.core.seam.outside_errors import is_from_outside
from dispatchviz.core.tensor.dtype import DType, bool_, complex128, float64, int64
from dispatchviz.core.tensor.tensor import Tensor, numel

NUMBERS = (int, float, complex, numpy.number, numpy.bool_)
"""Python's number types, and NumPy's scalar types (``THPUtils_checkScalar``)."""

LISTS_OF_INTS = ("tuple of ints", "tuple of SymInts")

LISTS_OF_NUMBERS = (*LISTS_OF_INTS, "tuple of floats")
"""Types of lists for which an error names the first wrong element."""

VALUE_CHECKED_TYPES = frozenset(("int", "SymInt", "Number", "float", *LISTS_OF_INTS))
"""Types of parameters for which a tensor's value decides whether it is accepted."""

DTYPES_OF_TYPES: dict[Any, DType] = {float: float64, int: int64, bool: bool_, complex: complex128}
"""Python types that may be passed as dtypes."""


class Parameter(NamedTuple):
    """One parameter of a signature."""

    name: str
    type: str
    """``Tensor``, ``Number``, ``tuple of ints``, ``tuple of SymInts``, ``torch.dtype``, ``int``, ``SymInt``, ..."""
    default: Any
    required: bool
    keyword_only: bool
    broadcast: int
    """The size of a tuple of ints for which a single int is enough; else 0."""
    optional: bool
    """True if None is accepted although there is no default (``int[1]? dim``)."""

    @property
    def shown_type(self) -> str:
        """The type as error messages print it: ``SymInt`` is printed as ``int``."""
        return self.type.replace("SymInt", "int")


def accepts(parameter: Parameter, value: Any) -> bool:
    """Return whether the parameter takes a value that is not None."""
    if _CHECKS[parameter.type](value):
        return True
    return bool(parameter.broadcast) and is_index(value)


def is_int(value: Any) -> bool:
    """Return whether a value is accepted as an int (``THPUtils_checkLong``)."""
    return (isinstance(value, int) and not isinstance(value, bool)) or isinstance(value, numpy.integer)


def is_index(value: Any) -> bool:
    """Return whether a value is a tensor with one whole number, or has an ``__index__`` and is not a bool
    (``is_int_or_symint``).
    """
    if isinstance(value, Tensor):
        return numel(value._size) == 1 and not value._dtype.can_require_grad
    return is_int(value) or (not isinstance(value, bool) and _has_index(value))


def is_double(value: Any) -> bool:
    """Return whether a value is accepted as a float (``THPUtils_checkDouble``)."""
    return isinstance(value, (int, float, numpy.number, numpy.bool_))


def _has_index(value: Any) -> bool:
    try:
        operator.index(value)
    except Exception as error:
        if is_from_outside(error):
            raise
        return False
    return True


def _is_int_parameter(value: Any) -> bool:
    if isinstance(value, Tensor):
        whole = not value._dtype.can_require_grad and value._dtype is not bool_
        return whole and not value._size
    return is_int(value)


def _is_size(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and (not value or is_index(value[0]))


def _is_floats(value: Any) -> bool:
    first = value[0] if isinstance(value, (list, tuple)) and value else 0.0
    return isinstance(value, (list, tuple)) and (is_double(first) or isinstance(first, complex))


def _is_number_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and not value._size and not value._requires_grad and value._grad_fn is None


def _is_device(value: Any) -> bool:
    return isinstance(value, (Device, str, bytes)) or is_int(value)


def _is_dtype(value: Any) -> bool:
    return isinstance(value, DType) or (isinstance(value, type) and value in DTYPES_OF_TYPES)


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor) or overrides(type(value)),
    "Number": lambda value: isinstance(value, NUMBERS) or _is_number_tensor(value),
    "tuple of ints": _is_size,
    "tuple of SymInts": _is_size,
    "tuple of floats": _is_floats,
    "tuple of Tensors": lambda value: isinstance(value, (list, tuple)),
    "tuple of Scalars": lambda value: isinstance(value, (list, tuple)) and all(isinstance(v, NUMBERS) for v in value),
    "int": _is_int_parameter,
    "SymInt": is_index,
    "float": lambda value: is_double(value) or _is_number_tensor(value),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, (str, bytes)),
    "torch.dtype": _is_dtype,
    "torch.device": _is_device,
    "torch.layout": lambda value: type(value).__name__ == "layout",
    "torch.memory_format": lambda value: type(value).__name__ == "memory_format",
    "object": lambda value: True,
    "Stream": lambda value: True,  # the binding itself reports what it expected
    "torch.Storage": lambda value: type(value).__name__ in ("UntypedStorage", "TypedStorage"),
    "torch.Generator": lambda value: type(value).__name__ == "Generator",
}
