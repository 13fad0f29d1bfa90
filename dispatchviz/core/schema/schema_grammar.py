"""The grammar of function schemas: types, defaults, and the messages of PyTorch's SchemaErrors.

This module mirrors tables of ``torch/csrc/jit/frontend/schema_type_parser.cpp`` and texts of
``function_schema_parser.cpp``.

Not here: the parser (``schema_parser.py``), how defaults are printed (``schema_defaults.py``).

NB: in PyTorch, the texts of internal assertions have the absolute path of the machine that built it. Here they have the
path in its source tree.
"""

from __future__ import annotations

import re

ONLY_A_NAME = "Tried to parse a function schema but only the operator name was given"
UNKNOWN_TYPE = (
    "\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a full "
    "list, please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func "
)
DOTS_NOT_LAST = "\n... must be the last element of the {} list"
NO_DEFAULTS_OF_TYPE = "\nunexpected type, file a bug report"
NO_LIST_OF_TYPE = "\nlists are only supported for float, int and complex types"
NOT_A_DEFAULT = "\ninvalid numeric default value"
DEFAULT_BEFORE = (
    '!seen_default_arg || arg.kwarg_only() INTERNAL ASSERT FAILED at "aten/src/ATen/core/function_schema.h":342, '
    "please report a bug to PyTorch. Non-default positional argument follows default argument. Parameter {} in {}"
)

KNOWN_TYPES = frozenset(
    (
        *("Tensor", "SymInt", "SymBool", "int", "float", "bool", "str", "complex", "Scalar", "ScalarType", "Layout"),
        *("MemoryFormat", "Device", "DeviceIndex", "Generator", "Stream", "Storage", "QScheme", "Quantizer"),
        *("ConstQuantizerPtr", "Capsule", "Any", "AnyEnumType", "AnyClassType", "None", "NoneType"),
    )
)
"""Plain types."""

SYNONYMS = {"DeviceIndex": "int", "ConstQuantizerPtr": "int", "None": "NoneType"}
"""Types that are stored under another name."""

ONLY_PYTORCHS = re.compile("SymFloat|number|Dimname|AnyListType|AnyTupleType|t[A-Z]?|t[kv]")
"""A pattern of plain types that only PyTorch's own schemas may use. The last are type variables of TorchScript."""

GENERIC = {"Dict": 2, "Future": 1, "Await": 1, "RRef": 1}
"""Types that take types in parentheses, and how many. After other types a parenthesis opens an alias annotation."""

NONE_ALONE = frozenset({"Tensor", "Generator", "Quantizer"})
"""Types whose only default is None."""

VALUES = frozenset(
    (*("int", "ScalarType", "Layout", "MemoryFormat", "SymInt", "float", "bool", "str", "complex", "Scalar"),)
)
"""Types with defaults of a single word."""

ELEMENTS = frozenset({"int", "SymInt", "float", "bool", "complex", "ScalarType", "Layout"})
NAMED_VALUES = frozenset({"float", "complex", "long", "strided", "Mean", "contiguous_format"})
"""Names that stand for numbers, for any type."""

DTYPES = frozenset(
    (
        *("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "half", "float32"),
        *("float64", "double", "complex32", "complex64", "complex128", "cfloat", "cdouble", "chalf", "bool"),
        *("bfloat16", "short", "int", "qint8", "quint8", "qint32"),
    )
)
