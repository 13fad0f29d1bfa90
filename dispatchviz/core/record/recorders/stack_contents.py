"""The values on a stack of IValues, as an event has them: for each value its tag and a short text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from dispatchviz.core.python_side.casts import DTYPE_NUMBERS
from dispatchviz.core.python_side.ivalue_tags import tag_of
from dispatchviz.core.schema.schema_types import LIST, OPTIONAL, SchemaType, schema_type
from dispatchviz.core.tensor import layout
from dispatchviz.core.tensor.tensor import Tensor

if TYPE_CHECKING:
    from dispatchviz.core.record.events import IValueTag
    from dispatchviz.core.schema.function_schema import Argument

ITEMS = 8
"""The number of values of a list that its text shows."""

LETTERS = 60
"""The number of characters of a string that its text shows."""

Numbered = Callable[[Tensor], int]
"""A function that returns the number of a tensor in the recording."""


def contents(
    values: Sequence[Any], declared: Iterable[Argument], number: Numbered
) -> tuple[tuple[IValueTag, str], ...]:
    """The tag and text of each value. ``declared`` are arguments or returns; missing values at the end are left out."""
    pairs = [(schema_type(each.type), value) for each, value in zip(declared, values, strict=False)]
    return tuple([(tag_of(kind, value), _text(kind, value, number)) for kind, value in pairs])


def _text(kind: SchemaType, value: Any, number: Numbered) -> str:
    """The text of a value. It runs none of the program's code: an object is shown by the name of its class."""
    if issubclass(type(value), Tensor):
        return f"t{number(value)}"
    if kind.kind == OPTIONAL:
        return "None" if value is None else _text(kind.inside[0], value, number)
    if value is None:
        return "undefined" if kind.kind == "Tensor" else "None"
    match tag_of(kind, value):
        case "GenericList":
            return f"[{_items(kind, value, number)}]"
        case "Tuple":
            return f"({_items(kind, value, number)})"
        case "GenericDict":
            return f"{{{_entries(kind, value, number)}}}"
        case "String":
            return _string(value)
        case _:
            return _PLAIN.get(kind.kind, _open)(value)


def _items(kind: SchemaType, values: Sequence[Any], number: Numbered) -> str:
    inside = _repeated(kind, len(values)) if kind.kind == LIST or not kind.inside else kind.inside
    return _cut((_text(part, value, number) for part, value in zip(inside, values, strict=False)), len(values))


def _repeated(kind: SchemaType, times: int) -> Sequence[SchemaType]:
    """The types of a list's values. If the schema leaves the list's type open, so are theirs."""
    return (kind.inside or (kind,)) * times


def _entries(kind: SchemaType, values: Mapping[Any, Any], number: Numbered) -> str:
    of_key, of_value = kind.inside if len(kind.inside) == 2 else (kind, kind)
    texts = (f"{_text(of_key, key, number)}: {_text(of_value, value, number)}" for key, value in values.items())
    return _cut(texts, len(values))


def _cut(texts: Iterator[str], count: int) -> str:
    more = [f"... {count - ITEMS} more"] if count > ITEMS else []
    return ", ".join([*islice(texts, ITEMS), *more])


def _open(value: Any) -> str:
    return repr(value) if type(value) in (bool, int, float, complex) else f"<{type(value).__name__}>"


def _string(value: str) -> str:
    text = str.__str__(value)  # of a subclass too
    return repr(text if len(text) <= LETTERS else f"{text[: LETTERS - 3]}...")


def _enumerator(number: int | None, name: str) -> str:
    return f"torch.{name}" if number is None else f"{number} (torch.{name})"


def _number_of(name: str, known: Mapping[int, Any]) -> int | None:
    return next((number for number, of in known.items() if of.name == name), None)


_PLAIN: Mapping[str, Callable[[Any], str]] = {
    "int": lambda value: repr(int(value)),
    "SymInt": lambda value: repr(int(value)),
    "float": lambda value: repr(float(value)),
    "complex": lambda value: repr(complex(value)),
    "bool": lambda value: repr(bool(value)),
    "ScalarType": lambda value: _enumerator(DTYPE_NUMBERS.get(value.name), value.name),
    "Layout": lambda value: _enumerator(_number_of(value, layout.LAYOUTS), value),
    "MemoryFormat": lambda value: _enumerator(_number_of(value, layout.MEMORY_FORMATS), value),
    "Device": str,
}
"""The texts of values of types without type arguments."""
