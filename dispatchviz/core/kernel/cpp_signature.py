"""``CppSignature`` of a typed kernel: the type of its C++ function, and the schema inferred from it.

This module mirrors ``aten/src/ATen/core/boxing/KernelFunction.h`` (``CppSignature``) and
``aten/src/ATen/core/op_registration/infer_schema.cpp``. The first typed kernel of an operator fixes its signature, once
for functions of plain integers and once for functions of symbolic sizes.

Not here: the comparison (``operator_entry.py``), the error messages (``registration_errors.py``).

NB: in PyTorch, the signature is the C++ compiler's name of the function's type. Here it is made from the schema, which
gives the same text for nearly all operators of ``aten``. Custom classes, and hand-written functions with types of their
own, have their TorchScript names here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from dispatchviz.core.keys.keys import DispatchKey
from dispatchviz.core.schema.function_schema import Argument, FunctionSchema


class CppSignature(NamedTuple):
    """The type of a C++ function."""

    name: str
    """The C++ type, ``at::Tensor (at::Tensor const&)``."""
    schema: FunctionSchema
    """The inferred schema, without a name: ``(Tensor _0) -> Tensor _0``."""

    def schema_named(self, name: str, overload: str) -> FunctionSchema:
        """The schema of an operator that is defined by a function alone."""
        return FunctionSchema(name, overload, self.schema.arguments, self.schema.returns)


_TENSOR = Argument("_0", "Tensor")
T_T = CppSignature("at::Tensor (at::Tensor const&)", FunctionSchema("", "", (_TENSOR,), (_TENSOR,)))
"""The signature from one tensor to one tensor. It is that of PyTorch's test helpers, and the only typed one that Python
can register.
"""


class CppSignatureWithDebug(NamedTuple):
    """The C++ signature of an operator's kernels, and the kernel that set it."""

    name: str
    debug: str
    key: DispatchKey | None
    """The key of the kernel; None for a catch-all kernel."""


# -- schemas ----------------------------------------------------------------------------------------------------------


def with_real_types(schema: FunctionSchema, symbolic: bool) -> FunctionSchema:
    """The schema as a function of plain integers sees it (``cloneWithRealTypes``)."""
    if symbolic:
        return schema
    return FunctionSchema(
        schema.name,
        schema.overload,
        tuple(map(_plain, schema.arguments)),
        tuple(map(_plain, schema.returns)),
        schema.is_vararg,
        schema.is_varret,
    )


def _plain(argument: Argument) -> Argument:
    def plain(type_: str) -> str:
        return type_.replace("SymInt", "int")

    return Argument(
        argument.name,
        plain(argument.type),
        argument.default,
        argument.kwarg_only,
        argument.alias,
        plain(argument.annotated),
    )


def schema_difference(declared: FunctionSchema, inferred: FunctionSchema) -> str | None:
    """The first difference between the types of two schemas; None if there is none (``findSchemaDifferences``)."""
    for what, ours, theirs in (
        ("argument", declared.arguments, inferred.arguments),
        ("return", declared.returns, inferred.returns),
    ):
        if len(ours) != len(theirs):
            return f"The number of {what}s is different. {len(ours)} vs {len(theirs)}."
    return next(_different_types("argument", declared.arguments, inferred.arguments), None) or next(
        _different_types("return", declared.returns, inferred.returns), None
    )


def _different_types(what: str, ours: Iterable[Argument], theirs: Iterable[Argument]) -> Iterator[str]:
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True), 1):
        mine, its = _without_length(one.type), _without_length(other.type)
        if mine != its:
            yield f"Type mismatch in {what} {number}: {mine} vs {its}."


def _without_length(type_: str) -> str:
    """The type without a list length, which C++ types do not have."""
    return re.sub(r"\[\d+\]", "[]", type_)


# -- names of C++ types -----------------------------------------------------------------------------------------------

_VALUES = {
    "Tensor": "at::Tensor",
    "int": "long",
    "SymInt": "long",
    "float": "double",
    "bool": "bool",
    "str": "std::basic_string_view<char, std::char_traits<char> >",
    "Scalar": "c10::Scalar",
    "ScalarType": "c10::ScalarType",
    "Layout": "c10::Layout",
    "Device": "c10::Device",
    "DeviceIndex": "signed char",
    "MemoryFormat": "c10::MemoryFormat",
    "Generator": "at::Generator",
    "Storage": "c10::Storage",
    "Stream": "c10::Stream",
    "SymBool": "c10::SymBool",
}
_ARGUMENTS = {
    "Tensor": "at::Tensor const&",
    "Tensor?": "std::optional<at::Tensor> const&",
    "Tensor?[]": "c10::List<std::optional<at::Tensor> > const&",
    "Scalar": "c10::Scalar const&",
    "Scalar?": "std::optional<c10::Scalar> const&",
    "int[]?": "c10::OptionalArrayRef<long>",
    "SymInt[]?": "c10::OptionalArrayRef<long>",
}


def signature_name(schema: FunctionSchema, symbolic: bool = False) -> str:
    """The C++ type of PyTorch's kernels of an operator: ``at::Tensor& (at::Tensor&, c10::Scalar const&)``."""
    only_returned = not any("SymInt" in argument.type for argument in schema.arguments)
    integers = {"SymInt": "c10::SymInt"}
    returns = _returned(schema.returns, _VALUES | integers if symbolic or only_returned else _VALUES)
    arguments = ", ".join(_argument(argument, symbolic) for argument in schema.arguments)
    return f"{returns} ({arguments})"


def _argument(argument: Argument, symbolic: bool) -> str:
    if argument.type == "Tensor" and argument.is_write:
        return "at::Tensor&"
    type_ = re.sub(r"^(?!bool)(.*)\[\d+\]", r"\1[]", argument.type)
    name = _ARGUMENTS.get(type_) or _value(type_)
    return name.replace("long", "c10::SymInt") if symbolic and "SymInt" in type_ else name


def _value(type_: str) -> str:
    if type_.endswith("?"):
        return _template("std::optional", _value(type_.removesuffix("?")))
    found = re.fullmatch(r"(.*)\[(\d*)\]", type_)
    if found is None:
        return _VALUES.get(type_, type_)
    if found[2]:
        return f"std::array<{_value(found[1])}, {found[2]}ul>"
    return _template("c10::ArrayRef", _value(found[1]))


def _returned(returns: tuple[Argument, ...], values: dict[str, str]) -> str:
    names = [_returned_type(value, values) for value in returns]
    if len(names) == 1:
        return names[0]
    return _template("std::tuple", ", ".join(names)) if names else "void"


def _returned_type(value: Argument, values: dict[str, str]) -> str:
    if value.type.endswith("]"):
        item = values.get(value.type.partition("[")[0], value.type)
        return _template("std::vector", f"{item}, {_template('std::allocator', item)}")
    return values.get(value.type, value.type) + "&" * value.is_write


def _template(name: str, inside: str) -> str:
    """The text of a template. Compilers write a space between two closing brackets."""
    return f"{name}<{inside}{' ' * inside.endswith('>')}>"
