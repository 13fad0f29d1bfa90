"""Defaults of schema arguments, printed as PyTorch prints the values that it has stored.

This module mirrors the output operators of ``aten/src/ATen/core/function_schema.h`` and ``ivalue.cpp``.
"""

from __future__ import annotations

import re

_DTYPES = {"uint8": 0, "int8": 1, "int16": 2, "short": 2, "int32": 3, "int": 3, "int64": 4, "long": 4, "float16": 5}
_DTYPES |= {"half": 5, "float32": 6, "float": 6, "float64": 7, "double": 7, "complex32": 8, "chalf": 8, "complex64": 9}
_DTYPES |= {"cfloat": 9, "complex": 9, "complex128": 10, "cdouble": 10, "bool": 11, "qint8": 12, "quint8": 13}
_DTYPES |= {"qint32": 14, "bfloat16": 15, "uint16": 27, "uint32": 28, "uint64": 29}
_NAMED_DEFAULTS = {"contiguous_format": 0, "preserve_format": 1, "strided": 0, "Mean": 1, "Sum": 2} | _DTYPES
"""Names in schemas, and the numbers that PyTorch stores and prints for them."""


def canonical_default(type_: str, default: str) -> str:
    """A default as PyTorch prints it: ``1e-5`` is ``1.0000000000000001e-05``, ``SymInt[2] x=1`` has ``[1, 1]``."""
    if default[0] in "\"'":
        return default[1:-1] if type_ == "Device" else _canonical_string(default[1:-1])
    if default.startswith("["):
        return _canonical_list(type_, [item.strip() for item in default[1:-1].split(",") if item.strip()])
    repeated = re.fullmatch(r".*\[(\d+)\]\??", type_)
    if repeated and default != "None":
        return _canonical_list(type_, [default] * int(repeated[1]))
    if re.fullmatch(r"-?[\d.].*", default):
        return _canonical_number(type_, default)
    return str(_NAMED_DEFAULTS.get(default, default))


def _canonical_list(type_: str, items: list[str]) -> str:
    """A list default. Several equal ints are printed as one int; other element types are never shortened."""
    element = type_.partition("[")[0]
    if element == "int" and len(items) > 1 and len(set(items)) == 1:
        return items[0]
    return f"[{', '.join(canonical_default(element, item) for item in items)}]"


def _canonical_number(type_: str, default: str) -> str:
    if default.startswith("0x"):
        return "0"  # PyTorch stops reading at the x
    if default.endswith("j"):
        return f"0.+{_canonical_number('float', default[:-1])}j"
    if type_ != "float" and re.fullmatch(r"-?\d+", default):
        return default
    value = float(default)
    if value.is_integer() and abs(value) < 1 << 63:
        return f"{int(value)}."
    return f"{value:.17g}"


def _canonical_string(inside: str) -> str:
    """A string default with double quotes, and a backslash before every quote, as C++ prints it."""
    plain = re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inside)
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'").replace("\n", "\\n")
    return f'"{escaped.replace(chr(9), chr(92) + "t")}"'
