"""The order in which the argument parser tries the signatures of one function (``sort_overloads`` of
``tools/autograd/gen_python_functions.py``).

Rule 1: signatures are sorted alphabetically by their text with C++ types.
Rule 2: a signature comes after those whose argument types in the same places are tried first (``_TRIED_LATER``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatchviz.core.schema.function_schema import Argument

if TYPE_CHECKING:
    from dispatchviz.core.codegen.bindings import Overload

_CPP = {
    "int": "int64_t",
    "float": "double",
    "str": "c10::string_view",
    "int[]": "IntArrayRef",
    "SymInt[]": "SymIntArrayRef",
    "Tensor[]": "TensorList",
    "Tensor?[]": "c10::List<::std::optional<Tensor>>",
}
"""Types whose name in C++ differs from that in schemas."""

_TRIED_LATER = {
    ("Scalar", "Tensor"),
    ("Scalar?", "Tensor?"),
    ("int[]", "int"),
    ("int[]", "int?"),
    ("Tensor[]", "int[]"),
    ("Tensor[]", "SymInt[]"),
    ("SymInt[]", "int[]"),
    ("SymInt", "Tensor"),
    ("int", "Tensor"),
}
"""Pairs of types. The first of the two is tried after the second."""

_OPTIONS = ("dtype", "layout", "device", "pin_memory")


def sorted_overloads(overloads: list[Overload]) -> list[Overload]:
    """The overloads, sorted by Rule 1 and then by Rule 2."""
    waiting = sorted(overloads, key=_text)
    before = {id(one): [other for other in waiting if _is_tried_later(one, other)] for one in waiting}
    found = [one for one in waiting if not before[id(one)]]
    for one in found:  # the list grows during the loop
        for other in waiting:
            if one in before[id(other)]:
                before[id(other)].remove(one)
                if not before[id(other)]:
                    found.append(other)
    return found


def _arguments(overload: Overload) -> list[Argument]:
    """The arguments in the order of Python's signature: the four tensor options of a factory come last."""
    arguments = overload.arguments
    if not overload.is_factory:
        return arguments
    return [
        *(a for a in arguments if a.name not in _OPTIONS),
        *(a for a in arguments if a.name in _OPTIONS),
    ]


def _is_tried_later(one: Overload, other: Overload) -> bool:
    types = [(a.type, b.type) for a, b in zip(_arguments(one), _arguments(other), strict=False)]
    if len(_arguments(one)) != len(_arguments(other)) or all(a == b for a, b in types):
        return False
    return all(a == b or (a, b) in _TRIED_LATER for a, b in types)


def _text(overload: Overload) -> str:
    words = [_word(argument, overload.method) for argument in _arguments(overload)]
    positional = sum(not argument.kwarg_only for argument in _arguments(overload))
    words += ["Tensor out=None"] if overload.out is not None else []
    if len(words) > positional:
        words.insert(positional, "*")
    return f"{overload.function.base}({', '.join(words)})"


def _word(argument: Argument, method: bool) -> str:
    kind = argument.type.rstrip("?")
    sized = kind[kind.index("[") :] if "[" in kind and not kind.endswith("[]") else ""
    plain = kind.replace(sized, "[]") if sized else kind
    optional = "?" if argument.type.endswith("?") else ""
    name = "input" if argument.name == "self" and kind == "Tensor" and not method else argument.name
    default = "" if argument.default is None else f"={argument.default}"
    return f"{_CPP.get(plain, plain)}{sized}{optional} {name}{default}"
