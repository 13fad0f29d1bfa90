"""Defaults of schema arguments, printed as PyTorch prints the values that it has stored.

Mirrors the output operators of ``aten/src/ATen/core/function_schema.h`` and ``ivalue.cpp``.
"""

from __future__ import annotations

import re

_NAMED_DEFAULTS = {
    "contiguous_format": "0",
    "preserve_format": "1",
    "strided": "0",
    "Mean": "1",
    "Sum": "2",
    "float": "6",
    "long": "4",
    "cpu": '"cpu"',
}
"""Words of yaml files that PyTorch stores, and prints, as values."""


def canonical_default(type_: str, default: str) -> str:
    """A default as PyTorch prints it: ``1e-5`` is ``1.0000000000000001e-05``, ``SymInt[2] x=1`` has ``[1, 1]``."""
    if default[0] in "\"'":
        return _canonical_string(default[1:-1])
    if default.startswith("["):
        return _canonical_list(type_, [item.strip() for item in default[1:-1].split(",") if item.strip()])
    repeated = re.fullmatch(r".*\[(\d+)\]\??", type_)
    if repeated and default != "None":
        return _canonical_list(type_, [default] * int(repeated[1]))
    if re.fullmatch(r"-?[\d.].*", default):
        return _canonical_number(type_, default)
    return _NAMED_DEFAULTS.get(default, default)


def _canonical_list(type_: str, items: list[str]) -> str:
    """Lists of several equal ints are printed as one int; no other element type is."""
    element = type_.partition("[")[0]
    if element == "int" and len(items) > 1 and len(set(items)) == 1:
        return items[0]
    return f"[{', '.join(canonical_default(element, item) for item in items)}]"


def _canonical_number(type_: str, default: str) -> str:
    if type_ != "float" and re.fullmatch(r"-?\d+", default):
        return default
    value = float(default)
    if value.is_integer() and abs(value) < 1 << 63:
        return f"{int(value)}."
    return f"{value:.17g}"


def _canonical_string(inside: str) -> str:
    """Double quotes, and a backslash before every quote, as C++ prints it."""
    plain = re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inside)
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'").replace("\n", "\\n")
    return f'"{escaped.replace(chr(9), chr(92) + "t")}"'
