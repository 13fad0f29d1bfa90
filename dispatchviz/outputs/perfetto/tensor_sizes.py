"""The sizes and strides of a call's arguments, as ``torch.profiler`` writes them.

There is one entry for each parameter of the schema. It is empty for an argument that is not a tensor, and a list of
entries for a list of tensors without undefined ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from dispatchviz.core.record import events as ev
from dispatchviz.core.schema.function_schema import FunctionSchema
from dispatchviz.core.schema.schema_lexer import SchemaError
from dispatchviz.core.schema.schema_parser import parse_schema
from dispatchviz.explain.calls.binding_frames import pytorch_signature

Geometry = tuple[Sequence[int], Sequence[int]]
"""Sizes and strides."""

NOTHING: Geometry = ((), ())


class TensorSizes:
    """The sizes and strides of tensors so far. It receives each event in order."""

    def __init__(self) -> None:
        self._known: dict[int, Geometry] = {}
        self._defined: dict[str, dict[str, str]] = {}

    def see(self, event: ev.AnyEvent) -> None:
        """Note a new or changed tensor, or an operator that is defined."""
        if isinstance(event, ev.TensorCreated | ev.GeometryChanged):
            self._known[event.tensor] = event.shape, event.stride
        elif isinstance(event, ev.OperatorDefined):
            try:
                schema = parse_schema(event.schema)
            except SchemaError:
                return
            self._defined[event.operator] = _names(schema)

    def of_call(self, operator: str, computed: ev.KeySetComputed) -> dict[str, Any]:
        """Return the ``Input Dims`` and ``Input Strides`` of a call."""
        parameters = self._defined.get(operator) or _parameters(operator)
        found: dict[str, Any] = dict.fromkeys(parameters, NOTHING)
        for name, tensor, _ in computed.arguments:
            base, member, _ = name.partition("[")
            if parameters.get(base) == OPTIONAL:
                continue
            geometry = self._known.get(tensor, NOTHING)
            if not member:
                found[base] = geometry
            elif not isinstance(found.get(base), list):
                found[base] = [geometry]
            else:
                found[base].append(geometry)
        return _written(found.values())

    def of_tensors(self, tensors: Iterable[int | None]) -> dict[str, Any]:
        """Return the same for the gradients that a Node receives."""
        return _written(self._known.get(tensor, NOTHING) if tensor is not None else NOTHING for tensor in tensors)


def _written(entries: Iterable[Any]) -> dict[str, Any]:
    entries = list(entries)
    if not entries:
        return {}
    return {"Input Dims": [_part(each, 0) for each in entries], "Input Strides": [_part(each, 1) for each in entries]}


def _part(entry: Any, which: int) -> Any:
    return [each[which] for each in entry] if isinstance(entry, list) else entry[which]


@lru_cache(4096)
def _parameters(operator: str) -> dict[str, str]:
    schema = pytorch_signature(operator)
    return {} if schema is None else _names(schema)


def _names(schema: FunctionSchema) -> dict[str, str]:
    """Return the names of the parameters with their types."""
    return {argument.name: argument.type for argument in schema.arguments}


OPTIONAL = "Tensor?[]"
"""The type of a list for which the profiler writes nothing."""
