"""Named tuples of results, ``torch.return_types.max`` (``torch/csrc/utils/structseq.cpp``)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any


def struct_sequence(name: str, fields: tuple[str, ...]) -> type[tuple[Any, ...]]:
    """Return the class of an operator's results. It accepts one sequence and raises TypeError for anything else, or for
    another length.
    """
    count = len(fields)

    def new(cls: type[tuple[Any, ...]], sequence: Sequence[Any], dict: Any = None) -> Any:
        if not isinstance(sequence, (tuple, list)):
            raise TypeError("constructor requires a sequence")
        if len(sequence) != count:
            raise TypeError(f"torch.return_types.{name}() takes a {count}-sequence ({len(sequence)}-sequence given)")
        return tuple.__new__(cls, sequence)

    def text(self: tuple[Any, ...]) -> str:
        parts = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{parts})"

    own = {field: property(itemgetter(position)) for position, field in enumerate(fields)}
    counts = {"n_fields": count, "n_sequence_fields": count, "n_unnamed_fields": 0}
    space = {"__new__": new, "__repr__": text, "__reduce__": _reduced, "__match_args__": fields, **own, **counts}
    return type(name, (tuple,), {"__module__": "torch.return_types", "__slots__": (), **space})


def _reduced(self: tuple[Any, ...]) -> tuple[Any, ...]:
    return type(self), (tuple(self), {})
