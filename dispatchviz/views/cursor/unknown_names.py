"""The reason why a search finds nothing if a field names something that the trace does not have, with the most similar
names first.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

from dispatchviz.core.record.trace_file import Trace
from dispatchviz.views.cursor import named_steps
from dispatchviz.views.cursor.search_fields import meant, operators_meant, tensors_meant
from dispatchviz.views.cursor.search_query import query_of
from dispatchviz.views.cursor.typed_text import repeated

MOST_NAMED = 5
"""The maximum number of names to list."""

LIKE = 0.4
"""The similarity from which on a name comes first. It is low because parts of names are typed."""


def _operators(trace: Trace) -> list[str]:
    return list(dict.fromkeys(named_steps.base(name).removeprefix("aten::") for name in named_steps.operators(trace)))


NAMES: Mapping[str, Callable[[Trace], list[str]]] = {
    "key": named_steps.keys,
    "op": _operators,
    "node": named_steps.nodes,
    "tensor": named_steps.variables,
    "event": named_steps.kinds,
}
"""The names that a field may refer to."""


def unknown_name(trace: Trace, query: str) -> str:
    """The reason, such as ``node must be one of AddBackward0, SumBackward0``; empty if every field names something."""
    for field, value in query_of(query).fields:
        if field in NAMES and not _is_known(trace, field, value):
            names = NAMES[field](trace)
            return f"{field} must be one of {_most_similar(value, names)}" if names else f"no step has a {field}"
    return ""


def _is_known(trace: Trace, field: str, value: str) -> bool:
    if field == "tensor":
        return bool(tensors_meant(trace, value))
    if field == "op":
        return bool(operators_meant(value, trace.columns.operator_names))
    own_number = field == "node" and value[:1] == "n" and value[1:].isdigit()
    return own_number or bool(meant(value, NAMES[field](trace)))


def _most_similar(value: str, names: list[str]) -> str:
    by_text = {name.casefold(): name for name in names}
    near = [by_text[text] for text in difflib.get_close_matches(value.casefold(), by_text, MOST_NAMED, LIKE)]
    ordered = list(dict.fromkeys((*near, *names)))
    return f"{', '.join(map(repeated, ordered[:MOST_NAMED]))}{', ...' if len(ordered) > MOST_NAMED else ''}"
