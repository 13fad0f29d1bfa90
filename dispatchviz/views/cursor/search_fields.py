"""The steps that have a field of a query: ``key:CUDA``, ``node:Mul``, ``line:8``, ``tensor:z``. Most fields are looked
up in columns.

A value is a name in the trace, regardless of case. If no name is equal to it, it matches all names that contain it:
``node:Mul`` finds MulBackward0, ``key:CUDA`` does not find AutogradCUDA.

* ``key``, ``op``, ``node``: steps whose event has that key, operator or Node; ``node:n3`` is one Node.
* ``tensor``: steps about a tensor that once had that name, or that take or return it; ``tensor:t4`` is one tensor.
* ``line``: steps on a line, ``8`` or ``model.py:8``, and in functions that it called.
* ``file``: steps on the lines of a file. A name that is not a file of the program means PyTorch's file of that name.
* ``event``: steps of a kind.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from dispatchviz.core.record import events as ev
from dispatchviz.core.record.trace_file import Trace
from dispatchviz.core.record.trace_file.columns import NONE, Place
from dispatchviz.explain.kinds.all_kinds import rule, why_here
from dispatchviz.explain.trace_index.display_names import plain_node
from dispatchviz.explain.trace_index.trace_index import index
from dispatchviz.views.cursor import named_steps
from dispatchviz.views.cursor.search_query import Query
from dispatchviz.views.cursor.typed_text import is_whole_number, whole_number

Mask = Any
"""One truth value for each step."""

Test = Callable[[Trace, int], bool]
"""A test of one step, which reads its event."""


class Field(Struct, frozen=True):
    """The candidates of a field: those that pass the test, if there is one, have the field."""

    mask: Mask
    test: Test | None = None


def candidates(trace: Trace, query: Query) -> tuple[array[int] | None, list[Test]]:
    """The steps that may have all fields of a query, in order (None for all steps), and the remaining tests."""
    if not query.fields:
        return None, []
    import numpy as np

    found = [READERS[name](trace, value) for name, value in query.fields]
    mask = np.logical_and.reduce([each.mask for each in found])
    steps = array("i", np.flatnonzero(mask).astype(np.int32).tobytes())
    return steps, [each.test for each in found if each.test is not None]


def meant(value: str, names: Iterable[str]) -> set[str]:
    """The names that a value matches."""
    text, known = value.casefold(), list(names)
    return {name for name in known if name.casefold() == text} or {name for name in known if text in name.casefold()}


# -- from columns ------------------------------------------------------------------------------------------------------


def _key(trace: Trace, value: str) -> Field:
    names = trace.columns.key_names
    return Field(_is_any(trace.columns.keys, _numbers(names, meant(value, names))))


def _operator(trace: Trace, value: str) -> Field:
    names = trace.columns.operator_names
    return Field(_is_any(trace.columns.operators, _numbers(names, operators_meant(value, names))))


def operators_meant(value: str, names: Sequence[str]) -> set[str]:
    """The operators that a value matches, with or without ``aten::`` and the overload."""
    text = value.casefold()
    spellings = {name: _spellings(name.casefold()) for name in names}
    return {name for name in names if text in spellings[name]} or {name for name in names if text in name.casefold()}


def _spellings(name: str) -> set[str]:
    short = name.partition("::")[2]
    return {name, short, named_steps.base(name), named_steps.base(short)}


def _node(trace: Trace, value: str) -> Field:
    columns = trace.columns
    names = meant(value, {plain_node(name) for name in columns.name_texts})
    numbers = named_steps.nodes_named(trace, names)
    return Field(_is_any(columns.nodes, [*numbers.tolist(), *_own_number(value, "n")]))


def _event(trace: Trace, value: str) -> Field:
    names = trace.columns.kind_names
    return Field(_is_any(trace.columns.kinds, _numbers(names, meant(value, names))))


def _numbers(texts: Sequence[str], wanted: set[str]) -> list[int]:
    return [number for number, text in enumerate(texts) if text in wanted]


def _own_number(value: str, letter: str) -> list[int]:
    """The number of ``t4`` or ``n3``."""
    return [whole_number(value[1:])] if value[:1] == letter and is_whole_number(value[1:]) else []


def _is_any(column: Sequence[int], numbers: Sequence[int]) -> Mask:
    import numpy as np

    return np.isin(np.asarray(column), np.asarray(numbers, dtype=np.int64))


# -- lines and files ---------------------------------------------------------------------------------------------------


def _line(trace: Trace, value: str) -> Field:
    file, _, number = value.rpartition(":")
    wanted = whole_number(number) if is_whole_number(number) else NONE
    return Field(_on(trace, lambda place: place.line == wanted and _is_file(place.file, file), with_called=True))


def _file(trace: Trace, value: str) -> Field:
    text, files = value.casefold(), list(named_steps.ran(trace))
    there = {file for file in files if _is_file(file, value)} or {file for file in files if text in file.casefold()}
    if there:
        return Field(_on(trace, lambda place: place.file in there, with_called=False))
    return Field(_every(trace), lambda trace, step: text in pytorch_file(trace, step).casefold())


def pytorch_file(trace: Trace, step: int) -> str:
    """The PyTorch file of a step: that of its kernel or of its rule."""
    event = trace[step]
    return event.pytorch_file if isinstance(event, ev.KernelEntered) else rule(event).file


def _is_file(file: str, name: str) -> bool:
    return not name or file == name or file.endswith(f"/{name}")


def _on(trace: Trace, wanted: Callable[[Place], bool], with_called: bool) -> Mask:
    """The steps on some lines. If ``with_called`` is true, also the steps in functions that these lines called."""
    import numpy as np

    steps, columns = np.asarray(trace.steps_of(ev.SourceLine), dtype=np.int64), trace.columns
    places, callers = _lines(trace)
    chosen = np.array([wanted(place) for place in places[0]], np.bool_)[places[1]] if len(steps) else steps > 0
    around = np.minimum(np.searchsorted(steps, callers), max(len(steps) - 1, 0))
    known = callers != NONE
    while with_called and (more := known & chosen[around] & ~chosen).any():
        chosen |= more
    on_line = np.zeros(len(trace) + 1, np.bool_)  # the last place is for NONE
    on_line[steps[chosen]] = True
    return on_line[np.asarray(columns.lines)]


def _lines(trace: Trace) -> tuple[tuple[Sequence[Place], Mask], Mask]:
    """The places of lines, the line of each step, and the lines from which functions were called."""
    import numpy as np

    columns, steps = trace.columns, trace.steps_of(ev.SourceLine)
    if len(columns.places) == len(columns.callers) == len(steps):
        return (columns.line_places, np.asarray(columns.places)), np.asarray(columns.callers)
    lines = [
        event if isinstance(event := trace[step], ev.SourceLine) else None for step in steps
    ]  # an earlier version wrote the file
    places = [
        Place(each.file, each.line, each.function, each.resumed, each.begins) if each else NOWHERE for each in lines
    ]
    callers = [NONE if each is None or each.caller is None else each.caller for each in lines]
    return (places, np.arange(len(places))), np.array(callers, np.int64)


NOWHERE = Place("", 0, "", False)
"""The place of a line that cannot be read."""


def _every(trace: Trace) -> Mask:
    import numpy as np

    return np.ones(len(trace), np.bool_)


# -- tensors -----------------------------------------------------------------------------------------------------------


def _tensor(trace: Trace, value: str) -> Field:

    tensors = tensors_meant(trace, value)
    by_tensor = _is_any(trace.columns.tensors, sorted(tensors))
    for tensor in tensors:
        by_tensor[[step for step in trace.columns.of_result.get(tensor, ()) if step < len(trace)]] = True
    naming = [code for code, kind in enumerate(trace.columns.kind_names) if kind in NAMING]
    mask = by_tensor | _is_any(trace.columns.kinds, naming)
    return Field(mask, lambda trace, step: bool(by_tensor[step]) or not tensors.isdisjoint(tensors_in(trace[step])))


def tensors_meant(trace: Trace, value: str) -> set[int]:
    """The tensors that a value refers to: those that a variable of that name ever referred to, or else one by its
    number.
    """
    known, names = index(trace), named_steps.variables(trace)
    wanted = {name for name in names if value in (name, known.shown(name))} or meant(value, names)
    tensors = {
        trace.columns.tensors[step] for name in wanted for step in trace.columns.of_name.get(_at(trace, name), ())
    }
    own = _own_number(value, "t")
    return set(own) if own and value not in names else tensors


def _at(trace: Trace, name: str) -> int:
    return trace.columns.name_texts.index(name)


Tensors = Callable[[Any], Iterable[int | None]]

TAKEN_FROM: Mapping[str, Tensors] = {
    "TensorNumber": lambda value: (value,),
    "TensorNumber | None": lambda value: (value,),
    "tuple[TensorNumber, ...]": lambda value: value,
    "tuple[TensorNumber | None, ...]": lambda value: value,
    "tuple[tuple[str, TensorNumber | None], ...]": lambda value: (tensor for _, tensor in value),
    "tuple[tuple[str, TensorNumber, KeySet], ...]": lambda value: (tensor for _, tensor, _ in value),
}
"""The functions that extract the tensors of a field, by the field's type."""

NAMING: Mapping[str, Mapping[str, Tensors]] = {
    kind.__name__: fields
    for kind in ev.KINDS
    if (fields := {name: TAKEN_FROM[text] for name, text in kind.__annotations__.items() if text in TAKEN_FROM})
}
"""The kinds of events that refer to tensors, with the fields that do."""


def tensors_in(event: ev.AnyEvent) -> set[int | None]:
    """The tensors that an event refers to."""
    fields = NAMING.get(type(event).__name__, {})
    return {tensor for name, taken in fields.items() for tensor in taken(getattr(event, name))}


# -- sentences ---------------------------------------------------------------------------------------------------------


def _says(trace: Trace, value: str) -> Field:
    text = value.casefold()
    return Field(_every(trace), lambda trace, step: text in why_here(trace, step).casefold())


READERS: Mapping[str, Callable[[Trace, str], Field]] = {
    "key": _key,
    "op": _operator,
    "node": _node,
    "tensor": _tensor,
    "line": _line,
    "file": _file,
    "event": _event,
    "says": _says,
}
"""The readers of fields, by name."""
