"""The TypeError that lists the signatures that do not fit (``torch/csrc/utils/invalid_arguments.cpp``).

Rule 1: signatures are read as texts and split at their commas. Therefore ``*`` counts as an argument, and an argument
with a default has a type and a name that nothing can match (``bool keepdim =`` and ``False``).
Rule 2: a signature shows why it does not fit only if the call has as many arguments as the signature seems to have by
Rule 1.
Rule 3: types are compared by name, so an int is not a ``Number`` and a Parameter is not a ``Tensor``.
NB: PyTorch prints keywords in the order of a hash map, which is mostly the reverse of the call; here it is always the
reverse. PyTorch also colors mismatches red on a terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_HEAP_TYPE = 1 << 9
"""The flag of a class made by a ``class`` statement. The name of a class that C declares includes its module."""

_DECLARED_IN_C = {
    "DType": "torch.dtype",
    "Device": "torch.device",
    "Size": "torch.Size",
    "layout": "torch.layout",
    "memory_format": "torch.memory_format",
    "Generator": "torch._C.Generator",
}
"""Classes that are Python classes here and that C++ declares in PyTorch."""

_NUMBERS = {"float": ("float", "int"), "int": ("int",)}


class Argument(NamedTuple):
    """One part of a signature between commas."""

    type: str
    name: str

    def matches(self, value: Any) -> bool:
        """Return whether a value is of the type."""
        return type_name(value) in _NUMBERS.get(self.type, (self.type,))


def type_name(value: Any) -> str:
    """The type of an argument as error messages name it (``tp_name``)."""
    kind = type(value)
    if kind.__module__.startswith("dispatchviz."):
        return _DECLARED_IN_C.get(kind.__name__, kind.__name__)
    declared = kind.__flags__ & _HEAP_TYPE or kind.__module__ == "builtins"
    return kind.__name__ if declared else f"{kind.__module__}.{kind.__qualname__}"


def format_invalid_args(
    function: str, args: Sequence[Any], kwargs: Mapping[str, Any], signatures: Sequence[str]
) -> TypeError:
    """Return the TypeError. ``signatures`` do not include the function's name."""
    head = f"{function}() received an invalid combination of arguments - got "
    keywords = dict(reversed(list(kwargs.items())))
    if len(signatures) > 1:
        listing = "".join(f" * {text}\n{_mismatch(_arguments(text), args, keywords)}" for text in signatures)
        return TypeError(f"{head}{_described(args, keywords)}, but expected one of:\n{listing}")
    arguments = _arguments(signatures[0])
    if unknown := _unmatched(arguments, keywords):
        return TypeError(f"{head.removesuffix('got ')}got unrecognized keyword arguments: {', '.join(unknown)}")
    shown = _marked if len(args) + len(keywords) == len(arguments) else lambda _, *each: _described(*each)
    return TypeError(f"{head}{shown(arguments, args, keywords)}, but expected {signatures[0]}")


def _arguments(signature: str) -> list[Argument]:
    parts = [part.rpartition(" ") for part in signature[1:-1].split(", ")]
    return [Argument(kind or name, name) for kind, _, name in parts]


def _mismatch(arguments: list[Argument], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    if len(args) + len(kwargs) != len(arguments):
        return ""
    if unknown := _unmatched(arguments, kwargs):
        return f"      didn't match because some of the keywords were incorrect: {', '.join(unknown)}\n"
    marked = _marked(arguments, args, kwargs)
    return f"      didn't match because some of the arguments have invalid types: {marked}\n"


def _unmatched(arguments: list[Argument], kwargs: Mapping[str, Any]) -> list[str]:
    """The keywords that are not the name of one of the last arguments."""
    names = [argument.name for argument in arguments[max(len(arguments) - len(kwargs), 0) :]]
    return [name for name in kwargs if name not in names]


def _described(args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The text ``(Tensor, dim=str)``. Without positional arguments it has an extra comma, as in PyTorch."""
    texts = [*map(type_name, args), *(f"{name}={type_name(value)}" for name, value in kwargs.items())]
    return f"({', '.join(texts)}{', ' if texts and not args else ''})"


def _marked(arguments: list[Argument], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """The text ``(Tensor, !str!)``, in which the arguments of a wrong type are marked."""
    texts = []
    for i, argument in enumerate(arguments):
        value = args[i] if i < len(args) else kwargs[argument.name]
        text = ("" if i < len(args) else f"{argument.name}=") + _with_elements(value)
        texts.append(text if argument.matches(value) else f"!{text}!")
    return f"({', '.join(texts)}{', ' if texts and not args else ''})"


def _with_elements(value: Any) -> str:
    """The text ``tuple of (int,)``."""
    if not isinstance(value, (tuple, list)):
        return type_name(value)
    inside = ", ".join(map(type_name, value))
    if isinstance(value, list):
        return f"{type_name(value)} of [{inside}]"
    return f"{type_name(value)} of ({inside}{',' if len(value) == 1 else ''})"
