"""Python arguments to operator arguments, by signatures in PyTorch's notation.

Mirrors ``torch/csrc/utils/python_arg_parser.cpp``: signatures are tried in order, the first that fits wins; if none
does, the TypeError has PyTorch's words. A call whose argument types were seen before takes the remembered way.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy

from dispatchviz.core import recorder
from dispatchviz.core.device import Device
from dispatchviz.core.dtype import DType, bool_, complex128, float64, int64
from dispatchviz.core.formats import text_of
from dispatchviz.core.invalid_arguments import format_invalid_args, type_name
from dispatchviz.core.tensor import Tensor
from dispatchviz.core.torch_function import overrides
from dispatchviz.core.warning import warn_python_once

_ARITHMETIC = ("add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide", "floor_divide")
NUMBERS_AS_TENSORS = frozenset((*_ARITHMETIC, *(f"{name}_" for name in _ARITHMETIC), "copy_"))
"""Functions whose Tensor parameters take Python numbers (``should_allow_numbers_as_tensors``)."""

_NUMBERS = (int, float, complex, numpy.number, numpy.bool_)
"""Python's, and NumPy's single ones."""


NUMPY_NAMES = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
}
"""Parameter names that NumPy's users know (``numpy_compatibility_arg_names``)."""


def _given_name(name: str, kwargs: Mapping[str, Any]) -> str | None:
    """The keyword under which a parameter was given."""
    return next((known for known in (name, *NUMPY_NAMES.get(name, ())) if known in kwargs), None)


class Parameter(NamedTuple):
    """One parameter of a signature."""

    name: str
    type: str
    """In PyTorch's words: ``Tensor``, ``Number``, ``tuple of ints``, ``torch.dtype``, ``int``, ``bool`` ..."""
    default: Any
    required: bool
    keyword_only: bool
    broadcast: int
    """The size of a tuple of ints of known size, where one int will do for all; else 0."""
    optional: bool
    """None may be given although there is no default (``int[1]? dim``)."""


class Signature:
    """One signature: ``add(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)``."""

    def __init__(self, text: str) -> None:
        hidden = text.endswith("|deprecated")
        self.hidden = hidden
        declared = text.removesuffix("|deprecated")
        self.text = re.sub(r"(ints\[\d+\]|\w)\? ", lambda match: match[0][:-2].partition("[")[0] + " ", declared)
        self.text = re.sub(r"ints\[\d+\]", "ints", self.text)
        self.function, _, inside = declared.partition("(")
        self.parameters = tuple(_parse_parameters(inside.removesuffix(")")))
        self.positional = [p for p in self.parameters if not p.keyword_only]
        self.required = sum(p.required for p in self.parameters)
        self.numbers_as_tensors = self.function in NUMBERS_AS_TENSORS
        self.one_of_several = False
        """Another signature may fit what this one does not: so lists are looked into."""
        self.varargs = len(self.positional) == 1 and self.positional[0].type == "tuple of ints"

    @property
    def listing(self) -> str:
        """``(Tensor input, ...)`` as error messages show it."""
        return self.text.removeprefix(self.function)

    def match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any] | TypeError:
        """The values of all parameters in order, or the error that says why the arguments do not fit."""
        if self.varargs and args and _is_index(args[0]):
            args = (tuple(args),)
        if len(args) > len(self.positional):
            return self._too_many(args)
        values: list[Any] = []
        given_at: list[int] = []
        used = 0
        for position, parameter in enumerate(self.parameters):
            if position < len(args) and not parameter.keyword_only:
                given = args[position]
            elif (name := _given_name(parameter.name, kwargs)) is not None:
                given = kwargs[name]
                used += 1
            elif parameter.required:
                return self._missing(args, kwargs)
            else:
                values.append(parameter.default)
                continue
            if not self._accepts(parameter, given):
                by_name = parameter.keyword_only or position >= len(args)
                return self._wrong_type(parameter, position, given, by_name)
            values.append(given)
            given_at.append(position)
        if used < len(kwargs):
            return self._unexpected(args, kwargs)
        for position in given_at:
            values[position] = _converted(self.function, self.parameters[position], values[position], position)
        return values

    def _accepts(self, parameter: Parameter, value: Any) -> bool:
        if value is None:
            return parameter.optional or (not parameter.required and parameter.default is None)
        check = _CHECKS[parameter.type]
        if check(value):
            return not self.one_of_several or parameter.type != "tuple of Tensors" or _holds_tensors(value)
        if parameter.type == "Tensor" and self.numbers_as_tensors:
            return isinstance(value, _NUMBERS)
        return bool(parameter.broadcast) and _is_int(value)

    def _too_many(self, args: Sequence[Any]) -> TypeError:
        most = len(self.positional)
        if self.required != most:
            head = f"{self.function}() takes from {self.required} to {most} positional arguments"
            return TypeError(f"{head} but {len(args)} were given")
        plural = "s" if most != 1 else ""
        was = "were" if len(args) != 1 else "was"
        return TypeError(f"{self.function}() takes {most} positional argument{plural} but {len(args)} {was} given")

    def _missing(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TypeError:
        names = [p.name for p in self.parameters[len(args) :] if p.required and p.name not in kwargs]
        quoted = ", ".join(f'"{name}"' for name in names)
        plural = "s" if len(names) == 1 else ""  # PyTorch's own grammar
        return TypeError(f"{self.function}() missing {len(names)} required positional argument{plural}: {quoted}")

    def _wrong_type(self, parameter: Parameter, position: int, value: Any, by_name: bool) -> TypeError:
        where = "" if by_name else f" (position {position + 1})"
        found = type_name(value)
        if parameter.type == "tuple of ints" and isinstance(value, (list, tuple)):
            found = f"but found element of type {type_name(value[0])} at pos 0"
            return TypeError(f"{self.function}(): argument '{parameter.name}'{where} must be {parameter.type}, {found}")
        return TypeError(f"{self.function}(): argument '{parameter.name}'{where} must be {parameter.type}, not {found}")

    def _unexpected(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TypeError:
        names = [p.name for p in self.parameters]
        for name in kwargs:
            if name not in names:
                return TypeError(f"{self.function}() got an unexpected keyword argument '{name}'")
            if names.index(name) < len(args):
                return TypeError(f"{self.function}() got multiple values for argument '{name}'")
        return TypeError(f"{self.function}() got more keywords than it has parameters")


class PythonArgParser:
    """Chooses among the signatures of one function."""

    def __init__(self, signatures: Sequence[str]) -> None:
        self.signatures = tuple(map(Signature, signatures))
        for signature in self.signatures:
            signature.one_of_several = len(self.signatures) > 1

    def parse(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[int, list[Any]]:
        """Index of the matching signature and the values of its parameters. TypeError if none matches."""
        for index, signature in enumerate(self.signatures):
            values = signature.match(args, kwargs)
            if not isinstance(values, TypeError):
                if signature.hidden:
                    self._warn_of(signature)
                return index, values
        raise self._no_match(args, kwargs)

    def _warn_of(self, signature: Signature) -> None:
        """Of an old signature, once in a process for all functions."""
        others = "".join(f"\n\t{other.text}" for other in self.signatures if not other.hidden)
        warn_python_once(
            "deprecated signature",
            f"This overload of {signature.function} is deprecated:\n\t{signature.text}\n"
            f"Consider using one of the following signatures instead:{others}",
            "torch/csrc/utils/python_arg_parser.cpp:1841",
        )

    def numbers_to_wrap(self, index: int, args: Sequence[Any], values: Sequence[Any]) -> tuple[int, ...] | None:
        """Positions of Python numbers that became tensors, if otherwise the arguments' types alone decided the match
        and nothing was converted: then the next call with these types may skip the parsing. None if not so, and for
        an old signature, which may have to be warned of again.
        """
        if self.signatures[index].hidden or len(values) < len(args) or not all(map(_is_opaque, map(type, args))):
            return None
        parameters = self.signatures[index].parameters
        changed = [i for i, given in enumerate(args) if values[i] is not given]
        looked_into = any(
            parameter.type == "Number" and isinstance(given, Tensor)
            for signature in self.signatures[: index + 1]
            for parameter, given in zip(signature.parameters, args, strict=False)
            if not isinstance(given, Tensor) or not given._size
        )
        return None if looked_into or any(parameters[i].type != "Tensor" for i in changed) else tuple(changed)

    def _no_match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TypeError:
        shown = [signature for signature in self.signatures if not signature.hidden]
        count = len(args) + len(kwargs)
        plausible = [s for s in shown if s.required <= count <= len(s.parameters)]
        if len(self.signatures) == 1 or len(plausible) == 1:
            error = (plausible or shown)[0].match(args, kwargs)
            if isinstance(error, TypeError):
                return error
        return format_invalid_args(shown[0].function, args, kwargs, [signature.listing for signature in shown])


def _converted(function: str, parameter: Parameter, value: Any, position: int) -> Any:
    kind = parameter.type
    if kind == "Tensor" and isinstance(value, _NUMBERS):
        return number_as_tensor(_python_number(value))
    if kind == "Number":
        return _number_in(value) if isinstance(value, Tensor) else _python_number(value)
    if kind == "float":
        return None if value is None else float(value)
    if kind == "int" and isinstance(value, numpy.integer):
        return int(value)
    if kind == "tuple of ints":
        return None if value is None else _unpacked(function, parameter, value)
    if kind == "tuple of floats":
        return None if value is None else _unpacked_floats(function, parameter, value)
    if kind == "tuple of Tensors":
        return _unpacked_tensors(value, position)
    if kind == "torch.device":
        return _device(value)
    if kind == "torch.dtype":
        return _DTYPES_OF_TYPES.get(value, value)
    if kind in ("torch.layout", "torch.memory_format"):
        return None if value is None else text_of(value)
    return value


def _python_number(value: Any) -> Any:
    """NumPy's single numbers as Python's; of a complex64 only the real part, as ``float`` sees it."""
    if not isinstance(value, numpy.generic):
        return value
    if isinstance(value, numpy.integer):
        return int(value)
    return complex(value) if isinstance(value, complex) else float(value)


def _device(value: Any) -> Device | None:
    """A device by its name, or a CUDA device by its number."""
    if value is None or isinstance(value, Device):
        return value
    return Device(value) if isinstance(value, str) else Device("cuda", value)


def _unpacked(function: str, parameter: Parameter, value: Any) -> tuple[int, ...]:
    """A tuple of ints. Only its first element was looked at so far, as in PyTorch."""
    if not isinstance(value, (list, tuple)):
        return (int(value),) * max(parameter.broadcast, 1)
    for position, part in enumerate(value):
        if not _is_index(part):
            raise TypeError(
                f"{function}(): argument '{parameter.name}' failed to unpack the object at pos {position + 1} with "
                f'error "type must be tuple of ints,but got {type_name(part)}"'
            )
    return tuple(_number_in(part) if isinstance(part, Tensor) else int(part) for part in value)


def _number_in(tensor: Tensor) -> Any:
    """The number in a tensor, which an operator reads."""
    from dispatchviz.core.generated import operators as ops

    if recorder.active is not None and recorder.active.finds_callers:
        recorder.active.find_caller(parsed=False)
    return ops.item.call(tensor)


def _unpacked_floats(function: str, parameter: Parameter, value: Any) -> tuple[float, ...]:
    """A tuple of floats. Only its first element was looked at so far, as in PyTorch."""
    for position, part in enumerate(value):
        if not isinstance(part, (int, float)):
            raise TypeError(
                f"{function}(): argument '{parameter.name}' must be tuple of floats, but found element of type "
                f"{type_name(part)} at pos {position + 1}"
            )
    return tuple(map(float, value))


def _unpacked_tensors(values: Any, argument: int) -> list[Tensor]:
    """A list of tensors. The parser has not looked into it, as in PyTorch."""
    for position, value in enumerate(values):
        if not isinstance(value, Tensor):
            found = type(value).__name__
            raise TypeError(f"expected Tensor as element {position} in argument {argument}, but got {found}")
    return list(values)


def number_as_tensor(value: complex) -> Tensor:
    """A Python number as a wrapped 0-dim tensor."""
    from dispatchviz.core.native.pointwise import wrapped_scalar_tensor

    return wrapped_scalar_tensor(value)


def _is_int(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or isinstance(value, numpy.integer)


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_index(value: Any) -> bool:
    """An int, or a tensor of one whole number."""
    if isinstance(value, Tensor):
        return math.prod(value._size) == 1 and not (value._dtype.is_floating_point or value._dtype.is_complex)
    return _is_int(value)


def _is_size(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and (not value or _is_index(value[0]))


def _holds_tensors(values: Any) -> bool:
    return all(value is None or isinstance(value, Tensor) or overrides(type(value)) for value in values)


def _is_number(value: Any) -> bool:
    if isinstance(value, Tensor):
        return not value._size and not value._requires_grad and value._grad_fn is None
    return isinstance(value, _NUMBERS)


_DTYPES_OF_TYPES: dict[Any, DType] = {float: float64, int: int64, bool: bool_, complex: complex128}
"""Python's types may stand for dtypes."""

_CHECKS: dict[str, Callable[[Any], bool]] = {
    "Tensor": lambda value: isinstance(value, Tensor) or overrides(type(value)),
    "Number": _is_number,
    "tuple of ints": _is_size,
    "tuple of floats": lambda value: isinstance(value, (list, tuple)) and (not value or _is_real(value[0])),
    "tuple of Tensors": lambda value: isinstance(value, (list, tuple)),
    "tuple of Scalars": lambda value: isinstance(value, (list, tuple)) and all(isinstance(v, _NUMBERS) for v in value),
    "int": _is_int,
    "float": lambda value: isinstance(value, (int, float, numpy.number)),
    "bool": lambda value: isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "torch.dtype": lambda value: isinstance(value, DType) or (isinstance(value, type) and value in _DTYPES_OF_TYPES),
    "torch.device": lambda value: isinstance(value, (Device, str)) or _is_int(value),
    "torch.layout": lambda value: type(value).__name__ == "layout",
    "torch.memory_format": lambda value: type(value).__name__ == "memory_format",
    "Stream": lambda value: True,  # the binding itself says what it expected
    "torch.Storage": lambda value: type(value).__name__ in ("UntypedStorage", "TypedStorage"),
    "torch.Generator": lambda value: type(value).__name__ == "Generator",
}

_OPAQUE = (Tensor, int, float, complex, bool, type(None), DType, Device)
"""Types whose values are taken as they are."""


@cache
def _is_opaque(kind: Any) -> bool:
    """So are tensors whose class does not look at calls: parameters."""
    return kind in _OPAQUE or (issubclass(kind, Tensor) and not overrides(kind))


_DEFAULTS = {"[]": (), "[0,1]": (0, 1), "None": None, "True": True, "False": False, "torch.int64": int64}


def _parse_parameters(inside: str) -> list[Parameter]:
    """``Tensor input, *, Number alpha = 1``"""
    parameters: list[Parameter] = []
    keyword_only = False
    for word in filter(None, (part.strip() for part in inside.split(", "))):
        if word == "*":
            keyword_only = True
            continue
        declared, has_default, default = word.partition(" = ")
        kind, name = declared.rsplit(" ", 1)
        optional = kind.endswith("?")
        kind = kind.removesuffix("?")
        sized = re.search(r"\[(\d+)\]$", kind)
        broadcast = int(sized[1]) if sized else 0
        value: Any = _DEFAULTS.get(default, default)
        if isinstance(value, str) and has_default:
            value = float(default) if "." in default or kind == "float" else ast.literal_eval(default)
        if broadcast and isinstance(value, int):
            value = (value,) * broadcast
        plain = re.sub(r"\[\d+\]$", "", kind)
        parameters.append(
            Parameter(name, plain, value if has_default else None, not has_default, keyword_only, broadcast, optional)
        )
    return parameters
