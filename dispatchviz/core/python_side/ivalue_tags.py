"""The tag of a stack value's ``IValue``. The schema and the value decide it.

This module mirrors the constructors of ``c10::IValue`` (``aten/src/ATen/core/ivalue.h``): all lists have one tag,
enumerations (dtypes, layouts, memory formats) are integers, and a number for a ``Scalar`` has the tag of its Python
type.

Not here: the conversion of Python objects (``ivalue.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dispatchviz.core.schema.schema_types import DICT, LIST, OPTIONAL, TUPLE, SchemaType
from dispatchviz.core.tensor.tensor import Tensor

if TYPE_CHECKING:
    from dispatchviz.core.record.events import IValueTag

OF_TYPES: dict[str, IValueTag] = {
    "Tensor": "Tensor",
    "int": "Int",
    "SymInt": "Int",
    "ScalarType": "Int",
    "Layout": "Int",
    "MemoryFormat": "Int",
    "float": "Double",
    "complex": "ComplexDouble",
    "bool": "Bool",
    "SymBool": "Bool",
    "str": "String",
    "Device": "Device",
    "Generator": "Generator",
    "Storage": "Storage",
    "Stream": "Stream",
    LIST: "GenericList",
    DICT: "GenericDict",
    TUPLE: "Tuple",
}
"""Tags by the type in a schema. A symbolic number would have a tag of its own, but no value here is symbolic."""

OF_VALUES: dict[type, IValueTag] = {
    type(None): "None",
    bool: "Bool",
    int: "Int",
    float: "Double",
    complex: "ComplexDouble",
    str: "String",
    list: "GenericList",
    tuple: "Tuple",
    dict: "GenericDict",
}
"""Tags by the Python type of a value whose type the schema leaves open: ``Scalar``, ``Any``."""


def tag_of(kind: SchemaType, value: Any) -> IValueTag:
    """The tag's name without ``IValue::Tag::``. None for an optional has the tag ``None``; None for a Tensor is an
    undefined tensor.
    """
    if kind.kind == OPTIONAL:
        return "None" if value is None else tag_of(kind.inside[0], value)
    tag = OF_TYPES.get(kind.kind) or _tag_of_value(value)
    return "UInt" if tag == "Int" and isinstance(value, int) and value >= 1 << 63 else tag


def _tag_of_value(value: Any) -> IValueTag:
    kind = type(value)
    return "Tensor" if issubclass(kind, Tensor) else OF_VALUES.get(kind, "Object")
