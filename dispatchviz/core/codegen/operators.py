"""Prints ``generated/operators``: one class per operator with its typed entry points (``at::_ops::X``).

A program uses a few of the two thousand, so they are in files by the first two letters of their names, and a file is
loaded when an operator of it is first used.
"""

from __future__ import annotations

from collections.abc import Iterator

from dispatchviz.core.codegen import signature
from dispatchviz.core.codegen.model import NativeFunction, Specification
from dispatchviz.core.codegen.pages import page
from dispatchviz.core.generated.operators import home

_IMPORTS = {
    "dispatchviz.core.call.aten": ("Entry", "keys_of"),
    "dispatchviz.core.call.dispatcher": ("call", "redispatch"),
    "dispatchviz.core.tensor.dtype": ("int64",),
}
_PACKAGE = "dispatchviz.core.generated.operators"


def texts(spec: Specification) -> Iterator[tuple[str, str]]:
    """The modules below ``generated/operators``, and a stub by which type checkers find an operator's class."""
    files: dict[str, list[NativeFunction]] = {}
    for function in spec.functions.values():
        files.setdefault(home(function.identifier), []).append(function)
    for name, functions in sorted(files.items()):
        yield f"operators/{name}.py", _text(name, functions)
    lines = [f"from {_PACKAGE}.{name} import {f.identifier} as {f.identifier}" for name in files for f in files[name]]
    lines.sort()
    yield "operators/__init__.pyi", "\n".join([*lines, "", "def home(identifier: str) -> str: ...", ""])


def _text(name: str, functions: list[NativeFunction]) -> str:
    return page(
        f"Operators whose names begin with ``{name.removeprefix('names_')}``.",
        "build/aten/src/ATen/Operators_*.cpp",
        _IMPORTS,
        map(_operator, functions),
        signature.TYPE_IMPORTS,
    )


def _operator(function: NativeFunction) -> str:
    parameters, names = signature.parameters(function), signature.names(function)
    result, name = signature.result_type(function), function.identifier
    hidden = name in names.split(", ")  # by a parameter of the same name, as threshold's
    own, alias = (f"_{name}", f"\n\n_{name} = {name}\n") if hidden else (name, "")
    return f'''\
class {function.identifier}:
    """{function.schema}"""

    entry = Entry("{function.schema.full_name}")

    @staticmethod
    def call({parameters}) -> {result}:
        kernel, ks = call({own}.entry, {signature.key_union(function)})
        return kernel(ks{signature.comma(names)})

    @staticmethod
    def redispatch(ks: int{signature.comma(parameters)}) -> {result}:
        return redispatch({own}.entry, ks)(ks{signature.comma(names)})
{alias}'''


def schemas(spec: Specification) -> str:
    """``generated/register_schema.py``: what ``TORCH_LIBRARY(aten)`` defines."""
    return page(
        "Every operator's schema, in the order of the yaml.",
        "build/aten/src/ATen/RegisterSchema.cpp",
        {},
        ["SCHEMAS = (\n" + "".join(_lines(spec)) + ")\n"],
    )


def _lines(spec: Specification) -> Iterator[str]:
    return (f"    {quoted(str(function.schema))},\n" for function in spec.functions.values())


def quoted(text: str) -> str:
    """A literal, in double quotes where they are not in the text."""
    return repr(text) if '"' in text else f'"{text}"'
