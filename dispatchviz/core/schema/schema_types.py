"""The types of schema arguments as values: ``int[2]?`` is an optional list of two ints.

This module mirrors ``aten/src/ATen/core/jit_type.h`` as far as schemas need it: the parts of a type, and its name in
PyTorch's errors (``Optional[List[int]]``).
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

OPTIONAL, LIST, TUPLE, DICT = "Optional", "List", "Tuple", "Dict"


class SchemaType(NamedTuple):
    """One type."""

    kind: str
    """``Optional``, ``List``, ``Tuple``, ``Dict``, or the name of a plain type: ``Tensor``, ``SymInt``, ``Scalar``."""
    inside: tuple[SchemaType, ...] = ()
    size: int | None = None
    """The size of a list type: ``int[2]`` accepts one int for both elements."""

    @property
    def name(self) -> str:
        """The name as PyTorch's errors print it."""
        if not self.inside:
            return _PRINTED.get(self.kind, self.kind)
        return f"{self.kind}[{', '.join(part.name for part in self.inside)}]"


_PRINTED = {
    "Scalar": "number",
    "SymInt": "int",
    "SymBool": "bool",
    "SymFloat": "float",
    "ScalarType": "int",
    "Layout": "int",
    "MemoryFormat": "int",
    "QScheme": "int",
    "NoneType": "None",
}
"""Names in errors. Enumerations are ints to TorchScript, and so are symbolic ints."""


@cache
def schema_type(text: str) -> SchemaType:
    """Return the type of an argument, read from its text without alias annotations, as the schema parser leaves it."""
    if text.endswith("?"):
        return SchemaType(OPTIONAL, (schema_type(text[:-1]),))
    if text.endswith("]"):
        element, _, size = text[:-1].rpartition("[")
        return SchemaType(LIST, (schema_type(element),), int(size) if size else None)
    generic = re.fullmatch(r"(\w*)\((.*)\)", text)
    if generic is None:
        return SchemaType(text)
    return SchemaType(generic[1] or TUPLE, tuple(map(schema_type, _parts(generic[2]))))


def _parts(inside: str) -> list[str]:
    """The parts at the top level: ``str, (int, int)`` has two."""
    parts, depth = [""], 0
    for character in inside:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
