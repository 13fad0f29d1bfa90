"""Functions as pybind11 binds them: the check of the arguments, and the TypeError for arguments that do not fit.

A function of ``torch._C`` is written with the signature that its docstring in PyTorch has. Arguments are converted by
the types that are named there. Arguments called ``arg0``, ``arg1`` have no name in PyTorch and are positional only.

Not here: the functions themselves (``dispatchviz.torch._C``), Python bindings of operators (``python_arg_parser.py``).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from dispatchviz.core.schema.schema_lexer import SchemaError

F = TypeVar("F", bound=Callable[..., Any])


class NoFit(Exception):
    """The error for a value that does not have the type of an argument. Bound functions may raise it too."""


def text(value: Any) -> str:
    """Convert a ``str``."""
    if not isinstance(value, str):
        raise NoFit
    return value


def truth(value: Any) -> bool:
    """Convert a ``bool``: any object with ``__bool__``, or None."""
    if value is not None and not hasattr(type(value), "__bool__"):
        raise NoFit
    return bool(value)


def integer(value: Any) -> int:
    """Convert an int, ``typing.SupportsInt | typing.SupportsIndex``. A float does not fit."""
    if isinstance(value, float) or not (hasattr(value, "__index__") or hasattr(value, "__int__")):
        raise NoFit
    return int(value)


def anything(value: Any) -> Any:
    """Accept any ``object``."""
    return value


Converter = Callable[[Any], Any]

CONVERTERS: dict[str, Converter] = {
    "str": text,
    "bool": truth,
    "object": anything,
    "typing.SupportsInt | typing.SupportsIndex": integer,
}
"""Converters by the name of the type in signatures. Modules that bind classes add theirs."""


def instances_of(*classes: type) -> Converter:
    """Return a converter that accepts objects of bound classes."""

    def instance(value: Any) -> Any:
        if not isinstance(value, classes):
            raise NoFit
        return value

    return instance


class Parameter(NamedTuple):
    """One argument of a signature."""

    name: str
    type: str
    default: str | None

    @property
    def unnamed(self) -> bool:
        """True if the parameter is positional only."""
        return re.fullmatch(r"arg\d+|self", self.name) is not None


class Signature(Struct, frozen=True):
    """A signature, ``name(arg0: str, arg1: bool) -> None``."""

    name: str
    parameters: tuple[Parameter, ...]
    is_variadic: bool
    """True if the signature ends with ``*args, **kwargs``."""
    shown: str
    """The signature as errors show it."""

    @staticmethod
    def parse(text: str) -> Signature:
        """Read a signature."""
        found = re.fullmatch(r"(\w+)(\((.*)\) -> .*)", text)
        assert found is not None, text
        written = re.split(r", (?=\w+:|\*)", found[3].removesuffix(", /")) if found[3] else []
        parameters = tuple(_parameter(part) for part in written if not part.startswith("*"))
        return Signature(found[1], parameters, len(parameters) < len(written), found[2])

    def arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the converted arguments in order, with defaults. Raise NoFit if they do not fit."""
        if len(args) > len(self.parameters) and not self.is_variadic:
            raise NoFit
        rest = dict(kwargs)
        values = [_value(p, args[i : i + 1], rest) for i, p in enumerate(self.parameters)]
        if rest and not self.is_variadic:
            raise NoFit
        return values

    def type_error(self, args: Sequence[Any], kwargs: Mapping[str, Any], class_name: str = "") -> TypeError:
        """Return the TypeError that pybind11 raises."""
        texts = ", ".join(map(repr, args[bool(class_name) :]))
        named = ", ".join(f"{name}={value!r}" for name, value in kwargs.items())
        what, shown = ("function", self.shown)
        if class_name:
            what, shown = "constructor", class_name + re.sub(r"self: [^,)]*(, )?|( -> None$)", "", self.shown)
        return TypeError(
            f"{self.name}(): incompatible {what} arguments. The following argument types are supported:\n"
            f"    1. {shown}\n\nInvoked with: {texts}{'; ' * bool(texts and named)}{'kwargs: ' * bool(named)}{named}"
        )


def _parameter(text: str) -> Parameter:
    name, _, rest = text.partition(": ")
    type_, _, default = rest.partition(" = ")
    return Parameter(name, type_, default or None)


_DEFAULTS = {"''": "", "True": True, "False": False, "0": 0, "[]": ()}


def _value(parameter: Parameter, positional: Sequence[Any], named: dict[str, Any]) -> Any:
    """Return the argument of a parameter: the next positional one, or the keyword's, which is removed from
    ``named``.
    """
    if positional and parameter.name == "self":
        return positional[0]
    if positional:
        return CONVERTERS.get(parameter.type, anything)(positional[0])
    if not parameter.unnamed and parameter.name in named:
        return CONVERTERS.get(parameter.type, anything)(named.pop(parameter.name))
    if parameter.default is None:
        raise NoFit
    return _DEFAULTS.get(parameter.default, parameter.default.strip("'"))


def bound(signature: str, class_name: str = "") -> Callable[[F], F]:
    """Decorate a function so that it gets converted arguments and pybind11's docstring.

    ``class_name`` is given for constructors. Arguments beyond those of the signature are passed on unchanged.
    """
    parsed = Signature.parse(signature)

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                values = parsed.arguments(args, kwargs)
                rest = args[len(parsed.parameters) :]
                return function(*values, *rest, **(kwargs if parsed.is_variadic else {}))
            except NoFit:
                raise parsed.type_error(args, kwargs, class_name) from None
            except SchemaError as error:
                raise RuntimeError(str(error)) from None  # C++ has one kind of error

        call.__doc__ = f"{signature}\n"
        del call.__wrapped__  # pybind11 has no Python function below
        return call  # type: ignore[return-value]

    return decorate
