"""The Python form of a schema: the name of the operator's class, parameters, types, defaults, the union of key sets."""

from __future__ import annotations

import keyword
import re

from dispatchviz.core.schema.function_schema import Argument, FunctionSchema

TYPES = {
    "Tensor": "Tensor",
    "Scalar": "Scalar",
    "ScalarType": "DType",
    "Device": "Device",
    "Layout": "str",
    "MemoryFormat": "str",
    "Generator": "Generator",
    "Stream": "Stream",
    "Storage": "Storage",
    "SymInt": "int",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
}
"""PyTorch's schema types and our Python types."""

DTYPES = {"long": "int64"}
"""Defaults that are dtypes."""


def class_name(full_name: str) -> str:
    """PyTorch's name of the operator's class in ``at::_ops``: ``add_Tensor`` for ``aten::add.Tensor``.

    A name with two leading underscores keeps only one, since Python changes such names inside a class.
    """
    name = full_name.removeprefix("aten::").replace(".", "_")
    return name[1:] if name.startswith("__") else name


def python_name(name: str) -> str:
    """The name of a parameter in Python. ``from`` is a keyword, so it becomes ``from_``."""
    return f"{name}_" if keyword.iskeyword(name) else name


def python_type(schema_type: str) -> str:
    """The Python type of a schema type: ``SymInt[]?`` gives ``Size | None``."""
    if schema_type.endswith("?"):
        return f"{python_type(schema_type[:-1])} | None"
    if "[" in schema_type:
        element = schema_type.partition("[")[0]
        if element == "bool":
            return "tuple[bool, ...]"
        return "Size" if element in ("int", "SymInt") else f"list[{python_type(element)}]"
    return TYPES[schema_type]


def default(argument: Argument) -> str:
    """The text of the default, `` = 1``, or an empty text."""
    if argument.default is None:
        return ""
    text = argument.default
    if text in ("contiguous_format", "preserve_format"):
        text = repr(text)
    text = DTYPES.get(text, text)
    if argument.type == "float" and text.lstrip("-").isdigit():
        text += ".0"  # to PyTorch, and so to handlers, 1 and 1.0 are different values
    if (length := re.search(r"\[(\d+)\]", argument.type)) and text.lstrip("-").isdigit():
        text = f"({', '.join([text] * int(length[1]))},)"  # one number represents all elements of a list
    if text.startswith("["):
        text = f"({text[1:-1]})"
    return f" = {text}"


def parameters(schema: FunctionSchema, defaults: bool = True, types: bool = True) -> str:
    """The text of the parameters, ``self: Tensor, other: Tensor, alpha: Scalar = 1``: all positional, in schema
    order.
    """
    arguments = schema.arguments
    required = max((i for i, a in enumerate(arguments) if a.default is None), default=-1)
    words = []
    for i, argument in enumerate(arguments):
        value = default(argument) if defaults and i > required else ""  # out= follows arguments with defaults
        kind = f": {python_type(argument.type)}" if types else ""
        words.append(f"{python_name(argument.name)}{kind}{value}")
    return ", ".join(words)


def names(schema: FunctionSchema) -> str:
    """The text of the names, ``self, other, alpha``."""
    return ", ".join(python_name(argument.name) for argument in schema.arguments)


def comma(text: str) -> str:
    """The text with a leading comma, unless it is empty."""
    return f", {text}" if text else ""


def result_type(schema: FunctionSchema) -> str:
    """The type of the result: ``Tensor``, ``Scalar``, a tuple of several, or ``None``."""
    kinds = [python_type(r.type) for r in schema.returns]
    return "None" if not kinds else kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds)}]"


def key_union(schema: FunctionSchema) -> str:
    """The expression ``self._ks | other._ks``: the OR of the key sets of tensors and generators, 0 if there are
    none.
    """
    words = []
    for argument in schema.arguments:
        name = python_name(argument.name)
        if argument.type == "Tensor":
            words.append(f"{name}._ks")
        elif argument.type == "Tensor?":
            words.append(f"(0 if {name} is None else {name}._ks)")
        elif argument.type == "Generator?":
            words.append(f"(0 if {name} is None else {name}.key_set)")
        elif argument.type.startswith("Tensor"):
            words.append(f"keys_of({name})")
    return " | ".join(words) or "0"


_CLASS = '''\
class {name}:
    """{schema}"""

    entry = Entry("{operator}")

    @staticmethod
    def call({parameters}){result}:
        {call}
        return kernel(ks{arguments})

    @staticmethod
    def redispatch({ks}{more_parameters}){result}:
        return redispatch({own}.entry, ks)(ks{arguments})
'''


_SHOWN_CALL = "kernel, ks = call({own}.entry, {key_union})"
_COMPILED_CALL = (
    "state = thread.state; kernel, ks = {own}.entry.kernels[({key_union} | state.included) & (65535 | ~state.excluded)]"
)
"""The first line of ``call`` as a reader sees it, and as it runs: with the content of ``call/dispatcher.py``'s
``call``, since another function costs 2 % of an addition.
"""


def class_text(schema: FunctionSchema, types: bool = True) -> str:
    """The text of an operator's class with its two typed entry points, as ``at::_ops::add_Tensor`` has them.

    Without types it has the same lines. It is the text to compile: Python does that in half the time, and it runs
    faster.
    """
    name, arguments, taken = class_name(schema.full_name), names(schema), parameters(schema, types=types)
    hidden = name in arguments.split(", ")  # the parameter of the same name replaces it, as threshold's does
    own = f"_{name}" if hidden else name
    written = _CLASS.format(
        name=name,
        schema=schema,
        operator=schema.full_name,
        own=own,
        call=(_SHOWN_CALL if types else _COMPILED_CALL).format(own=own, key_union=key_union(schema)),
        parameters=taken,
        more_parameters=comma(taken),
        arguments=comma(arguments),
        ks="ks: int" if types else "ks",
        result=f" -> {result_type(schema)}" if types else "",
    )
    return f"{written}\n_{name} = {name}\n" if hidden else written
