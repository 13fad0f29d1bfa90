"""The parser that turns Python arguments into operator arguments, by signatures in PyTorch's notation.

It mirrors ``torch/csrc/utils/python_arg_parser.cpp``: signatures are tried in order, and the first one that fits wins.
If none fits, the TypeError has PyTorch's text. A call whose argument types were seen before is run by its ``Plan``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from dispatchviz.core.bindings.invalid_arguments import format_invalid_args, type_name
from dispatchviz.core.bindings.parameter_types import (
    LISTS_OF_INTS,
    LISTS_OF_NUMBERS,
    NUMBERS,
    VALUE_CHECKED_TYPES,
    Parameter,
    accepts,
    is_index,
)
from dispatchviz.core.bindings.parameter_values import converted
from dispatchviz.core.bindings.torch_function import overrides
from dispatchviz.core.device.device import Device
from dispatchviz.core.tensor.dtype import DType, int64
from dispatchviz.core.tensor.tensor import Tensor
from dispatchviz.core.thread.warning import warn_python_once

_ARITHMETIC = ("add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide", "floor_divide")
NUMBERS_AS_TENSORS = frozenset((*_ARITHMETIC, *(f"{name}_" for name in _ARITHMETIC), "copy_", "to"))
"""Functions whose Tensor parameters accept Python numbers (``should_allow_numbers_as_tensors``)."""

NUMPY_NAMES = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
}
"""Parameter names from NumPy (``numpy_compatibility_arg_names``)."""


def _keyword_of(name: str, kwargs: Mapping[str, Any]) -> str | None:
    """The keyword by which a parameter was passed: its own name, or NumPy's."""
    return next((known for known in (name, *NUMPY_NAMES.get(name, ())) if known in kwargs), None)


class Signature:
    """One signature: ``add(Tensor input, Tensor other, *, Number alpha = 1, Tensor out = None)``."""

    def __init__(self, text: str) -> None:
        hidden = text.endswith("|deprecated")
        self.hidden = hidden
        declared = text.removesuffix("|deprecated")
        self.text = re.sub(r"([iI]nts\[\d+\]|\w)\? ", lambda match: match[0][:-2].partition("[")[0] + " ", declared)
        self.text = re.sub(r"ints\[\d+\]", "ints", self.text.replace("SymInt", "int").replace("'", '"'))
        self.function, _, inside = declared.partition("(")
        self.parameters = tuple(_parse_parameters(inside.removesuffix(")")))
        self.positional = [p for p in self.parameters if not p.keyword_only]
        self.required = sum(p.required for p in self.parameters)
        self.numbers_as_tensors = self.function in NUMBERS_AS_TENSORS
        self.one_of_several = False
        """True if the function has other signatures, which may fit if this one does not. Lists are then checked element
        by element.
        """
        self.varargs = len(self.positional) == 1 and self.positional[0].type in LISTS_OF_INTS

    @property
    def listing(self) -> str:
        """The text ``(Tensor input, ...)`` that error messages show."""
        return self.text.removeprefix(self.function)

    def match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any] | TypeError:
        """Return the values of all parameters in order, or the TypeError if the arguments do not fit."""
        if self.varargs and args and is_index(args[0]):
            args = (tuple(args),)
        if len(args) > len(self.positional):
            return self._too_many(args)
        values: list[Any] = []
        positions: list[int] = []
        used = 0
        for position, parameter in enumerate(self.parameters):
            if position < len(args) and not parameter.keyword_only:
                arg = args[position]
            elif (name := _keyword_of(parameter.name, kwargs)) is not None:
                arg = kwargs[name]
                used += 1
            elif parameter.required:
                return self._missing(args, kwargs)
            else:
                values.append(parameter.default)
                continue
            if not self._accepts(parameter, arg):
                by_name = parameter.keyword_only or position >= len(args)
                return self._wrong_type(parameter, position, arg, by_name)
            values.append(parameter.default if arg is None else arg)
            positions.append(position)
        if used < len(kwargs):
            return self._unexpected(args, kwargs)
        for position in positions:
            values[position] = converted(self.function, self.parameters[position], values[position], position)
        return values

    def _accepts(self, parameter: Parameter, value: Any) -> bool:
        if value is None:
            return parameter.optional or (not parameter.required and parameter.default is None)
        if accepts(parameter, value):
            return not self.one_of_several or parameter.type != "tuple of Tensors" or _holds_tensors(value)
        return parameter.type == "Tensor" and self.numbers_as_tensors and isinstance(value, NUMBERS)

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
        found = f"not {type_name(value)}"
        if parameter.type in LISTS_OF_NUMBERS and isinstance(value, (list, tuple)) and not by_name:
            found = f"but found element of type {type_name(value[0])} at pos 0"
        must_be = f"must be {parameter.shown_type}, {found}"
        return TypeError(f"{self.function}(): argument '{parameter.name}'{where} {must_be}")

    def _unexpected(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TypeError:
        names = [p.name for p in self.parameters]
        for name in kwargs:
            if name not in names:
                return TypeError(f"{self.function}() got an unexpected keyword argument '{name}'")
            if names.index(name) < len(args):
                return TypeError(f"{self.function}() got multiple values for argument '{name}'")
        return TypeError(f"{self.function}() got more keywords than it has parameters")


class PythonArgParser:
    """The signatures of one function, and the choice among them."""

    def __init__(self, signatures: Sequence[str]) -> None:
        self.signatures = tuple(map(Signature, signatures))
        for signature in self.signatures:
            signature.one_of_several = len(self.signatures) > 1

    def parse(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[int, list[Any]]:
        """Return the index of the matching signature and the values of its parameters. Raise TypeError if none
        matches.
        """
        for index, signature in enumerate(self.signatures):
            values = signature.match(args, kwargs)
            if not isinstance(values, TypeError):
                if signature.hidden:
                    self._warn_of(signature)
                return index, values
        raise self._no_match(args, kwargs)

    def _warn_of(self, signature: Signature) -> None:
        """Warn that a signature is deprecated, once in a process for all functions."""
        others = "".join(f"\n\t{other.text}" for other in self.signatures if not other.hidden)
        warn_python_once(
            "deprecated signature",
            f"This overload of {signature.function} is deprecated:\n\t{signature.text}\n"
            f"Consider using one of the following signatures instead:{others}",
            "torch/csrc/utils/python_arg_parser.cpp:1841",
        )

    def numbers_to_wrap(self, index: int, args: Sequence[Any], values: Sequence[Any]) -> tuple[int, ...] | None:
        """Return the positions of Python numbers that became tensors, or None if the next call must be parsed again.

        The next call with the same argument types may skip the parser if the types alone decided the match and nothing
        else was converted. A deprecated signature is always parsed again, since it may have to warn.
        """
        if self.signatures[index].hidden or len(values) < len(args) or not all(map(_is_opaque, map(type, args))):
            return None
        parameters = self.signatures[index].parameters
        changed = [i for i, arg in enumerate(args) if values[i] is not arg]
        value_checked = any(
            parameter.type in VALUE_CHECKED_TYPES and isinstance(arg, Tensor)
            for signature in self.signatures[: index + 1]
            if signature.required <= len(args)  # another one cannot match these
            for parameter, arg in zip(signature.parameters, args, strict=False)
        )
        return None if value_checked or any(parameters[i].type != "Tensor" for i in changed) else tuple(changed)

    def _no_match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> TypeError:
        shown = [signature for signature in self.signatures if not signature.hidden]
        count = len(args) + len(kwargs)
        plausible = [s for s in shown if s.required <= count <= len(s.parameters)]
        if len(self.signatures) == 1 or len(plausible) == 1:
            error = (plausible or shown)[0].match(args, kwargs)
            if isinstance(error, TypeError):
                return error
        return format_invalid_args(shown[0].function, args, kwargs, [signature.listing for signature in shown])


def _holds_tensors(values: Any) -> bool:
    return all(value is None or isinstance(value, Tensor) or overrides(type(value)) for value in values)


_OPAQUE = (Tensor, int, float, complex, bool, type(None), DType, Device)
"""Types whose values are passed on unchanged."""


@cache
def _is_opaque(kind: Any) -> bool:
    """Return whether values of a class are passed on unchanged. Tensor subclasses without ``__torch_function__``
    (Parameter) are too.
    """
    return kind in _OPAQUE or (issubclass(kind, Tensor) and not overrides(kind))


_DEFAULTS = {"[]": (), "[0,1]": (0, 1), "None": None, "True": True, "False": False, "torch.int64": int64}


def _parse_parameters(inside: str) -> list[Parameter]:
    """Parse the parameters of a signature, ``Tensor input, *, Number alpha = 1``."""
    parameters: list[Parameter] = []
    keyword_only = False
    for declaration in filter(None, (part.strip() for part in inside.split(", "))):
        if declaration == "*":
            keyword_only = True
            continue
        declared, has_default, default = declaration.partition(" = ")
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
